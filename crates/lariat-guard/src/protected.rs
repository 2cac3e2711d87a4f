//! Knows the paths that other programs obey or execute later.
//!
//! Writing a protected path requires approval in every mode except `bypass`. Writing a file of Lariat's own permission
//! policy requires it even there, because a program that may write the policy may do everything. Names are compared without
//! regard to case, invisible characters, and trailing dots and spaces, because some file systems ignore each of them.

use std::path::{Component, Path};

use lariat_core::protected_names::{PACKAGES, STARTUP, WORKSPACE};

use crate::resolve::{ResolvedPath, SessionDirectories};
use crate::shell::Word;
use crate::wildcard::Wildcard;

/// The short name of `.git` on file systems that have one.
const SHORT_NAME_OF_GIT: &str = "git~1";

/// Files and directories of Lariat's own policy, by name.
const POLICY: &[&str] = &[".mcp.json", ".claude.json", "lariat.toml", ".lariat"];

/// Directories of managed settings.
const MANAGED: &[&str] = &["/etc/claude-code", "/etc/lariat", "/library/application support/claudecode"];

/// Returns the protected name in a path, for the user.
pub(crate) fn protected_name(target: &ResolvedPath) -> Option<String> {
    target.forms().find_map(|form| {
        let names = names(form);
        names.iter().enumerate().find_map(|(index, name)| {
            let from_here = names.get(index..).unwrap_or_default();
            if name == ".claude" && from_here.get(1).is_some_and(|next| next == "worktrees") {
                return None;
            }
            let mut listed = [&[SHORT_NAME_OF_GIT][..], WORKSPACE, STARTUP, PACKAGES].into_iter().flatten();
            listed.find(|listed| starts_with(from_here, listed)).map(|listed| (*listed).to_owned())
        })
    })
}

/// Whether writing a path would change permissions: settings, hooks, servers that are started.
pub(crate) fn policy(target: &ResolvedPath, places: &SessionDirectories) -> bool {
    target.forms().any(|form| {
        let names = names(form);
        let ours = names.iter().enumerate().any(|(index, name)| {
            let rest = names.get(index + 1..).unwrap_or_default();
            POLICY.contains(&name.as_str())
                || (name == ".claude" && is_policy_of_claude(rest))
                || (name == ".config" && rest.first().is_some_and(|next| next == "lariat"))
        });
        let whole = form.to_string_lossy().to_lowercase();
        ours || MANAGED.iter().any(|place| Path::new(&whole).starts_with(place))
            || form == places.home.join(".config")
    })
}

/// Whether a path below `.claude` belongs to the policy. An empty list means the directory itself.
fn is_policy_of_claude(rest: &[String]) -> bool {
    match rest.first() {
        None => true,
        Some(name) => name == "hooks" || (name.starts_with("settings") && name.contains(".json")),
    }
}

/// Whether a shell pattern may match a policy file. It must contain the start of the name, because a lone `*` does not match
/// hidden files.
pub(crate) fn may_match_policy(word: &Word) -> bool {
    const OPEN: [char; 6] = ['*', '?', '[', ']', '{', '}'];
    if word.is_known || !word.text.contains(OPEN) {
        return false;
    }
    let parts: Vec<String> =
        word.text.split('/').map(|part| part.to_lowercase().replace(OPEN, "*")).collect();
    parts.iter().enumerate().any(|(index, part)| {
        let fits = |name: &str| !part.starts_with('*') && Wildcard::new(part).matches(name);
        let rest = parts.get(index + 1..).unwrap_or_default();
        let beneath = rest.first().is_none_or(|next| next.contains('*')) || is_policy_of_claude(rest);
        POLICY.iter().any(|name| fits(name)) || (fits(".claude") && beneath)
    })
}

/// Whether a text, as a program's code, mentions a policy file.
pub(crate) fn mentions_policy(text: &str) -> bool {
    let text = text.to_lowercase();
    [".claude/settings", ".claude/hooks", ".claude.json", ".mcp.json", "lariat.toml", ".lariat/"]
        .iter()
        .any(|name| text.contains(name))
}

/// Whether a path begins with every name of `listed`, which may be one name or several.
fn starts_with(names: &[String], listed: &str) -> bool {
    let mut names = names.iter();
    listed.split('/').all(|name| names.next().is_some_and(|found| found == name))
}

fn names(path: &Path) -> Vec<String> {
    path.components()
        .filter_map(|component| match component {
            Component::Normal(name) => Some(fold_name(&name.to_string_lossy())),
            _ => None,
        })
        .collect()
}

/// Normalises a name as the most lenient file system would compare it.
fn fold_name(name: &str) -> String {
    let visible: String = name.chars().filter(|c| !is_invisible(*c)).flat_map(char::to_lowercase).collect();
    let visible = visible.split("::").next().unwrap_or_default();
    visible.trim_end_matches(['.', ' ']).to_owned()
}

const fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{00ad}')
}
