//! Resolves `@path` imports in memory files: at most four levels deep, each file once.
//!
//! An import never leaves the project, or the directory of the user's own settings. Files above a project import nothing,
//! because their directory may be the user's home.

use lariat_guard::instructions::{self, MOST_HOPS};

use super::lookup::{Location, relative};
use super::{MAX_FILES, MemoryFile, MemoryFiles};

impl MemoryFiles {
    /// Adds a file and its imports, unless it was already added.
    pub(super) fn with_imports(&self, file: MemoryFile, hops: usize, all: &mut Vec<MemoryFile>) {
        let known = all.iter().any(|known| (known.location, &known.path) == (file.location, &file.path));
        if known || all.len() > MAX_FILES {
            return;
        }
        let paths = instructions::imports(&file.text);
        let (location, from) = (file.location, file.path.clone());
        all.push(file);
        if hops == MOST_HOPS {
            return;
        }
        for path in paths {
            let Some(path) = self.import_path(location, &from, &path) else { continue };
            if let Some(text) = self.read(location, &path) {
                self.with_imports(
                    MemoryFile { location, path, text: instructions::without_comments(&text) },
                    hops + 1,
                    all,
                );
            }
        }
    }

    /// The target of an import, if it is allowed. It must belong to the same side as the importing file.
    fn import_path(&self, location: Location, from: &str, path: &str) -> Option<String> {
        let inside = match location {
            Location::Project => instructions::import_target(from, path),
            Location::User => self.user_import_path(from, path),
            Location::Above => None,
        };
        let inside = inside.filter(|target| self.has_matching_owner(location, target));
        // A word that does not name a file is prose.
        if inside.is_none() && self.target_exists(location, from, path) {
            let from = MemoryFile { location, path: from.to_owned(), text: String::new() }
                .display_path(&self.territory);
            let limits = if location == Location::User { "your settings directory" } else { "the project" };
            self.problem(format!("`@{path}` in {from} was not imported: it is outside {limits}"));
        }
        inside
    }

    /// The target of an import in the user's own file, relative to the home directory.
    fn user_import_path(&self, from: &str, path: &str) -> Option<String> {
        let home = self.home.as_ref()?.path();
        match path.strip_prefix("~/") {
            Some(rest) => relative(rest, home),
            None if path.starts_with('/') => relative(path, home),
            None => instructions::import_target(from, path),
        }
    }

    fn target_exists(&self, location: Location, from: &str, path: &str) -> bool {
        let home = self.home.as_ref().map(|home| home.path());
        let folder = self.root(location).and_then(|root| Some(root.path().join(from).parent()?.to_owned()));
        let whole = match (path.strip_prefix("~/"), home) {
            (Some(rest), home) => home.map(|home| home.join(rest)),
            (None, _) => folder.map(|folder| folder.join(path)),
        };
        whole.is_some_and(|whole| whole.symlink_metadata().is_ok())
    }
}
