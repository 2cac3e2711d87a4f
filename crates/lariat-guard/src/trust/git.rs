//! What of a git repository could start a program, told from its files.
//!
//! A clone brings no configuration, but a folder that was unpacked or copied does. Owns the list of settings that are
//! known to be harmless; every other line counts. It is read line by line and not as git reads it: what is not
//! understood counts, so a trick of the format can only make more of it count. Files that a configuration names count with
//! it: what it includes is configuration, too. Submodules bring a configuration of their own, and so does a folder that
//! looks like a repository without being one.

use std::path::{Component, Path, PathBuf};

use super::manifest::Entry;

/// Settings that start nothing, by section and name, without what is between them.
const HARMLESS: &[(&str, &[&str])] = &[
    (
        "core",
        &[
            "repositoryformatversion",
            "filemode",
            "bare",
            "logallrefupdates",
            "ignorecase",
            "precomposeunicode",
            "symlinks",
            "autocrlf",
            "eol",
            "longpaths",
        ],
    ),
    ("remote", &["url", "pushurl", "fetch", "tagopt", "prune", "gh-resolved"]),
    ("branch", &["remote", "merge", "rebase", "description", "pushremote"]),
    ("submodule", &["url", "active"]),
    ("user", &["name", "email"]),
    ("pull", &["rebase", "ff"]),
    ("push", &["default", "autosetupremote"]),
    ("extensions", &["objectformat", "refstorage"]),
];

/// The lines of a configuration that could start something, each with its section.
pub(super) fn counting(text: &str) -> String {
    // A value that goes on in the next line makes lines mean something else.
    if text.lines().any(|line| line.ends_with('\\')) {
        return text.to_owned();
    }
    let mut section = String::new();
    let mut counting = String::new();
    for line in text.lines().map(str::trim) {
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if line.starts_with('[') {
            section = line.to_owned();
            if line.ends_with(']') && !line.contains('=') {
                continue;
            }
        }
        if !is_harmless(&section, line) {
            counting.push_str(&format!("{section} {line}\n"));
        }
    }
    counting
}

/// Settings that name an editor or a pager, which git starts for a person and not to look at a repository. One of these
/// programs by its bare name is the person's own, so that `git config core.editor vim` changes nothing that trust covers.
const TOOLS: &[(&str, &[&str])] = &[("core", &["editor", "pager"]), ("sequence", &["editor"])];
const USUAL: &[&str] = &[
    "vim",
    "vi",
    "nvim",
    "nano",
    "emacs",
    "code --wait",
    "ed",
    "micro",
    "hx",
    "less",
    "more",
    "cat",
    "delta",
];

fn is_usual_tool(section: &str, name: &str, line: &str) -> bool {
    let value = line.split_once('=').map(|(_, value)| value.trim().trim_matches('"')).unwrap_or_default();
    let is_tool = TOOLS.iter().any(|(of, names)| {
        of.eq_ignore_ascii_case(section) && names.iter().any(|known| known.eq_ignore_ascii_case(name))
    });
    is_tool && USUAL.contains(&value)
}

fn is_harmless(section: &str, line: &str) -> bool {
    let section =
        section.trim_start_matches('[').split([' ', '.', ']', '"', '\t']).next().unwrap_or_default();
    let name = line.split(['=', ' ', '\t']).next().unwrap_or_default();
    if is_usual_tool(section, name, line) {
        return true;
    }
    HARMLESS.iter().any(|(of, names)| {
        of.eq_ignore_ascii_case(section) && names.iter().any(|known| known.eq_ignore_ascii_case(name))
    })
}

/// Whether a counting line names a file that git reads as configuration.
pub(super) fn includes(line: &str) -> bool {
    line.get(..8).is_some_and(|start| start.eq_ignore_ascii_case("[include"))
}

/// Whether a counting line sets up a program that attributes give files to.
pub(super) fn is_driver(line: &str) -> bool {
    let section = line.trim_start_matches('[').split([' ', '.', ']', '"', '\t']).next().unwrap_or_default();
    ["filter", "diff", "merge"].iter().any(|driver| section.eq_ignore_ascii_case(driver))
}

