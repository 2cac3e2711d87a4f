//! One session on a host while a script runs: sends commands, injects faults, and notes everything that the final checks
//! need.
//!
//! Invariants: a command that was acknowledged is sent a second time at once and must get an equal receipt; every view
//! that the script read is kept, to be compared with the journal.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::{Either, select};
use lariat_api::{
    Action, Answer, Ask, AskPolicy, ClientName, CommandId, CreateSession, Edit, ItemStream, Live, Problem,
    Receipt, SessionCommand, SessionStatus, SessionView, Sessions,
};
use lariat_core::BoxFuture;
use lariat_core::event::Event;
use lariat_core::id::SessionId;
use lariat_core::permission::PermissionDecision;
use tokio::time::{Instant, sleep, timeout};

use super::HostFixture;
use super::files::RecordedChange;
use super::fold::{Context, Fold, approval_call};
use super::model::{Turn, key_of};
use super::names::Names;
use super::report::Report;
use super::script::ScriptClient;
use super::watch::{ConnectionHabit, Follower, LiveReader};

/// How long a host may take for anything. Only a check that fails waits that long.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// How long something that must stay true is watched.
pub(super) const A_WHILE: Duration = Duration::from_millis(40);

/// Time between two looks at a condition.
pub(super) const POLL: Duration = Duration::from_millis(2);

/// Makes a request, again if it fails as faults of the store permit.
pub(super) async fn retrying<'a, T>(
    faults: StoreFaults,
    request: impl Fn() -> BoxFuture<'a, Result<T, Problem>>,
) -> Result<T, Problem> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match request().await {
            Err(problem) if faults.permit(&problem) && Instant::now() < deadline => sleep(POLL).await,
            result => return result,
        }
    }
}

/// Where a host is crashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CrashPoint {
    /// Only where the script says so.
    None,
    /// After a step.
    After(usize),
    /// While the command of a step is on its way; the client sends it again.
    During(usize),
}

/// Whether requests may fail now and then, because the store does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StoreFaults {
    Never,
    Sometimes,
}

impl StoreFaults {
    /// Whether a client may send a request again that failed so.
    pub(super) fn permit(self, problem: &Problem) -> bool {
        self == Self::Sometimes && problem.code.is_retryable()
    }
}

/// A session on a host.
pub(super) struct Stage {
    pub(super) fixture: Arc<dyn HostFixture>,
    pub(super) host: Arc<dyn Sessions>,
    pub(super) session: SessionId,
    pub(super) context: Context,
    pub(super) acknowledged: Vec<(SessionCommand, Receipt)>,
    pub(super) refused: Vec<CommandId>,
    pub(super) views: Vec<SessionView>,
    pub(super) a: Follower,
    pub(super) b: Follower,
    pub(super) live: LiveReader,
    /// In a lock, because a stream cannot be shared between threads.
    slow: Mutex<Option<ItemStream<Live>>>,
    pub(super) last_ask: Option<Ask>,
    pub(super) counts: Report,
    /// Set while the next command must be interrupted by a crash.
    pub(super) crash_during: Option<usize>,
    /// When a crash happens, if a seed decides.
    pub(super) crash_moment: Option<Duration>,
    pub(super) faults: StoreFaults,
    policy: AskPolicy,
    is_attached: bool,
    names: Names,
    commands: u32,
}

impl Stage {
    /// Creates a session on a host whose store does not fail.
    pub(super) async fn create(
        fixture: &Arc<dyn HostFixture>,
        host: Arc<dyn Sessions>,
        policy: AskPolicy,
    ) -> Result<Self, String> {
        Self::create_with(fixture, host, policy, StoreFaults::Never).await
    }

    /// Creates a session on a host, twice with the same request.
    pub(super) async fn create_with(
        fixture: &Arc<dyn HostFixture>,
        host: Arc<dyn Sessions>,
        policy: AskPolicy,
        faults: StoreFaults,
    ) -> Result<Self, String> {
        let names = Names::next();
        let session = SessionId::from(format!("session-{}", names.run()));
        let [directory, _] = fixture.directories();
        let request = CreateSession::new(session.clone(), directory);
        let create = || retrying(faults, || host.create(request.clone()));
        let view = create().await.map_err(|problem| format!("create: {problem}"))?;
        let again = create().await.map_err(|problem| format!("create again: {problem}"))?;
        if view.session_id != session || again.seq != view.seq {
            return Err(format!("create gave {view:?}, and again {again:?}"));
        }
        Ok(Self {
            fixture: Arc::clone(fixture),
            host,
            session,
            context: Context { has_crashed: faults == StoreFaults::Sometimes, ..Context::default() },
            acknowledged: Vec::new(),
            refused: Vec::new(),
            views: vec![view],
            a: Follower::new(ConnectionHabit::Steady, faults),
            b: Follower::new(ConnectionHabit::Dropped, faults),
            live: LiveReader::new(faults),
            slow: Mutex::default(),
            last_ask: None,
            counts: Report::default(),
            crash_during: None,
            crash_moment: None,
            faults,
            policy,
            is_attached: false,
            names,
            commands: 0,
        })
    }

