//! Where paths really lead, and which programs names stand for, as rules need to know it.

use std::path::{Path, PathBuf};

use lariat_guard::Resolver;
use lariat_host::process::Environment;

use super::RealPaths;

/// Where paths really lead, and where the programs of an environment are.
#[derive(Clone, Debug)]
pub struct RealPrograms(pub Environment);

impl Resolver for RealPrograms {
    fn real(&self, path: &Path) -> Option<PathBuf> {
        RealPaths.real(path)
    }

    fn leads_out(&self, directory: &Path, levels: Option<usize>) -> bool {
        RealPaths.leads_out(directory, levels)
    }

    fn is_shadowed(&self, program: &str) -> bool {
        self.0.is_shadowed(program)
    }
}
