//! Holes made on purpose, to prove that the checks notice them. Only with the feature `planted`.

use std::sync::Arc;

use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags, ResolveFlags, fstatfs, openat2};
use rustix::io::Errno;

use super::path::Mapped;
use super::workspace::Workspace;

/// A hole made on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Hole {
    /// Whether a path is inside is decided by its text.
    ComparesText,
    /// The kernel's own links are followed.
    FollowsMagicLinks,
    /// A path is made canonical, compared, and opened by its text afterwards.
    ChecksThenOpens,
    /// Pipes and devices are opened as if they were files.
    OpensAnything,
    /// Existing files are written in place, and so through their hard links.
    WritesInPlace,
}

impl Hole {
    /// Every hole.
    pub const ALL: &[Self] = &[
        Self::ComparesText,
        Self::FollowsMagicLinks,
        Self::ChecksThenOpens,
        Self::OpensAnything,
        Self::WritesInPlace,
    ];
}

impl Workspace {
    /// Makes a hole.
    #[must_use]
    pub fn with_hole(mut self, hole: Hole) -> Self {
        Arc::make_mut(&mut self.shared).hole = Some(hole);
        self
    }

    pub(super) fn has(&self, hole: Hole) -> bool {
        self.shared.hole == Some(hole)
    }

    /// Opens a path the wrong way; `None` where the hole is elsewhere.
    pub(super) fn open_through_hole(&self, mapped: &Mapped, flags: OFlags) -> Option<Result<OwnedFd, Errno>> {
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
