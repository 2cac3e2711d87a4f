//! What of a git repository could start a program, told from its files.
//!
//! A clone brings no configuration, but a folder that was unpacked or copied does. Owns the list of settings that are
//! known to be harmless; every other line counts. It is read line by line and not as git reads it: what is not
//! understood counts, so a trick of the format can only make more of it count.

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
    fn a_pointer_is_followed_only_inside() {
        assert_eq!(directory("gitdir: ./evil/git\n"), Some("evil/git"));
        assert_eq!(directory("gitdir: /elsewhere/.git/worktrees/x\n"), None);
        assert_eq!(directory("gitdir: ../main/.git\n"), None);
        assert_eq!(directory("something else"), None);
    }
}
