//! The requests about sessions: new, load, resume, list, close, delete, modes and options.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use lariat_api::{
    CreateSession, Problem, ProblemCode, SessionFilter, SessionStatus, SessionSummary, SessionView,
};
use lariat_core::id::SessionId;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::{MAX_SESSIONS, Server, read};
use crate::buffers::SessionBuffers;
use crate::project::{EditorServers, Project};
use crate::session::{Host, HostProcess, OpenSession, Opening, Start};
use crate::wire::{
    ListParams, McpServer, NamedValue, NewParams, OpenParams, Protocol, RpcError, SessionParams,
    SetConfigParams, SetModeParams, draft,
};

/// Sessions per page of a list.
const PAGE: u32 = 50;

/// A response, and the session that it opened.
type AnsweredRequest = (Value, Option<Arc<OpenSession>>);

impl Server {
    /// Answers a request.
    pub(super) async fn answer(
        self: &Arc<Self>,
        method: &str,
        params: Value,
    ) -> Result<AnsweredRequest, RpcError> {
        let without_session = |response| Ok((response, None));
        let protocol = self.connection.protocol();
        match method {
            "session/new" => self.create(read(params)?).await,
            "session/load" if protocol == Protocol::Stable => {
                let (described, session) = self.reopen(read(params)?, HistoryDelivery::Shown).await?;
                Ok((described, Some(session)))
            }
            "session/resume" => {
                let history = match (protocol, params.get("replayFrom").filter(|from| !from.is_null())) {
                    (Protocol::Stable, _) | (Protocol::Draft, None) => HistoryDelivery::Known,
                    (Protocol::Draft, Some(from)) if from.get("type").is_some_and(|kind| kind == "start") => {
                        HistoryDelivery::Shown
                    }
                    (Protocol::Draft, Some(_)) => {
                        return Err(RpcError::invalid_params("`replayFrom` must have the type `start`"));
                    }
                };
                let (described, session) = self.reopen(read(params)?, history).await?;
                Ok((described, Some(session)))
            }
            "session/list" => without_session(self.list(read(params)?).await?),
            "session/close" => {
                let params: SessionParams = read(params)?;
                let session = self.find(&params.session_id)?;
                self.close(&session).await;
                without_session(json!({}))
            }
            "session/delete" => {
                let params: SessionParams = read(params)?;
                self.delete(&SessionId::from(params.session_id.as_str())).await?;
                without_session(json!({}))
            }
            "session/set_mode" if protocol == Protocol::Stable => {
                let params: SetModeParams = read(params)?;
                self.find(&params.session_id)?.set_mode(params.mode_id).await?;
                without_session(json!({}))
            }
            "session/set_config_option" => {
                let params: SetConfigParams = read(params)?;
                let session = self.find(&params.session_id)?;
                session.set_option(&params.config_id, &params.value).await?;
                let options = session.config_options();
                without_session(match protocol {
                    Protocol::Stable => json!({ "configOptions": options }),
                    Protocol::Draft => json!({ "configOptions": draft::options(&options) }),
                })
            }
            "authenticate" if protocol == Protocol::Stable => {
                Err(RpcError::invalid_params("Lariat needs no authentication"))
            }
            _ => Err(RpcError::method_not_found(method)),
        }
    }

    async fn create(self: &Arc<Self>, params: NewParams) -> Result<AnsweredRequest, RpcError> {
        let project = self.project(&params).await?;
        let id = SessionId::from(Uuid::new_v4().to_string());
        self.projects.set_servers(&id, servers(params.mcp_servers)?);
        let view = self.sessions.create(CreateSession::new(id, project.directory.clone())).await?;
        let start = Start::After(view.cursor.clone());
        let named = Path::new(&params.cwd);
        let (mut response, session) = self.follow(self.own_host(), project, named, &view, start).await?;
        if let Value::Object(fields) = &mut response {
            fields.insert("sessionId".to_owned(), view.session_id.as_str().into());
        }
        Ok((response, Some(session)))
    }

