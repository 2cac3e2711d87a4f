//! [`Local`]: the sessions of a store, hosted in this process.

use std::sync::Arc;

use futures_util::stream;
use lariat_api::{
    ContextUse, CreateSession, FileDiff, FileList, ItemStream, Live, LogItem, LogRequest, Principal, Problem,
    ProblemCode, Receipt, SessionChange, SessionCommand, SessionFilter, SessionPage, SessionStatus,
    SessionSummary, SessionView, Sessions,
};
use lariat_core::BoxFuture;
use lariat_core::archive::{Cursor as ListCursor, ListQuery, SessionArchive};
use lariat_core::event::{AgentEvent, CommandRecord, Description, Event, RunOutcome};
use lariat_core::id::SessionId;
use lariat_core::session::{ChildRun, FileState};
use lariat_core::store::{BlobHash, SessionStore};
use lariat_core::time::Timestamp;
use lariat_runtime::{CommandEffect, Plan};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::oneshot;

use crate::asks::json_digest;
use crate::factory::{AgentFactory, AgentRequest, HostedAgent};
use crate::host_state::{HostOptions, HostState};
use crate::owner::{self, Owner};
use crate::requests::Request;
use crate::session::SessionEntry;
use crate::{log, problems};

/// Sessions per page if the client names no limit, and the most that it may name.
const PAGE: u32 = 50;
const MAX_PAGE: u32 = 500;
/// How many of the newest events tell whether a run is open, or a plan waits.
const NEWEST: usize = 64;

/// Hosts the sessions of a store in this process, on behalf of one principal. Cheap to clone.
#[derive(Clone)]
pub struct Local {
    shared: Arc<HostState>,
    principal: Principal,
}

impl Local {
    /// Hosts the sessions of a store for a principal.
    pub fn new(
        store: Arc<dyn SessionArchive>,
        factory: Arc<dyn AgentFactory>,
        principal: Principal,
        options: HostOptions,
    ) -> Self {
        let shared = HostState::new(store, factory, options);
        Self { shared: Arc::new(shared), principal }
    }

    /// Returns the same host for another principal: the journal names who sent each command.
    #[must_use]
    pub fn for_principal(&self, principal: Principal) -> Self {
        Self { shared: Arc::clone(&self.shared), principal }
    }

    /// Returns how many sessions have a run in this process.
    pub fn running(&self) -> usize {
        self.shared.sessions().values().filter(|entry| entry.is_running()).count()
    }

    /// Returns how many sessions have a run in this process or a client that follows them.
    pub fn in_use(&self) -> usize {
        self.shared.sessions().values().filter(|entry| entry.is_running() || entry.is_attached()).count()
    }

    /// Returns how many sessions run a tool or a command of the user in this process. A host that ends now would interrupt
    /// those; every other run continues in the next host as if nothing had happened, at the cost of one model call.
    pub async fn busy(&self) -> usize {
        let entries: Vec<Arc<SessionEntry>> =
            self.shared.sessions().values().filter(|entry| entry.is_running()).cloned().collect();
        let mut busy = 0;
        for entry in entries {
            busy += usize::from(entry.runs_tool().await);
        }
        busy
    }

    /// Continues the runs that a host started and that ended with its process. Leaves alone what another process has, and
    /// what no client of a host started. Returns the sessions that it continued.
    ///
    /// # Errors
    /// If the store cannot list its sessions.
    pub async fn recover_interrupted(&self, active_since: Timestamp) -> Result<Vec<SessionId>, Problem> {
        let mut filter = SessionFilter::default();
        (filter.limit, filter.active_since) = (Some(MAX_PAGE), Some(active_since));
        filter.status = vec![SessionStatus::Interrupted, SessionStatus::Idle];
        let mut recovered = Vec::new();
        for session in self.list_sessions(filter).await?.sessions {
            let session_id = session.archived.session_id;
            let entry = self.shared.entry(&session_id);
            let has_work = entry.fold().await.is_ok_and(|fold| {
                fold.clients().is_commanded() && (fold.has_open_work() || fold.has_deliverable_message())
            });
            if has_work && self.ask_owner(&entry, |reply| Request::Recover { reply }).await.is_ok() {
                recovered.push(session_id);
            }
            self.shared.forget(&entry);
        }
        Ok(recovered)
    }

