//! Follows the log and the live items of a session, and sends updates to the editor.
//!
//! Live items wait until the durable events before them were sent. If the log is lost, prompts end with an error, and the
//! task connects again from the last position.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{Stream, StreamExt as _};
use lariat_api::{AskId, Cursor, Live, LiveItem, LogItem, LogRequest, Problem, ProblemCode, SessionStatus};
use lariat_core::event::{AgentEvent, EventRecord, RunOutcome};
use lariat_core::time::Timestamp;
use tokio::sync::oneshot;

use super::{OpenSession, QueueState, Start};
use crate::replay::{LeftOut, Replay, Survey};
use crate::stop;
use crate::transcript::EditorTranscript;
use crate::wire::draft::Activity;
use crate::wire::{Cost, Update};

/// Maximum number of live items that wait for durable ones.
const MAX_HELD: usize = 4_096;
/// The wait before the log is read again after a failure.
const RETRY: Duration = Duration::from_secs(1);

struct Follower {
    session: Arc<OpenSession>,
    transcript: EditorTranscript,
    /// The position after the newest event that was sent.
    after: Option<Cursor>,
    held: VecDeque<LiveItem>,
    /// Until the editor has the conversation.
    replay: Option<Replay>,
    synced: Option<oneshot::Sender<Result<(), Problem>>>,
}

/// Follows a session until the task is aborted or the session cannot be read any more.
pub(super) async fn run(
    session: Arc<OpenSession>,
    start: Start,
    synced: oneshot::Sender<Result<(), Problem>>,
) {
    let (editor, protocol) = (session.opening.editor.clone(), session.opening.connection.protocol());
    let transcript = EditorTranscript::new(session.directory().clone(), editor, protocol);
    let (after, replay) = match start {
        Start::Replay => match survey(&session).await {
            Ok(left_out) => (None, Some(Replay::new(left_out))),
            Err(problem) => {
                let _ = synced.send(Err(problem));
                return;
            }
        },
        Start::After(cursor) => (Some(cursor), None),
    };
    let mut follower =
        Follower { session, transcript, after, held: VecDeque::new(), replay, synced: Some(synced) };
    loop {
        let Err(problem) = follower.read().await else { return };
        if let Some(synced) = follower.synced.take() {
            let _ = synced.send(Err(problem));
            return;
        }
        let is_final =
            matches!(problem.code, ProblemCode::NotFound | ProblemCode::Damaged | ProblemCode::CursorGone);
        if is_final {
            follower.session.lose(problem.clone());
        }
        follower.session.fail_prompts(&problem).await;
        if is_final {
            return;
        }
        follower.transcript.miss_live_items();
        tokio::time::sleep(RETRY).await;
    }
}

/// Reads the log for what is not part of the conversation any more.
async fn survey(session: &OpenSession) -> Result<LeftOut, Problem> {
    let mut log = session.opening.host.sessions.log(session.id(), LogRequest::default()).await?;
    let mut survey = Survey::default();
    while let Some(item) = log.next().await {
        if let LogItem::Event { event, .. } = item? {
            survey.apply(&event);
        }
    }
    Ok(survey.finish())
}

impl Follower {
    /// Reads until the log ends.
    async fn read(&mut self) -> Result<(), Problem> {
        let (sessions, id) = (Arc::clone(&self.session.opening.host.sessions), self.session.id().clone());
        let mut request = LogRequest::default();
        (request.after, request.follow) = (self.after.clone(), true);
        // The live items first: one between both is then held back instead of missed.
        let mut live = Some(sessions.live(&id).await?);
        let mut log = sessions.log(&id, request).await?;
        loop {
            self.send_due().await;
            tokio::select! {
                biased;
                item = log.next() => match item {
                    None => return Err(Problem::new(ProblemCode::Unavailable, "the log of the session ended")),
                    Some(item) => self.log_item(item?).await,
                },
                item = next_live(&mut live) => self.live_item(item?),
            }
        }
    }

    fn position(&self) -> u64 {
        self.after.as_ref().map_or(0, Cursor::next)
    }

    async fn log_item(&mut self, item: LogItem) {
        match item {
            LogItem::Event { cursor, event } => {
                self.after = Some(cursor);
                match &mut self.replay {
                    Some(replay) => {
                        let updates = replay.updates(&event, &mut self.transcript);
                        self.send(updates).await;
                        self.remember_call(&event.event);
                    }
                    None => self.durable(&event).await,
                }
            }
            LogItem::Synced { cursor } => {
                self.after = Some(cursor);
                self.show_replay().await;
                if let Some(synced) = self.synced.take() {
                    let _ = synced.send(Ok(()));
                }
            }
            _ => {}
        }
    }

    fn live_item(&mut self, item: Live) {
        match item {
            Live::Event(item) if item.after >= self.position() => {
                if self.held.len() >= MAX_HELD {
                    self.held.clear();
                    self.transcript.miss_live_items();
                }
                self.held.push_back(item);
            }
            Live::Resync { .. } => {
                self.held.clear();
                self.transcript.miss_live_items();
            }
            _ => {}
        }
    }

