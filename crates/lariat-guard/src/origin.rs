//! Records where a setting was written.
//!
//! Defines the levels of settings and their order. Every rule and every warning has an [`Origin`], so that each answer can
//! name the file behind it.

use std::fmt;
use std::path::{Path, PathBuf};

/// The owner of a setting, strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Level {
    /// The organisation, on this machine.
    Managed,
    /// The command line, or the program that embeds Lariat.
    Flags,
    /// The environment of the process.
    Environment,
    /// The user's own settings for a project: `.claude/settings.local.json`.
    Local,
    /// The project's settings, shared by everyone who works on it.
    Project,
    /// The user's settings for all projects.
    User,
}

impl Level {
    /// Whether these settings lie in the workspace; they apply in full only if the workspace is trusted.
    pub const fn is_workspace_level(self) -> bool {
        matches!(self, Self::Local | Self::Project)
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Managed => "managed settings",
            Self::Flags => "flags",
            Self::Environment => "environment",
            Self::Local => "local settings",
            Self::Project => "project settings",
            Self::User => "user settings",
        })
    }
}

/// The file, flag or variable that contains a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Origin {
    /// The owner of the setting.
    pub level: Level,
    /// The file; `None` for flags and the environment.
    pub file: Option<PathBuf>,
    /// The name of the flag or the variable, if known.
    pub name: Option<String>,
}

impl Origin {
    /// A settings file of a level.
    pub fn file(level: Level, file: impl AsRef<Path>) -> Self {
        Self { level, file: Some(file.as_ref().to_owned()), name: None }
    }

    /// A command-line flag or an environment variable, by name.
    pub fn by_name(level: Level, name: impl Into<String>) -> Self {
        Self { level, file: None, name: Some(name.into()) }
    }

    /// The command line, or the program that embeds Lariat.
    pub const fn flags() -> Self {
        Self { level: Level::Flags, file: None, name: None }
    }

    /// The environment of the process.
    pub const fn environment() -> Self {
        Self { level: Level::Environment, file: None, name: None }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.name, &self.file) {
            (Some(name), _) => f.write_str(name),
            (None, Some(file)) => write!(f, "{} {}", self.level, file.display()),
            (None, None) => self.level.fmt(f),
        }
    }
}
