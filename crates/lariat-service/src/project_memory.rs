//! Stores what Lariat remembers about a project: facts, goals and learnings, in one file that the user can read and edit.
//!
//! The file lies in the user's state directory, where no command and no file tool of an agent can write. An entry from
//! the user is approved at once. An entry from a model, or from a failure, is a proposal: a model may have read it in
//! content that the user never saw. Invariant: only approved entries enter a prompt, and only the user approves.

use std::path::{Path, PathBuf};

use lariat_core::clock::Clock as _;
use lariat_core::display;
use lariat_core::id::SessionId;
use lariat_core::time::Timestamp;
use lariat_guard::{StateFile, StateFileError};
use lariat_runtime::system::SystemClock;
use serde::{Deserialize, Serialize};

/// Maximum number of entries that wait for approval; a model cannot fill the file.
const MAX_PROPOSALS: usize = 50;
/// Maximum number of characters of an entry.
pub const MAX_MEMORY_CHARS: usize = 1_000;

/// The memory of one project.
#[derive(Clone, Debug)]
pub struct ProjectMemory {
    path: PathBuf,
    file: StateFile,
}

/// The content of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct MemoryContent {
    /// Whether memory is off for this project: nothing enters a prompt, and agents propose nothing.
    pub off: bool,
    /// All entries, oldest first.
    pub entries: Vec<MemoryEntry>,
}

/// One thing to remember.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MemoryEntry {
    /// Unique in the project.
    pub id: String,
    /// What kind of entry it is.
    pub kind: MemoryKind,
    /// Whether the user approved it.
    pub status: MemoryStatus,
    /// What to remember.
    pub text: String,
    /// Where it comes from: `user`, `model` or `failure`.
    pub source: MemorySource,
    /// The session that proposed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// When it was added.
    pub at: Timestamp,
}

/// The kind of an entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MemoryKind {
    /// A fact about the project.
    #[default]
    Fact,
    /// A goal that several sessions work towards.
    Goal,
    /// Something learned from a mistake or a failure.
    Learning,
}

impl MemoryKind {
    /// The name in files and commands.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fact => "fact",
            Self::Goal => "goal",
            Self::Learning => "learning",
        }
    }
}

/// Whether an entry enters prompts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MemoryStatus {
    /// It waits for the user.
    Proposed,
    /// The user wrote or approved it.
    Approved,
    /// A goal that was reached; it no longer enters prompts.
    Done,
}

impl MemoryStatus {
    /// The name in files and commands.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Proposed => "proposed",
            Self::Approved => "approved",
            Self::Done => "done",
        }
    }
}

/// Where an entry comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MemorySource {
    /// The user wrote it.
    User,
    /// A model proposed it with the tool `learn`.
    Model,
    /// A tool call that kept failing.
    Failure,
}

impl MemorySource {
    /// The name in files and commands.
    pub const fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Model => "model",
            Self::Failure => "failure",
        }
    }
}

/// The outcome of a proposal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProposalOutcome {
    /// It waits for the user under this id.
    Waits(String),
    /// The file has an entry with the same text.
    Known,
    /// Too many proposals wait already.
    Full,
    /// Memory is off for this project.
    Off,
}