    /// Sends the live items whose time has come. Those that a durable event has replaced are left out.
    async fn send_due(&mut self) {
        let position = self.position();
        while let Some(item) = self.held.pop_front_if(|item| item.after <= position) {
            if item.after == position && self.replay.is_none() {
                let updates = self.transcript.live(&item.event);
                self.send(updates).await;
            }
        }
    }

    async fn send(&self, updates: Vec<Update>) {
        for update in updates {
            self.session.update(update).await;
        }
    }

    /// The editor has the conversation. Sends the task list and what the view says besides.
    async fn show_replay(&mut self) {
        let Some(replay) = self.replay.take() else { return };
        self.send(Vec::from_iter(replay.finish())).await;
        let Ok(view) = self.session.view().await else { return };
        if !matches!(view.status, SessionStatus::Running | SessionStatus::RequiresAction) {
            let updates = self.transcript.end_open_calls("interrupted, or running in another process");
            self.send(updates).await;
        }
        self.report_usage().await;
        if view.title.is_some() {
            self.session.update(Update::SessionInfoUpdate { title: view.title, updated_at: None }).await;
        }
        if view.status == SessionStatus::Running {
            self.session.report(Activity::Running).await;
        }
        self.session.refresh_questions().await;
    }

    async fn durable(&mut self, record: &EventRecord) {
        if let AgentEvent::CommandAccepted(command) = &record.event
            && self.session.accept(&command.command_id)
        {
            self.transcript.expect_own_message();
        }
        let updates = self.transcript.durable(record);
        if let Some(message) = self.transcript.own_message() {
            self.session.bind(message).await;
            if self.transcript.is_queued(message) {
                self.session.deliver_if_idle(message).await;
            }
        }
        self.send(updates).await;
        self.send(self.session.option_updates(&record.event)).await;
        self.remember_call(&record.event);
        match &record.event {
            AgentEvent::PermissionRequired { .. }
            | AgentEvent::BudgetExtensionRequested { .. }
            | AgentEvent::BudgetExtended { .. } => self.session.refresh_questions().await,
            AgentEvent::PermissionDecided { request_id, .. } => {
                self.session.withdraw(&AskId::new(request_id.to_string())).await;
                self.session.report_waiting().await;
            }
            AgentEvent::SessionDescribed(description) if description.title.is_some() => {
                self.report_title(record.timestamp).await;
            }
            AgentEvent::TurnEnd { .. } => self.report_usage().await,
            AgentEvent::PlanDecided { approved, .. } => {
                self.session.withdraw(&AskId::new("plan")).await;
                let result = self.session.state().plan.take();
                if let (Some(result), true) = (result, approved.is_empty()) {
                    self.session.end_prompts(result, |_| false, QueueState::Delivered).await;
                }
            }
            AgentEvent::AgentStart(_) => self.session.report(Activity::Running).await,
            AgentEvent::AgentEnd { outcome, .. } => self.end_run(outcome, record.timestamp).await,
            _ => {}
        }
    }

    /// Keeps the tool call that a question is about.
    fn remember_call(&self, event: &AgentEvent) {
        let mut state = self.session.state();
        match event {
            AgentEvent::PermissionRequired { request } => {
                if let Some(call) = self.transcript.open_call(&request.tool_call_id) {
                    state.calls.insert(AskId::new(request.id.to_string()), Arc::clone(call));
                }
            }
            AgentEvent::AgentEnd { .. } => state.calls.clear(),
            _ => {}
        }
    }

    async fn end_run(&self, outcome: &RunOutcome, at: Timestamp) {
        self.session.withdraw_all().await;
        self.report_title(at).await;
        let result = stop::reason(outcome, self.transcript.stop_reason());
        if outcome.is_completed()
            && let Ok(view) = self.session.view().await
            && self.session.ask_about_plan(&view, result.clone()).await
        {
            return;
        }
        let queue = if outcome.is_completed() { QueueState::Delivered } else { QueueState::Paused };
        self.session.end_prompts(result.clone(), |message| self.transcript.is_queued(message), queue).await;
        self.session.report(Activity::Idle(result)).await;
    }

    async fn report_title(&self, at: Timestamp) {
        let Ok(view) = self.session.view().await else { return };
        let is_new = {
            let mut state = self.session.state();
            let is_new = state.title != view.title;
            state.title.clone_from(&view.title);
            is_new
        };
        let title = view.title.filter(|_| is_new);
        self.session.update(Update::SessionInfoUpdate { title, updated_at: Some(at.to_string()) }).await;
    }

    /// Reports how full the context window is, if its size is known.
    async fn report_usage(&self) {
        let Ok(view) = self.session.view().await else { return };
        if view.context.window == 0 {
            return;
        }
        let cost = view.usage.cost;
        let cost = (!cost.is_zero()).then(|| Cost { amount: cost.as_usd(), currency: "USD" });
        let (used, size) = (view.context.used, view.context.window);
        self.session.update(Update::UsageUpdate { used, size, cost }).await;
    }
}

/// The next live item. Waits forever after the end of the stream.
async fn next_live<S>(live: &mut Option<S>) -> Result<Live, Problem>
where
    S: Stream<Item = Result<Live, Problem>> + Unpin,
{
    match live {
        Some(stream) => match stream.next().await {
            Some(item) => item,
            None => {
                *live = None;
                std::future::pending().await
            }
        },
        None => std::future::pending().await,
    }
}
