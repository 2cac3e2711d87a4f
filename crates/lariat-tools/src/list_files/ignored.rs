//! Decides what git would ignore, from ignore files that are read by handle like every other file.
//!
//! The ignore file of the deepest directory decides first. `.git` itself is always ignored.

use std::path::Path;
use std::sync::Arc;

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use lariat_host::files::Workspace;
use lariat_host::files::text::Text;

/// Maximum number of bytes to read from an ignore file.
const LIMIT: u64 = 256 * 1024;

/// The ignore rules that apply in a directory. Clones share them.
#[derive(Clone)]
pub(super) enum IgnoreRules {
    Nothing,
    ByGit(Vec<Arc<Gitignore>>),
}

impl IgnoreRules {
    /// Ignores nothing.
    pub(super) const fn nothing() -> Self {
        Self::Nothing
    }

    /// The rules of the directories above a path.
    pub(super) fn of_parents(workspace: &Workspace, path: &str) -> Self {
        let mut rules = Self::ByGit(Vec::new());
        let root = if path.starts_with('/') {
            workspace.path().to_string_lossy().into_owned()
        } else {
            ".".to_owned()
        };
        if Path::new(path).components().any(|part| part == std::path::Component::ParentDir) {
            return rules;
        }
        rules.add(workspace, &root, ".git/info/exclude");
        let below = Path::new(path).strip_prefix(&root).unwrap_or(Path::new(path));
        let mut parents: Vec<_> = below.ancestors().skip(1).collect();
        parents.reverse();
        for parent in parents {
            let here = Path::new(&root).join(parent);
            rules = rules.with(workspace, &plain(&here.to_string_lossy()));
        }
        rules
    }

    /// Adds the rules of a directory itself.
    pub(super) fn with(mut self, workspace: &Workspace, directory: &str) -> Self {
        for name in [".gitignore", ".ignore"] {
            self.add(workspace, directory, name);
        }
        self
    }

    fn add(&mut self, workspace: &Workspace, directory: &str, name: &str) {
        let Self::ByGit(rules) = self else { return };
        let file = if directory == "." {
            name.to_owned()
        } else {
            format!("{}/{name}", directory.trim_end_matches('/'))
        };
        let Ok(content) = workspace.read(&file, LIMIT) else { return };
        let Some(text) = Text::decode(&content.bytes) else { return };
        let root = if directory == "." { "" } else { directory };
        let mut builder = GitignoreBuilder::new(root);
        for line in text.as_str().lines() {
            // An invalid rule is skipped.
            let _ = builder.add_line(None, line);
        }
        if let Ok(matcher) = builder.build() {
            rules.push(Arc::new(matcher));
        }
    }

    /// Whether a path is ignored.
    pub(super) fn has(&self, path: &str, is_directory: bool) -> bool {
        let Self::ByGit(rules) = self else { return false };
        if Path::new(path).file_name().is_some_and(|name| name == ".git") {
            return true;
        }
        let decided =
            rules.iter().rev().map(|rules| rules.matched(path, is_directory)).find(|found| !found.is_none());
        decided.is_some_and(|found| found.is_ignore())
    }
}

fn plain(path: &str) -> String {
    match path.strip_prefix("./").unwrap_or(path).trim_end_matches('/') {
        "" => ".".to_owned(),
        path => path.to_owned(),
    }
}
