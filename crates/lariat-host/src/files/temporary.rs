//! Names temporary files, and removes those that a killed writer left behind.
//!
//! A writer that creates a temporary name holds a shared lock on the directory. A process that gets the exclusive lock
//! knows that no writer is active there. The name says which files may have it, so that another process can decide
//! later whether the file may be removed.
//!
//! Invariant: the sweep removes only files that a write created or replaced. It keeps files that another program wrote,
//! and files that were set aside to be put back.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;

use blake3::Hash;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, FileType, FlockOperation, Stat, flock, statat, unlinkat};
use rustix::io::Errno;

use super::directory::reopen;
use super::resolve::has_type;
use super::stamp::FileId;
use super::write::hash_of;

const PREFIX: &str = ".lariat-";
const DRAFT: &str = "new-";

/// Which file may have a temporary name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TemporaryName {
    /// Only a file that a write created.
    Draft,
    /// The file that a write created (by its inode) or replaced (by the hash of its content; 0 if the hash is unknown).
    Exchanged { inode: u64, content: u64 },
    /// A file that was set aside and is to be put back.
    Aside,
}

impl TemporaryName {
    fn of(name: &OsStr) -> Option<Self> {
        let rest = name.to_str()?.strip_prefix(PREFIX)?;
        if let Some(rest) = rest.strip_prefix(DRAFT) {
            return parse_hex(rest).map(|_| Self::Draft);
        }
        let numbers: Vec<u64> = rest.split('-').map(parse_hex).collect::<Option<_>>()?;
        match numbers.as_slice() {
            [_] => Some(Self::Aside),
            [_, inode, content] => Some(Self::Exchanged { inode: *inode, content: *content }),
            _ => None,
        }
    }
}

/// Parses sixteen hexadecimal digits.
fn parse_hex(text: &str) -> Option<u64> {
    let is_number = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_number { u64::from_str_radix(text, 16).ok() } else { None }
}

/// Whether a name is the name of a temporary file.
pub(crate) fn is_temporary(name: &OsStr) -> bool {
    TemporaryName::of(name).is_some()
}

/// Returns a name for a file that is being created.
pub(crate) fn draft_name() -> Result<OsString, Errno> {
    Ok(format!("{PREFIX}{DRAFT}{:016x}", random()?).into())
}

/// Returns a name for a file that is being set aside.
pub(crate) fn aside_name() -> Result<OsString, Errno> {
    Ok(format!("{PREFIX}{:016x}", random()?).into())
}

/// Returns a name for a new file that is about to replace a file with this hash.
pub(crate) fn exchange_name(made: &Stat, replaced: Option<Hash>) -> Result<OsString, Errno> {
    let (inode, content) = (FileId::of(made).inode(), replaced.map_or(0, hash_prefix));
    Ok(format!("{PREFIX}{:016x}-{inode:016x}-{content:016x}", random()?).into())
}

fn random() -> Result<u64, Errno> {
    let mut bytes = [0_u8; 8];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    Ok(u64::from_ne_bytes(bytes))
}

fn hash_prefix(hash: Hash) -> u64 {
    hash.as_bytes().first_chunk().copied().map_or(0, u64::from_be_bytes)
}

/// Takes the shared lock that a writer holds while a temporary name exists. Does not wait: the exclusive owner is
/// either a sweep, which only handles names that existed before, or an unrelated program.
pub(crate) fn lock_shared(directory: &OwnedFd) -> Option<OwnedFd> {
    let handle = reopen(directory).ok()?;
    flock(&handle, FlockOperation::NonBlockingLockShared).ok()?;
    Some(handle)
}

/// Removes leftovers with these names if no writer is active in the directory. The caller read the names before.
pub(crate) fn sweep(directory: &OwnedFd, names: &[OsString]) {
    let Ok(handle) = reopen(directory) else { return };
    if flock(&handle, FlockOperation::NonBlockingLockExclusive).is_ok() {
        names.iter().for_each(|name| discard(&handle, name));
    }
}

/// Removes all leftovers in a directory if no writer is active there.
pub(crate) fn sweep_all(directory: &OwnedFd) {
    let Ok(entries) = reopen(directory).and_then(rustix::fs::Dir::new) else { return };
    let names = entries.flatten().map(|entry| OsStr::from_bytes(entry.file_name().to_bytes()).to_owned());
    let left: Vec<OsString> = names.filter(|name| is_temporary(name)).collect();
    if !left.is_empty() {
        sweep(directory, &left);
    }
}

/// Removes the file with this temporary name, unless another program wrote it.
pub(crate) fn discard(directory: &OwnedFd, name: &OsStr) {
    if is_ours(directory, name) {
        let _ = unlinkat(directory, name, AtFlags::empty());
    }
}

/// The hash of a file's content, for [`exchange_name`]; `None` if it is not a file or cannot be read.
pub(crate) fn content_hash(directory: &OwnedFd, name: &OsStr) -> Option<Hash> {
    hash_of(directory, name).ok().map(|(_, hash)| hash)
}

fn is_ours(directory: &OwnedFd, name: &OsStr) -> bool {
    let Ok(stat) = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) else { return false };
    let is_file = has_type(&stat, FileType::RegularFile);
    match TemporaryName::of(name) {
        None | Some(TemporaryName::Aside) => false,
        Some(TemporaryName::Draft) => is_file || has_type(&stat, FileType::Symlink),
        Some(TemporaryName::Exchanged { inode, .. }) if inode == FileId::of(&stat).inode() => true,
        Some(TemporaryName::Exchanged { content, .. }) => {
            let found = || hash_of(directory, name).is_ok_and(|(_, hash)| hash_prefix(hash) == content);
            is_file && content != 0 && found()
        }
    }
}
