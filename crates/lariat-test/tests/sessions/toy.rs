//! A small host in memory that keeps the protocol, with mistakes that a test can switch on.
//!
//! It shows that a right host passes the suite and that the suite notices wrong ones. Everything that it knows is a
//! function of its journal; one task for each open session appends what comes next.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::{Either, select};
use lariat_api::{
    Action, AskPolicy, Cursor, Delivery, LiveItem, Problem, ProblemCode, Receipt, SessionCommand,
    SessionStatus, SessionSummary, SessionView, Sessions, StoreGeneration,
};
use lariat_core::BoxFuture;
use lariat_core::archive;
use lariat_core::content::Content;
use lariat_core::event::{
    AgentEvent, CommandRecord, Description, Event, EventRecord, LoopStart, MessageRef, QueueKind,
    RecordedMessage, RunOutcome, StreamDelta, TurnTrigger,
};
use lariat_core::id::{EventId, LoopId, MessageId, RequestId, SessionId};
use lariat_core::message::{
    AgentMessage, AssistantMessage, Message, SharedMessage, StopReason, ToolResultMessage,
};
use lariat_core::permission::{PermissionDecision, PermissionRequest};
use lariat_core::time::{Minter, Timestamp};
use lariat_core::usage::Usage;
use lariat_test::model::DEFAULT_USAGE;
use lariat_test::sessions::{Approval, HostFixture, ModelScript, PlannedReply, ScriptedFiles};
use serde_json::{Value, json};
use tokio::sync::{broadcast, watch};
use tokio::task::JoinHandle;

use super::handle::Handle;
use super::state::State;

/// A deliberate mistake of the toy host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mistake {
    AcknowledgesBeforeRecording,
    ExecutesRetryTwice,
    TakesOtherContentForRetry,
    RecordsUnknownAction,
    SkipsEventAfterReconnect,
    SendsSyncedTwice,
    SyncsTooEarly,
    TakesForeignCursor,
    SkipsEventsOfLast,
    TakesTwoStarts,
    SecondAnswerWins,
    IgnoresDigest,
    HidesWinner,
    HangsWithoutClient,
    ShowsOldAsk,
    HidesQueuedMessage,
    CountsUsageTwice,
    ResumesQueueByItself,
    LosesQueueInCrash,
    RunsToolAgainAfterCrash,
    StopsRunWithLastClient,
    DeliversSteeringLate,
    SendsLiveBeforeLog,
    DropsLiveSilently,
    RepeatsSessionOnNextPage,
    ForgetsChange,
    RunsCommandBeforeRecord,
    RunsCommandAgainAfterCrash,
    DropsCommandOutput,
    RestoresTooMuch,
    KeepsConversation,
    RestoresBesideRun,
    RestoresToUnknownMessage,
    ForgetsRestoreInCrash,
}

/// What survives a crash.
pub(crate) struct Toy {
    mistake: Option<Mistake>,
    pub(super) journals: Arc<Mutex<BTreeMap<SessionId, Vec<Event>>>>,
    files: ScriptedFiles,
    model: ModelScript,
    /// Ids stay unique over crashes.
    minter: Arc<Mutex<Minter>>,
    host: Mutex<Option<Arc<Host>>>,
}

impl Toy {
    pub(crate) fn new(mistake: Option<Mistake>) -> Self {
        let model = ModelScript::new(|mark, approval| {
            ("mark".to_owned(), json!({"mark": mark, "asks": approval == Approval::Needed}))
        });
        let (journals, minter) = Default::default();
        let files = ScriptedFiles::new(&model);
        Self { mistake, journals, files, model, minter, host: Mutex::default() }
    }
}

