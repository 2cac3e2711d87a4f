//! Holds what a permission check needs to know about a session: its directories, workspace, path resolver and trust.
//!
//! The workspace is the working directory and the additional directories, each both as named and with links resolved.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::resolve::{ResolvedPath, Resolver, SessionDirectories, expand_home, normalize};
use crate::settings::{Settings, Trust};

/// The session facts that every permission check needs.
pub(crate) struct CheckContext {
    pub(crate) places: SessionDirectories,
    pub(crate) workspace: Vec<PathBuf>,
    /// The workspace, and the directories that may be read besides it.
    pub(crate) readable: Vec<PathBuf>,
    pub(crate) resolver: Arc<dyn Resolver>,
    pub(crate) trust: Trust,
}

impl CheckContext {
    pub(crate) fn new(settings: &Settings, places: SessionDirectories, resolver: Arc<dyn Resolver>) -> Self {
        let more = settings.additional_directories.iter().map(|directory| {
            let home = directory.to_str().and_then(|text| expand_home(text, &places.home));
            home.unwrap_or_else(|| places.directory.join(directory))
        });
        let mut workspace = Vec::new();
        for directory in std::iter::once(places.directory.clone()).chain(more) {
            workspace.push(normalize(&directory));
            workspace.extend(resolver.real(&directory));
        }
        workspace.dedup();
        let mut readable = workspace.clone();
        for directory in &places.readable {
            readable.push(normalize(directory));
            readable.extend(resolver.real(directory));
        }
        Self { places, workspace, readable, resolver, trust: settings.trust }
    }

    /// Resolves a path as a tool receives it: relative to the working directory.
    pub(crate) fn target(&self, path: &str) -> ResolvedPath {
        self.target_in(path, &self.places.directory)
    }

    pub(crate) fn target_in(&self, path: &str, directory: &Path) -> ResolvedPath {
        ResolvedPath::new(path, directory, self.resolver.as_ref())
    }
}
