//! Where a setting was written.
//!
//! Owns the levels and their order. Every rule and every warning carries an [`Origin`], so that each answer can name the
//! file behind it.

use std::fmt;
use std::path::{Path, PathBuf};

/// Who a setting belongs to, strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Level {
    /// The organisation, on this machine.
    Managed,
    /// The command line, or the program that embeds us.
    Flags,
    /// The environment of the process.
    Environment,
    /// One person's settings of a project: `.claude/settings.local.json`.
    Local,
    /// A project's settings, shared by everybody who works on it.
    Project,
    /// One person's settings of all projects.
    User,
}

impl Level {
    /// True for what lies in the workspace: it counts in full only when the workspace is trusted.
    pub const fn is_of_the_workspace(self) -> bool {
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

/// Where a setting was written.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Origin {
    /// Who it belongs to.
    pub level: Level,
    /// The file; none for flags and for the environment.
    pub file: Option<PathBuf>,
    /// The flag or the variable, where one is known.
    pub name: Option<String>,
}

impl Origin {
    /// A file of a level.
    pub fn file(level: Level, file: impl AsRef<Path>) -> Self {
        Self { level, file: Some(file.as_ref().to_owned()), name: None }
    }

    /// A flag of the command line or a variable of the environment, by its name.
    pub fn named(level: Level, name: impl Into<String>) -> Self {
        Self { level, file: None, name: Some(name.into()) }
    }

    /// The command line, or the program that embeds us.
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