    pub(super) fn key(&self, name: &str) -> String {
        self.names.key(name)
    }

    pub(super) fn prompt(&self, name: &str) -> String {
        self.names.prompt(name)
    }

    pub(super) fn name(&self, name: &str) -> String {
        self.names.name(name)
    }

    /// The files that tool calls and commands of this run added.
    pub(super) fn own_changes(&self) -> Vec<RecordedChange> {
        let own = self.name("");
        let changes = self.fixture.files().changes();
        changes.into_iter().filter(|change| change.mark.starts_with(&own)).collect()
    }

    pub(super) fn plan(&self, key: &str, turns: &[Turn]) {
        self.names.plan(self.fixture.model(), key, turns);
    }

    pub(super) async fn attach(&mut self) -> Result<(), String> {
        self.is_attached = true;
        self.a.attach(&self.host, &self.session);
        self.b.attach(&self.host, &self.session);
        self.live.attach(&self.fixture, &self.host, &self.session).await
    }

    /// Attaches the clients if they are not.
    pub(super) async fn reattach(&mut self) -> Result<(), String> {
        if self.is_attached { Ok(()) } else { self.attach().await }
    }

    pub(super) async fn detach(&mut self) {
        self.is_attached = false;
        self.a.detach().await;
        self.b.detach().await;
        self.live.detach().await;
    }

    /// Ends the host without cleaning up, and opens another one on the same store.
    pub(super) async fn crash(&mut self) -> Result<(), String> {
        let was_attached = self.is_attached;
        self.detach().await;
        drop(self.set_slow(None));
        self.fixture.crash().await;
        self.context.has_crashed = true;
        self.counts.crashes += 1;
        self.host = self.fixture.open(self.policy).await;
        if was_attached { self.attach().await } else { Ok(()) }
    }

    pub(super) fn set_slow(&mut self, stream: Option<ItemStream<Live>>) -> Option<ItemStream<Live>> {
        std::mem::replace(self.slow.get_mut().unwrap_or_else(PoisonError::into_inner), stream)
    }

    pub(super) fn command(&mut self, client: ScriptClient, action: Action) -> SessionCommand {
        self.commands += 1;
        let id = CommandId::new(format!("{}-c{}", self.names.run(), self.commands));
        self.context.sent.insert(id.as_str().to_owned(), action.clone());
        SessionCommand::new(id, ClientName::new(client.name()), action)
    }

    /// Makes a command of an action, and sends it.
    pub(super) async fn send(
        &mut self,
        client: ScriptClient,
        action: Action,
    ) -> Result<Result<Receipt, Problem>, String> {
        let command = self.command(client, action);
        self.send_command(command).await
    }

    /// Sends a command, perhaps with a crash on its way. An acknowledged command is sent twice.
    pub(super) async fn send_command(
        &mut self,
        command: SessionCommand,
    ) -> Result<Result<Receipt, Problem>, String> {
        if let Some(moment) = self.crash_during.take() {
            let lost = self.host.send(&self.session, command.clone());
            // Different steps crash at different moments.
            let pause = Duration::from_micros(150 * (moment as u64 % 8));
            let pause = self.crash_moment.unwrap_or(pause);
            match select(lost, Box::pin(sleep(pause))).await {
                Either::Left((receipt, _)) => drop(receipt),
                Either::Right(_) => {}
            }
            self.crash().await?;
        }
        let receipt = match self.attempt(&command).await? {
            Ok(receipt) => receipt,
            Err(problem) => {
                self.refused.push(command.id.clone());
                return Ok(Err(problem));
            }
        };
        if receipt.command_id != command.id {
            return Err(format!("the receipt of {} names {}", command.id, receipt.command_id));
        }
        self.counts.commands += 1;
        self.acknowledged.push((command.clone(), receipt.clone()));
        match self.attempt(&command).await? {
            Ok(again) if again == receipt => Ok(Ok(receipt)),
            other => Err(format!("{} got {receipt:?}, and {other:?} when it was sent again", command.id)),
        }
    }

