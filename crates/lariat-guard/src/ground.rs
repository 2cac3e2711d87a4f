//! What a call stands on: the places of a session, its workspace, where paths lead, whether it is trusted.
//!
//! Owns nothing but the gathering. The workspace is the working directory and the additional ones, each as named and where
//! it leads.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::place::{Places, Resolver, Target, at_home, plain};
use crate::settings::{Settings, Trust};

/// What a call stands on.
pub(crate) struct Ground {
    pub(crate) places: Places,
    pub(crate) workspace: Vec<PathBuf>,
    /// The workspace, and what may be read besides it.
    pub(crate) readable: Vec<PathBuf>,
    pub(crate) resolver: Arc<dyn Resolver>,
    pub(crate) trust: Trust,
}

impl Ground {
    pub(crate) fn new(settings: &Settings, places: Places, resolver: Arc<dyn Resolver>) -> Self {
        let more = settings.additional_directories.iter().map(|directory| {
            let home = directory.to_str().and_then(|text| at_home(text, &places.home));
            home.unwrap_or_else(|| places.directory.join(directory))
        });
        let mut workspace = Vec::new();
        for directory in std::iter::once(places.directory.clone()).chain(more) {
            workspace.push(plain(&directory));
            workspace.extend(resolver.real(&directory));
        }
        workspace.dedup();
        let mut readable = workspace.clone();
        for directory in &places.readable {
            readable.push(plain(directory));
            readable.extend(resolver.real(directory));
        }
        Self { places, workspace, readable, resolver, trust: settings.trust }
    }

    /// A path as a tool is given it.
    pub(crate) fn target(&self, path: &str) -> Target {
        self.target_in(path, &self.places.directory)
    }

    pub(crate) fn target_in(&self, path: &str, directory: &Path) -> Target {
        Target::new(path, directory, self.resolver.as_ref())
    }
}
