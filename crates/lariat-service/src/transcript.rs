//! Writes a session to a Claude Code session file while it runs, for hooks that read `transcript_path`.
//!
//! Off unless `claude.transcripts` is set. The file is where Claude Code would write it, and only the user can read it. It
//! has what the journal has, so secrets are already removed. The journal stays the session: the file is written again from it
//! when the session is opened, and nothing reads it back.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use lariat_core::event::Event;
use lariat_core::id::SessionId;
use lariat_core::store::SessionStore;
use lariat_guard::hooks::{claude_input, claude_name};
use lariat_runtime::Observer;
use lariat_store::interchange::claude::{LiveTranscript, file_name};
use serde_json::Value;

use crate::private;

/// Events to read from the journal at a time.
const BATCH: usize = 1_000;

/// The session file of one session.
pub(crate) struct TranscriptFile {
    session_id: SessionId,
    path: PathBuf,
    state: Mutex<TranscriptState>,
}

struct TranscriptState {
    lines: LiveTranscript,
    /// Created with the first line.
    file: Option<File>,
    /// Events before this one are written.
    next: u64,
    /// Writing failed: a file with a gap would mislead its readers.
    is_broken: bool,
}

impl TranscriptFile {
    /// Opens the file of a session, and writes what its journal has so far.
    pub(crate) async fn open(
        home: &Path,
        cwd: &Path,
        session_id: &SessionId,
        store: &dyn SessionStore,
    ) -> io::Result<Self> {
        let cwd = cwd.display().to_string();
        let path = home.join(".claude/projects").join(file_name(&cwd, session_id));
        if let Some(directory) = path.parent() {
            private::user_directory(directory)?;
        }
        let lines = LiveTranscript::new(session_id, &cwd, claude_call);
        let mut state = TranscriptState { lines, file: None, next: 0, is_broken: false };
        loop {
            let events = store.read(session_id, state.next, BATCH).await.map_err(io::Error::other)?;
            if events.is_empty() {
                break;
            }
            for event in &events {
                state.add(&path, event)?;
            }
        }
        Ok(Self { session_id: session_id.clone(), path, state: Mutex::new(state) })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl TranscriptState {
    fn add(&mut self, path: &Path, event: &Event) -> io::Result<()> {
        self.next = event.seq + 1;
        let text = self.lines.event(event);
        if text.is_empty() {
            return Ok(());
        }
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(create(path)?),
        };
        file.write_all(text.as_bytes())
    }
}

impl Observer for TranscriptFile {
    fn observe(&self, session_id: &SessionId, event: &Event) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = event.is_durable() && *session_id == self.session_id && event.seq >= state.next;
        if is_new && !state.is_broken {
            state.is_broken = state.add(&self.path, event).is_err();
        }
    }
}

/// A tool call with Claude Code's names.
fn claude_call(name: &str, input: &Value) -> (String, Value) {
    (claude_name(name).to_owned(), claude_input(name, input))
}

/// Creates the file, or empties an earlier one. A link in its place is not followed.
#[expect(clippy::disallowed_methods, reason = "the session file, at the place that Claude Code uses")]
fn create(path: &Path) -> io::Result<File> {
    if path.symlink_metadata().is_ok_and(|state| !state.is_file()) {
        return Err(io::Error::other("it is not a regular file"));
    }
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.set_permissions(Permissions::from_mode(0o600))?;
    Ok(file)
}
