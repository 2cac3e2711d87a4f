//! The files of the editor, for the tools of its sessions: what the user has not saved.
//!
//! Every request has a deadline. An editor that let one pass is not asked again until it answers, so it delays a run once and
//! not with every file. Paths are named as the editor named the directory of the session.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lariat_core::BoxFuture;
use lariat_core::editor_files::{EditorFiles, EditorText};
use lariat_core::id::SessionId;
use serde_json::{Value, json};

use crate::connection::Connection;
use crate::wire::{ClientCapabilities, RpcError};

/// How long an editor may take to read a file. The tool call waits for it.
const READ_WAIT: Duration = Duration::from_secs(2);
/// How long an editor may take to save a file. It may format the file first.
const SAVE_WAIT: Duration = Duration::from_secs(10);

/// The unsaved files of the editor that [`serve`](crate::serve) serves. Cheap to clone.
#[derive(Clone, Default)]
pub struct EditorBuffers(Arc<Mutex<HashMap<SessionId, Arc<SessionBuffers>>>>);

/// What is needed to ask an editor about the files of a session.
pub(crate) struct SessionBuffers {
    connection: Connection,
    editor: ClientCapabilities,
    /// The directory of the session as Lariat names it, and as the editor does.
    directories: (PathBuf, PathBuf),
    /// Whether a request passed its deadline and has no response yet.
    is_silent: Arc<AtomicBool>,
}

/// The files of one session, whether or not the editor has it open now.
struct FilesOfSession {
    buffers: EditorBuffers,
    session_id: SessionId,
}

impl EditorBuffers {
    /// The files of a session, for its tools.
    pub fn of(&self, session_id: &SessionId) -> Arc<dyn EditorFiles> {
        Arc::new(FilesOfSession { buffers: self.clone(), session_id: session_id.clone() })
    }

    /// The editor opened a session.
    pub(crate) fn attach(&self, session_id: SessionId, buffers: SessionBuffers) {
        self.lock().insert(session_id, Arc::new(buffers));
    }

    /// The editor closed a session.
    pub(crate) fn detach(&self, session_id: &SessionId) {
        self.lock().remove(session_id);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<SessionBuffers>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SessionBuffers {
    pub(crate) fn new(connection: Connection, editor: ClientCapabilities, own: &Path, named: &Path) -> Self {
        let directories = (own.to_path_buf(), named.to_path_buf());
        Self { connection, editor, directories, is_silent: Arc::default() }
    }

    /// The path of a file as the editor names it; `None` if it is not text, which JSON cannot carry.
    fn named(&self, path: &Path) -> Option<String> {
        let (own, named) = &self.directories;
        let path = path.strip_prefix(own).map_or_else(|_| path.to_path_buf(), |rest| named.join(rest));
        path.into_os_string().into_string().ok()
    }

    /// Sends a request. Returns its response; `None` if the editor is silent or gone.
    async fn ask(
        &self,
        method: &'static str,
        params: Value,
        wait: Duration,
    ) -> Option<Result<Value, RpcError>> {
        if self.is_silent.load(Ordering::Acquire) {
            return None;
        }
        let (connection, is_silent) = (self.connection.clone(), Arc::clone(&self.is_silent));
        let mut asking = tokio::spawn(async move {
            let response = connection.request(method, &params).await.response.await.ok();
            is_silent.store(false, Ordering::Release);
            response
        });
        if let Ok(response) = tokio::time::timeout(wait, &mut asking).await {
            return response.ok().flatten();
        }
        self.is_silent.store(true, Ordering::Release);
        if asking.is_finished() {
            self.is_silent.store(false, Ordering::Release);
        }
        None
    }
}

impl FilesOfSession {
    fn open(&self) -> Option<Arc<SessionBuffers>> {
        self.buffers.lock().get(&self.session_id).cloned()
    }

    async fn text(&self, path: &Path) -> EditorText {
        let Some(open) = self.open().filter(|open| open.editor.reads_files()) else {
            return EditorText::Absent;
        };
        let Some(path) = open.named(path) else { return EditorText::Absent };
        let params = json!({ "sessionId": self.session_id.as_str(), "path": path });
        match open.ask("fs/read_text_file", params, READ_WAIT).await {
            Some(Ok(response)) => match response.get("content").and_then(Value::as_str) {
                Some(content) => EditorText::Text(content.to_owned()),
                None => EditorText::Silent,
            },
            // The editor does not know the file.
            Some(Err(_)) => EditorText::Absent,
            None => EditorText::Silent,
        }
    }

    async fn write(&self, path: &Path, text: &str) -> Result<(), String> {
        let Some(open) = self.open().filter(|open| open.editor.writes_files()) else {
            return Err("the editor does not let Lariat save them".to_owned());
        };
        let path = open.named(path).ok_or("its path is not text")?;
        let params = json!({ "sessionId": self.session_id.as_str(), "path": path, "content": text });
        match open.ask("fs/write_text_file", params, SAVE_WAIT).await {
            Some(Ok(_)) => Ok(()),
            Some(Err(error)) => Err(format!("the editor could not save them: {}", error.message)),
            None => Err("the editor did not answer".to_owned()),
        }
    }
}

impl EditorFiles for FilesOfSession {
    fn read<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, EditorText> {
        Box::pin(self.text(path))
    }

    fn save<'a>(&'a self, path: &'a Path, text: &'a str) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(self.write(path, text))
    }
}

#[cfg(test)]
#[path = "buffers_tests.rs"]
mod tests;