impl HostFixture for Toy {
    fn open(&self, policy: AskPolicy) -> BoxFuture<'_, Arc<dyn Sessions>> {
        let mut old = BTreeMap::new();
        if self.mistake == Some(Mistake::LosesQueueInCrash) {
            let journals = self.journals.lock().unwrap();
            old = journals.iter().map(|(id, journal)| (id.clone(), journal.len())).collect();
        }
        let host = Arc::new(Host {
            mistake: self.mistake,
            policy,
            journals: Arc::clone(&self.journals),
            files: self.files.clone(),
            model: self.model.clone(),
            minter: Arc::clone(&self.minter),
            grown: watch::Sender::new(0),
            live: broadcast::Sender::new(1_000),
            attached: AtomicUsize::new(0),
            is_dead: Mutex::default(),
            owners: Mutex::default(),
            begun: Mutex::default(),
            old,
        });
        *self.host.lock().unwrap() = Some(Arc::clone(&host));
        Box::pin(std::future::ready(Arc::new(Handle(host)) as Arc<dyn Sessions>))
    }

    fn crash(&self) -> BoxFuture<'_, ()> {
        let host = self.host.lock().unwrap().take();
        Box::pin(async move {
            let owners = host.map(|host| {
                *host.is_dead.lock().unwrap() = true;
                std::mem::take(&mut *host.owners.lock().unwrap())
            });
            for owner in owners.unwrap_or_default().into_values() {
                owner.abort();
                let _ = owner.await;
            }
        })
    }

    fn directories(&self) -> [String; 2] {
        ["/toys".to_owned(), "/other/toys".to_owned()]
    }

    fn model(&self) -> &ModelScript {
        &self.model
    }

    fn files(&self) -> &ScriptedFiles {
        &self.files
    }

    fn other_mode(&self) -> String {
        "plan".to_owned()
    }

    fn other_model(&self) -> String {
        "other-toy".to_owned()
    }

    fn journal<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Vec<Event>> {
        let journal = self.journals.lock().unwrap().get(session_id).cloned().unwrap_or_default();
        Box::pin(std::future::ready(journal))
    }
}

pub(super) struct Host {
    mistake: Option<Mistake>,
    policy: AskPolicy,
    pub(super) journals: Arc<Mutex<BTreeMap<SessionId, Vec<Event>>>>,
    pub(super) files: ScriptedFiles,
    model: ModelScript,
    minter: Arc<Mutex<Minter>>,
    /// Wakes everything that waits for an event.
    pub(super) grown: watch::Sender<u64>,
    pub(super) live: broadcast::Sender<(SessionId, LiveItem)>,
    attached: AtomicUsize,
    /// Set by a crash. Held while a command is handled: one at a time, so that nothing comes between a check and its
    /// record, and none after a crash, also if a server still has the request of a client that is gone.
    is_dead: Mutex<bool>,
    owners: Mutex<BTreeMap<SessionId, JoinHandle<()>>>,
    /// The commands whose work outside runs this host began, or will.
    pub(super) begun: Mutex<BTreeSet<String>>,
    /// For a mistake: the length of the journals when the host opened.
    old: BTreeMap<SessionId, usize>,
}

/// Counts an attached client while a stream of it exists.
pub(super) struct Attached(Arc<Host>);

impl Drop for Attached {
    fn drop(&mut self) {
        self.0.attached.fetch_sub(1, Ordering::SeqCst);
        self.0.grown.send_modify(|grown| *grown += 1);
    }
}

pub(super) fn problem(code: ProblemCode, text: &str) -> Problem {
    Problem::new(code, text)
}

impl Host {
    pub(super) fn has(&self, mistake: Mistake) -> bool {
        self.mistake == Some(mistake)
    }

    pub(super) fn journal(&self, id: &SessionId) -> Result<Vec<Event>, Problem> {
        let journals = self.journals.lock().unwrap();
        journals.get(id).cloned().ok_or_else(|| problem(ProblemCode::NotFound, "the session does not exist"))
    }

    pub(super) fn state(&self, id: &SessionId) -> State {
        let journal = self.journal(id).unwrap_or_default();
        let mut state = State::of(&journal);
        if let Some(old) = self.old.get(id) {
            let queued = journal.iter().take(*old).filter_map(|event| match &event.event {
                AgentEvent::MessageQueued { message, .. } => Some(message.id()),
                _ => None,
            });
            let lost: Vec<MessageId> = queued.collect();
            state.waiting.retain(|waiting| !lost.contains(&waiting.id));
        }
        state
    }

    fn record(&self, seq: u64, run: Option<&LoopId>, event: AgentEvent) -> Event {
        let id = EventId::new(self.minter.lock().unwrap().uuid());
        let timestamp = Timestamp::from_millis(1_000 + seq);
        Arc::new(EventRecord { v: 1, seq, id, timestamp, loop_id: run.cloned(), event })
    }