    /// Sends a command as a client does: again, if the host says that this can help.
    pub(super) async fn attempt(&self, command: &SessionCommand) -> Result<Result<Receipt, Problem>, String> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let sent = timeout(PATIENCE, self.host.send(&self.session, command.clone())).await;
            match sent.map_err(|_| format!("the host did not respond to {}", command.id))? {
                Err(problem) if problem.code.is_retryable() && Instant::now() < deadline => {
                    sleep(POLL * 5).await
                }
                other => return Ok(other),
            }
        }
    }

    /// Sends a command that must be accepted.
    pub(super) async fn accept(&mut self, client: ScriptClient, action: Action) -> Result<(), String> {
        let name = format!("{action:?}");
        let is_lost = self.crash_during.is_some();
        match self.send(client, action).await? {
            Ok(_) => Ok(()),
            // After a crash the same command may be too late; then it changed nothing.
            Err(_) if is_lost => Ok(()),
            Err(problem) => Err(format!("the host refused {name}: {problem:?}")),
        }
    }

    pub(super) async fn view(&mut self) -> Result<SessionView, String> {
        let view = retrying(self.faults, || self.host.view(&self.session));
        let view = timeout(PATIENCE, view).await;
        let view =
            view.map_err(|_| "the host did not respond to `view`")?.map_err(|p| format!("view: {p}"))?;
        for message in &view.queue {
            let text = lariat_core::content::joined_text(&message.content.0);
            let key = key_of(&text).unwrap_or(&text).to_owned();
            self.context.queued_ids.insert(message.message_id, key);
        }
        for ask in &view.asks {
            if let Some(call) = approval_call(&ask.subject) {
                self.context.asks.insert(ask.id.as_str().to_owned(), call.clone());
            }
        }
        if let Some(ask) = view.asks.first() {
            self.last_ask = Some(ask.clone());
        }
        if self.views.last() != Some(&view) {
            self.views.push(view.clone());
        }
        Ok(view)
    }

    pub(super) async fn journal(&self) -> Vec<Event> {
        self.fixture.journal(&self.session).await
    }

    pub(super) async fn fold(&self) -> Fold {
        Fold::of(&self.journal().await, &self.context)
    }

    /// Continues what a failure of the store interrupted. Returns whether there was something.
    pub(super) async fn recover(&mut self, view: &SessionView) -> Result<bool, String> {
        let is_lost = self.faults == StoreFaults::Sometimes && view.status == SessionStatus::Interrupted;
        if is_lost {
            self.revive().await?;
        }
        Ok(is_lost)
    }

    /// Makes an interrupted run continue.
    pub(super) async fn revive(&mut self) -> Result<(), String> {
        let view = self.view().await?;
        if view.status == SessionStatus::Interrupted {
            // A host that continues by itself may be faster.
            let _ = self.send(ScriptClient::A, Action::Continue).await?;
        }
        Ok(())
    }

    /// Brings the session to rest: opens all gates, approves everything, resumes the queue.
    pub(super) async fn finish(&mut self) -> Result<SessionView, String> {
        self.fixture.model().release_all(&self.name(""));
        let deadline = Instant::now() + PATIENCE;
        let mut wakes = 0;
        loop {
            let view = self.view().await?;
            let fold = self.fold().await;
            let is_resting = matches!(view.status, SessionStatus::Idle | SessionStatus::Closed);
            if let Some(ask) = view.asks.first().cloned() {
                let decision = PermissionDecision::Allow;
                let answer = Answer::Approval { decision };
                let action = Action::Answer { ask_id: ask.id, digest: ask.digest, answer };
                // Refused if the ask ended meanwhile.
                let _ = self.send(ScriptClient::A, action).await?;
            } else if is_resting && view.queue.is_empty() && !fold.has_pending_prompts() {
                sleep(POLL).await;
                if self.view().await?.seq == view.seq && self.journal().await.len() as u64 == view.seq {
                    return Ok(view);
                }
            } else if view.status == SessionStatus::Interrupted && wakes < 5 {
                wakes += 1;
                let _ = self.send(ScriptClient::A, Action::Continue).await?;
            } else if is_resting && (view.is_queue_paused || wakes < 5) {
                // Also opens a session again that has work but did not begin it after a crash.
                wakes += 1;
                let _ = self.send(ScriptClient::A, Action::EditQueue { edit: Edit::Resume }).await?;
            }
            if Instant::now() > deadline {
                let keys = super::fold::queue_keys(&view);
                return Err(format!(
                    "the session does not come to rest: {:?}, {} asks, queue {keys:?}, pending prompts: {}",
                    view.status,
                    view.asks.len(),
                    fold.has_pending_prompts()
                ));
            }
            sleep(POLL).await;
        }
    }
}
