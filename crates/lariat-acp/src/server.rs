//! Answers the requests of an editor.
//!
//! Messages are taken in their order. What must be seen by the next message (a new prompt, a cancellation) happens at once;
//! everything that waits runs in a task of its own, so that no request holds up another one.

mod requests;

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use lariat_api::{Problem, ProblemCode, Sessions};
use lariat_core::id::SessionId;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::io::{AsyncBufRead, AsyncWrite};
use tokio::sync::{Semaphore, mpsc};

use crate::buffers::EditorBuffers;
use crate::connection::{Connection, MAX_WAITING};
use crate::lines::{self, InputLine, MAX_LINE};
use crate::project::Projects;
use crate::session::OpenSession;
use crate::wire::{
    CancelParams, ClientCapabilities, Incoming, InitializeParams, PromptParams, Protocol, RpcError,
    SessionParams, draft, parse,
};
use crate::{prompt, slash};

/// Maximum number of requests that are answered at the same time.
const MAX_REQUESTS: usize = 64;
/// Maximum number of sessions that are open at the same time.
const MAX_SESSIONS: usize = 64;
/// How long the runs may take to stop after the editor is gone. What still runs then continues with the next message.
const LEAVE_WAIT: Duration = Duration::from_secs(3);

/// The program that serves, as editors show it.
#[derive(Clone, Debug)]
pub struct AgentInfo {
    /// Its name for programs.
    pub name: String,
    /// Its name for users.
    pub title: String,
    /// Its version.
    pub version: String,
}

/// The versions of the protocol that an editor may choose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProtocolVersions {
    /// Version 1.
    #[default]
    Stable,
    /// Version 1 and the draft of version 2, which changes without notice.
    WithDraft,
}

/// Serves an editor until it closes its side of the connection. `buffers` are those that the tools of the sessions have.
///
/// # Errors
/// If the connection fails.
pub async fn serve(
    mut reader: impl AsyncBufRead + Send + Unpin,
    writer: impl AsyncWrite + Send + Unpin + 'static,
    sessions: Arc<dyn Sessions>,
    projects: Arc<dyn Projects>,
    buffers: EditorBuffers,
    info: AgentInfo,
    versions: ProtocolVersions,
) -> io::Result<()> {
    let (lines, outgoing) = mpsc::channel(MAX_WAITING);
    let mut writing = tokio::spawn(lines::write_all(writer, outgoing));
    let server = Arc::new(Server {
        sessions,
        projects,
        buffers,
        info,
        versions,
        connection: Connection::new(lines),
        editor: OnceLock::new(),
        open: Mutex::default(),
        slots: Arc::new(Semaphore::new(MAX_REQUESTS)),
    });
    let ended = tokio::select! {
        read = read_all(&mut reader, &server) => read,
        // The editor does not read any more.
        written = &mut writing => written.unwrap_or_else(|error| Err(io::Error::other(error))),
    };
    let _ = tokio::time::timeout(LEAVE_WAIT, server.leave()).await;
    match ended {
        // The editor is gone; there is nothing left to do.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        ended => ended,
    }
}

async fn read_all(reader: &mut (impl AsyncBufRead + Unpin), server: &Arc<Server>) -> io::Result<()> {
    while let Some(line) = lines::next(reader, MAX_LINE).await? {
        match line {
            InputLine::Whole(line) if line.trim_ascii().is_empty() => {}
            InputLine::Whole(line) => server.receive(&line).await,
            InputLine::TooLong => {
                let error = RpcError::parse_error(format!("the message has more than {MAX_LINE} bytes"));
                server.connection.respond(&Value::Null, Err(error)).await;
            }
        }
    }
    Ok(())
}

struct Server {
    sessions: Arc<dyn Sessions>,
    projects: Arc<dyn Projects>,
    buffers: EditorBuffers,
    info: AgentInfo,
    versions: ProtocolVersions,
    connection: Connection,
    /// What the editor can do; empty before `initialize`.
    editor: OnceLock<ClientCapabilities>,
    open: Mutex<HashMap<SessionId, Arc<OpenSession>>>,
    slots: Arc<Semaphore>,
}

impl Server {
    async fn receive(self: &Arc<Self>, line: &[u8]) {
        match parse(line) {
            Ok(Incoming::Request { id, method, params }) => self.request(id, &method, params).await,
            Ok(Incoming::Notification { method, params }) => self.notification(&method, params),
            Ok(Incoming::Response { id, result }) => self.connection.resolve(&id, result),
            Err((id, error)) => self.connection.respond(&id, Err(error)).await,
        }
    }