    /// Appends events at once, so that no reader sees a part of them. Returns the position of the first.
    pub(super) fn append(&self, id: &SessionId, run: Option<&LoopId>, events: Vec<AgentEvent>) -> u64 {
        let mut journals = self.journals.lock().unwrap();
        let journal = journals.entry(id.clone()).or_default();
        let first = journal.len() as u64;
        for event in events {
            journal.push(self.record(journal.len() as u64, run, event));
        }
        drop(journals);
        self.grown.send_modify(|grown| *grown += 1);
        first
    }

    pub(super) fn with_id(&self, message: Message) -> SharedMessage {
        let mut message = AgentMessage::from(message);
        message.assign_id(|| MessageId::new(self.minter.lock().unwrap().uuid()));
        Arc::new(message)
    }

    /// Starts the task of a session.
    pub(super) fn wake(self: &Arc<Self>, id: &SessionId) {
        let mut owners = self.owners.lock().unwrap();
        if !owners.contains_key(id) {
            let (host, session) = (Arc::clone(self), id.clone());
            owners.insert(id.clone(), tokio::spawn(async move { host.drive(&session).await }));
        }
    }

    async fn drive(&self, id: &SessionId) {
        let mut grown = self.grown.subscribe();
        loop {
            grown.mark_unchanged();
            if !self.step(id).await {
                grown.changed().await.unwrap();
            }
        }
    }

    /// Appends what comes next; false if nothing does before something else happens.
    async fn step(&self, id: &SessionId) -> bool {
        let state = self.state(id);
        if let Some((command_id, work)) = &state.work {
            self.carry_out(id, &state, command_id, work).await;
            return true;
        }
        let Some(run) = &state.run else { return self.start(id, &state) };
        let end = |outcome| AgentEvent::AgentEnd {
            messages: vec![],
            usage: Usage::default(),
            outcome,
            rejection: None,
        };
        let steering = state.waiting.iter().find(|waiting| waiting.delivery == Delivery::Steer);
        // Steering waits for the first reply of a run.
        let prompts =
            state.conversation.iter().rev().take_while(|message| message.as_user().is_some()).count();
        let before = state.conversation.iter().rev().nth(prompts);
        let is_unasked = prompts > 0 && before.is_none_or(|message| message.as_assistant().is_some());
        let steering = steering.filter(|_| !is_unasked);
        let gone = self.has(Mistake::StopsRunWithLastClient) && self.attached.load(Ordering::SeqCst) == 0;
        if state.must_stop || gone {
            self.append(id, Some(run), vec![end(RunOutcome::Aborted)]);
        } else if let Some(call) = &state.call {
            return self.step_call(id, run, &state, call).await;
        } else if let Some(steering) = steering.filter(|_| !self.has(Mistake::DeliversSteeringLate)) {
            self.append(id, Some(run), vec![taken(steering)]);
        } else if state.conversation.last().is_some_and(|last| last.as_assistant().is_some()) {
            self.append(id, Some(run), vec![end(RunOutcome::Completed)]);
        } else {
            self.call_model(id, run, &state, end).await;
        }
        true
    }

    fn start(&self, id: &SessionId, state: &State) -> bool {
        let is_paused = state.is_paused && !self.has(Mistake::ResumesQueueByItself);
        let next = state.waiting.iter().find(|waiting| waiting.is_direct || !is_paused);
        if next.is_none() && !state.wants_run {
            return false;
        }
        let run = LoopId::from(format!("{id}.toy.{}", state.runs));
        let start = LoopStart::new("toy".into(), id.clone(), run.clone());
        let mut events = vec![AgentEvent::AgentStart(Box::new(start)), turn()];
        events.extend(next.map(taken));
        self.append(id, Some(&run), events);
        true
    }

