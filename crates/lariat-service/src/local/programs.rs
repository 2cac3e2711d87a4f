//! Resolves real paths and program names for permission rules.

use std::path::{Path, PathBuf};

use lariat_guard::{Entry, Resolver};
use lariat_host::process::Environment;

use super::RealPaths;

/// Resolves paths, and finds programs with the `PATH` of an environment.
#[derive(Clone, Debug)]
pub struct RealPrograms(pub Environment);

impl Resolver for RealPrograms {
    fn real(&self, path: &Path) -> Option<PathBuf> {
        RealPaths.real(path)
    }

    fn list(&self, directory: &Path) -> Option<Vec<Entry>> {
        RealPaths.list(directory)
    }

    fn is_shadowed(&self, program: &str) -> bool {
        self.0.is_shadowed(program)
    }
}