    /// Hosts a session with an agent that was built before. The session need not have events: the first command records
    /// them.
    pub fn adopt(&self, session_id: &SessionId, hosted: HostedAgent) {
        let entry = self.shared.entry(session_id);
        entry.set_adopted();
        entry.owner(|| Owner::start(Arc::clone(&self.shared), Arc::clone(&entry), Some(hosted)));
    }

    /// Returns the changes that plan mode queued, each with what it would do now. An answer to the plan that repeats the
    /// [`plan_digest`](crate::plan_digest) of it is refused if one of them would do something else by then.
    ///
    /// # Errors
    /// If a run is active, or the journal cannot be read.
    pub async fn plan(&self, session_id: &SessionId) -> Result<Plan, Problem> {
        let entry = self.existing(session_id).await?;
        self.ask_owner(&entry, |reply| Request::Plan { reply }).await
    }

    /// Builds the agent of a session anew, because what the factory builds it from changed. The permission mode stays.
    ///
    /// # Errors
    /// If a run is active, or the agent cannot be built.
    pub async fn rebuild(&self, session_id: &SessionId) -> Result<(), Problem> {
        let entry = self.existing(session_id).await?;
        self.ask_owner(&entry, |reply| Request::Rebuild { reply }).await
    }

    /// Closes the agents of all sessions, after their runs, and waits for that. Nothing is recorded: a client that only
    /// leaves does not close its session.
    pub async fn release(&self) {
        let entries: Vec<Arc<SessionEntry>> = self.shared.sessions().values().cloned().collect();
        for entry in entries.iter().filter(|entry| entry.has_owner()) {
            let _ = self.ask_owner(entry, |reply| Request::Release { reply }).await;
        }
    }

    /// Returns the entry of a session that exists.
    async fn existing(&self, session_id: &SessionId) -> Result<Arc<SessionEntry>, Problem> {
        if let Some(entry) = self.shared.known(session_id).filter(|entry| entry.is_adopted()) {
            return Ok(entry);
        }
        let head = self.shared.store.head(session_id).await;
        if head.map_err(|error| problems::from_store(&error))? == 0 {
            return Err(Problem::new(ProblemCode::NotFound, format!("session `{session_id}` not found"))
                .with_hint("`lariat sessions list` lists all sessions"));
        }
        Ok(self.shared.entry(session_id))
    }

    /// Returns the entry of a sub-agent that has no events yet: a session that a client follows has started it.
    async fn announced(&self, session_id: &SessionId) -> Option<Arc<SessionEntry>> {
        let parents: Vec<Arc<SessionEntry>> = self.shared.sessions().values().cloned().collect();
        for parent in parents {
            let Ok(fold) = parent.fold().await else { continue };
            let is_it = |child: &ChildRun| child.session_id == *session_id && child.is_running;
            if fold.clients().children().iter().any(is_it) {
                return Some(self.shared.entry(session_id));
            }
        }
        None
    }

    async fn ask_owner<T>(
        &self,
        entry: &Arc<SessionEntry>,
        mut request: impl FnMut(oneshot::Sender<Result<T, Problem>>) -> Request,
    ) -> Result<T, Problem> {
        // An owner that has just ended refuses the request; then a new one takes it.
        for _ in 0..3 {
            let owner = entry.owner(|| Owner::start(Arc::clone(&self.shared), Arc::clone(entry), None));
            let (reply, replied) = oneshot::channel();
            if owner.send(request(reply)).await.is_ok() {
                match replied.await {
                    Ok(result) => return result,
                    Err(_) => continue,
                }
            }
        }
        Err(problems::owner_lost())
    }

