//! The files that a workspace is opened by, and how their bytes are got.
//!
//! Owns which files those are and the bounds of reading them. Invariant: a file of the workspace is reached through the
//! workspace's own handle, so no link leads out of it, and nothing that is no regular file is opened.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use lariat_guard::trust::Look;
use lariat_guard::{Format, Level};

/// More than this is no file of settings, in bytes.
const LARGEST: usize = 1024 * 1024;

/// What a file speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Permissions, hooks, variables and the rest.
    Settings,
    /// Tool servers only: it can forbid nothing.
    Servers,
}

/// A file of a directory of the project.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) level: Level,
    pub(super) path: &'static str,
    pub(super) format: Format,
    pub(super) role: Role,
}

/// Every file of a workspace that is read when it is opened, strongest first.
pub(super) const OF_THE_WORKSPACE: &[Source] = &[
    Source {
        level: Level::Local,
        path: ".claude/settings.local.json",
        format: Format::Json,
        role: Role::Settings,
    },
    Source {
        level: Level::Project,
        path: ".claude/settings.json",
        format: Format::Json,
        role: Role::Settings,
    },
    Source { level: Level::Project, path: "lariat.toml", format: Format::Toml, role: Role::Settings },
    Source { level: Level::Project, path: ".mcp.json", format: Format::Json, role: Role::Servers },
];

/// A file of the person's or the organisation's, wherever it is.
#[derive(Clone, Debug)]
pub(super) struct Own {
    pub(super) level: Level,
    pub(super) path: PathBuf,
    pub(super) format: Format,
}

impl Source {
    /// Its path in the project, for a directory of it.
    pub(super) fn within(&self, directory: &str) -> String {
        if directory.is_empty() { self.path.to_owned() } else { format!("{directory}/{}", self.path) }
    }

    /// Its bytes in a directory of the project; none when it does not exist.
    pub(super) fn read(&self, files: &dyn Look, directory: &str) -> Result<Option<Vec<u8>>, String> {
        match files.read(&self.within(directory), LARGEST + 1)? {
            Some(bytes) if bytes.len() > LARGEST => Err(too_large()),
            bytes => Ok(bytes),
        }
    }
}

impl Own {
    /// Its bytes; none when it does not exist. A link is followed: it is the person's.
    pub(super) fn read(&self) -> Result<Option<Vec<u8>>, String> {
        read_own(&self.path)
    }
}

/// The bytes of a file of the person's; none when it does not exist. A link is followed: it is the person's.
pub(crate) fn read_own(path: &Path) -> Result<Option<Vec<u8>>, String> {
    let state = match path.metadata() {
        Ok(state) => state,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    if !state.is_file() {
        return Err("it is not a file".to_owned());
    }
    let mut bytes = Vec::new();
    let file = open(path).map_err(|error| error.to_string())?;
    file.take(LARGEST as u64 + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() > LARGEST { Err(too_large()) } else { Ok(Some(bytes)) }
}

#[expect(clippy::disallowed_methods, reason = "settings of the person, outside of every workspace")]
fn open(path: &Path) -> std::io::Result<std::fs::File> {
    std::fs::File::open(path)
}

fn too_large() -> String {
    format!("it has more than {LARGEST} bytes")
}
