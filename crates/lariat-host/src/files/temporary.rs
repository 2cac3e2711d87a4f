//! Names that files have for a moment: how they look, and what becomes of one whose writer was killed.
//!
//! Owns the names, the lock and the sweep. Whoever gives such a name in a directory holds the lock of the directory together
//! with others; whoever gets it alone knows that no writer is left. A name says what may have it, so that it can be judged
//! when its writer is gone.
//!
//! Invariant: what is swept was made by a write, or is what a write has replaced. What somebody else wrote stays, and so does
//! what was set aside to be put back.

use std::ffi::{OsStr, OsString};

use blake3::Hash;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, FileType, FlockOperation, Stat, flock, statat, unlinkat};
use rustix::io::Errno;

use super::directory::reopened;
use super::resolve::is;
use super::stamp::FileId;
use super::write::hash_of;

const PREFIX: &str = ".lariat-";
const DRAFT: &str = "new-";

/// What may have a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bearer {
    /// What a write made, and nothing else.
    Draft,
    /// What a write made, by its inode, or what it has replaced, by the hash of its content; 0 when that is not known.
    Exchanged { inode: u64, content: u64 },
    /// What is to be put back.
    Aside,
}

impl Bearer {
    fn of(name: &OsStr) -> Option<Self> {
        let rest = name.to_str()?.strip_prefix(PREFIX)?;
        if let Some(rest) = rest.strip_prefix(DRAFT) {
            return number(rest).map(|_| Self::Draft);
        }
        let numbers: Vec<u64> = rest.split('-').map(number).collect::<Option<_>>()?;
        match numbers.as_slice() {
            [_] => Some(Self::Aside),
            [_, inode, content] => Some(Self::Exchanged { inode: *inode, content: *content }),
            _ => None,
        }
    }
}

/// Sixteen hexadecimal digits.
fn number(text: &str) -> Option<u64> {
    let is_number = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_number { u64::from_str_radix(text, 16).ok() } else { None }
}

/// Whether a name is one of these.
pub(crate) fn is_temporary(name: &OsStr) -> bool {
    Bearer::of(name).is_some()
}

/// A name for what is being made.
pub(crate) fn draft() -> Result<OsString, Errno> {
    Ok(format!("{PREFIX}{DRAFT}{:016x}", random()?).into())
}

/// A name for what is set aside.
pub(crate) fn aside() -> Result<OsString, Errno> {
    Ok(format!("{PREFIX}{:016x}", random()?).into())
}

/// A name under which what was made takes the place of something of this content.
pub(crate) fn exchanged(made: &Stat, replaced: Option<Hash>) -> Result<OsString, Errno> {
    let (inode, content) = (FileId::of(made).inode(), replaced.map_or(0, beginning));
    Ok(format!("{PREFIX}{:016x}-{inode:016x}-{content:016x}", random()?).into())
}

fn random() -> Result<u64, Errno> {
    let mut bytes = [0_u8; 8];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    Ok(u64::from_ne_bytes(bytes))
}

fn beginning(hash: Hash) -> u64 {
    hash.as_bytes().first_chunk().copied().map_or(0, u64::from_be_bytes)
}

/// The lock to hold for as long as a name is given. It is not waited for: who holds it alone either looks at names that were
/// there before, or is a stranger.
pub(crate) fn hold(directory: &OwnedFd) -> Option<OwnedFd> {
    let handle = reopened(directory).ok()?;
    flock(&handle, FlockOperation::NonBlockingLockShared).ok()?;
    Some(handle)
}

/// Removes what writers left under these names, if none is left there. The names were read before.
pub(crate) fn sweep(directory: &OwnedFd, names: &[OsString]) {
    let Ok(handle) = reopened(directory) else { return };
    if flock(&handle, FlockOperation::NonBlockingLockExclusive).is_ok() {
        names.iter().for_each(|name| discard(&handle, name));
    }
}

/// Removes what has a name, if it is nobody else's.
pub(crate) fn discard(directory: &OwnedFd, name: &OsStr) {
    if is_ours(directory, name) {
        let _ = unlinkat(directory, name, AtFlags::empty());
    }
}

fn is_ours(directory: &OwnedFd, name: &OsStr) -> bool {
    let Ok(stat) = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) else { return false };
    let is_file = is(&stat, FileType::RegularFile);
    match Bearer::of(name) {
        None | Some(Bearer::Aside) => false,
        Some(Bearer::Draft) => is_file || is(&stat, FileType::Symlink),
        Some(Bearer::Exchanged { inode, .. }) if inode == FileId::of(&stat).inode() => true,
        Some(Bearer::Exchanged { content, .. }) => {
            let found = || hash_of(directory, name).is_ok_and(|(_, hash)| beginning(hash) == content);
            is_file && content != 0 && found()
        }
    }
}