    async fn create_session(&self, request: CreateSession) -> Result<SessionView, Problem> {
        let (store, session_id) = (&self.shared.store, &request.session_id);
        let entry = self.shared.entry(session_id);
        // A client that repeats its request meanwhile waits, and then finds what the first one created.
        let creation = entry.lock_creation().await;
        let head = store.head(session_id).await.map_err(|error| problems::from_store(&error))?;
        if head == 0 {
            self.create_new(&request).await?;
        } else if request.fork.is_some() && entry.command(&creation_id(session_id)).await?.is_none() {
            // The host or its store failed after the fork. Other clients may use the fork already, so its owner records the rest.
            let finish = |reply| {
                let (record, effects) = self.creation(&request);
                Request::Create { record: Box::new(record), effects, reply }
            };
            self.ask_owner(&entry, finish).await?;
        } else {
            let fold = entry.fold().await?;
            if fold.directory().is_some_and(|directory| directory != request.directory) {
                return Err(Problem::new(
                    ProblemCode::CommandConflict,
                    format!("session `{session_id}` exists in another directory"),
                )
                .with_hint("choose a new id for every session"));
            }
        }
        drop(creation);
        self.shared.report_change(&entry).await;
        entry.view().await
    }

    async fn create_new(&self, request: &CreateSession) -> Result<(), Problem> {
        let store = &self.shared.store;
        let head = async |session_id: &SessionId| {
            store.head(session_id).await.map_err(|error| problems::from_store(&error))
        };
        let fork = match &request.fork {
            None => None,
            Some((from, at)) => {
                let events = head(from).await?;
                let at = at.unwrap_or(events);
                if events == 0 || at > events {
                    let message = format!("session `{from}` has no event {at}");
                    return Err(Problem::new(ProblemCode::NotFound, message));
                }
                Some((from, at))
            }
        };
        // A directory, model or mode that cannot be used fails here, before anything is recorded.
        let hosted = self.build_new(request).await?;
        if let Some((from, at)) = fork {
            let forked = store.fork(from, at, &request.session_id).await;
            forked.map_err(|error| problems::from_store(&error))?;
        }
        let (record, effects) = self.creation(request);
        let recorded = hosted.agent.record_creation(record, effects).await;
        hosted.close().await;
        recorded.map(drop).map_err(|error| problems::from_agent(&error))
    }

    /// Returns the first events of a session, which are one write: its directory and what the client chose.
    fn creation(&self, request: &CreateSession) -> (CommandRecord, Vec<CommandEffect>) {
        let mut description = Description::default();
        description.cwd = Some(request.directory.clone());
        description.title.clone_from(&request.title);
        let mut effects = vec![CommandEffect::note(AgentEvent::SessionDescribed(Box::new(description)))];
        if let Some(model) = request.model.clone() {
            effects.push(CommandEffect::note(AgentEvent::ModelChanged { model, effort: None }));
        }
        if let Some(mode) = request.mode.clone() {
            effects.push(CommandEffect::note(AgentEvent::ModeChanged { mode }));
        }
        let (id, digest) = (creation_id(&request.session_id), json_digest(request));
        (CommandRecord::new(id, "host", self.principal.as_str(), "create", digest), effects)
    }

    /// Builds the agent that records the first events of a session.
    async fn build_new(&self, request: &CreateSession) -> Result<HostedAgent, Problem> {
        let model = request.model.as_ref().map(|name| {
            let mut chosen = lariat_api::ModelView::default();
            chosen.name.clone_from(name);
            chosen
        });
        let store = Arc::clone(&self.shared.store) as Arc<dyn SessionStore>;
        let mut wanted = AgentRequest::new(&request.session_id, &store);
        wanted.directory = Some(&request.directory);
        wanted.model = model.as_ref();
        wanted.mode = request.mode.as_deref();
        self.shared.factory.build(wanted).await
    }