/// Files of the workspace that a counting line of a configuration may name: whole or by its words, relative to the
/// configuration's folder or to the top of the work tree, or absolute.
pub(super) fn named(file: &str, line: &str, top: Option<&Path>) -> Vec<String> {
    let value = line.split_once('=').map_or(line, |(_, value)| value).trim();
    let uncommented = value.split(['#', ';']).next().unwrap_or_default().trim();
    let is_separator = |letter: char| letter.is_whitespace() || "\"'`;|&<>()=$!".contains(letter);
    let words = value.split(is_separator);
    let folder = Path::new(file).parent().unwrap_or(Path::new(""));
    let mut found = Vec::new();
    for word in [value, uncommented].into_iter().chain(words) {
        let word = word.trim_matches('"');
        if word.is_empty() || word.starts_with(['-', '~']) {
            continue;
        }
        let path = Path::new(word);
        let inside = match (path.is_absolute(), top) {
            (true, Some(top)) => vec![path.strip_prefix(top).ok().map(Path::to_owned)],
            (true, None) => Vec::new(),
            (false, _) => vec![plain(&folder.join(path)), plain(path)],
        };
        found.extend(inside.into_iter().flatten().map(|path| path.to_string_lossy().into_owned()));
    }
    // What commits change is not configuration, whatever a line may look like.
    let changes = |path: &String| CHANGING.iter().any(|folder| Path::new(path).starts_with(folder));
    found.retain(|path| !path.is_empty() && !changes(path));
    found.sort_unstable();
    found.dedup();
    found
}

/// A path without dots; nothing for one that leads out.
fn plain(path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => plain.push(name),
            Component::CurDir => {}
            Component::ParentDir => plain.pop().then_some(())?,
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(plain)
}

/// The folders of submodules, by the text of `.gitmodules`.
pub(super) fn submodules(text: &str) -> Vec<String> {
    let value = |line: &str| {
        let (name, value) = line.split_once('=')?;
        let value = value.trim().trim_matches('"').trim_end_matches('/');
        name.trim().eq_ignore_ascii_case("path").then(|| plain(Path::new(value)))?
    };
    let paths = text.lines().filter_map(|line| value(line.trim()));
    paths
        .filter(|path| path.components().next().is_some())
        .map(|path| path.to_string_lossy().into_owned())
        .collect()
}

/// Of a submodule's counting lines those that say more than where its files are.
pub(super) fn counting_in_submodule(text: &str) -> String {
    let counting = counting(text);
    let says_more = |line: &&str| {
        let line = line.to_ascii_lowercase();
        !line.starts_with("[core] worktree")
    };
    counting.lines().filter(says_more).flat_map(|line| [line, "\n"]).collect()
}

/// Where the `.git` file of a submodule leads, inside of the workspace.
pub(super) fn submodule_directory(folder: &str, pointer: &str) -> Option<String> {
    let path = pointer.trim().strip_prefix("gitdir:")?.trim();
    let path = plain(&Path::new(folder).join(path))?;
    Some(path.to_string_lossy().into_owned())
}

/// Folders of a repository that change with every commit.
const CHANGING: &[&str] = &[".git/objects", ".git/refs", ".git/logs"];

/// Folders of a repository in which no other one lies.
pub(super) const WITHOUT_REPOSITORIES: &[&str] =
    &["objects", "refs", "logs", "hooks", "info", "lfs", "worktrees"];

/// Where the file `.git` of a work tree leads, as far as that is in the workspace.
pub(super) fn directory(pointer: &str) -> Option<&str> {
    let path = pointer.trim().strip_prefix("gitdir:")?.trim().trim_start_matches("./");
    let inside = !path.is_empty() && !path.starts_with('/') && !path.split('/').any(|part| part == "..");
    inside.then_some(path)
}

