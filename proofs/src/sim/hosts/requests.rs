//! Sends the requests of clients to the host, and compares every reply with the book and the journal.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use lariat_api::{
    Action, CommandId, CreateSession, LogItem, LogRequest, Principal, Problem, ProblemCode, Receipt,
    SessionCommand, SessionFilter, SessionStatus, SessionView, Sessions as _,
};
use lariat_core::event::{AgentEvent, Event};
use lariat_core::id::SessionId;
use lariat_sessions::Local;

use super::super::violation::Violation;
use super::commands::principal;
use super::process::Process;
use super::views;

/// How long a client waits for a reply. Longer than a store that fails, a slow model and the end of a run together.
const PATIENCE: Duration = Duration::from_secs(4 * 3_600);

/// How many of the newest events tell a host whether a plan waits, in a session that it does not use.
const LISTED_EVENTS: usize = 64;

/// The way of a client to the host.
#[derive(Clone)]
pub(super) struct Connection {
    pub(super) process: Arc<Process>,
    host: Local,
    pub(super) client: usize,
}

impl Connection {
    pub(super) fn new(process: &Arc<Process>, host: &Local, client: usize) -> Self {
        let host = host.for_principal(Principal::new(principal(client)));
        Self { process: Arc::clone(process), host, client }
    }

    /// Sends a new command.
    pub(super) async fn send(
        &self,
        session_id: &SessionId,
        action: Action,
    ) -> Result<Result<Receipt, Problem>, Violation> {
        let number = self.process.commands.add(session_id, self.client, action, Vec::new());
        self.send_again(number).await
    }

    /// Sends a command of the book. The sender of a command is part of its record, so it is always the same.
    pub(super) async fn send_again(&self, number: usize) -> Result<Result<Receipt, Problem>, Violation> {
        let Some(sent) = self.process.commands.get(number) else {
            return Ok(Err(Problem::new(ProblemCode::NotFound, "no such command")));
        };
        let (session_id, id) = (sent.session_id, sent.command.id.clone());
        self.tell(|| format!("{} sends {id} to {session_id}: {}.", sent.by, described(&sent.command.action)));
        let host = self.host.for_principal(Principal::new(sent.by.as_str()));
        self.process.commands.begin(number);
        let reply = self.patiently(host.send(&session_id, sent.command)).await?;
        self.note(|| match &reply {
            Ok(receipt) => format!("The host acknowledges {id} at position {}.", receipt.seq),
            Err(problem) => format!("The host refuses {id}: {:?}, {problem}.", problem.code),
        });
        self.process.commands.reply(number, &reply)?;
        self.check_calm(&reply)?;
        Ok(reply)
    }

    /// Sends another command under the id of one that was acknowledged, which must be a conflict.
    pub(super) async fn send_other(
        &self,
        session_id: &SessionId,
        id: &CommandId,
        action: Action,
    ) -> Result<(), Violation> {
        self.tell(|| format!("Client {} sends another command as {id} to {session_id}.", self.client));
        let client = lariat_api::ClientName::new("another client");
        let command = SessionCommand::new(id.clone(), client, action);
        let reply = self.patiently(self.host.send(session_id, command)).await?;
        self.note(|| format!("other {id}: {reply:?}"));
        self.check_calm(&reply)?;
        match reply {
            Err(problem) if problem.code == ProblemCode::CommandConflict || problem.code.is_retryable() => {
                Ok(())
            }
            reply => Err(Violation::WrongReply(format!("another command as {id} got {reply:?}"))),
        }
    }

    /// Creates a session, or asks again for one.
    pub(super) async fn create(&self, request: CreateSession) -> Result<bool, Violation> {
        let session_id = request.session_id.clone();
        self.tell(|| match &request.fork {
            Some((from, at)) => format!("Client {} forks {session_id} from {from} at {at:?}.", self.client),
            None => format!("Client {} creates {session_id}.", self.client),
        });
        let is_beyond = request.fork.as_ref().is_some_and(|(from, at)| {
            let end = self.process.store.inspect(from, |events| events.len() as u64);
            at.is_some_and(|at| at > end)
        });
        let reply = self.patiently(self.host.create(request)).await?;
        self.note(|| format!("created {session_id}: {:?}", reply.as_ref().map(|view| view.seq)));
        match reply {
            Ok(view) => {
                self.process.commands.created(&session_id)?;
                views::check(&self.process, &view)?;
                Ok(true)
            }
            Err(problem) if problem.code == ProblemCode::NotFound && is_beyond => Ok(false),
            Err(problem) if problem.code.is_retryable() && self.process.troubled => Ok(false),
            Err(problem) => Err(Violation::WrongReply(format!("creation of {session_id}: {problem:?}"))),
        }
    }