    async fn list_sessions(&self, filter: SessionFilter) -> Result<SessionPage, Problem> {
        let limit = filter.limit.unwrap_or(PAGE).clamp(1, MAX_PAGE) as usize;
        let mut query = ListQuery::default();
        query.after = filter.page.as_deref().map(page_start).transpose()?;
        query.limit = limit;
        (query.text, query.cwd, query.tag) = (filter.text, filter.directory, filter.tag);
        (query.parent, query.active_since) = (filter.parent, filter.active_since);
        let mut sessions = Vec::new();
        loop {
            let page = self.shared.store.list(&query).await.map_err(|error| problems::from_store(&error))?;
            let is_last = page.len() < limit;
            for archived in page {
                query.after = Some(archived.cursor());
                let summary = self.summarize(archived).await?;
                let asks = summary.asks > 0 && filter.status.contains(&SessionStatus::RequiresAction);
                if filter.status.is_empty() || asks || filter.status.contains(&summary.status) {
                    sessions.push(summary);
                }
                if sessions.len() == limit {
                    let next = query.after.as_ref().map(page_name);
                    return Ok(SessionPage::new(sessions, next));
                }
            }
            if is_last {
                return Ok(SessionPage::new(sessions, None));
            }
        }
    }

    async fn summarize(
        &self,
        archived: lariat_core::archive::SessionSummary,
    ) -> Result<SessionSummary, Problem> {
        let known = self.shared.sessions().get(&archived.session_id).cloned();
        if let Some(entry) = known {
            let view = entry.view().await?;
            let mut summary = SessionSummary::new(archived, view.status);
            summary.outcome = view.outcome;
            summary.asks = u32::try_from(view.asks.len()).unwrap_or(u32::MAX);
            return Ok(summary);
        }
        let (id, events) = (&archived.session_id, archived.events);
        let newest = self.shared.store.read_backwards(id, events, NEWEST).await;
        let newest = newest.map_err(|error| problems::from_store(&error))?;
        let (status, outcome) = newest_status(&newest);
        let may_plan = newest.iter().any(|event| matches!(event.event, AgentEvent::PlanChangeQueued { .. }));
        let asks = match status {
            // A plan waits for an answer after its run has ended.
            SessionStatus::Idle | SessionStatus::Closed if may_plan => {
                let entry = self.shared.entry(id);
                let asks = entry.view().await?.asks.len();
                self.shared.forget(&entry);
                asks
            }
            _ => 0,
        };
        let mut summary = SessionSummary::new(archived, status);
        (summary.outcome, summary.asks) = (outcome, u32::try_from(asks).unwrap_or(u32::MAX));
        Ok(summary)
    }
}

/// Returns what the newest events say about a session that this host does not run, newest event first.
fn newest_status(newest: &[Event]) -> (SessionStatus, Option<RunOutcome>) {
    let (mut status, mut has_command, mut has_end) = (SessionStatus::Idle, false, false);
    for event in newest {
        let is_idle = status == SessionStatus::Idle;
        match &event.event {
            AgentEvent::AgentEnd { outcome, .. } => return (status, Some(outcome.clone())),
            // Only the newest command tells: a later one opens the session again.
            AgentEvent::CommandAccepted(command) => {
                if is_idle && !has_command && command.action == "close" {
                    status = SessionStatus::Closed;
                }
                has_command = true;
            }
            AgentEvent::FileRestoreEnded(_) | AgentEvent::UserCommandEnded(_) => has_end = true,
            AgentEvent::FileRestoreStarted(_) | AgentEvent::UserCommandStarted { .. }
                if is_idle && !has_end =>
            {
                status = SessionStatus::Interrupted;
            }
            _ if event.loop_id.is_some() && is_idle => status = SessionStatus::Interrupted,
            _ => {}
        }
    }
    (status, None)
}

/// The id under which the journal records the creation of a session.
fn creation_id(session_id: &SessionId) -> String {
    format!("create:{session_id}")
}

/// The name of the page after a session.
fn page_name(after: &ListCursor) -> String {
    format!("{}-{}", after.last_active_at.as_millis(), after.session_id)
}

fn page_start(name: &str) -> Result<ListCursor, Problem> {
    let parsed = name.split_once('-').and_then(|(millis, id)| Some((millis.parse().ok()?, id)));
    let (millis, id) = parsed.ok_or_else(|| {
        Problem::new(ProblemCode::Invalid, "the page is not valid").with_hint("use `next` of the page before")
    })?;
    Ok(ListCursor { last_active_at: Timestamp::from_millis(millis), session_id: SessionId::from(id) })
}

