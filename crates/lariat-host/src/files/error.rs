//! Why a file operation did not happen, in words a model can act on.
//!
//! Owns the kinds of refusal. Each text says what is wrong and what to do next; none of them shows anything of what
//! lies outside of the roots.

use rustix::io::Errno;

/// Why a file operation did not happen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The path leads out of every root.
    #[error("`{path}` is outside of the workspace. Paths must lie beneath {roots}.")]
    Outside {
        /// As it was written.
        path: String,
        /// The roots, for people and models.
        roots: String,
    },
    /// The text is not a path that can be used.
    #[error("`{path}` cannot be used as a path: {reason}.")]
    Malformed {
        /// As it was written, without what makes it unprintable.
        path: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// Nothing is there.
    #[error("`{path}` does not exist.{hint}")]
    NotFound {
        /// As it was written.
        path: String,
        /// A sentence about the nearest name, or nothing.
        hint: String,
    },
    /// Something is there already.
    #[error("`{0}` exists already. Read it before you replace it.")]
    Exists(String),
    /// A directory where a file was asked for.
    #[error("`{0}` is a directory, not a file. List it instead.")]
    IsDirectory(String),
    /// A file where a directory was asked for.
    #[error("`{0}` is not a directory, or a part of the path before its last name is a file.")]
    NotADirectory(String),
    /// Neither a file nor a directory.
    #[error("`{path}` is a {kind}. Only regular files are read and written.")]
    Special {
        /// As it was written.
        path: String,
        /// For example "named pipe".
        kind: &'static str,
    },
    /// More bytes than one operation takes.
    #[error("`{path}` has {size} bytes; at most {limit} are taken at once. {how}")]
    TooLarge {
        /// As it was written.
        path: String,
        /// Bytes it has.
        size: u64,
        /// Bytes that are allowed.
        limit: u64,
        /// How to get a part of it.
        how: &'static str,
    },
    /// Somebody changed it after it was read.
    #[error(
        "`{0}` has changed since it was read. Nothing was written. Read it again, then repeat the change."
    )]
    Changed(String),
    /// It would be replaced without having been read.
    #[error("`{0}` exists and has not been read yet. Read it first, so that nothing in it is lost unseen.")]
    Unread(String),
    /// Not text.
    #[error("`{path}` is a binary file ({size} bytes): it cannot be shown or edited as text.")]
    Binary {
        /// As it was written.
        path: String,
        /// Bytes it has.
        size: u64,
    },
    /// A character that the file's encoding does not have.
    #[error("`{path}` is {encoding}, which has no character {character:?}. Use characters that it has.")]
    Unencodable {
        /// As it was written.
        path: String,
        /// Name of the encoding.
        encoding: &'static str,
        /// The first one that does not fit.
        character: char,
    },
    /// The root may only be read.
    #[error("`{0}` may be read but not changed: it lies beneath a read-only root.")]
    ReadOnly(String),
    /// The gate does not let the call use what the path really leads to.
    #[error("`{path}` was not used: it leads to `{real}` ({reason}).")]
    Refused {
        /// As it was written.
        path: String,
        /// Where it really leads.
        real: String,
        /// Why it is refused.
        reason: String,
    },
    /// Links that lead in a circle, too many of them, or one of the kernel's own (`/proc/self/root`).
    #[error(
        "`{0}` leads through symbolic links that are not followed: too many, a circle, or one made by the kernel."
    )]
    Links(String),
    /// The directories changed under every attempt.
    #[error("`{0}` kept changing while it was opened. Try again.")]
    Unsteady(String),
    /// What was found in place of the expected file could not be put back under its name, so it was kept beside it.
    #[error(
        "`{path}` was replaced by somebody at the same moment. Their version is kept as `{kept}` in the same directory."
    )]
    Kept {
        /// As it was written.
        path: String,
        /// Name of the file that holds it.
        kept: String,
    },
    /// The kernel cannot resolve beneath a directory.
    #[error("This kernel has no openat2 (Linux 5.6), so files cannot be reached safely. Nothing was done.")]
    Unsupported,
    /// The operating system refused.
    #[error("`{path}`: {reason}.")]
    System {
        /// As it was written.
        path: String,
        /// The system's words.
        reason: String,
        /// The system's number.
        code: i32,
    },
}

impl FileError {
    /// True when the same call may succeed later without being changed.
    pub const fn is_retryable(&self) -> bool {
        matches!(self, Self::Unsteady(_) | Self::Kept { .. })
    }

    /// What the kernel's answer means for a path. `ENOENT` and `EXDEV` are the caller's, who knows more.
    pub(super) fn of(path: &str, errno: Errno) -> Self {
        let path = path.to_owned();
        match errno {
            Errno::NOSYS => Self::Unsupported,
            Errno::NOENT => Self::NotFound { path, hint: String::new() },
            Errno::NOTDIR => Self::NotADirectory(path),
            Errno::ISDIR => Self::IsDirectory(path),
            Errno::LOOP => Self::Links(path),
            Errno::EXIST => Self::Exists(path),
            Errno::AGAIN => Self::Unsteady(path),
            Errno::NXIO => Self::Special { path, kind: "socket or pipe that nobody serves" },
            Errno::NAMETOOLONG => Self::Malformed { path: shortened(&path), reason: "it is too long" },
            Errno::ROFS => Self::ReadOnly(path),
            errno => Self::System { path, reason: reason(errno), code: errno.raw_os_error() },
        }
    }
}

/// The system's words without its number.
fn reason(errno: Errno) -> String {
    let text = std::io::Error::from(errno).to_string();
    match text.split_once(" (os error") {
        Some((words, _)) => words.to_owned(),
        None => text,
    }
}

/// The start of a path that nobody wants to see whole.
pub(super) fn shortened(path: &str) -> String {
    match path.char_indices().nth(80) {
        None => path.to_owned(),
        Some((end, _)) => format!("{}…", path.get(..end).unwrap_or_default()),
    }
}
