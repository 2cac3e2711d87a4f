//! A hostile repository: its contents, and how to write it to disk.
//!
//! Contents may use placeholders for what is known only then: `@RUN@` (its payload, as a command relative to
//! its directory), `@PAYLOAD@` (the payload by its absolute path), `@URL@` (an address that no program may
//! connect to), `@OUTSIDE@` (a hostile directory beside it) and `@TRUSTED@` (a repository that the user
//! trusts).

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, mknodat};

/// The values for the placeholders.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    /// Base directory of the proof.
    pub(crate) base: PathBuf,
    /// Port that no program may connect to.
    pub(crate) port: u16,
}

/// A hostile repository.
#[derive(Clone, Debug)]
pub(crate) struct Repository {
    pub(crate) name: String,
    pub(crate) items: Vec<Item>,
    /// Whether a file that could contain deny rules is unreadable, so that everything must need approval.
    pub(crate) is_unreadable: bool,
}

/// An entry of a repository.
#[derive(Clone, Debug)]
pub(crate) enum Item {
    File(String, String),
    Bytes(String, Vec<u8>),
    /// The payload, at another path.
    Program(String),
    /// A link and its target.
    Link(String, String),
    Pipe(String),
    /// A sparse file of this size.
    Sparse(String, u64),
    Folder(String),
    /// Lines of the git configuration.
    Git(String),
}

/// The program that must never run: it leaves a mark, connects to the listener, and prints its input.
const PAYLOAD: &str =
    "#!/bin/bash\necho run >> '@MARK@'\nexec 3<>/dev/tcp/127.0.0.1/@PORT@ && echo hello >&3\ncat\nexit 0\n";

impl Repository {
    pub(crate) fn new(name: impl Into<String>, items: impl IntoIterator<Item = Item>) -> Self {
        Self { name: name.into(), items: items.into_iter().collect(), is_unreadable: false }
    }

    pub(crate) fn unreadable(mut self) -> Self {
        self.is_unreadable = true;
        self
    }

    pub(crate) fn is_git(&self) -> bool {
        self.items.iter().any(|item| matches!(item, Item::Git(_)) || item.path().starts_with(".git/"))
    }

    /// Writes the repository to disk.
    pub(crate) fn make(&self, number: usize, layout: &Layout) -> std::io::Result<()> {
        let root = layout.repository(number);
        std::fs::create_dir_all(root.join("src"))?;
        let fill = |text: &str| {
            text.replace("@RUN@", "./payload.sh")
                .replace("@PAYLOAD@", &root.join("payload.sh").display().to_string())
                .replace("@URL@", &format!("http://127.0.0.1:{}", layout.port))
                .replace("@PORT@", &layout.port.to_string())
                .replace("@MARK@", &layout.mark(number).display().to_string())
                .replace("@OUTSIDE@", &layout.outside().display().to_string())
                .replace("@TRUSTED@", &layout.trusted().display().to_string())
        };
        if self.is_git() {
            copy(&layout.template().join(".git"), &root.join(".git"))?;
        }
        std::fs::write(root.join("README.md"), "# A project\n\nSee src.\n")?;
        std::fs::write(root.join("src/main.rs"), "fn main() {}\n")?;
        std::fs::write(root.join("a.txt"), "one\nchanged\n")?;
        program(&root.join("payload.sh"), &fill(PAYLOAD))?;
        for item in &self.items {
            let path = root.join(item.path());
            if let Some(folder) = path.parent() {
                std::fs::create_dir_all(folder)?;
            }
            match item {
                Item::File(_, text) => std::fs::write(&path, fill(text))?,
                Item::Bytes(_, bytes) => std::fs::write(&path, bytes)?,
                Item::Program(_) => program(&path, &fill(PAYLOAD))?,
                Item::Link(_, target) => std::os::unix::fs::symlink(fill(target), &path)?,
                Item::Pipe(_) => mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o644), 0)?,
                Item::Sparse(_, size) => std::fs::File::create(&path)?.set_len(*size)?,
                Item::Folder(_) => std::fs::create_dir_all(&path)?,
                Item::Git(lines) => {
                    let before = std::fs::read_to_string(root.join(".git/config"))?;
                    std::fs::write(root.join(".git/config"), before + &fill(lines) + "\n")?;
                }
            }
        }
        Ok(())
    }
}

impl Item {
    pub(crate) fn file(path: &str, text: impl Into<String>) -> Self {
        Self::File(path.to_owned(), text.into())
    }

    pub(crate) fn link(path: &str, target: &str) -> Self {
        Self::Link(path.to_owned(), target.to_owned())
    }

    pub(crate) fn path(&self) -> &str {
        match self {
            Self::File(path, _) | Self::Bytes(path, _) | Self::Link(path, _) | Self::Sparse(path, _) => path,
            Self::Program(path) | Self::Pipe(path) | Self::Folder(path) => path,
            Self::Git(_) => ".git/config",
        }
    }
}

impl Layout {
    pub(crate) fn repository(&self, number: usize) -> PathBuf {
        self.base.join(format!("repositories/{number}/project"))
    }

    /// The file that the payload writes to.
    pub(crate) fn mark(&self, number: usize) -> PathBuf {
        self.base.join(format!("marks/{number}"))
    }

    pub(crate) fn outside(&self) -> PathBuf {
        self.base.join("outside")
    }

    pub(crate) fn trusted(&self) -> PathBuf {
        self.base.join("trusted")
    }

    /// A repository made by git, without hostile contents.
    pub(crate) fn template(&self) -> PathBuf {
        self.base.join("template")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.base.join("home")
    }

    /// Directory of programs that come first in `PATH`.
    pub(crate) fn programs(&self) -> PathBuf {
        self.base.join("programs")
    }
}

/// Copies a directory with everything in it; skips everything except files, directories and links.
pub(crate) fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let (kind, target) = (entry.file_type()?, to.join(entry.file_name()));
        if kind.is_dir() {
            copy(&entry.path(), &target)?;
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(std::fs::read_link(entry.path())?, target)?;
        } else if kind.is_file() && entry.metadata()?.len() < 64 * 1024 * 1024 {
            std::fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

pub(crate) fn program(path: &Path, text: &str) -> std::io::Result<()> {
    std::fs::write(path, text)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755))
}