impl Sessions for Local {
    fn create(&self, request: CreateSession) -> BoxFuture<'_, Result<SessionView, Problem>> {
        Box::pin(self.create_session(request))
    }

    fn list(&self, filter: SessionFilter) -> BoxFuture<'_, Result<SessionPage, Problem>> {
        Box::pin(self.list_sessions(filter))
    }

    fn view<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<SessionView, Problem>> {
        Box::pin(async move {
            let entry = self.existing(session_id).await?;
            let mut view = entry.view().await?;
            view.ask_policy = self.shared.options.ask_policy;
            self.shared.forget(&entry);
            Ok(view)
        })
    }

    fn send<'a>(
        &'a self,
        session_id: &'a SessionId,
        command: SessionCommand,
    ) -> BoxFuture<'a, Result<Receipt, Problem>> {
        Box::pin(async move {
            owner::action_name(&command.action)?;
            let entry = self.existing(session_id).await?;
            // A retry needs no owner, so it works while another process has the session.
            let digest = json_digest(&command.action);
            if let Some(receipt) = owner::earlier_receipt(&entry, &command.id, &digest).await? {
                return Ok(receipt);
            }
            let request = |reply| Request::Command {
                command: command.clone(),
                principal: self.principal.clone(),
                reply,
            };
            self.ask_owner(&entry, request).await
        })
    }

    fn log<'a>(
        &'a self,
        session_id: &'a SessionId,
        request: LogRequest,
    ) -> BoxFuture<'a, Result<ItemStream<LogItem>, Problem>> {
        Box::pin(async move {
            let entry = match self.existing(session_id).await {
                Err(problem) if request.follow && problem.code == ProblemCode::NotFound => {
                    self.announced(session_id).await.ok_or(problem)?
                }
                entry => entry?,
            };
            log::read(entry, request).await
        })
    }

    fn live<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<ItemStream<Live>, Problem>> {
        Box::pin(async move { Ok(log::live(&self.existing(session_id).await?)) })
    }

    fn changes(&self) -> BoxFuture<'_, Result<ItemStream<SessionChange>, Problem>> {
        let changes = self.shared.subscribe_changes();
        Box::pin(async move {
            let stream = stream::unfold(changes, |mut changes| async move {
                loop {
                    match changes.recv().await {
                        Ok(change) => return Some((Ok(change), changes)),
                        // A client that was too slow reads the list anyway.
                        Err(RecvError::Lagged(_)) => {}
                        Err(RecvError::Closed) => return None,
                    }
                }
            });
            Ok(Box::pin(stream) as ItemStream<SessionChange>)
        })
    }

    fn diff<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<Vec<FileDiff>, Problem>> {
        Box::pin(async move {
            let entry = self.existing(session_id).await?;
            let directory = entry.fold().await?.directory().map(str::to_owned);
            let history = directory.and_then(|directory| self.shared.factory.file_history(&directory));
            let history = history.ok_or_else(|| {
                Problem::new(ProblemCode::Unsupported, "the host has no record of file changes")
                    .with_hint("`files` lists the files that the session changed")
            })?;
            history.diff(owner::calls_after(&entry, None).await?).await
        })
    }

    fn files<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<FileList, Problem>> {
        Box::pin(async move {
            let entry = self.existing(session_id).await?;
            let fold = entry.fold().await?;
            let of = |is_read: bool| {
                let files = fold.memory().work().files();
                files
                    .filter(|file| (file.state == FileState::Read) == is_read)
                    .map(|file| file.path.clone())
                    .collect()
            };
            Ok(FileList::new(of(true), of(false)))
        })
    }

    fn context<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<ContextUse, Problem>> {
        Box::pin(async move {
            let entry = self.existing(session_id).await?;
            self.ask_owner(&entry, |reply| Request::Context { reply }).await
        })
    }

    fn blob<'a>(
        &'a self,
        session_id: &'a SessionId,
        hash: &'a BlobHash,
    ) -> BoxFuture<'a, Result<Vec<u8>, Problem>> {
        Box::pin(async move {
            self.existing(session_id).await?;
            self.shared.store.blob(hash).await.map_err(|error| problems::from_store(&error))
        })
    }
}
