//! Checks every file that a tool call opens again, by its real path.
//!
//! Remembers the files of each tool call from the decision to its end. A file may be used if the decision
//! covered it, or if the tool call would have been allowed with the file's real path. A link that another
//! process creates after the decision therefore leads nowhere.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use lariat_core::file_access::{FileAccessCheck, FileUse};
use lariat_core::permission::PolicyQuery;
use lariat_core::tool::ToolEffects;
use lariat_guard::{Confinement, Guard, GuardDecision, JudgedFile, Judgement, Mode, Query};
use serde_json::Value;

/// Maximum number of tool calls to remember files for. A forgotten tool call is checked by its arguments.
const MAX_CALLS: usize = 1_024;

/// The files of tool calls that may run, as they were checked.
#[derive(Debug, Default)]
pub(super) struct CheckedCalls(Mutex<VecDeque<CheckedCall>>);

#[derive(Debug)]
struct CheckedCall {
    key: String,
    /// The arguments that were checked. A hook or the user may have changed them since.
    arguments: Value,
    files: CallFiles,
}

/// What a tool call that starts may do with files.
pub(super) struct StartedFiles {
    /// The check for every file that it opens.
    pub(super) check: Arc<dyn FileAccessCheck>,
    /// The workspace files that it writes, as far as its arguments tell.
    pub(super) written: Vec<PathBuf>,
}

/// The files of one tool call.
#[derive(Clone, Debug)]
struct CallFiles {
    named: Vec<JudgedFile>,
    /// The workspace files that it writes, which it claims when it starts.
    written: Vec<PathBuf>,
    /// Something other than the rules allowed the tool call: the user, a plan or a hook.
    approved: bool,
}

impl CheckedCalls {
    /// Remembers the files of a tool call as they were checked.
    pub(super) fn add(&self, query: &PolicyQuery<'_>, arguments: &Value, judgement: &Judgement) {
        let approved = judgement.verdict != GuardDecision::Allow;
        let files =
            CallFiles { named: judgement.files.clone(), written: judgement.written.clone(), approved };
        let checked = CheckedCall { key: key(query), arguments: arguments.clone(), files };
        let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        calls.retain(|known| known.key != checked.key);
        if calls.len() == MAX_CALLS {
            calls.pop_front();
        }
        calls.push_back(checked);
    }

    /// Takes what was checked of a tool call.
    fn take(&self, query: &PolicyQuery<'_>) -> Option<CheckedCall> {
        let key = key(query);
        let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = calls.iter().position(|known| known.key == key)?;
        calls.remove(at)
    }

    /// Returns what a tool call may open now, and what it writes. If another process decided about the tool call, only
    /// its arguments are known: the decision did not cover a file reached through links.
    pub(super) fn start(
        &self,
        query: &PolicyQuery<'_>,
        question: &Query<'_>,
        guard: Arc<Guard>,
    ) -> StartedFiles {
        let checked = self.take(query);
        let is_same = checked.as_ref().is_some_and(|checked| checked.arguments == *question.arguments);
        let mut files = checked.map_or_else(
            || CallFiles { named: guard.named_files(question), written: Vec::new(), approved: true },
            |checked| checked.files,
        );
        if !is_same {
            files.written = guard.written_files(question);
        }
        let written = std::mem::take(&mut files.written);
        let check = Arc::new(OpenedFileCheck {
            guard,
            tool: question.tool.to_owned(),
            effects: question.effects,
            mode: question.mode,
            confinement: question.confinement,
            files,
        });
        StartedFiles { check, written }
    }
}

fn key(query: &PolicyQuery<'_>) -> String {
    format!("{}/{}/{}", query.session_id, query.loop_id, query.call.id)
}

/// Returns the check for files that a session reads on its own, such as the map of a repository.
pub(super) fn read_check(guard: Arc<Guard>) -> Arc<dyn FileAccessCheck> {
    Arc::new(OpenedFileCheck {
        guard,
        tool: "read_file".to_owned(),
        effects: ToolEffects::READS,
        mode: Mode::Default,
        confinement: Confinement::Open,
        files: CallFiles { named: Vec::new(), written: Vec::new(), approved: false },
    })
}

struct OpenedFileCheck {
    guard: Arc<Guard>,
    tool: String,
    effects: ToolEffects,
    mode: Mode,
    confinement: Confinement,
    files: CallFiles,
}

impl OpenedFileCheck {
    /// Whether the decision covered this file. Permission to write a file includes reading it and creating
    /// its parent directories.
    fn is_covered(&self, path: &Path, used: FileUse) -> bool {
        self.files.named.iter().any(|file| match (used, file.used) {
            (FileUse::Read, _) | (FileUse::Write, FileUse::Write) => file.path == path,
            (FileUse::Folder, FileUse::Write) => file.path.starts_with(path),
            _ => false,
        })
    }

    /// Whether the file is in a directory that was approved for reading.
    fn is_in_approved_directory(&self, path: &Path, used: FileUse) -> bool {
        used == FileUse::Read
            && self.files.approved
            && self.files.named.iter().any(|file| path.starts_with(&file.path))
    }
}

impl FileAccessCheck for OpenedFileCheck {
    fn judge(&self, path: &Path, used: FileUse) -> Result<(), String> {
        if self.is_covered(path, used) {
            return Ok(());
        }
        let query = Query::new(&self.tool, &Value::Null, self.effects)
            .with_mode(self.mode)
            .with_confinement(self.confinement);
        let judgement = self.guard.judge_opened(&query, path, used);
        match judgement.verdict {
            GuardDecision::Allow => Ok(()),
            GuardDecision::Ask if self.is_in_approved_directory(path, used) => Ok(()),
            _ => Err(judgement.because.first().map(ToString::to_string).unwrap_or_default()),
        }
    }

    fn reads_everything_in(&self, directory: &Path) -> bool {
        !self.guard.restricts_reading() && self.judge(directory, FileUse::Read).is_ok()
    }
}