    /// Reads the view of a session, which must be what its events say. `None` if the host cannot read it now.
    pub(super) async fn view(&self, session_id: &SessionId) -> Result<Option<SessionView>, Violation> {
        let reply = self.patiently(self.host.view(session_id)).await?;
        self.note(|| {
            format!("view of {session_id}: {:?}", reply.as_ref().map(|view| (view.seq, &view.status)))
        });
        match self.readable(reply)? {
            Some(view) => {
                views::check(&self.process, &view)?;
                Ok(Some(view))
            }
            None => Ok(None),
        }
    }

    /// Reads the newest events of a session. `None` if the host cannot read them now.
    pub(super) async fn newest_events(
        &self,
        session_id: &SessionId,
        most: u64,
    ) -> Result<Option<Vec<Event>>, Violation> {
        let mut request = LogRequest::default();
        request.last = Some(most);
        let read = async {
            let items: Vec<Result<LogItem, Problem>> =
                self.host.log(session_id, request).await?.collect().await;
            items.into_iter().collect::<Result<Vec<LogItem>, Problem>>()
        };
        let items = self.patiently(read).await?;
        let Some(items) = self.readable(items)? else { return Ok(None) };
        let events = items.into_iter().filter_map(|item| match item {
            LogItem::Event { event, .. } => Some(event),
            _ => None,
        });
        Ok(Some(events.collect()))
    }

    /// Lists the sessions, which must contain every one that was created.
    pub(super) async fn list(&self) -> Result<(), Violation> {
        let known = self.process.commands.sessions();
        let reply = self.patiently(self.host.list(SessionFilter::default())).await?;
        let Some(page) = self.readable(reply)? else { return Ok(()) };
        let listed: Vec<&SessionId> =
            page.sessions.iter().map(|session| &session.archived.session_id).collect();
        self.note(|| format!("listed {listed:?}"));
        match known.iter().find(|session_id| !listed.contains(session_id)) {
            Some(missing) => Err(Violation::WrongView(format!("{missing} is not listed"))),
            None => Ok(()),
        }
    }

    /// Checks that a list of the sessions that need an answer contains this one, unless it changed since `before`: meanwhile
    /// a message that waited may have started a run, during which no plan can be answered.
    pub(super) async fn find_waiting(
        &self,
        session_id: &SessionId,
        before: &SessionView,
    ) -> Result<(), Violation> {
        let mut filter = SessionFilter::default();
        filter.status = vec![SessionStatus::RequiresAction];
        let reply = self.patiently(self.host.list(filter)).await?;
        let Some(page) = self.readable(reply)? else { return Ok(()) };
        if page.sessions.iter().any(|session| session.archived.session_id == *session_id) {
            return Ok(());
        }
        // Of a session that this host does not use, it reads the newest events only.
        let has_recent_plan = self.process.store.inspect(session_id, |events| {
            let mut newest = events.iter().rev().take(LISTED_EVENTS);
            newest.any(|event| matches!(event.event, AgentEvent::PlanChangeQueued { .. }))
        });
        match self.view(session_id).await? {
            Some(view)
                if view.seq == before.seq
                    && !view.asks.is_empty()
                    && (has_recent_plan || view.status == SessionStatus::RequiresAction) =>
            {
                Err(Violation::WrongView(format!("{session_id} needs an answer and is not listed so")))
            }
            _ => Ok(()),
        }
    }

    fn readable<T>(&self, reply: Result<T, Problem>) -> Result<Option<T>, Violation> {
        self.check_calm(&reply)?;
        match reply {
            Ok(read) => Ok(Some(read)),
            Err(problem) if problem.code.is_retryable() => Ok(None),
            Err(problem) => Err(Violation::WrongReply(format!("a read got {problem:?}"))),
        }
    }

    /// Without faults of the store, no request fails for a reason that a retry removes.
    fn check_calm<T>(&self, reply: &Result<T, Problem>) -> Result<(), Violation> {
        match reply {
            Err(problem) if problem.code.is_retryable() && !self.process.troubled => {
                Err(Violation::WrongReply(format!("{problem:?}, although nothing fails")))
            }
            _ => Ok(()),
        }
    }

    async fn patiently<T>(&self, reply: impl Future<Output = T>) -> Result<T, Violation> {
        self.process.steps.pass().await;
        let reply = tokio::time::timeout(PATIENCE, reply).await.map_err(|_| Violation::Hangs)?;
        // The process may die before the client reads the reply.
        self.process.steps.pass().await;
        Ok(reply)
    }

    pub(super) fn tell(&self, sentence: impl FnOnce() -> String) {
        self.process.watch.choices.tell(sentence);
    }

    fn note(&self, line: impl Fn() -> String) {
        self.process.watch.choices.tell(&line);
        self.process.watch.note(line);
    }
}

/// What a command asks for, for the story.
fn described(action: &Action) -> String {
    match action {
        Action::Prompt { content, delivery } => {
            format!("{delivery:?} {}", lariat_core::content::joined_text(&content.0))
        }
        Action::Answer { ask_id, answer, .. } => format!("answer {answer:?} to {ask_id}"),
        action => format!("{action:?}"),
    }
}
