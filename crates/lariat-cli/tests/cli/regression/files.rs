//! Regression tests for file tools, patches and git.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::Command;

use lariat_proofs::server::{Answer, Script, Turn};
use serde_json::{Value, json};

use crate::fixture::{Fixture, RunResult};

/// A model that makes these tool calls in order, and then prints their results.
fn script_with_calls(calls: Vec<(&'static str, Value)>) -> Script {
    Script::answer(move |request| {
        let results = results(&request.body);
        match calls.get(results.len()) {
            Some((tool, arguments)) => {
                Turn::new().call(format!("toolu_{}", results.len()), *tool, arguments).into()
            }
            None => Turn::new().text(results.join("\n---\n")).into(),
        }
    })
}

/// The results of all tool calls in a request.
fn results(body: &Value) -> Vec<String> {
    let messages = body["messages"].as_array().into_iter().flatten();
    let blocks = messages.filter_map(|message| message["content"].as_array()).flatten();
    let found = blocks.filter(|block| block["type"] == "tool_result").map(|block| match &block["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        _ => String::new(),
    });
    found.collect()
}

fn git(fixture: &Fixture, words: &[&str]) {
    let done = Command::new("git").arg("-C").arg(fixture.workspace()).args(words).output().unwrap();
    assert!(done.status.success(), "{words:?}: {done:?}");
}

/// Runs with the sandbox enabled, in this mode.
fn confined(fixture: &Fixture, mode: &str) -> RunResult {
    let ran = fixture.command(&["run", "go", "--mode", mode]).env("LARIAT_SANDBOX__ENABLED", "true").output();
    let ran = ran.unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    RunResult { code: ran.status.code(), stdout: text(&ran.stdout), stderr: text(&ran.stderr) }
}

/// A background command swaps a directory for a link to `.git` while edits are checked.
#[tokio::test(flavor = "multi_thread")]
async fn does_not_write_through_directory_swapped_for_link() {
    let swap = "import ctypes, os\nos.symlink('.git', 'l')\nlibc = ctypes.CDLL(None)\n\
        while True: libc.renameat2(-100, b'd', -100, b'l', 2)\n";
    // A search that succeeds after each edit keeps the loop detector from ending the run when many edits in a row are refused.
    let edit = |number: usize| {
        let new = format!("[core]\n\tfsmonitor = PWN{number}");
        let edit = json!({ "path": "d/config", "old_string": "[core]", "new_string": new });
        [("edit_file", edit), ("glob", json!({ "pattern": format!("absent-{number}") }))]
    };
    let mut calls = vec![
        ("write_file", json!({ "path": "swap.py", "content": swap })),
        ("bash", json!({ "command": "python3 swap.py", "background": true })),
        ("bash", json!({ "command": "sleep 0.3" })),
    ];
    calls.extend((0..150).flat_map(edit));
    let fixture = Fixture::new(script_with_calls(calls)).await;
    git(&fixture, &["init", "-q"]);
    std::fs::create_dir_all(fixture.workspace().join("d")).unwrap();
    fixture.write("d/config", "[core]\n");
    let ran = confined(&fixture, "auto").expect(0);
    // The control: the race took place, and some edits were refused.
    assert!(ran.stdout.contains("it leads to"), "{}", ran.stdout);
    for folder in [".git", "d", "l"] {
        let folder = fixture.workspace().join(folder);
        let is_repository = folder.join("HEAD").exists();
        let config = std::fs::read_to_string(folder.join("config")).unwrap_or_default();
        assert!(!is_repository || !config.contains("PWN"), "{}: {config}", folder.display());
    }
}

/// Read rules apply to tools that read many files, whatever path they are given.
#[tokio::test(flavor = "multi_thread")]
async fn denied_files_are_not_found_by_search_glob_list_or_map() {
    let fixture = Fixture::new(script_with_calls(vec![
        ("search", json!({ "pattern": "CANARY", "all": true })),
        ("search", json!({ "pattern": "CANARY", "path": "open" })),
        ("glob", json!({ "pattern": "**/*", "all": true })),
        ("list_files", json!({ "all": true, "depth": 4 })),
        ("repo_map", json!({})),
        ("read_file", json!({ "path": "open/link.rs" })),
        ("read_file", json!({ "path": "open/plain.rs" })),
    ]))
    .await;
    for folder in ["secrets", "open"] {
        std::fs::create_dir_all(fixture.workspace().join(folder)).unwrap();
    }
    fixture.write("secrets/key.rs", "fn canary_function() {} // CANARY-SECRET\n");
    fixture.write("open/plain.rs", "fn plain_function() {} // CANARY-PLAIN\n");
    symlink("../secrets/key.rs", fixture.workspace().join("open/link.rs")).unwrap();
    let ran = fixture.run(&["run", "go", "--deny", "Read(./secrets/**)"]).expect(0);
    assert!(ran.stdout.contains("CANARY-PLAIN") && ran.stdout.contains("plain.rs"), "{}", ran.stdout);
    for leak in ["CANARY-SECRET", "key.rs", "canary_function"] {
        assert!(!ran.stdout.contains(leak), "{leak}: {}", ran.stdout);
    }
    // The map in the first prompt omits it, too.
    let ran = fixture
        .command(&["run", "go", "--deny", "Read(./secrets/**)"])
        .env("LARIAT_CONTEXT__MAP", "500")
        .output();
    assert!(ran.unwrap().status.success());
    let sent = fixture.requests().last().unwrap().body.to_string();
    assert!(sent.contains("plain_function") && !sent.contains("canary_function"), "{sent}");
}

/// An approved patch still works: directories are created and temporary files removed.
#[tokio::test(flavor = "multi_thread")]
async fn allowed_patch_adds_moves_and_deletes() {
    let patch = "*** Begin Patch\n*** Add File: new/deep/a.txt\n+a\n*** Delete File: gone.txt\n\
        *** Update File: old.txt\n*** Move to: moved/new.txt\n@@\n-one\n+two\n*** End Patch\n";
    let fixture = Fixture::new(script_with_calls(vec![("apply_patch", json!({ "patch": patch }))])).await;
    fixture.write("gone.txt", "x\n");
    fixture.write("old.txt", "one\n");
    let allow = ["--allow", "Edit(new/deep/a.txt)", "--allow", "Edit(gone.txt)", "--allow", "Edit(old.txt)"];
    let refused = fixture.run(&[&["run", "go", "--mode", "default"][..], &allow].concat());
    assert!(!fixture.workspace().join("new").exists(), "{}", refused.stdout);
    let all = [&["run", "go", "--mode", "default"][..], &allow, &["--allow", "Edit(moved/new.txt)"]].concat();
    let ran = fixture.run(&all).expect(0);
    let read = |path: &str| std::fs::read_to_string(fixture.workspace().join(path)).unwrap_or_default();
    assert_eq!(
        (read("new/deep/a.txt").as_str(), read("moved/new.txt").as_str()),
        ("a\n", "two\n"),
        "{}",
        ran.stdout
    );
    assert!(!fixture.workspace().join("gone.txt").exists() && !fixture.workspace().join("old.txt").exists());
    let names = std::fs::read_dir(fixture.workspace()).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(names.into_iter().all(|name| !name.to_string_lossy().starts_with(".lariat-")));
}

/// A second `+++` line must not move a denied file to a readable place.
#[tokio::test(flavor = "multi_thread")]
async fn patch_with_second_header_changes_nothing() {
    let patch = "--- a/secrets/k\n+++ zzz\n+++ b/other\n@@ -1 +1 @@\n-CANARY-K\n+CANARY-K!\n";
    let hook = "--- /dev/null\n+++ b/x\n+++ b/.git/hooks/pre-commit\n@@ -0,0 +1 @@\n+touch PWN\n";
    let fixture = Fixture::new(script_with_calls(vec![
        ("apply_patch", json!({ "patch": patch })),
        ("apply_patch", json!({ "patch": hook })),
        ("read_file", json!({ "path": "other" })),
    ]))
    .await;
    git(&fixture, &["init", "-q"]);
    std::fs::create_dir_all(fixture.workspace().join("secrets")).unwrap();
    fixture.write("secrets/k", "CANARY-K\n");
    let deny = ["--deny", "Read(./secrets/**)", "--deny", "Edit(./secrets/**)"];
    let ran = fixture.run(&[&["run", "go", "--mode", "accept-edits"][..], &deny].concat()).expect(0);
    assert!(ran.stdout.contains("does not follow a line `--- ` of its own"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("CANARY-K!") && !fixture.workspace().join("other").exists());
    assert!(!fixture.workspace().join(".git/hooks/pre-commit").exists());
    assert_eq!(std::fs::read_to_string(fixture.workspace().join("secrets/k")).unwrap(), "CANARY-K\n");
}

/// Plants a program in the workspace that leaves a mark and then runs the real one.
fn plant(fixture: &Fixture, name: &str, mark: &str) {
    let folder = fixture.workspace().join(".venv/bin");
    std::fs::create_dir_all(&folder).unwrap();
    let mark = fixture.path(mark);
    let script = format!("#!/bin/sh\ntouch '{}'\nexec /usr/bin/{name} \"$@\"\n", mark.display());
    std::fs::write(folder.join(name), script).unwrap();
    std::fs::set_permissions(folder.join(name), std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// An active virtual environment puts a directory of the workspace first in PATH.
#[tokio::test(flavor = "multi_thread")]
async fn does_not_run_git_or_bash_from_the_workspace() {
    let fixture = Fixture::new(script_with_calls(vec![("bash", json!({ "command": "echo ran" }))])).await;
    git(&fixture, &["init", "-q"]);
    plant(&fixture, "git", "GIT-RAN");
    plant(&fixture, "bash", "BASH-RAN");
    let path =
        format!("{}:.venv/bin:/usr/local/bin:/usr/bin:/bin", fixture.workspace().join(".venv/bin").display());
    for words in [&["run", "go"][..], &["doctor"]] {
        let ran = fixture.command(words).env("PATH", &path).output().unwrap();
        let said = String::from_utf8_lossy(&ran.stdout).into_owned();
        assert!(words == ["doctor"] || said.contains("ran"), "{said}");
    }
    assert!(!fixture.path("GIT-RAN").exists() && !fixture.path("BASH-RAN").exists());
    let reported = fixture.requests()[0].body.to_string();
    assert!(
        reported.contains("branch") || reported.contains("main") || reported.contains("master"),
        "git was queried: {reported}"
    );
}

/// A program that usually only reads is not trusted if the agent may have written it.
#[tokio::test(flavor = "multi_thread")]
async fn asks_about_programs_shadowed_by_the_workspace() {
    let commands = ["pip --version", "ls", "timeout 5 ls", "cat readme"];
    let fixture = Fixture::new(script_with_calls(
        commands.iter().map(|command| ("bash", json!({ "command": command }))).collect(),
    ))
    .await;
    fixture.write("readme", "CANARY-README\n");
    plant(&fixture, "pip", "PIP-RAN");
    plant(&fixture, "ls", "LS-RAN");
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", fixture.workspace().join(".venv/bin").display());
    let ran = fixture.command(&["run", "go", "--mode", "default"]).env("PATH", &path).output().unwrap();
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(!fixture.path("PIP-RAN").exists() && !fixture.path("LS-RAN").exists(), "{said}");
    assert!(said.contains("CANARY-README"), "a program that is not shadowed still runs: {said}");
    let test = fixture
        .command(&["permissions", "test", "Bash(ls)"])
        .env("PATH", &path)
        .env("LARIAT_MODE", "default")
        .output()
        .unwrap();
    let reported = String::from_utf8_lossy(&test.stdout).into_owned();
    assert!(!reported.to_lowercase().starts_with("allow"), "{reported}");
}

/// Creates a directory that git takes for a bare repository, with a monitor that leaves a mark.
fn bare(fixture: &Fixture, folder: &str) {
    let folder = fixture.workspace().join(folder);
    std::fs::create_dir_all(folder.join("objects")).unwrap();
    std::fs::create_dir_all(folder.join("refs")).unwrap();
    std::fs::write(folder.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    let mark = fixture.path("MONITOR-RAN");
    let config = format!(
        "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n\tfsmonitor = \"touch '{}'; false\"\n",
        mark.display()
    );
    std::fs::write(folder.join("config"), config).unwrap();
}

/// Git treats a directory with HEAD, config, objects and refs as a repository, and obeys its configuration.
#[tokio::test(flavor = "multi_thread")]
async fn ignores_configuration_of_implicit_bare_repository() {
    let fixture = Fixture::new(script_with_calls(vec![
        ("bash", json!({ "command": "git status" })),
        ("bash", json!({ "command": "cd sub && git status" })),
    ]))
    .await;
    bare(&fixture, ".");
    bare(&fixture, "sub");
    let ran = fixture.run(&["run", "go", "--mode", "bypass"]).expect(0);
    assert!(!fixture.path("MONITOR-RAN").exists(), "{}", ran.stdout);
    assert!(ran.stdout.contains("bareRepository"), "{}", ran.stdout);
    // The control: plain git obeys it.
    let _ = Command::new("git").arg("status").current_dir(fixture.workspace().join("sub")).output();
    assert!(fixture.path("MONITOR-RAN").exists());
}

/// Trust covers included git configuration, attributes and submodules.
#[tokio::test(flavor = "multi_thread")]
async fn trust_ends_when_an_included_file_or_a_submodule_changes() {
    let fixture = Fixture::new(script_with_calls(Vec::new())).await;
    git(&fixture, &["init", "-q"]);
    git(&fixture, &["config", "include.path", "../settings/git config"]);
    for folder in ["settings", "lib", ".git/modules/lib", ".git/info"] {
        std::fs::create_dir_all(fixture.workspace().join(folder)).unwrap();
    }
    fixture.write(".gitmodules", "[submodule \"lib\"]\n\tpath = lib\n\turl = x\n");
    fixture.write("lib/.git", "gitdir: ../.git/modules/lib\n");
    fixture.write(".git/modules/lib/config", "[core]\n\tbare = false\n\tworktree = ../../../lib\n");
    fixture.write("settings/git config", "[user]\n\tname = x\n[include]\n\tpath = more\n");
    fixture.write("settings/more", "[user]\n\tname = y\n");
    let standing = || {
        let said = fixture.run(&["trust", "--json"]).stdout;
        serde_json::from_str::<Value>(&said).unwrap_or_else(|error| panic!("{error}: {said}"))
    };
    for (path, text) in [
        ("settings/git config", "[core]\n\tfsmonitor = ./evil\n[include]\n\tpath = more\n"),
        ("settings/more", "[core]\n\tfsmonitor = ./evil\n"),
        (".git/info/attributes", "* filter=evil\n"),
        (".git/modules/lib/config", "[core]\n\tbare = false\n\tfsmonitor = ./evil\n"),
        ("lib/.git", "gitdir: ../elsewhere\n"),
    ] {
        fixture.run(&["trust", "--yes"]).expect(0);
        assert!(is_trusted(&standing()), "{}", standing());
        let before = std::fs::read(fixture.workspace().join(path)).ok();
        fixture.write(path, text);
        assert!(!is_trusted(&standing()), "{path}: {}", standing());
        match before {
            Some(bytes) => drop(fixture.write(path, bytes)),
            None => std::fs::remove_file(fixture.workspace().join(path)).unwrap(),
        }
    }
}

fn is_trusted(said: &Value) -> bool {
    said["standing"] == "trusted"
}

/// A nested repository is protected like the workspace's own.
#[tokio::test(flavor = "multi_thread")]
async fn sandboxed_command_cannot_write_nested_repository() {
    let fixture = Fixture::new(script_with_calls(vec![
        ("bash", json!({ "command": "python3 -c \"open('vendor/lib/written', 'w'); open('vendor/lib/.git/config', 'a').write('[evil]')\"" })),
        (
            "edit_file",
            json!({ "path": "vendor/lib/.git/config", "old_string": "[core]", "new_string": "[evil]" }),
        ),
    ]))
    .await;
    std::fs::create_dir_all(fixture.workspace().join("vendor/lib")).unwrap();
    git(&fixture, &["init", "-q", "vendor/lib"]);
    let config = fixture.workspace().join("vendor/lib/.git/config");
    let before = std::fs::read_to_string(&config).unwrap();
    let ran = confined(&fixture, "auto").expect(0);
    assert_eq!(std::fs::read_to_string(&config).unwrap(), before, "{}", ran.stdout);
    assert!(fixture.workspace().join("vendor/lib/written").exists(), "{}", ran.stdout);
}

/// Personal skills must be readable.
#[tokio::test(flavor = "multi_thread")]
async fn personal_skill_is_readable_and_not_writable() {
    let home = ".claude/skills/greet/SKILL.md";
    let linked = ".claude/skills/linked/SKILL.md";
    let fixture = Fixture::new(Script::answer(move |request| {
        let results = results(&request.body);
        let text = request.body.to_string();
        let place = |end: &str| {
            let found = text.split("<location>").find_map(|part| {
                let path = part.split("</location>").next()?;
                path.ends_with(end).then(|| path.to_owned())
            });
            found.unwrap_or_else(|| panic!("{end} is not listed: {text}"))
        };
        let call = |tool: &str, arguments: Value| -> Answer {
            Turn::new().call(format!("toolu_{}", results.len()), tool, &arguments).into()
        };
        match results.len() {
            0 => call("read_file", json!({ "path": place(home) })),
            1 => call("read_file", json!({ "path": place(linked) })),
            2 => call("read_file", json!({ "path": place(home).replace("SKILL.md", "more.md") })),
            3 => call(
                "write_file",
                json!({ "path": place(home).replace("SKILL.md", "new.md"), "content": "x" }),
            ),
            4 => call(
                "read_file",
                json!({ "path": place(home).replace("skills/greet/SKILL.md", "settings.json") }),
            ),
            _ => Turn::new().text(results.join("\n---\n")).into(),
        }
    }))
    .await;
    let put = |path: &str, text: &str| {
        let path = fixture.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    put(home, "---\nname: greet\ndescription: Greets.\n---\nCANARY-SKILL\n");
    put(".claude/skills/greet/more.md", "CANARY-MORE\n");
    put("dotfiles/linked/SKILL.md", "---\nname: linked\ndescription: Links.\n---\nCANARY-LINKED\n");
    put(".claude/settings.json", "{}");
    symlink(fixture.path("dotfiles/linked"), fixture.path(".claude/skills/linked")).unwrap();
    let ran = fixture.run(&["run", "go", "--mode", "default"]).expect(0);
    for canary in ["CANARY-SKILL", "CANARY-LINKED", "CANARY-MORE"] {
        assert!(ran.stdout.contains(canary), "{canary}: {}", ran.stdout);
    }
    fixture.run(&["run", "go", "--mode", "bypass"]).expect(0);
    assert!(!fixture.path(".claude/skills/greet/new.md").exists());
}

/// An edit must not keep the set-user-id bit.
#[tokio::test(flavor = "multi_thread")]
async fn edited_file_loses_set_user_id_bit() {
    let fixture = Fixture::new(script_with_calls(vec![(
        "edit_file",
        json!({ "path": "tool", "old_string": "one", "new_string": "two" }),
    )]))
    .await;
    let tool = fixture.write("tool", "one\n");
    std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o6755)).unwrap();
    fixture.run(&["run", "go"]).expect(0);
    assert_eq!(std::fs::read_to_string(&tool).unwrap(), "two\n");
    assert_eq!(std::fs::metadata(&tool).unwrap().permissions().mode() & 0o7777, 0o755);
}

/// An export must not contain 8-bit control characters.
#[tokio::test(flavor = "multi_thread")]
async fn export_escapes_control_characters() {
    let fixture =
        Fixture::new(Script::answer(|_| Turn::new().text("red \u{9b}31m and \u{202e}back").into())).await;
    fixture.run(&["run", "go"]).expect(0);
    let listed = fixture.run(&["sessions", "list", "--json"]).expect(0).json();
    let id = listed[0]["session_id"].as_str().unwrap().to_owned();
    for format in ["jsonl", "claude"] {
        let ran = fixture.run(&["sessions", "export", &id, "--format", format]).expect(0);
        assert!(!ran.stdout.contains(['\u{9b}', '\u{202e}']), "{}", ran.stdout);
        let text = Value::from(ran.lines()).to_string();
        assert!(text.contains("red \u{9b}31m and \u{202e}back"), "{text}");
    }
}