impl ProjectMemory {
    /// Opens the memory in `file`, which need not exist yet.
    pub fn new(file: impl Into<PathBuf>) -> Self {
        let path = file.into();
        Self { file: StateFile::new(&path), path }
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the file.
    ///
    /// # Errors
    /// If it cannot be read, is not valid, or other users can write it.
    pub fn load(&self) -> Result<MemoryContent, StateFileError> {
        self.file.load()
    }

    /// Adds an entry of the user.
    ///
    /// # Errors
    /// If the file cannot be read or written.
    pub fn add(&self, kind: MemoryKind, text: &str) -> Result<MemoryEntry, StateFileError> {
        let (text, at) = (one_line(text), SystemClock.now());
        self.file.update(|content: &mut MemoryContent| {
            let entry = MemoryEntry {
                id: content.new_id(&text),
                kind,
                status: MemoryStatus::Approved,
                text,
                source: MemorySource::User,
                session_id: None,
                at,
            };
            content.entries.push(entry.clone());
            entry
        })
    }

    /// Adds a proposal of an agent. It enters no prompt until the user approves it.
    ///
    /// # Errors
    /// If the file cannot be read or written.
    pub fn propose(
        &self,
        kind: MemoryKind,
        text: &str,
        source: MemorySource,
        session_id: &SessionId,
    ) -> Result<ProposalOutcome, StateFileError> {
        let (text, at) = (one_line(text), SystemClock.now());
        self.file.update(|content: &mut MemoryContent| {
            if content.off {
                return ProposalOutcome::Off;
            }
            if content.entries.iter().any(|entry| entry.text == text) {
                return ProposalOutcome::Known;
            }
            let waiting =
                content.entries.iter().filter(|entry| entry.status == MemoryStatus::Proposed).count();
            if waiting >= MAX_PROPOSALS {
                return ProposalOutcome::Full;
            }
            let id = content.new_id(&text);
            content.entries.push(MemoryEntry {
                id: id.clone(),
                kind,
                status: MemoryStatus::Proposed,
                text,
                source,
                session_id: Some(session_id.clone()),
                at,
            });
            ProposalOutcome::Waits(id)
        })
    }

    /// Sets the status of entries. Returns the changed entries; an unknown id changes nothing.
    ///
    /// # Errors
    /// If the file cannot be read or written.
    pub fn set_status(
        &self,
        ids: &[String],
        status: MemoryStatus,
    ) -> Result<Vec<MemoryEntry>, StateFileError> {
        self.file.update(|content: &mut MemoryContent| {
            let named = content.entries.iter_mut().filter(|entry| ids.contains(&entry.id));
            named
                .map(|entry| {
                    entry.status = status;
                    entry.clone()
                })
                .collect()
        })
    }

    /// Removes entries and returns them.
    ///
    /// # Errors
    /// If the file cannot be read or written.
    pub fn remove(&self, ids: &[String]) -> Result<Vec<MemoryEntry>, StateFileError> {
        self.file.update(|content: &mut MemoryContent| {
            let removed = content.entries.iter().filter(|entry| ids.contains(&entry.id)).cloned().collect();
            content.entries.retain(|entry| !ids.contains(&entry.id));
            removed
        })
    }

    /// Turns memory off or on for this project. The entries stay.
    ///
    /// # Errors
    /// If the file cannot be read or written.
    pub fn set_off(&self, off: bool) -> Result<(), StateFileError> {
        self.file.update(|content: &mut MemoryContent| content.off = off)
    }
}

impl MemoryContent {
    /// The entries that enter prompts: goals first, then the newest.
    pub fn approved(&self) -> Vec<&MemoryEntry> {
        if self.off {
            return Vec::new();
        }
        let mut entries: Vec<&MemoryEntry> =
            self.entries.iter().rev().filter(|entry| entry.status == MemoryStatus::Approved).collect();
        entries.sort_by_key(|entry| entry.kind != MemoryKind::Goal);
        entries
    }

    /// An id that no entry has, derived from the text.
    fn new_id(&self, text: &str) -> String {
        let hash = crate::user_directories::fnv(text.as_bytes());
        let mut candidates = (0_u64..).map(|more| format!("{:08x}", hash.wrapping_add(more) & 0xffff_ffff));
        candidates.find(|id| self.entries.iter().all(|entry| entry.id != *id)).unwrap_or_default()
    }
}

/// The text on one line, within the limit. A character that no terminal shows becomes visible: the user must see everything
/// that an approval lets into prompts.
fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    display::line(&line).chars().take(MAX_MEMORY_CHARS).collect()
}

#[cfg(test)]
#[path = "project_memory_tests.rs"]
mod tests;
