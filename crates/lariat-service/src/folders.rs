//! Where things of the person are on this machine.
//!
//! Owns the names. Reads no environment: whoever makes [`Folders`] knows it.

use std::path::{Path, PathBuf};

/// The person's folders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folders {
    /// The home directory.
    pub home: PathBuf,
    /// Settings: `$XDG_CONFIG_HOME/lariat`.
    pub config: PathBuf,
    /// Everything else that is kept: `$XDG_STATE_HOME/lariat`.
    pub state: PathBuf,
}

impl Folders {
    /// Settings of all projects.
    pub fn settings(&self) -> PathBuf {
        self.config.join("config.toml")
    }

    /// Corrections of the catalogue of models.
    pub fn models(&self) -> PathBuf {
        self.config.join("models.json")
    }

    /// Sessions, where no setting says otherwise.
    pub fn sessions(&self) -> PathBuf {
        self.state.join("sessions.db")
    }

    /// Which workspaces are trusted, with what in them.
    pub fn trust(&self) -> PathBuf {
        self.state.join("trust.json")
    }

    /// What was answered with "always".
    pub fn approvals(&self) -> PathBuf {
        self.state.join("approvals.json")
    }

    /// Which keys of services are stored, and those that are in no keyring.
    pub fn keys(&self) -> PathBuf {
        self.state.join("keys.json")
    }

    /// What each day cost.
    pub fn spending(&self) -> PathBuf {
        self.state.join("spending")
    }

    /// Which sandbox works on this machine.
    pub fn sandbox(&self) -> PathBuf {
        self.state.join("sandbox.json")
    }

    /// A directory that is ours to use.
    pub fn scratch(&self) -> PathBuf {
        self.state.join("scratch")
    }

    /// What files of a workspace looked like before calls changed them. Named by the workspace, readable for people.
    pub fn undo(&self, workspace: &Path) -> PathBuf {
        let path = workspace.display().to_string();
        let name: String =
            path.chars().map(|c| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' }).collect();
        let tail: String = name.chars().rev().take(60).collect::<Vec<_>>().into_iter().rev().collect();
        self.state.join("undo").join(format!("{tail}-{:016x}", fnv(path.as_bytes())))
    }

    /// The same, of one session that came while another worked in the workspace.
    pub fn undo_of(&self, workspace: &Path, session: &str) -> PathBuf {
        let mut folder = self.undo(workspace).into_os_string();
        folder.push(format!(".{}", session.replace('/', "-")));
        folder.into()
    }
}

/// A short name for a path; two workspaces that shared one would only share a folder that one of them finds in use.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
