use std::collections::BTreeMap;

use super::*;

/// Files by path; a directory exists if a file below it does.
#[derive(Clone, Default)]
struct Files(BTreeMap<String, String>);

impl Files {
    fn with(mut self, path: &str, text: &str) -> Self {
        self.0.insert(path.to_owned(), text.to_owned());
        self
    }
}

impl WorkspaceReader for Files {
    fn entries(&self, folder: &str) -> Result<Vec<Entry>, String> {
        let below = self.0.keys().filter_map(|path| path.strip_prefix(folder)?.strip_prefix('/'));
        let mut entries: Vec<Entry> = below
            .map(|rest| match rest.split_once('/') {
                Some((name, _)) => Entry::Folder(name.to_owned()),
                None => Entry::File(rest.to_owned()),
            })
            .collect();
        entries.dedup();
        Ok(entries)
    }

    fn read(&self, path: &str, limit: usize) -> Result<Option<Vec<u8>>, String> {
        Ok(self.0.get(path).map(|text| text.bytes().take(limit).collect()))
    }
}

fn repository() -> Files {
    Files::default()
        .with("README.md", "hello")
        .with(".claude/settings.json", r#"{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"bash tools/check.sh -x"}]}]},"permissions":{"allow":["Bash(npm *)"],"deny":["Read(.env)"]},"env":{"A":"1"}}"#)
        .with(".mcp.json", r#"{"mcpServers":{"db":{"command":"node","args":["server/db.js"]}}}"#)
        .with("tools/check.sh", "exit 0")
        .with("server/db.js", "1")
        .with("server/other.js", "2")
}

fn identity() -> Identity {
    Identity { path: "/people/repo".into(), device: 1, inode: 2 }
}

fn trust_store() -> (tempdir::Folder, TrustStore) {
    let folder = tempdir::Folder::new();
    let trust_store = TrustStore::new(folder.0.join("state/trust.json"));
    (folder, trust_store)
}

/// A temporary directory for one test.
#[expect(clippy::disallowed_methods, reason = "a test's own directory")]
mod tempdir {
    pub(super) struct Folder(pub(super) std::path::PathBuf);
    impl Folder {
        pub(super) fn new() -> Self {
            use std::sync::atomic::{AtomicU32, Ordering};
            static NEXT: AtomicU32 = AtomicU32::new(0);
            let name =
                format!("lariat-guard-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
            let path = std::env::temp_dir().join(name);
            std::fs::create_dir_all(&path).unwrap();
            Self(path)
        }
    }
    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}

#[test]
fn workspace_without_relevant_files_is_harmless_but_not_trusted() {
    let manifest = Manifest::of(&Files::default().with("src/main.rs", "x")).unwrap();
    let (_folder, trust_store) = trust_store();
    assert_eq!(trust_store.status(&identity(), &manifest).unwrap(), TrustStatus::Harmless);
    assert!(!TrustStatus::Harmless.is_trusted());
    trust_store.trust(&identity(), &manifest).unwrap();
    assert_eq!(trust_store.status(&identity(), &manifest).unwrap(), TrustStatus::Trusted);
}

/// Returns the state of trust after a change to a repository that was trusted before.
fn standing_after(before: &Files, after: &Files) -> TrustStatus {
    let (_folder, trust_store) = trust_store();
    trust_store.trust(&identity(), &Manifest::of(before).unwrap()).unwrap();
    trust_store.status(&identity(), &Manifest::of(after).unwrap()).unwrap()
}

fn changed(standing: &TrustStatus) -> Vec<&str> {
    match standing {
        TrustStatus::Changed(differences) => differences.iter().map(|one| one.path.as_str()).collect(),
        _ => Vec::new(),
    }
}

/// Instructions were once not part of what the user trusted.
#[test]
fn lists_instructions_and_imports_and_detects_their_changes() {
    let files = Files::default()
        .with("CLAUDE.md", "Be nice. @docs/style.md\n<!-- @docs/hidden.md -->\n")
        .with("docs/style.md", "Tabs. @more.md and @../../out.md and @~/.aws/credentials")
        .with("docs/more.md", "More.")
        .with("docs/hidden.md", "Hidden.")
        .with(".claude/rules/a.md", "A rule.");
    let manifest = Manifest::of(&files).unwrap();
    let listed: Vec<_> = manifest
        .effects()
        .iter()
        .map(|one| (one.kind == WorkspaceEffectKind::Instructions, one.file.as_str()))
        .collect();
    let expected =
        [(true, ".claude/rules/a.md"), (true, "CLAUDE.md"), (true, "docs/style.md"), (true, "docs/more.md")];
    assert_eq!(listed, expected);
    for file in ["CLAUDE.md", "docs/style.md", "docs/more.md", ".claude/rules/a.md"] {
        let after = standing_after(&files, &files.clone().with(file, "Be evil."));
        assert!(changed(&after).contains(&file), "{file}: {after:?}");
    }
    assert_eq!(standing_after(&files, &files.clone().with("docs/hidden.md", "x")), TrustStatus::Trusted);
}

/// Changes that run nothing and instruct no model once ended trust.
#[test]
fn comment_in_settings_or_usual_git_editor_keeps_trust() {
    let files = repository()
        .with("lariat.toml", "[limits]\nturns = 5\n")
        .with(".git/config", "[core]\nbare = false\n");
    let harmless = files
        .clone()
        .with("lariat.toml", "# five are enough\n[limits]\nturns = 5 # really\n")
        .with(".mcp.json", "{ \"mcpServers\": {\"db\":{\"args\":[\"server/db.js\"],\n\"command\":\"node\"}}}")
        .with(".git/config", "[core]\nbare = false\neditor = vim\n");
    assert_eq!(standing_after(&files, &harmless), TrustStatus::Trusted);
    let harmful = files.clone().with("lariat.toml", "[limits]\nturns = 50\n");
    assert_eq!(changed(&standing_after(&files, &harmful)), ["lariat.toml"]);
    let harmful = files.clone().with(".git/config", "[core]\nbare = false\neditor = ./vim\n");
    assert_eq!(changed(&standing_after(&files, &harmful)), [".git/config"]);
}

#[test]
fn subdirectory_manifest_has_its_own_files_and_the_scripts_they_name() {
    let hook = r#"{"hooks":{"Stop":[{"hooks":[{"command":"sh tools/x.sh"}]}]}}"#;
    let files = Files::default()
        .with("sub/.claude/settings.json", hook)
        .with("sub/CLAUDE.md", "@../shared.md")
        .with("shared.md", "Shared.")
        .with("tools/x.sh", "1")
        .with("sub/tools/x.sh", "2")
        .with(".git/config", "[core]\nfsmonitor = x\n");
    let manifest = Manifest::of_directory(&files, "sub").unwrap();
    let paths: Vec<&str> = manifest.files().map(|(path, _)| path).collect();
    assert_eq!(
        paths,
        ["shared.md", "sub/.claude/settings.json", "sub/CLAUDE.md", "sub/tools/x.sh", "tools/x.sh"]
    );
}

/// Scripts that are relevant because a file names them: the file, its content, the script.
const NAMING: &[(&str, &str, &str)] = &[
    (
        ".claude/settings.json",
        "\u{feff}{\"hooks\":{\"Stop\":[{\"hooks\":[{\"command\":\"./x.sh\"}]}]}}",
        "x.sh",
    ),
    (".claude/settings.json", r#"{"apiKeyHelper":"bin/key"}"#, "bin/key"),
    (".claude/settings.json", r#"{"statusLine":{"type":"command","command":"sh x.sh"}}"#, "x.sh"),
    (".claude/settings.json", r#"{"env":{"BASH_ENV":"./x.sh"}}"#, "x.sh"),
    (
        ".mcp.json",
        r#"{"mcpServers":{"a":{"command":"node","env":{"NODE_OPTIONS":"--require ./x.js"}}}}"#,
        "x.js",
    ),
    (".mcp.json", r#"{"mcpServers":{"a":{"url":"https://x","headersHelper":"./x.sh"}}}"#, "x.sh"),
    ("lariat.toml", "[[hooks.Stop]]\nhooks = [{ type = 'command', command = './x.sh' }]", "x.sh"),
    ("lariat.toml", "[mcp_servers.a]\ncommand = 'x/serve'", "x/serve"),
    (".git/config", "[core]\nfsmonitor = ./x.sh", "x.sh"),
    (".git/config", "[core]\nhooksPath = hooks", "hooks/post-index-change"),
    (".git", "gitdir: evil\n", "evil/hooks/post-checkout"),
];

#[test]
fn script_named_by_any_setting_is_relevant() {
    for (file, text, script) in NAMING {
        let repository = Files::default().with(file, text).with(script, "1");
        let (_folder, trust_store) = trust_store();
        trust_store.trust(&identity(), &Manifest::of(&repository).unwrap()).unwrap();
        let changed = Manifest::of(&repository.with(script, "2")).unwrap();
        let standing = trust_store.status(&identity(), &changed).unwrap();
        let TrustStatus::Changed(differences) = standing else { panic!("{file} {text}: {standing:?}") };
        assert_eq!(differences[0].path, *script, "{text}");
    }
}

#[test]
fn lists_what_git_would_start_and_ignores_other_configuration() {
    let repository = Files::default()
        .with(".git/config", "[core]\nbare = false\n[diff]\nexternal = ./x.sh\n")
        .with(".git/hooks/post-index-change", "#!/bin/sh")
        .with(".git/hooks/update.sample", "#!/bin/sh");
    let manifest = Manifest::of(&repository).unwrap();
    let listed: Vec<_> = manifest.effects().iter().map(|one| (one.kind, one.what.as_str())).collect();
    assert_eq!(
        listed,
        [
            (WorkspaceEffectKind::Git, "[diff] external = ./x.sh"),
            (WorkspaceEffectKind::File, ".git/hooks/post-index-change")
        ]
    );
    let (_folder, trust_store) = trust_store();
    trust_store.trust(&identity(), &manifest).unwrap();
    let more = "[core]\nbare = false\n[diff]\nexternal = ./x.sh\n[branch \"a\"]\nremote = origin\n";
    let changed = Manifest::of(&repository.with(".git/config", more)).unwrap();
    assert_eq!(trust_store.status(&identity(), &changed).unwrap(), TrustStatus::Trusted);
}

#[test]
fn compares_whole_bytes() {
    let manifest = Manifest::of(&repository()).unwrap();
    assert!(manifest.contains_exactly("tools/check.sh", b"exit 0"));
    assert!(!manifest.contains_exactly("tools/check.sh", b"exit 1"));
    assert!(!manifest.contains_exactly("README.md", b"hello"));
}

#[test]
fn nothing_is_trusted_until_the_user_trusts_it() {
    let manifest = Manifest::of(&repository()).unwrap();
    let (_folder, trust_store) = trust_store();
    assert_eq!(trust_store.status(&identity(), &manifest).unwrap(), TrustStatus::Unknown);
    trust_store.trust(&identity(), &manifest).unwrap();
    assert_eq!(trust_store.status(&identity(), &manifest).unwrap(), TrustStatus::Trusted);
    assert!(trust_store.revoke("/people/repo").unwrap());
    assert!(!trust_store.revoke("/people/repo").unwrap());
    assert_eq!(trust_store.status(&identity(), &manifest).unwrap(), TrustStatus::Unknown);
}

#[test]
fn lists_what_would_take_effect() {
    let manifest = Manifest::of(&repository()).unwrap();
    let brought = manifest.effects();
    let listed: Vec<_> = brought.iter().map(|brought| (brought.kind, brought.what.as_str())).collect();
    for expected in [
        (WorkspaceEffectKind::Hook, "bash tools/check.sh -x"),
        (WorkspaceEffectKind::Server, "db: node server/db.js"),
        (WorkspaceEffectKind::AllowRule, "Bash(npm *)"),
        (WorkspaceEffectKind::Variable, "A=1"),
    ] {
        assert!(listed.contains(&expected), "{expected:?} in {listed:?}");
    }
}

#[test]
fn every_changed_byte_of_a_relevant_file_ends_trust() {
    let repository = repository();
    let (_folder, trust_store) = trust_store();
    trust_store.trust(&identity(), &Manifest::of(&repository).unwrap()).unwrap();
    let mut flips = 0;
    for (path, text) in &repository.0 {
        for at in 0..text.len() {
            let mut bytes = text.clone().into_bytes();
            bytes[at] ^= 1;
            let changed = repository.clone().with(path, &String::from_utf8(bytes).unwrap());
            let standing = trust_store.status(&identity(), &Manifest::of(&changed).unwrap()).unwrap();
            let is_relevant = !matches!(path.as_str(), "README.md" | "server/other.js");
            match standing {
                TrustStatus::Changed(differences) if is_relevant => {
                    assert!(differences.iter().any(|one| one.path == *path))
                }
                TrustStatus::Trusted if !is_relevant => {}
                other => panic!("{path} at {at}: {other:?}"),
            }
            flips += 1;
        }
    }
    assert!(flips > 200, "{flips}");
}

#[test]
fn script_named_late_in_a_long_file_is_relevant() {
    let long = format!(
        r#"{{"x":"{}","hooks":{{"Stop":[{{"hooks":[{{"command":"./late.sh"}}]}}]}}}}"#,
        "x".repeat(100_000)
    );
    let repository = Files::default().with(".claude/settings.json", &long).with("late.sh", "1");
    let (_folder, trust_store) = trust_store();
    trust_store.trust(&identity(), &Manifest::of(&repository).unwrap()).unwrap();
    assert_eq!(
        trust_store.status(&identity(), &Manifest::of(&repository).unwrap()).unwrap(),
        TrustStatus::Trusted
    );
    let changed = Manifest::of(&repository.with("late.sh", "2")).unwrap();
    assert!(matches!(trust_store.status(&identity(), &changed).unwrap(), TrustStatus::Changed(_)));
}

#[test]
fn difference_shows_both_sides() {
    let (_folder, trust_store) = trust_store();
    trust_store.trust(&identity(), &Manifest::of(&repository()).unwrap()).unwrap();
    let mut changed = repository().with(".claude/agents/new.md", "new").with("tools/check.sh", "exit 1");
    changed.0.remove(".mcp.json");
    let standing = trust_store.status(&identity(), &Manifest::of(&changed).unwrap()).unwrap();
    let TrustStatus::Changed(differences) = standing else { panic!("{standing:?}") };
    let listed: Vec<_> =
        differences.iter().map(|one| (one.path.as_str(), one.before.is_some(), one.now.is_some())).collect();
    assert_eq!(
        listed,
        [
            (".claude/agents/new.md", false, true),
            (".mcp.json", true, false),
            ("server/db.js", true, false),
            ("tools/check.sh", true, true),
        ]
    );
}

#[test]
fn another_directory_is_not_trusted() {
    let manifest = Manifest::of(&repository()).unwrap();
    let (_folder, trust_store) = trust_store();
    trust_store.trust(&identity(), &manifest).unwrap();
    for other in [
        Identity { path: "/people/copy".into(), ..identity() },
        Identity { inode: 3, ..identity() },
        Identity { device: 9, ..identity() },
    ] {
        assert_eq!(trust_store.status(&other, &manifest).unwrap(), TrustStatus::Unknown);
    }
}

#[test]
fn damaged_trust_file_trusts_nothing_and_is_not_overwritten() {
    let manifest = Manifest::of(&repository()).unwrap();
    let (folder, trust_store) = trust_store();
    trust_store.trust(&identity(), &manifest).unwrap();
    let file = folder.0.join("state/trust.json");
    write(&file, "[{");
    assert!(trust_store.status(&identity(), &manifest).is_err());
    assert!(trust_store.trust(&identity(), &manifest).is_err());
    assert_eq!(read(&file), "[{");
}

#[test]
fn oversized_workspace_cannot_be_trusted() {
    let mut files = Files::default();
    for number in 0..2_001 {
        files = files.with(&format!(".claude/x{number}"), "");
    }
    assert!(matches!(Manifest::of(&files), Err(ManifestError::TooMuch)));
    let large = Files::default().with(".lariat/x", &"x".repeat(17 * 1024 * 1024));
    assert!(matches!(Manifest::of(&large), Err(ManifestError::TooMuch)));
}

#[cfg(unix)]
#[test]
fn trust_file_is_readable_only_by_the_user() {
    use std::os::unix::fs::PermissionsExt as _;
    let (folder, trust_store) = trust_store();
    trust_store.trust(&identity(), &Manifest::of(&repository()).unwrap()).unwrap();
    let mode = folder.0.join("state/trust.json").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn concurrent_trust_updates_are_not_lost() {
    let (folder, _) = trust_store();
    let manifest = Manifest::of(&repository()).unwrap();
    std::thread::scope(|scope| {
        for number in 0..16 {
            let (trust_store, manifest) = (TrustStore::new(folder.0.join("state/trust.json")), &manifest);
            scope.spawn(move || {
                trust_store
                    .trust(&Identity { path: format!("/w/{number}"), device: 1, inode: number }, manifest)
                    .unwrap()
            });
        }
    });
    assert_eq!(TrustStore::new(folder.0.join("state/trust.json")).list().unwrap().len(), 16);
}

#[expect(clippy::disallowed_methods, reason = "a test's own directory")]
fn write(path: &std::path::Path, text: &str) {
    std::fs::write(path, text).unwrap();
}

#[expect(clippy::disallowed_methods, reason = "a test's own directory")]
fn read(path: &std::path::Path) -> String {
    std::fs::read_to_string(path).unwrap()
}
