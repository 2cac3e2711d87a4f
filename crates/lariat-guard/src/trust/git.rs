//! Finds what in a git repository's files could start a program.
//!
//! A clone has no configuration of its own, but a directory that was unpacked or copied may. Settings that are known to be
//! harmless are listed; every other line is relevant to trust. The configuration is read line by line, not as git reads it:
//! a line that is not understood is relevant, so a trick of the format can only make more lines relevant. Files that a
//! configuration names are relevant, too, because what it includes is also configuration. Submodules have a configuration
//! of their own, and so does a directory that only looks like a repository.

use std::path::{Component, Path, PathBuf};

use crate::workspace_reader::Entry;

/// Settings that start nothing, by section and name, without the subsection.
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

/// Returns the lines of a configuration that could start something, each with its section.
pub(super) fn relevant_lines(text: &str) -> String {
    // A value that continues on the next line changes the meaning of lines.
    if text.lines().any(|line| line.ends_with('\\')) {
        return text.to_owned();
    }
    let mut section = String::new();
    let mut relevant_lines = String::new();
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
            relevant_lines.push_str(&format!("{section} {line}\n"));
        }
    }
    relevant_lines
}

/// Settings that name an editor or a pager, which git starts for a user but not to read a repository. A usual program by its
/// bare name is the user's own, so that `git config core.editor vim` changes nothing that trust covers.
const TOOL_SETTINGS: &[(&str, &[&str])] = &[("core", &["editor", "pager"]), ("sequence", &["editor"])];
const USUAL_TOOLS: &[&str] = &[
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
    let is_tool = TOOL_SETTINGS.iter().any(|(of, names)| {
        of.eq_ignore_ascii_case(section) && names.iter().any(|known| known.eq_ignore_ascii_case(name))
    });
    is_tool && USUAL_TOOLS.contains(&value)
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

/// Whether a relevant line names a file that git reads as configuration.
pub(super) fn includes(line: &str) -> bool {
    line.get(..8).is_some_and(|start| start.eq_ignore_ascii_case("[include"))
}

/// Whether a relevant line defines a program that attributes assign to files.
pub(super) fn is_driver(line: &str) -> bool {
    let section = line.trim_start_matches('[').split([' ', '.', ']', '"', '\t']).next().unwrap_or_default();
    ["filter", "diff", "merge"].iter().any(|driver| section.eq_ignore_ascii_case(driver))
}

/// Returns the workspace files that a relevant line of a configuration may name: the whole value or its words, relative to the
/// directory of the configuration or to the root of the work tree, or absolute.
pub(super) fn named_files(file: &str, line: &str, top: Option<&Path>) -> Vec<String> {
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
            (false, _) => vec![normalize(&folder.join(path)), normalize(path)],
        };
        found.extend(inside.into_iter().flatten().map(|path| path.to_string_lossy().into_owned()));
    }
    // What commits change is not configuration, whatever a line looks like.
    let changes =
        |path: &String| CHANGING_DIRECTORIES.iter().any(|folder| Path::new(path).starts_with(folder));
    found.retain(|path| !path.is_empty() && !changes(path));
    found.sort_unstable();
    found.dedup();
    found
}

/// Removes dots from a path; `None` if it leads out of the workspace.
fn normalize(path: &Path) -> Option<PathBuf> {
    let mut normalize = PathBuf::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => normalize.push(name),
            Component::CurDir => {}
            Component::ParentDir => normalize.pop().then_some(())?,
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(normalize)
}

/// Returns the directories of submodules listed in `.gitmodules`.
pub(super) fn submodules(text: &str) -> Vec<String> {
    let value = |line: &str| {
        let (name, value) = line.split_once('=')?;
        let value = value.trim().trim_matches('"').trim_end_matches('/');
        name.trim().eq_ignore_ascii_case("path").then(|| normalize(Path::new(value)))?
    };
    let paths = text.lines().filter_map(|line| value(line.trim()));
    paths
        .filter(|path| path.components().next().is_some())
        .map(|path| path.to_string_lossy().into_owned())
        .collect()
}

/// Returns the relevant lines of a submodule's configuration, except for where its files are.
pub(super) fn relevant_lines_in_submodule(text: &str) -> String {
    let relevant_lines = relevant_lines(text);
    let says_more = |line: &&str| {
        let line = line.to_ascii_lowercase();
        !line.starts_with("[core] worktree")
    };
    relevant_lines.lines().filter(says_more).flat_map(|line| [line, "\n"]).collect()
}

/// Returns where the `.git` file of a submodule leads, inside the workspace.
pub(super) fn submodule_directory(folder: &str, pointer: &str) -> Option<String> {
    let path = pointer.trim().strip_prefix("gitdir:")?.trim();
    let path = normalize(&Path::new(folder).join(path))?;
    Some(path.to_string_lossy().into_owned())
}

/// Directories of a repository that change with every commit.
const CHANGING_DIRECTORIES: &[&str] = &[".git/objects", ".git/refs", ".git/logs"];

/// Directories of a repository that contain no other repository.
pub(super) const WITHOUT_REPOSITORIES: &[&str] =
    &["objects", "refs", "logs", "hooks", "info", "lfs", "worktrees"];

/// Returns where the `.git` file of a work tree leads, if that is in the workspace.
pub(super) fn directory(pointer: &str) -> Option<&str> {
    let path = pointer.trim().strip_prefix("gitdir:")?.trim().trim_start_matches("./");
    let inside = !path.is_empty() && !path.starts_with('/') && !path.split('/').any(|part| part == "..");
    inside.then_some(path)
}

/// Whether a file is one of git's sample hooks, which git never starts.
pub(super) fn is_sample(entry: &Entry) -> bool {
    matches!(entry, Entry::File(name) if name.ends_with(".sample"))
}

#[cfg(test)]
#[path = "git_tests.rs"]
mod tests;
