//! Defines why a file operation failed, in words that a model can act on.
//!
//! Each text says what is wrong and what to do next. No text reveals anything about files outside the roots.

use rustix::io::Errno;

/// Why a file operation failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The path leads outside every root.
    #[error("`{path}` is outside the workspace. Use a path beneath {roots}.")]
    Outside {
        /// The path as the caller wrote it.
        path: String,
        /// The paths of the roots, for users and models.
        roots: String,
    },
    /// The text is not a usable path.
    #[error("`{path}` cannot be used as a path: {reason}.")]
    Malformed {
        /// The path as the caller wrote it, shortened and with unprintable characters replaced.
        path: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The path does not exist.
    #[error("`{path}` does not exist.{hint}")]
    NotFound {
        /// The path as the caller wrote it.
        path: String,
        /// A sentence that names the nearest existing name, or an empty string.
        hint: String,
    },
    /// The path exists already.
    #[error("`{0}` already exists. Read it before you replace it.")]
    Exists(String),
    /// An editor shows other content than the file has, and did not save it.
    #[error(
        "The user has unsaved changes to `{path}` in the editor, and {reason}. Nothing was changed. Ask the user to save the file, then read it again."
    )]
    Unsaved {
        /// The path as the caller wrote it.
        path: String,
        /// Why the editor did not save it.
        reason: String,
    },
    /// The path is a directory, but a file was expected.
    #[error("`{0}` is a directory, not a file. List it instead.")]
    IsDirectory(String),
    /// The path is a file, but a directory was expected.
    #[error("`{0}` is not a directory, or a part of the path before its last name is a file.")]
    NotADirectory(String),
    /// The path is neither a file nor a directory.
    #[error("`{path}` is a {kind}. Only regular files are read and written.")]
    Special {
        /// The path as the caller wrote it.
        path: String,
        /// For example "named pipe".
        kind: &'static str,
    },
    /// The file has more bytes than one operation accepts.
    #[error("`{path}` has {size} bytes; the limit for one call is {limit}. {how}")]
    TooLarge {
        /// The path as the caller wrote it.
        path: String,
        /// Size of the file in bytes.
        size: u64,
        /// Maximum size in bytes.
        limit: u64,
        /// How to access a part of it.
        how: &'static str,
    },
    /// Another program changed the file after it was read.
    #[error(
        "`{0}` has changed since it was read. Nothing was written. Read it again, then repeat the change."
    )]
    Changed(String),
    /// The write would replace a file that has not been read.
    #[error("`{0}` exists and has not been read yet. Read it first, so that no content is lost unseen.")]
    Unread(String),
    /// The file is not text.
    #[error("`{path}` is a binary file ({size} bytes): it cannot be shown or edited as text.")]
    Binary {
        /// The path as the caller wrote it.
        path: String,
        /// Size of the file in bytes.
        size: u64,
    },
    /// The new text has a character that the file's encoding cannot represent.
    #[error("`{path}` is encoded as {encoding}, which cannot represent {character:?}. Use other characters.")]
    Unencodable {
        /// The path as the caller wrote it.
        path: String,
        /// Name of the encoding.
        encoding: &'static str,
        /// The first character that cannot be encoded.
        character: char,
    },
    /// The root allows reads only.
    #[error("`{0}` cannot be changed: it is beneath a read-only root.")]
    ReadOnly(String),
    /// The permission check does not allow the tool call to use the file that the path really leads to.
    #[error("permission denied for `{path}`: it leads to `{real}` ({reason}).")]
    Refused {
        /// The path as the caller wrote it.
        path: String,
        /// The path it really leads to.
        real: String,
        /// Why access is denied.
        reason: String,
    },
    /// Links that form a loop, too many links, or a link of the kernel (`/proc/self/root`).
    #[error(
        "`{0}` leads through symbolic links that are not followed: too many links, a loop, or a link made by the kernel."
    )]
    Links(String),
    /// Other programs changed the directories during every attempt.
    #[error("`{0}` kept changing while it was being opened. Try again.")]
    Unstable(String),
    /// A write found another file instead of the expected one and could not restore its name, so it stays under
    /// another.
    #[error(
        "another program replaced `{path}` at the same time. Its version was saved as `{kept}` in the same directory."
    )]
    MovedAside {
        /// The path as the caller wrote it.
        path: String,
        /// Name under which the other program's version was saved.
        kept: String,
    },
    /// The kernel cannot resolve paths beneath a directory.
    #[error(
        "this kernel has no openat2 (added in Linux 5.6), so files cannot be accessed safely. Nothing was changed."
    )]
    Unsupported,
    /// The operating system returned an error.
    #[error("`{path}`: {reason}.")]
    System {
        /// The path as the caller wrote it.
        path: String,
        /// The operating system's message.
        reason: String,
        /// The operating system's error number.
        code: i32,
    },
}

impl FileError {
    /// Returns true if the same operation may succeed later without changes.
    pub const fn is_retryable(&self) -> bool {
        matches!(self, Self::Unstable(_) | Self::MovedAside { .. })
    }

    /// Translates the kernel's error for a path. Callers handle `ENOENT` and `EXDEV`, because they know more.
    pub(super) fn of(path: &str, errno: Errno) -> Self {
        let path = path.to_owned();
        match errno {
            Errno::NOSYS => Self::Unsupported,
            Errno::NOENT => Self::NotFound { path, hint: String::new() },
            Errno::NOTDIR => Self::NotADirectory(path),
            Errno::ISDIR => Self::IsDirectory(path),
            Errno::LOOP => Self::Links(path),
            Errno::EXIST => Self::Exists(path),
            Errno::AGAIN => Self::Unstable(path),
            Errno::NXIO => Self::Special { path, kind: "socket or pipe without a process at the other end" },
            Errno::NAMETOOLONG => Self::Malformed { path: shorten(&path), reason: "it is too long" },
            Errno::ROFS => Self::ReadOnly(path),
            errno => Self::System { path, reason: reason(errno), code: errno.raw_os_error() },
        }
    }
}

/// The operating system's message without its error number.
fn reason(errno: Errno) -> String {
    let text = std::io::Error::from(errno).to_string();
    match text.split_once(" (os error") {
        Some((words, _)) => words.to_owned(),
        None => text,
    }
}

/// The first 80 characters of a path, for messages.
pub(super) fn shorten(path: &str) -> String {
    match path.char_indices().nth(80) {
        None => path.to_owned(),
        Some((end, _)) => format!("{}…", path.get(..end).unwrap_or_default()),
    }
}
