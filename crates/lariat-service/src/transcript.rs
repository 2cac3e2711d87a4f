//! Writes a session to a Claude Code session file while it runs, for hooks that read `transcript_path`.
//!
//! Off unless `claude.transcripts` is set. The file is where Claude Code would write it, and only the user can read it. It
//! has what the journal has, so secrets are already removed. The journal stays the session: the file is written again from it
//! when the session is opened, and nothing reads it back. A file that Lariat did not write is left alone.
//!
//! An observer adds lines while the session runs, in parallel with it. Before a hook runs, [`TranscriptFile::catch_up`] adds
//! what the observer has not received yet.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lariat_core::event::Event;
use lariat_core::id::SessionId;
use lariat_core::store::SessionStore;
use lariat_guard::hooks::{claude_input, claude_name};
use lariat_runtime::Observer;
use lariat_store::interchange::claude::{LiveTranscript, file_name, is_live_line};
use serde_json::Value;

use crate::private;

/// Events to read from the journal at a time.
const BATCH: usize = 1_000;
/// Maximum bytes of a first line that is examined.
const MAX_LINE: u64 = 64 * 1024 * 1024;

/// The session file of one session.
pub(crate) struct TranscriptFile {
    session_id: SessionId,
    store: Arc<dyn SessionStore>,
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
    /// Opens the file of a session below `projects`, and writes what its journal has so far.
    pub(crate) async fn open(
        projects: &Path,
        cwd: &Path,
        session_id: &SessionId,
        store: &Arc<dyn SessionStore>,
    ) -> io::Result<Self> {
        let cwd = cwd.display().to_string();
        let path = projects.join(file_name(&cwd, session_id));
        if let Some(directory) = path.parent() {
            private::user_directory(directory)?;
        }
        check_writer(&path)?;
        let lines = LiveTranscript::new(session_id, &cwd, claude_call);
        let state = TranscriptState { lines, file: None, next: 0, is_broken: false };
        let store = Arc::clone(store);
        let file = Self { session_id: session_id.clone(), store, path, state: Mutex::new(state) };
        file.add_from_journal().await?;
        Ok(file)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Adds everything that the journal has and the file does not. If that fails, the file gets no more lines.
    pub(crate) async fn catch_up(&self) {
        if self.add_from_journal().await.is_err() {
            self.state().is_broken = true;
        }
    }

    async fn add_from_journal(&self) -> io::Result<()> {
        loop {
            let next = self.state().next;
            let events = self.store.read(&self.session_id, next, BATCH).await.map_err(io::Error::other)?;
            if events.is_empty() {
                return Ok(());
            }
            let mut state = self.state();
            for event in &events {
                state.add(&self.path, event)?;
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, TranscriptState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TranscriptState {
    /// Adds the lines of an event, unless they are written already.
    fn add(&mut self, path: &Path, event: &Event) -> io::Result<()> {
        if event.seq < self.next {
            return Ok(());
        }
        self.next = event.seq + 1;
        let text = self.lines.event(event);
        if text.is_empty() || self.is_broken {
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
        if event.is_durable() && *session_id == self.session_id {
            let mut state = self.state();
            if state.add(&self.path, event).is_err() {
                state.is_broken = true;
            }
        }
    }
}

/// A tool call with Claude Code's names.
fn claude_call(name: &str, input: &Value) -> (String, Value) {
    (claude_name(name).to_owned(), claude_input(name, input))
}

/// Fails if there is something that Lariat did not write: it would be lost. A link in its place is not followed.
#[expect(clippy::disallowed_methods, reason = "the session file, at the place that Claude Code uses")]
fn check_writer(path: &Path) -> io::Result<()> {
    match path.symlink_metadata() {
        Ok(state) if state.is_file() => {}
        Ok(_) => return Err(io::Error::other("it is not a regular file")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    }
    let mut line = String::new();
    BufReader::new(File::open(path)?).take(MAX_LINE).read_line(&mut line)?;
    if line.is_empty() || is_live_line(&line) {
        return Ok(());
    }
    Err(io::Error::other(format!("another program wrote {}", path.display())))
}

/// Creates the file, or empties an earlier one of ours.
#[expect(clippy::disallowed_methods, reason = "the session file, at the place that Claude Code uses")]
fn create(path: &Path) -> io::Result<File> {
    check_writer(path)?;
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.set_permissions(Permissions::from_mode(0o600))?;
    Ok(file)
}