    async fn request(self: &Arc<Self>, id: Value, method: &str, params: Value) {
        if method == "initialize" {
            let result = self.initialize(params);
            return self.connection.respond(&id, result).await;
        }
        if self.editor.get().is_none() {
            let error = RpcError::invalid_request("send `initialize` first");
            return self.connection.respond(&id, Err(error)).await;
        }
        let Ok(slot) = Arc::clone(&self.slots).try_acquire_owned() else {
            let error = RpcError::internal(format!("more than {MAX_REQUESTS} requests wait for a response"));
            return self.connection.respond(&id, Err(error)).await;
        };
        if method == "session/prompt" {
            if let Err(error) = self.prompt(&id, params, slot) {
                self.connection.respond(&id, Err(error)).await;
            }
            return;
        }
        let (server, method) = (Arc::clone(self), method.to_owned());
        tokio::spawn(async move {
            let result = server.answer(&method, params).await;
            let opened = result.as_ref().ok().and_then(|(_, opened)| opened.clone());
            server.connection.respond(&id, result.map(|(response, _)| response)).await;
            // After the response: before it, the editor does not know the session.
            if let Some(session) = opened {
                session.introduce().await;
            }
            drop(slot);
        });
    }

    fn notification(self: &Arc<Self>, method: &str, params: Value) {
        let session = match method {
            "session/cancel" => read::<SessionParams>(params).ok().and_then(|params| {
                let id = SessionId::from(params.session_id.as_str());
                self.open().get(&id).cloned()
            }),
            "$/cancel_request" => read::<CancelParams>(params).ok().and_then(|params| {
                let open = self.open();
                open.values().find(|session| session.has_prompt(&params.request_id)).cloned()
            }),
            // A notification gets no response, not even an error.
            _ => None,
        };
        if let Some(session) = session {
            session.mark_cancelled();
            tokio::spawn(async move { session.cancel().await });
        }
    }

    fn initialize(&self, params: Value) -> Result<Value, RpcError> {
        let params: InitializeParams = read(params)?;
        let wants_draft = params.protocol_version.as_u64() >= Some(Protocol::Draft.version());
        let protocol = match self.versions {
            ProtocolVersions::WithDraft if wants_draft => Protocol::Draft,
            // The editor decides whether it can work with this version.
            _ => Protocol::Stable,
        };
        let editor = match protocol {
            Protocol::Stable => params.client_capabilities,
            Protocol::Draft => params.capabilities.of_draft(),
        };
        if self.editor.set(editor).is_err() {
            return Err(RpcError::invalid_request("the connection is initialized already"));
        }
        self.connection.set_protocol(protocol);
        let info = json!({
            "name": self.info.name, "title": self.info.title, "version": self.info.version
        });
        if protocol == Protocol::Draft {
            return Ok(json!({
                "protocolVersion": protocol.version(),
                "info": info,
                "capabilities": draft::capabilities(),
            }));
        }
        Ok(json!({
            "protocolVersion": protocol.version(),
            "agentCapabilities": {
                "loadSession": true,
                "promptCapabilities": { "image": true, "audio": false, "embeddedContext": true },
                "mcpCapabilities": { "http": true, "sse": false },
                "sessionCapabilities": { "list": {}, "resume": {}, "close": {}, "delete": {} },
            },
            "authMethods": [],
            "agentInfo": info,
        }))
    }

    /// Starts a prompt. Its response comes from the session.
    fn prompt(
        self: &Arc<Self>,
        id: &Value,
        params: Value,
        slot: tokio::sync::OwnedSemaphorePermit,
    ) -> Result<(), RpcError> {
        let params: PromptParams = read(params)?;
        let session = self.find(&params.session_id)?;
        let content = prompt::read(params.prompt, session.directory())?;
        let command_id = session.register_prompt(id.clone())?;
        tokio::spawn(async move {
            match slash::parse(&content, session.project()) {
                Some(command) => session.command(command_id, &content, command).await,
                None => session.prompt(command_id, content).await,
            }
            drop(slot);
        });
        Ok(())
    }

    /// The open session with this id.
    fn find(&self, session_id: &str) -> Result<Arc<OpenSession>, Problem> {
        let id = SessionId::from(session_id);
        self.open().get(&id).cloned().ok_or_else(|| {
            Problem::new(ProblemCode::NotFound, format!("session `{session_id}` is not open"))
                .with_hint("open it with `session/load` or `session/resume`")
        })
    }

    fn open(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<OpenSession>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stops what runs, because the editor is gone.
    async fn leave(&self) {
        let open: Vec<Arc<OpenSession>> = self.open().drain().map(|(_, session)| session).collect();
        futures_util::future::join_all(open.iter().map(|session| session.leave())).await;
    }
}

/// Reads the parameters of a request.
fn read<T: DeserializeOwned>(params: Value) -> Result<T, RpcError> {
    let params = if params.is_null() { json!({}) } else { params };
    serde_json::from_value(params).map_err(|error| RpcError::invalid_params(error.to_string()))
}
