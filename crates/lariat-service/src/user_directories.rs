//! The user's directories and files on this machine.
//!
//! Reads no environment: the caller creates [`UserDirectories`] from it.

use std::path::{Path, PathBuf};

/// The user's directories.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserDirectories {
    /// The home directory.
    pub home: PathBuf,
    /// Settings: `$XDG_CONFIG_HOME/lariat`.
    pub config: PathBuf,
    /// All other data: `$XDG_STATE_HOME/lariat`.
    pub state: PathBuf,
}

impl UserDirectories {
    /// The user's settings file.
    pub fn settings(&self) -> PathBuf {
        self.config.join("config.toml")
    }

    /// The user's corrections to the model catalogue.
    pub fn models(&self) -> PathBuf {
        self.config.join("models.json")
    }

    /// The session database, unless `store.path` is set.
    pub fn sessions(&self) -> PathBuf {
        self.state.join("sessions.db")
    }

    /// The directory of session files, if the settings choose these.
    pub fn session_files(&self) -> PathBuf {
        self.state.join("sessions")
    }

    /// The trusted projects and what the user trusted in each.
    pub fn trust(&self) -> PathBuf {
        self.state.join("trust.json")
    }

    /// Remembered approvals.
    pub fn approvals(&self) -> PathBuf {
        self.state.join("approvals.json")
    }

    /// The stored API keys, and which ones are in the keyring.
    pub fn keys(&self) -> PathBuf {
        self.state.join("keys.json")
    }

    /// The spending log, one file per day.
    pub fn spending(&self) -> PathBuf {
        self.state.join("spending")
    }

    /// The cached result of the sandbox probe.
    pub fn sandbox(&self) -> PathBuf {
        self.state.join("sandbox.json")
    }

    /// A scratch directory.
    pub fn scratch(&self) -> PathBuf {
        self.state.join("scratch")
    }

    /// The directory that sandboxed commands of a session see as `/tmp`.
    pub fn temporary(&self, session: &str) -> PathBuf {
        self.state.join("tmp").join(session.replace('/', "-"))
    }

    /// The states of the files before a loop of an actor and a critic, or before and after a race.
    pub fn loop_snapshots(&self, session: &str) -> PathBuf {
        self.state.join("loops").join(session.replace('/', "-"))
    }

    /// The copies of a project in which the branches of a race work. Sandboxed commands can read them, so they are not in the
    /// state directory.
    pub fn race_copies(&self, session: &str) -> PathBuf {
        self.home.join(".cache/lariat/races").join(session.replace('/', "-"))
    }

    /// The checkpoints of a workspace. The name contains the workspace's path, so that users can recognize it.
    pub fn undo(&self, workspace: &Path) -> PathBuf {
        self.state.join("undo").join(name_of(workspace))
    }

    /// The accepted tools and the logs of MCP servers.
    pub fn mcp(&self) -> PathBuf {
        self.state.join("mcp")
    }

    /// The accepted operations of APIs.
    pub fn openapi(&self) -> PathBuf {
        self.state.join("openapi")
    }

    /// The files that sessions of this user are changing.
    pub fn claims(&self) -> PathBuf {
        self.state.join("claims")
    }

    /// What Lariat remembers about a project.
    pub fn memory(&self, project: &Path) -> PathBuf {
        self.state.join("memory").join(format!("{}.json", name_of(project)))
    }

    /// The history and the drafts of the terminal UI in a directory.
    pub fn screen(&self, directory: &Path) -> PathBuf {
        self.state.join("screen").join(name_of(directory))
    }

    /// The checkpoints of a session that works in a workspace at the same time as another session.
    pub fn undo_of(&self, workspace: &Path, session: &str) -> PathBuf {
        let mut folder = self.undo(workspace).into_os_string();
        folder.push(format!(".{}", session.replace('/', "-")));
        folder.into()
    }
}

/// A file name for a directory: the end of its path, for users, and a hash.
fn name_of(directory: &Path) -> String {
    let path = directory.display().to_string();
    let name: String =
        path.chars().map(|c| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' }).collect();
    let tail: String = name.chars().rev().take(60).collect::<Vec<_>>().into_iter().rev().collect();
    format!("{tail}-{:016x}", fnv(path.as_bytes()))
}

/// FNV-1a hash of a path. On a collision, one of the two workspaces finds the directory in use.
pub(crate) fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    //! Tests of where directories are.

    use super::*;

    #[test]
    fn copies_of_races_are_outside_the_directories_that_commands_cannot_read() {
        let home = PathBuf::from("/srv/me");
        let (config, state) = (home.join(".config/lariat"), home.join(".local/state/lariat"));
        let folders = UserDirectories { home, config, state };
        let copies = folders.race_copies("x/y");
        assert!(!copies.starts_with(&folders.state) && !copies.starts_with(&folders.config));
        assert!(copies.ends_with("races/x-y"), "{}", copies.display());
    }
}