/// Git's own examples of hooks, which it never starts.
pub(super) fn is_sample(entry: &Entry) -> bool {
    matches!(entry, Entry::File(name) if name.ends_with(".sample"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_clone_brings_nothing() {
        let text = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n[remote \"origin\"]\n\turl = https://x/y\n\
            \tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n";
        assert_eq!(counting(text), "");
    }

    #[test]
    fn a_usual_editor_changes_nothing_that_trust_covers() {
        assert_eq!(
            counting("[core]\n\teditor = vim\n\tpager = \"less\"\n[sequence]\n\teditor = code --wait\n"),
            ""
        );
    }

    #[test]
    fn what_could_start_something_counts_however_it_is_written() {
        for line in [
            "[core]\nfsmonitor = ./x",
            "[CORE]\n  FsMonitor=./x",
            "[core] fsmonitor = ./x",
            "[core]\nbare = false\n[diff \"a]\"]\ntextconv = ./x",
            "[include]\npath = ../x",
            "[core]\nfilemode = true \\\nfsmonitor = ./x",
            "[core]\nfilemode = true # \\\nfsmonitor = ./x",
            "[filter \"a\"]\nclean = ./x",
            "[alias]\nstatus = !./x",
            "[remote \"a\"]\nuploadpack = ./x",
            "[submodule \"a\"]\nupdate = !./x",
            "fsmonitor = ./x",
            "[core]url = ./x",
            "[core]\neditor = ./x",
            "[core]\neditor = vim; ./x",
            "[core]\neditor = \"vim ./x\"",
        ] {
            assert!(counting(line).contains("./x") || counting(line).contains("../x"), "{line}");
        }
    }

    #[test]
    fn files_that_a_line_names_are_found_from_the_configuration_and_from_the_top() {
        let top = Some(Path::new("/ws"));
        let of = |line: &str| named(".git/config", line, top);
        assert!(of("[include] path = ../evil config").contains(&"evil config".to_owned()));
        assert!(of("[include] path = \"../evil\" # why").contains(&"evil".to_owned()));
        assert!(of("[include] path = /ws/deep/evil").contains(&"deep/evil".to_owned()));
        assert!(of("[includeIf \"gitdir:x\"] path=x").contains(&".git/x".to_owned()));
        assert!(of("[core] fsmonitor = ./tools/x --fast").contains(&"tools/x".to_owned()));
        assert!(of("[include] path = /elsewhere/x").iter().all(|path| !path.contains("elsewhere")));
        assert!(of("[include] path = ~/x").is_empty());
        assert!(of("[include] path = ../../x").is_empty());
        assert!(
            includes("[includeIf \"a\"] path = x") && includes("[INCLUDE] path = x") && !includes("[core] x")
        );
    }

    #[test]
    fn submodules_are_found_where_they_say() {
        let text = "[submodule \"a\"]\n\tpath = libs/a\n\turl = x\n[submodule \"b\"]\n\tpath=\"./b/\"\n[submodule \"c\"]\n\tpath = ../c\n";
        assert_eq!(submodules(text), ["libs/a", "b"]);
        assert_eq!(
            submodule_directory("libs/a", "gitdir: ../../.git/modules/a\n").as_deref(),
            Some(".git/modules/a")
        );
        assert_eq!(submodule_directory("a", "gitdir: ../../x\n"), None);
        assert_eq!(counting_in_submodule("[core]\n\tworktree = ../../../a\n\tbare = false\n"), "");
        assert!(counting_in_submodule("[core]\n\tworktree = ../a\n\tfsmonitor = x\n").contains("fsmonitor"));
    }

    #[test]
    fn a_pointer_is_followed_only_inside() {
        assert_eq!(directory("gitdir: ./evil/git\n"), Some("evil/git"));
        assert_eq!(directory("gitdir: /elsewhere/.git/worktrees/x\n"), None);
        assert_eq!(directory("gitdir: ../main/.git\n"), None);
        assert_eq!(directory("something else"), None);
    }
}