    async fn step_call(
        &self,
        id: &SessionId,
        run: &LoopId,
        state: &State,
        call: &super::state::Call,
    ) -> bool {
        let (tool_call_id, tool_name) = (call.call.id.clone(), call.call.name.clone());
        let result = |text: &str, is_error: bool| {
            let message = self.with_id(Message::ToolResult(ToolResultMessage {
                tool_call_id: tool_call_id.clone(),
                tool_name: tool_name.clone(),
                content: vec![Content::text(text)],
                is_error,
                timestamp: Timestamp::default(),
            }));
            let end = AgentEvent::ToolExecutionEnd {
                tool_call_id: tool_call_id.clone(),
                tool_name: tool_name.clone(),
                message: MessageRef::resolved(Arc::clone(&message)),
                details: Value::Null,
                is_error,
                child_loop_id: None,
            };
            vec![end, AgentEvent::MessageEnd { message: RecordedMessage::Full(message) }, turn()]
        };
        let asked = state.open_asks().next();
        match (&call.decision, asked) {
            (None, None) if call.call.arguments["asks"] == json!(true) => {
                let mut request = PermissionRequest::new(&call.call, "leave a mark");
                request.id = RequestId::new(self.minter.lock().unwrap().uuid());
                self.append(
                    id,
                    Some(run),
                    vec![AgentEvent::PermissionRequired { request: Arc::new(request) }],
                );
            }
            (None, Some(asked)) => {
                let is_alone = self.attached.load(Ordering::SeqCst) == 0;
                let denies =
                    self.policy == AskPolicy::Deny && is_alone && !self.has(Mistake::HangsWithoutClient);
                let by_policy = denies.then(|| PermissionDecision::deny("no client is attached"));
                let answer = asked.answer.as_ref().map(|(decision, _)| decision.clone()).or(by_policy);
                let Some(decision) = answer else { return false };
                // Long enough for a crash between the answer and its record.
                tokio::time::sleep(Duration::from_millis(3)).await;
                let request_id = asked.request.id;
                self.append(
                    id,
                    Some(run),
                    vec![AgentEvent::PermissionDecided { request_id, tool_call_id, decision }],
                );
            }
            (Some(decision), _) if decision.scope().is_none() => {
                self.append(id, Some(run), result("denied", true));
            }
            _ if call.has_started && !self.has(Mistake::RunsToolAgainAfterCrash) => {
                self.append(id, Some(run), result("interrupted", true));
            }
            _ => {
                let args = lariat_core::event::ArgsRef::default();
                let start = AgentEvent::ToolExecutionStart {
                    tool_call_id: tool_call_id.clone(),
                    tool_name: tool_name.clone(),
                    args,
                };
                self.append(id, Some(run), vec![start]);
                self.files.add(tool_call_id.as_str(), tool_call_id.as_str());
                // Long enough for a crash between the effect and its record.
                tokio::time::sleep(Duration::from_millis(5)).await;
                self.append(id, Some(run), result("marked", false));
            }
        }
        true
    }

    async fn call_model(
        &self,
        id: &SessionId,
        run: &LoopId,
        state: &State,
        end: impl Fn(RunOutcome) -> AgentEvent,
    ) {
        let conversation: Vec<&Message> =
            state.conversation.iter().filter_map(|message| message.as_llm()).collect();
        let mut grown = self.grown.subscribe();
        let stopped = Box::pin(async {
            while !self.state(id).must_stop {
                grown.changed().await.unwrap();
            }
        });
        let reply = match select(Box::pin(self.model.reply(conversation)), stopped).await {
            Either::Left((reply, _)) => reply,
            Either::Right(_) => return,
        };
        let (content, stop_reason) = match &reply {
            PlannedReply::Text(pieces) => (Content::text(pieces.concat()), StopReason::Stop),
            PlannedReply::Call(call) => (
                Content::tool_call(call.id.clone(), call.name.clone(), call.arguments.clone()),
                StopReason::ToolUse,
            ),
            PlannedReply::Failure(error) => {
                self.append(id, Some(run), vec![end(RunOutcome::Failed { error: error.clone() })]);
                return;
            }
            _ => unreachable!(),
        };
        let message = self.with_id(Message::Assistant(AssistantMessage {
            content: vec![content],
            stop_reason,
            model: "toy".to_owned(),
            requested_model: None,
            provider: "toy".to_owned(),
            usage: DEFAULT_USAGE,
            timestamp: Timestamp::default(),
            error_message: None,
        }));
        let reference = MessageRef::unresolved(message.id());
        let live = |event| {
            let durable = self.journal(id).unwrap().len() as u64;
            let after = durable + u64::from(self.has(Mistake::SendsLiveBeforeLog));
            let item = LiveItem::new(after, self.record(durable, Some(run), event));
            let _ = self.live.send((id.clone(), item));
        };
        live(AgentEvent::MessageStart { message: reference.clone() });
        if let PlannedReply::Text(pieces) = reply {
            for (number, delta) in pieces.into_iter().enumerate() {
                live(AgentEvent::MessageUpdate {
                    message: reference.clone(),
                    delta: StreamDelta::Text { delta },
                });
                if number % 100 == 0 {
                    tokio::task::yield_now().await;
                }
            }
        }
        self.append(id, Some(run), vec![AgentEvent::MessageEnd { message: RecordedMessage::Full(message) }]);
    }

