//! Reads the settings files of a workspace and of the user.
//!
//! A workspace file is read through the workspace's own handle, so no link leads out of it. Only regular files up to a size
//! limit are opened.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use lariat_guard::trust::WorkspaceReader;
use lariat_guard::{Format, Level};

/// Maximum bytes of a settings file.
const MAX_BYTES: usize = 1024 * 1024;

/// What a file configures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// All settings: permissions, hooks, variables and others.
    Settings,
    /// MCP servers only, so it cannot restrict anything.
    Servers,
}

/// A settings file in a directory of the project.
#[derive(Debug)]
pub(super) struct SettingsFile {
    pub(super) level: Level,
    pub(super) path: &'static str,
    pub(super) format: Format,
    pub(super) role: Role,
}

/// The settings files of a workspace, strongest first.
pub(super) const WORKSPACE_FILES: &[SettingsFile] = &[
    SettingsFile {
        level: Level::Local,
        path: ".claude/settings.local.json",
        format: Format::Json,
        role: Role::Settings,
    },
    SettingsFile {
        level: Level::Project,
        path: ".claude/settings.json",
        format: Format::Json,
        role: Role::Settings,
    },
    SettingsFile { level: Level::Project, path: "lariat.toml", format: Format::Toml, role: Role::Settings },
    SettingsFile { level: Level::Project, path: ".mcp.json", format: Format::Json, role: Role::Servers },
];

/// A settings file of the user or the organisation.
#[derive(Clone, Debug)]
pub(super) struct UserFile {
    pub(super) level: Level,
    pub(super) path: PathBuf,
    pub(super) format: Format,
}

impl SettingsFile {
    /// Its path in the project, for a given directory.
    pub(super) fn path_below(&self, directory: &str) -> String {
        if directory.is_empty() { self.path.to_owned() } else { format!("{directory}/{}", self.path) }
    }

    /// Reads it in a directory of the project; `None` if it does not exist.
    pub(super) fn read(
        &self,
        files: &dyn WorkspaceReader,
        directory: &str,
    ) -> Result<Option<Vec<u8>>, String> {
        match files.read(&self.path_below(directory), MAX_BYTES + 1)? {
            Some(bytes) if bytes.len() > MAX_BYTES => Err(too_large()),
            bytes => Ok(bytes),
        }
    }
}

impl UserFile {
    /// Reads the file; `None` if it does not exist. Follows links, because they are the user's.
    pub(super) fn read(&self) -> Result<Option<Vec<u8>>, String> {
        read_user_file(&self.path)
    }
}

/// Reads a file of the user; `None` if it does not exist. Follows links, because they are the user's.
pub(crate) fn read_user_file(path: &Path) -> Result<Option<Vec<u8>>, String> {
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
    file.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() > MAX_BYTES { Err(too_large()) } else { Ok(Some(bytes)) }
}

#[expect(clippy::disallowed_methods, reason = "settings of the user, outside every workspace")]
fn open(path: &Path) -> std::io::Result<std::fs::File> {
    std::fs::File::open(path)
}

fn too_large() -> String {
    format!("it is larger than {MAX_BYTES} bytes")
}
