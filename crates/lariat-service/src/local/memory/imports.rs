//! What memory files pull in with `@path`: at most four steps away, each file once.

use super::lookup::{Side, relative};
use super::{Found, MOST_FILES, MemoryFiles, text};

/// Steps from a file to what its imports import.
const MOST_HOPS: usize = 4;

impl MemoryFiles {
    /// Adds a file and what it imports, unless it is there already.
    pub(super) fn with_imports(&self, file: Found, hops: usize, all: &mut Vec<Found>) {
        let known = all.iter().any(|known| (known.side, &known.path) == (file.side, &file.path));
        if known || all.len() > MOST_FILES {
            return;
        }
        let paths = text::imports(&file.text);
        let (side, directory) =
            (file.side, file.path.rsplit_once('/').map_or("", |(directory, _)| directory).to_owned());
        all.push(file);
        if hops == MOST_HOPS {
            return;
        }
        for path in paths {
            let Some((side, path)) = self.place(side, &directory, &path) else { continue };
            if let Some(text) = self.read(side, &path) {
                self.with_imports(Found { side, path, text: text::shown(&text) }, hops + 1, all);
            }
        }
    }

    /// Where an import leads, if it may lead there.
    fn place(&self, side: Side, directory: &str, path: &str) -> Option<(Side, String)> {
        let own = self.root(side)?.path();
        let home = self.home.as_ref().map(|home| home.path());
        let whole = match (path.strip_prefix("~/"), path.starts_with('/')) {
            (Some(rest), _) => home?.join(rest),
            (None, true) => path.into(),
            (None, false) => own.join(directory).join(path),
        };
        let whole = relative(whole.to_str()?, std::path::Path::new("/"))?;
        let whole = format!("/{whole}");
        if let Some(path) = relative(&whole, self.workspace.path()) {
            return Some((Side::Project, path));
        }
        let path = relative(&whole, home?)?;
        // A file of the person's may import the person's files; one of the project only when that was allowed.
        if side == Side::Home || self.imports_from_outside {
            return Some((Side::Home, path));
        }
        self.problem(format!(
            "`@{whole}` is outside of the workspace; it is imported only when you allow that"
        ));
        None
    }
}