    pub(super) fn status(&self, id: &SessionId, state: &State) -> SessionStatus {
        let is_open = self.owners.lock().unwrap().contains_key(id);
        match state.run.is_some() || state.work.is_some() {
            true if state.open_asks().next().is_some() => SessionStatus::RequiresAction,
            true if is_open => SessionStatus::Running,
            true => SessionStatus::Interrupted,
            false if state.is_closed => SessionStatus::Closed,
            false => SessionStatus::Idle,
        }
    }

    pub(super) fn cursor(&self, next: u64) -> Cursor {
        Cursor::new(StoreGeneration::new("toy1").unwrap(), next)
    }

    pub(super) fn view(&self, id: &SessionId) -> Result<SessionView, Problem> {
        let journal = self.journal(id)?;
        let mut state = self.state(id);
        // The state may be newer; compute it from the same events.
        if self.old.is_empty() {
            state = State::of(&journal);
        }
        let summary = archive::SessionSummary::of(id.clone(), &journal);
        let asks = state.asks.iter().filter(|ask| !ask.is_over || self.has(Mistake::ShowsOldAsk));
        let asks = asks.map(|ask| {
            json!({
                "id": ask.request.tool_call_id,
                "digest": format!("digest of {}", ask.request.tool_call_id),
                "asked_at": Timestamp::default(),
                "subject": {"kind": "approval", "request": ask.request},
            })
        });
        if self.has(Mistake::HidesQueuedMessage) {
            state.waiting.pop();
        }
        let queue = state.waiting.iter().map(|waiting| {
            json!({"message_id": waiting.id, "content": waiting.content, "delivery": waiting.delivery})
        });
        let usage = if self.has(Mistake::CountsUsageTwice) { state.usage + state.usage } else { state.usage };
        let view = json!({
            "session_id": id,
            "seq": journal.len(),
            "cursor": self.cursor(journal.len() as u64),
            "status": self.status(id, &state),
            "outcome": state.outcome,
            "title": summary.name(),
            "directory": summary.cwd,
            "asks": asks.collect::<Vec<_>>(),
            "ask_policy": self.policy,
            "queue": queue.collect::<Vec<_>>(),
            "is_queue_paused": state.is_paused,
            "usage": usage,
            "mode": state.mode.clone().unwrap_or_else(|| "default".to_owned()),
            "model": {"name": state.model.clone().unwrap_or_else(|| "toy".to_owned())},
        });
        Ok(serde_json::from_value(view).unwrap())
    }

