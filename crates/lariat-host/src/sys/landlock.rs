//! Applies Landlock rules in a child process. They name paths of a view that only exists there.
//!
//! Invariant: everything that this version of the kernel's interface can forbid is forbidden unless a rule allows it.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use rustix::fs::{Mode, OFlags};

use super::child::Grant;
use super::raw::check;

const READ: u64 = EXECUTE | READ_FILE | READ_DIRECTORY;
const EXECUTE: u64 = 1;
const WRITE_FILE: u64 = 1 << 1;
const READ_FILE: u64 = 1 << 2;
const READ_DIRECTORY: u64 = 1 << 3;
const TRUNCATE: u64 = 1 << 14;
const DEVICE_CONTROL: u64 = 1 << 15;
/// Creating files, directories, links, pipes and sockets.
const MAKE: u64 = 0b111_1111 << 6;
/// Access rights that apply to files; the others apply only to directories.
const OF_FILES: u64 = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | DEVICE_CONTROL;

/// Signals to processes outside the sandbox, and their abstract sockets.
const SCOPES: u64 = 3;

/// The file access rights that version `version` of the interface supports.
fn supported_access(version: i64) -> u64 {
    match version {
        1 => (1 << 13) - 1,
        2 => (1 << 14) - 1,
        3 | 4 => (1 << 15) - 1,
        _ => (1 << 16) - 1,
    }
}

#[repr(C)]
struct RulesetAttributes {
    files: u64,
    network: u64,
    scopes: u64,
}

#[repr(C, packed)]
struct PathBeneathRule {
    access: u64,
    parent: RawFd,
}

/// The version of the kernel's interface; an error if Landlock is not supported.
pub(crate) fn version() -> io::Result<i64> {
    const VERSION: u32 = 1;
    // SAFETY: asks for a number; no memory is passed.
    check(unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0, VERSION) })
}

/// Restricts the calling process to these rules.
pub(super) fn restrict(rules: &[(CString, Grant)]) -> io::Result<()> {
    let version = version()?;
    let handled = RulesetAttributes {
        files: supported_access(version),
        network: 0,
        scopes: if version >= 6 { SCOPES } else { 0 },
    };
    // Older kernels expect shorter records.
    let size = if version >= 6 {
        24
    } else if version >= 4 {
        16
    } else {
        8
    };
    // SAFETY: the record is at least as long as said.
    let fd = check(unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, &raw const handled, size, 0) })?;
    // SAFETY: a descriptor that the kernel just made for us.
    let ruleset = unsafe { OwnedFd::from_raw_fd(fd as RawFd) };
    for (path, grant) in rules {
        let access = match grant {
            Grant::Read => READ,
            Grant::Change => supported_access(version),
            Grant::ChangeWithoutMaking => supported_access(version) & !MAKE,
        };
        add(&ruleset, path, access & supported_access(version))?;
    }
    // SAFETY: takes numbers only.
    check(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), 0) }).map(drop)
}

fn add(ruleset: &OwnedFd, path: &CStr, access: u64) -> io::Result<()> {
    let opened = match rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()) {
        Ok(opened) => opened,
        // A missing path needs no rule.
        Err(rustix::io::Errno::NOENT) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let kind = rustix::fs::FileType::from_raw_mode(rustix::fs::fstat(&opened)?.st_mode);
    let access = if kind == rustix::fs::FileType::Directory { access } else { access & OF_FILES };
    let rule = PathBeneathRule { access, parent: opened.as_raw_fd() };
    const PATH_BENEATH: u32 = 1;
    // SAFETY: the record is of the type that this kind of rule has.
    check(unsafe {
        libc::syscall(libc::SYS_landlock_add_rule, ruleset.as_raw_fd(), PATH_BENEATH, &raw const rule, 0)
    })
    .map(drop)
}
