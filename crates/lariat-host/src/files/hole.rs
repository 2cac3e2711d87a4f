//! Planted mistakes: deliberate holes that the proofs must catch. Only with the feature `planted`.

use std::sync::Arc;

use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags, ResolveFlags, fstatfs, openat2};
use rustix::io::Errno;

use super::path::MappedPath;
use super::workspace::Workspace;

/// A deliberate hole in the file access checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Hole {
    /// Compares the text of paths to decide whether a path is inside a root.
    ComparesText,
    /// Follows the kernel's links, such as `/proc/self/root`.
    FollowsMagicLinks,
    /// Makes a path canonical, compares it, and then opens it by its text.
    ChecksThenOpens,
    /// Opens pipes and devices as if they were files.
    OpensAnything,
    /// Writes existing files in place, and so also through their hard links.
    WritesInPlace,
}

impl Hole {
    /// All holes.
    pub const ALL: &[Self] = &[
        Self::ComparesText,
        Self::FollowsMagicLinks,
        Self::ChecksThenOpens,
        Self::OpensAnything,
        Self::WritesInPlace,
    ];
}

impl Workspace {
    /// Adds a hole to this workspace.
    #[must_use]
    pub fn with_hole(mut self, hole: Hole) -> Self {
        Arc::make_mut(&mut self.shared).hole = Some(hole);
        self
    }

    pub(super) fn has(&self, hole: Hole) -> bool {
        self.shared.hole == Some(hole)
    }

    /// Opens a path the wrong way; `None` if the hole does not affect opening.
    pub(super) fn open_through_hole(
        &self,
        mapped: &MappedPath,
        flags: OFlags,
    ) -> Option<Result<OwnedFd, Errno>> {
        let root = self.roots().get(mapped.root)?;
        let flags = flags | OFlags::CLOEXEC;
        let named = root.path().join(&mapped.relative);
        let open = |path: &std::path::Path| rustix::fs::open(path, flags, Mode::empty());
        match self.shared.hole? {
            Hole::ComparesText => {
                let inside = named.to_string_lossy().starts_with(root.path().to_string_lossy().as_ref());
                Some(if inside { open(&named) } else { Err(Errno::XDEV) })
            }
            Hole::ChecksThenOpens => {
                let canonical = std::fs::canonicalize(&named).ok()?;
                let inside = self.roots().iter().any(|root| canonical.starts_with(root.path()));
                Some(if inside { open(&named) } else { Err(Errno::XDEV) })
            }
            Hole::FollowsMagicLinks => {
                const PROC: u64 = 0x9FA0;
                let of_the_kernel = fstatfs(root.handle()).is_ok_and(|system| system.f_type as u64 == PROC);
                of_the_kernel.then(|| {
                    openat2(root.handle(), &mapped.relative, flags, Mode::empty(), ResolveFlags::empty())
                })
            }
            Hole::OpensAnything | Hole::WritesInPlace => None,
        }
    }
}