    pub(super) fn send(
        self: &Arc<Self>,
        id: &SessionId,
        command: SessionCommand,
    ) -> Result<Receipt, Problem> {
        self.journal(id)?;
        let is_dead = self.is_dead.lock().unwrap();
        if *is_dead {
            return Err(problem(ProblemCode::Unavailable, "the host crashed"));
        }
        let state = self.state(id);
        let action = serde_json::to_value(&command.action).unwrap();
        if let Some((content, seq)) = state.commands.get(command.id.as_str()) {
            if *content != action && !self.has(Mistake::TakesOtherContentForRetry) {
                return Err(problem(ProblemCode::CommandConflict, "the id was used before"));
            }
            if self.has(Mistake::ExecutesRetryTwice)
                && let Action::Prompt { content, .. } = &command.action
            {
                let message = self.with_id(Message::user(lariat_core::content::joined_text(&content.0)));
                self.append(
                    id,
                    None,
                    vec![AgentEvent::MessageQueued { queue: QueueKind::FollowUp, message }],
                );
            }
            return Ok(Receipt::new(command.id, *seq));
        }
        let mut effects = self.outside_runs(id, &state, &command)?;
        match &command.action {
            Action::Prompt { content, delivery } => {
                if *delivery == Delivery::Reject && state.run.is_some() {
                    return Err(problem(ProblemCode::WrongStatus, "a run is active"));
                }
                if *delivery == Delivery::Interrupt && state.run.is_some() {
                    effects.push(AgentEvent::AbortRequested);
                }
                let message = self.with_id(Message::user(lariat_core::content::joined_text(&content.0)));
                effects.push(AgentEvent::MessageQueued { queue: QueueKind::FollowUp, message });
            }
            Action::Interrupt if state.run.is_some() => effects.push(AgentEvent::AbortRequested),
            Action::Describe { title, tags } => {
                let mut description = Description::default();
                (description.title, description.tags) = (title.clone(), tags.clone());
                effects.push(AgentEvent::SessionDescribed(Box::new(description)));
            }
            Action::Answer { ask_id, digest, .. } => {
                let ask = state.asks.iter().find(|ask| ask.request.tool_call_id.as_str() == ask_id.as_str());
                let ask = ask.ok_or_else(|| problem(ProblemCode::NotFound, "the ask does not exist"))?;
                if digest.as_str() != format!("digest of {ask_id}") && !self.has(Mistake::IgnoresDigest) {
                    return Err(problem(ProblemCode::DigestMismatch, "the ask has another digest"));
                }
                if let Some((_, by)) = ask.answer.as_ref().filter(|_| !self.has(Mistake::SecondAnswerWins)) {
                    // After a crash the answer that won may wait for its session to be opened.
                    self.wake(id);
                    let by = if self.has(Mistake::HidesWinner) { "another client" } else { by };
                    return Err(problem(ProblemCode::AlreadyAnswered, &format!("{by} answered before")));
                }
                if ask.is_over && ask.answer.is_none() {
                    return Err(problem(ProblemCode::NotFound, "the run is over"));
                }
            }
            Action::Other(_) if !self.has(Mistake::RecordsUnknownAction) => {
                return Err(problem(ProblemCode::Unsupported, "unknown action"));
            }
            _ => {}
        }
        let by = format!("user of {}", command.client);
        let (id_text, client) = (command.id.as_str(), command.client.as_str());
        let record = CommandRecord::new(id_text, client, by, "toy", action.to_string());
        effects.insert(0, AgentEvent::CommandAccepted(Box::new(record)));
        if self.has(Mistake::AcknowledgesBeforeRecording) {
            let seq = self.journal(id)?.len() as u64;
            let (host, id) = (Arc::clone(self), id.clone());
            let owner = SessionId::from(format!("write {}", command.id));
            let write = tokio::spawn(async move {
                tokio::time::sleep(Duration::from_micros(100)).await;
                host.append(&id, None, effects);
                host.wake(&id);
            });
            self.owners.lock().unwrap().insert(owner, write);
            return Ok(Receipt::new(command.id, seq));
        }
        let seq = self.append(id, None, effects);
        if self.has(Mistake::RecordsUnknownAction) && matches!(command.action, Action::Other(_)) {
            return Err(problem(ProblemCode::Unsupported, "unknown action"));
        }
        self.wake(id);
        Ok(Receipt::new(command.id, seq))
    }

    pub(super) fn summary(&self, id: &SessionId) -> SessionSummary {
        let state = self.state(id);
        let archived = archive::SessionSummary::of(id.clone(), &self.journal(id).unwrap());
        let mut summary = SessionSummary::new(archived, self.status(id, &state));
        summary.asks = state.open_asks().count() as u32;
        summary
    }

    pub(super) fn attach(self: &Arc<Self>) -> Attached {
        self.attached.fetch_add(1, Ordering::SeqCst);
        Attached(Arc::clone(self))
    }
}

fn turn() -> AgentEvent {
    AgentEvent::TurnStart { turn_index: 0, triggered_by: TurnTrigger::User }
}

/// Takes a waiting message into the conversation.
fn taken(waiting: &super::state::Waiting) -> AgentEvent {
    let text = lariat_core::content::joined_text(&waiting.content.0);
    let mut message = AgentMessage::user(text);
    message.assign_id(|| waiting.id);
    AgentEvent::MessageEnd { message: RecordedMessage::Full(Arc::new(message)) }
}