    async fn reopen(
        self: &Arc<Self>,
        params: OpenParams,
        history: HistoryDelivery,
    ) -> Result<(Value, Arc<OpenSession>), RpcError> {
        let id = SessionId::from(params.session_id.as_str());
        let project = self.project(&params.at).await?;
        let host = match self.projects.running_elsewhere(&id).await {
            Some(sessions) => Host { sessions, process: HostProcess::Other },
            None => self.own_host(),
        };
        let view = host.sessions.view(&id).await?;
        if let Some(directory) = view.directory.as_ref().filter(|directory| **directory != project.directory)
        {
            let message = format!("session `{id}` belongs to another directory");
            return Err(Problem::new(ProblemCode::Invalid, message)
                .with_place(directory)
                .with_hint("open that directory in the editor")
                .into());
        }
        self.projects.set_servers(&id, servers(params.at.mcp_servers)?);
        let start = match history {
            HistoryDelivery::Shown => Start::Replay,
            HistoryDelivery::Known => Start::After(view.cursor.clone()),
        };
        self.follow(host, project, Path::new(&params.at.cwd), &view, start).await
    }

    async fn close(&self, session: &OpenSession) {
        self.open().remove(session.id());
        session.close().await;
        self.buffers.detach(session.id());
    }

    /// Deletes a session that no other process runs. Its run here ends first.
    async fn delete(&self, id: &SessionId) -> Result<(), Problem> {
        if self.projects.running_elsewhere(id).await.is_some() {
            let message = format!("session `{id}` runs in another process");
            return Err(Problem::new(ProblemCode::OwnedElsewhere, message).with_hint("stop it there first"));
        }
        let open = self.open().get(id).cloned();
        if let Some(session) = open {
            self.close(&session).await;
        }
        let view = self.sessions.view(id).await;
        if view
            .is_ok_and(|view| matches!(view.status, SessionStatus::Running | SessionStatus::RequiresAction))
        {
            let message = format!("the run of session `{id}` has not stopped yet");
            return Err(Problem::new(ProblemCode::WrongStatus, message).with_hint("try again"));
        }
        self.projects.delete(id).await
    }

    fn own_host(&self) -> Host {
        Host { sessions: Arc::clone(&self.sessions), process: HostProcess::This }
    }

    async fn follow(
        self: &Arc<Self>,
        host: Host,
        project: Project,
        named: &Path,
        view: &SessionView,
        start: Start,
    ) -> Result<(Value, Arc<OpenSession>), RpcError> {
        let (connection, editor) = (self.connection.clone(), self.editor.get().cloned().unwrap_or_default());
        // Tools that run in another process see the disk.
        let buffers = (host.process == HostProcess::This).then(|| {
            let own = Path::new(&project.directory);
            SessionBuffers::new(connection.clone(), editor.clone(), own, named)
        });
        let opening = Opening { host, connection, editor, project };
        let session = OpenSession::open(opening, view, start).await?;
        let replaced = {
            let mut open = self.open();
            if open.len() >= MAX_SESSIONS && !open.contains_key(session.id()) {
                None
            } else {
                Some(open.insert(session.id().clone(), Arc::clone(&session)))
            }
        };
        match replaced {
            // Opened again: the editor follows it once, and prompts of before end.
            Some(Some(before)) => before.end().await,
            Some(None) => {}
            None => {
                session.leave().await;
                let message = format!("more than {MAX_SESSIONS} sessions are open");
                return Err(Problem::new(ProblemCode::Unavailable, message)
                    .with_hint("close some of them")
                    .into());
            }
        }
        if let Some(buffers) = buffers {
            self.buffers.attach(session.id().clone(), buffers);
        }
        Ok((session.described(), session))
    }

    /// What applies in the directory of a request.
    async fn project(&self, params: &NewParams) -> Result<Project, Problem> {
        if !params.additional_directories.is_empty() {
            return Err(Problem::new(ProblemCode::Unsupported, "additional directories are not supported"));
        }
        let directory = absolute(&params.cwd)?;
        self.projects.project(&directory).await
    }

    async fn list(&self, params: ListParams) -> Result<Value, RpcError> {
        let mut filter = SessionFilter::default();
        (filter.limit, filter.page) = (Some(PAGE), params.cursor);
        if let Some(directory) = params.cwd {
            let directory = absolute(&directory)?;
            filter.directory = Some(self.projects.project(&directory).await?.directory);
        }
        let page = self.sessions.list(filter).await?;
        let mut response = json!({ "sessions": page.sessions.iter().filter_map(listed).collect::<Vec<_>>() });
        if let (Some(next), Value::Object(fields)) = (page.next, &mut response) {
            fields.insert("nextCursor".to_owned(), next.into());
        }
        Ok(response)
    }
}

/// Whether the editor gets the messages of a session that it opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HistoryDelivery {
    Shown,
    /// The editor has them.
    Known,
}

fn absolute(directory: &str) -> Result<PathBuf, Problem> {
    let path = Path::new(directory);
    if path.is_absolute() {
        return Ok(path.to_path_buf());
    }
    Err(Problem::new(ProblemCode::Invalid, "the working directory must be an absolute path")
        .with_place(directory))
}

/// A session in a list. The protocol has no place for a session without a directory.
fn listed(summary: &SessionSummary) -> Option<Value> {
    let session = &summary.archived;
    let mut listed = json!({
        "sessionId": session.session_id.as_str(),
        "cwd": session.cwd.as_ref()?,
        "updatedAt": session.last_active_at.to_string(),
    });
    if let (Some(title), Value::Object(fields)) = (session.name(), &mut listed) {
        fields.insert("title".to_owned(), title.into());
    }
    Some(listed)
}

/// The servers of the editor in the format of `mcpServers`.
fn servers(servers: Vec<McpServer>) -> Result<EditorServers, Problem> {
    let map = |values: Vec<NamedValue>| -> Map<String, Value> {
        values.into_iter().map(|named| (named.name, named.value.into())).collect()
    };
    let mut entries = Map::new();
    for server in servers {
        let entry = match (server.transport.as_deref(), server.command, server.url) {
            (None | Some("stdio"), Some(command), _) => {
                json!({ "command": command, "args": server.args, "env": map(server.env) })
            }
            (Some("http"), _, Some(url)) => {
                json!({ "type": "http", "url": url, "headers": map(server.headers) })
            }
            _ => {
                let message = format!("the MCP server `{}` has no supported transport", server.name);
                return Err(Problem::new(ProblemCode::Unsupported, message)
                    .with_hint("Lariat supports programs and `http`"));
            }
        };
        entries.insert(server.name, entry);
    }
    Ok(EditorServers(entries))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::servers;
    use crate::wire::McpServer;

    #[test]
    fn servers_of_the_editor_become_entries() {
        let sent: Vec<McpServer> = serde_json::from_value(json!([
            { "name": "db", "command": "/bin/db", "args": ["-v"], "env": [{ "name": "A", "value": "1" }] },
            { "type": "http", "name": "web", "url": "https://a.b", "headers": [{ "name": "X", "value": "y" }] },
        ]))
        .unwrap();
        let expected = json!({
            "db": { "command": "/bin/db", "args": ["-v"], "env": { "A": "1" } },
            "web": { "type": "http", "url": "https://a.b", "headers": { "X": "y" } },
        });
        assert_eq!(json!(servers(sent).unwrap().0), expected);
        let old: Vec<McpServer> = serde_json::from_value(
            json!([{ "type": "sse", "name": "old", "url": "https://a.b", "headers": [] }]),
        )
        .unwrap();
        assert!(servers(old).unwrap_err().message.contains("`old`"));
    }
}
