//! Plays scripts through an editor: over the Agent Client Protocol (ACP), as far as that can express them.
//!
//! An editor prompts, steers, cancels, answers requests for approval, chooses modes and models, closes sessions and loads them
//! again. It has no receipts, cursors or digests, and no queue: [`editor_obstacle`] names what a script needs besides. At the
//! end of every run:
//!
//! - every prompt got exactly one response, and every request for approval was answered or withdrawn;
//! - every prompt is in the conversation at most once, and once if it ended well; tool calls had their effect at most once;
//! - a fresh `session/load` shows the conversation of the journal: prompts, replies, tool calls. An editor that was connected
//!   all the time saw the same replies and tool calls.

mod seen;

use std::sync::Arc;

use lariat_api::{Delivery, SessionStatus};
use lariat_core::BoxFuture;
use lariat_core::event::Event;
use lariat_core::id::SessionId;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::check::check_effects;
use super::fold::{Context, Fold};
use super::model::ModelScript;
use super::names::Names;
use super::report::{Report, SuiteFailure};
use super::script::{ApprovalChoice, Condition, Script, Step, WatchMode};
use super::stage::{A_WHILE, POLL};
use seen::{EditorConversation, ReceivedMessages};

/// How long an agent may take for anything. It is a program that must start first.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(30);

/// The connection of an editor to an agent.
pub trait EditorConnection: Send + Sync {
    /// Sends a JSON-RPC message.
    fn send(&self, message: &Value);

    /// Returns the messages of the agent after the first `known` ones.
    fn received(&self, known: usize) -> Vec<Value>;
}

/// A place where an agent keeps its sessions, and the world around the agent.
pub trait EditorFixture: Send + Sync {
    /// Starts an agent on the store of this fixture, and initializes the connection. At most one agent runs.
    fn connect(&self) -> BoxFuture<'_, Arc<dyn EditorConnection>>;

    /// Ends the agent as `kill -9` does. Does nothing if none runs.
    fn kill(&self) -> BoxFuture<'_, ()>;

    /// The directory of the sessions.
    fn directory(&self) -> String;

    /// The model that the agent calls.
    fn model(&self) -> &ModelScript;

    /// The marks that the tool left, in order, over all kills.
    fn marks(&self) -> Vec<String>;

    /// The name of a permission mode that the agent permits and does not start with.
    fn other_mode(&self) -> String;

    /// The name of a model that the agent can call and does not start with.
    fn other_model(&self) -> String;

    /// Reads the journal of a session, without the agent.
    fn journal<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Vec<Event>>;
}

/// Where the agent is killed besides the places that the script names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kills {
    /// Nowhere.
    None,
    /// After every step, each in a run of its own.
    AfterEveryStep,
}

/// Why an editor cannot express a script; `None` if it can.
pub fn editor_obstacle(script: &Script) -> Option<&'static str> {
    if script.watched == WatchMode::ByNobody {
        return Some("a session of an editor always has a client");
    }
    let mut is_busy = false;
    for step in &script.steps {
        match step {
            Step::Prompt(_, _, delivery) => match delivery {
                _ if !is_busy => is_busy = true,
                Delivery::Steer => {}
                _ => return Some("a message that an editor sends while the agent works steers it"),
            },
            Step::Await(Condition::Status(SessionStatus::Idle)) => is_busy = false,
            Step::RefusedPrompt(..) => return Some("an editor cannot send a message that must not wait"),
            Step::Continue(_) | Step::Revive => {
                return Some("an editor continues a run only with a message");
            }
            Step::Edit(..) | Step::Await(Condition::Paused(_)) => return Some("an editor has no queue"),
            Step::Title(..) => return Some("an editor can change a title (`/rename`), but not remove it"),
            Step::WrongDigest(_) => return Some("the answers of an editor have no digest"),
            Step::Detach | Step::Attach => return Some("the runs of an editor end with it"),
            Step::Checkpoint(..)
            | Step::Restore(..)
            | Step::RefusedRestore(..)
            | Step::InterruptedRestore(..) => {
                return Some("an editor restores with a message (`/restore`)");
            }
            Step::Shell(..) | Step::RefusedShell(..) => {
                return Some("an editor runs the commands of its user itself");
            }
            Step::OpenSlowLive | Step::ReadSlowLive(_) => {
                return Some("an editor has one channel, and the agent waits until the editor reads it");
            }
            _ => {}
        }
    }
    None
}

/// Plays a script that has no [`editor_obstacle`].
pub async fn run_editor_script(fixture: &Arc<dyn EditorFixture>, script: &Script, kills: Kills) -> Report {
    let mut report = Report { scripts: 1, ..Report::default() };
    let points = match kills {
        Kills::None => 0,
        Kills::AfterEveryStep => script.steps.len(),
    };
    for kill_after in std::iter::once(None).chain((0..points).map(Some)) {
        let mut stage = match EditorStage::create(fixture).await {
            Ok(stage) => stage,
            Err(problem) => {
                report.failures.push(failure(script, kill_after, Some(0), problem));
                break;
            }
        };
        let result = Box::pin(stage.run(script, kill_after)).await;
        fixture.kill().await;
        report.runs += 1;
        report.add(std::mem::take(&mut stage.counts));
        if let Err((step, problem)) = result {
            report.failures.push(failure(script, kill_after, step, problem));
            break;
        }
    }
    report
}

fn failure(script: &Script, kill_after: Option<usize>, step: Option<usize>, problem: String) -> SuiteFailure {
    let fault = kill_after.map_or("no extra kill".to_owned(), |step| format!("kill after step {step}"));
    SuiteFailure { script: script.name().to_owned(), fault, step, problem }
}

/// A session in an editor.
struct EditorStage {
    fixture: Arc<dyn EditorFixture>,
    connection: Arc<dyn EditorConnection>,
    seen: ReceivedMessages,
    session: String,
    names: Names,
    /// The prompts of this connection: the ids of their requests, and their keys.
    prompts: Vec<(u64, String)>,
    /// The keys of all prompts.
    sent: Vec<String>,
    next_id: u64,
    /// The newest request for approval that was answered or withdrawn.
    last_ask: Option<Value>,
    is_open: bool,
    has_been_killed: bool,
    has_been_closed: bool,
    counts: Report,
}

impl EditorStage {
    async fn create(fixture: &Arc<dyn EditorFixture>) -> Result<Self, String> {
        let mut stage = Self {
            connection: fixture.connect().await,
            fixture: Arc::clone(fixture),
            seen: ReceivedMessages::default(),
            session: String::new(),
            names: Names::next(),
            prompts: Vec::new(),
            sent: Vec::new(),
            next_id: 1_000,
            last_ask: None,
            is_open: true,
            has_been_killed: false,
            has_been_closed: false,
            counts: Report::default(),
        };
        let params = json!({ "cwd": fixture.directory(), "mcpServers": [] });
        let created =
            stage.call("session/new", params).await?.map_err(|error| format!("session/new: {error}"))?;
        let id = created.get("sessionId").and_then(Value::as_str);
        stage.session = id.ok_or("the new session has no id")?.to_owned();
        Ok(stage)
    }

    async fn run(
        &mut self,
        script: &Script,
        kill_after: Option<usize>,
    ) -> Result<(), (Option<usize>, String)> {
        for (number, step) in script.steps.iter().enumerate() {
            let played = Box::pin(self.play(step)).await;
            played.map_err(|problem| (Some(number), format!("{step:?}: {problem}")))?;
            if kill_after == Some(number) {
                self.kill().await.map_err(|problem| (Some(number), problem))?;
                break;
            }
        }
        Box::pin(self.check()).await.map_err(|problem| (None, problem))
    }

    fn request(&mut self, method: &str, params: &Value) -> u64 {
        self.next_id += 1;
        let id = self.next_id;
        self.connection.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    /// Sends a request and waits for its response.
    async fn call(&mut self, method: &str, params: Value) -> Result<Result<Value, Value>, String> {
        let id = self.request(method, &params);
        self.counts.commands += 1;
        self.until(&format!("the response to {method}"), |stage| stage.seen.response(id)).await
    }

    /// Reads messages until there is a result.
    async fn until<T>(&mut self, what: &str, found: impl Fn(&Self) -> Option<T>) -> Result<T, String> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            self.receive();
            if let Some(found) = found(self) {
                return Ok(found);
            }
            if Instant::now() > deadline {
                return Err(format!("waited for {what}; the last messages are {}", self.seen.newest(5)));
            }
            sleep(POLL).await;
        }
    }

    fn receive(&mut self) {
        let new = self.connection.received(self.seen.len());
        self.seen.extend(new);
    }

    async fn load(&mut self) -> Result<EditorConversation, String> {
        let from = self.seen.len();
        let params = json!({ "sessionId": self.session, "cwd": self.fixture.directory(), "mcpServers": [] });
        let deadline = Instant::now() + PATIENCE;
        // A process that was killed keeps the session for a moment.
        while let Err(error) = self.call("session/load", params.clone()).await? {
            if Instant::now() > deadline {
                return Err(format!("session/load: {error}"));
            }
            sleep(POLL * 10).await;
        }
        self.is_open = true;
        self.counts.reconnects += 1;
        Ok(self.seen.conversation(from))
    }

    async fn kill(&mut self) -> Result<(), String> {
        self.fixture.kill().await;
        (self.has_been_killed, self.seen) = (true, ReceivedMessages::default());
        self.counts.crashes += 1;
        self.prompts.clear();
        self.connection = self.fixture.connect().await;
        self.load().await.map(drop)
    }

    async fn prompt(&mut self, name: &str) -> Result<(), String> {
        if !self.is_open {
            self.load().await?;
        }
        let prompt = json!([{ "type": "text", "text": self.names.prompt(name) }]);
        let id = self.request("session/prompt", &json!({ "sessionId": self.session, "prompt": prompt }));
        self.prompts.push((id, self.names.key(name)));
        self.sent.push(self.names.key(name));
        self.counts.commands += 1;
        Ok(())
    }

    /// Answers a request for approval.
    fn answer(&mut self, request: &Value, choice: ApprovalChoice) -> Result<(), String> {
        let kind = match choice {
            ApprovalChoice::Allow => "allow_once",
            ApprovalChoice::Deny => "reject_once",
        };
        let options = request.pointer("/params/options").and_then(Value::as_array);
        let option = options.into_iter().flatten().find(|option| option.get("kind") == Some(&kind.into()));
        let option =
            option.and_then(|option| option.get("optionId")).ok_or(format!("no option is {kind}"))?;
        let id = request.get("id").cloned().unwrap_or_default();
        let outcome = json!({ "outcome": { "outcome": "selected", "optionId": option } });
        self.connection.send(&json!({ "jsonrpc": "2.0", "id": id, "result": outcome }));
        self.seen.set_answered(&id);
        self.last_ask = Some(request.clone());
        Ok(())
    }

    async fn play(&mut self, step: &Step) -> Result<(), String> {
        match step {
            Step::Plan(key, turns) => self.names.plan(self.fixture.model(), key, turns),
            Step::Release(gate) => self.fixture.model().release(&self.names.name(gate)),
            Step::Prompt(_, name, _) => self.prompt(name).await?,
            Step::Interrupt(_) => {
                self.last_ask = self.seen.asks().into_iter().next().or(self.last_ask.take());
                let params = json!({ "sessionId": self.session });
                self.connection
                    .send(&json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": params }));
            }
            Step::Close(_) => {
                let params = json!({ "sessionId": self.session });
                self.call("session/close", params).await?.map_err(|error| error.to_string())?;
                (self.is_open, self.has_been_closed) = (false, true);
            }
            Step::OtherMode(_) => {
                let params = json!({ "sessionId": self.session, "modeId": self.fixture.other_mode() });
                self.call("session/set_mode", params).await?.map_err(|error| error.to_string())?;
            }
            Step::OtherModel(_) => {
                let set = self.set_option("model", &self.fixture.other_model()).await?;
                set.map_err(|error| error.to_string())?;
            }
            Step::UnknownAction(_) => {
                if let Ok(set) = self.set_option("optionOfANewerVersion", "x").await? {
                    return Err(format!("an unknown option was set: {set}"));
                }
            }
            Step::Answer(_, choice) => {
                let ask = self.seen.asks().into_iter().next().ok_or("no request waits")?;
                self.answer(&ask, *choice)?;
            }
            // A second response to a request, and one to a request that was withdrawn, mean nothing.
            Step::LateAnswer(_, choice) => {
                let ask = self.last_ask.clone().ok_or("there was no request")?;
                self.answer(&ask, *choice)?;
            }
            Step::VoidAnswer(..) => {
                let ask = self.last_ask.clone().ok_or("there was no request")?;
                self.answer(&ask, ApprovalChoice::Allow)?;
            }
            Step::Await(condition) => self.wait_for(condition).await?,
            Step::Stays(condition) => {
                self.wait_for(condition).await?;
                let end = Instant::now() + A_WHILE;
                while Instant::now() < end {
                    self.receive();
                    self.state(condition).await.map_err(|state| format!("then there is {state}"))?;
                    sleep(POLL).await;
                }
            }
            Step::SameRun(first, second) | Step::EarlierRun(first, second) => {
                let fold = self.fold().await;
                let key = |name: &str| fold.run_of(&self.names.key(name));
                if (key(first)? == key(second)?) != matches!(step, Step::SameRun(..)) {
                    return Err("not so".to_owned());
                }
            }
            Step::Crash => self.kill().await?,
            _ => return Err("an editor cannot do this".to_owned()),
        }
        Ok(())
    }

    async fn set_option(&mut self, id: &str, value: &str) -> Result<Result<Value, Value>, String> {
        let params = json!({ "sessionId": self.session, "configId": id, "value": value });
        self.call("session/set_config_option", params).await
    }

    async fn journal(&self) -> Vec<Event> {
        self.fixture.journal(&SessionId::from(self.session.as_str())).await
    }

    async fn fold(&self) -> Fold {
        Fold::of(&self.journal().await, &Context::default())
    }

    async fn wait_for(&mut self, condition: &Condition) -> Result<(), String> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            self.receive();
            match self.state(condition).await {
                Ok(()) => return Ok(()),
                Err(state) if Instant::now() > deadline => return Err(format!("there is {state}")),
                Err(_) => sleep(POLL).await,
            }
        }
    }

    /// What the editor shows as the status of the session.
    fn status(&self) -> SessionStatus {
        let is_active = self.prompts.iter().any(|(id, _)| self.seen.response(*id).is_none());
        match (self.is_open, is_active, self.seen.asks().is_empty()) {
            (false, ..) => SessionStatus::Closed,
            (true, true, false) => SessionStatus::RequiresAction,
            (true, true, true) => SessionStatus::Running,
            (true, false, _) => SessionStatus::Idle,
        }
    }

    /// Whether the condition is true; if not, what is. What an editor does not show is read from the journal.
    async fn state(&self, condition: &Condition) -> Result<(), String> {
        let check = |is_true: bool, state: String| if is_true { Ok(()) } else { Err(state) };
        match condition {
            Condition::Status(status) => check(self.status() == *status, format!("{:?}", self.status())),
            Condition::Asks(marks) => {
                let marks: Vec<String> = marks.iter().map(|mark| self.names.name(mark)).collect();
                let calls: Vec<String> = self.seen.asks().iter().map(seen::asked_call).collect();
                check(calls == marks, format!("{calls:?}"))
            }
            Condition::Mode => {
                let mode = self.seen.mode();
                check(mode.as_deref() == Some(self.fixture.other_mode().as_str()), format!("{mode:?}"))
            }
            Condition::Model => {
                let model = self.seen.option("model");
                check(model.as_deref() == Some(self.fixture.other_model().as_str()), format!("{model:?}"))
            }
            Condition::Marked(mark) => {
                check(self.fixture.marks().contains(&self.names.name(mark)), "no such mark".to_owned())
            }
            Condition::Queue(names) => {
                let names: Vec<String> = names.iter().map(|name| self.names.key(name)).collect();
                let keys = self.fold().await.queue_keys();
                check(keys == names, format!("{keys:?}"))
            }
            Condition::Outcome(kind) => {
                let outcome = self.fold().await.outcome_kind();
                check(outcome.as_deref() == Some(*kind), format!("{outcome:?}"))
            }
            Condition::Delivered(names) => {
                let fold = self.fold().await;
                let is_true = fold.has_delivered(names.iter().map(|name| self.names.key(name)));
                check(is_true, format!("{:?}", fold.conversation))
            }
            Condition::Title(_)
            | Condition::Paused(_)
            | Condition::Files(_)
            | Condition::Request(_)
            | Condition::Restoring
            | Condition::Ended(..) => Err("nothing that an editor shows".to_owned()),
        }
    }

    /// Brings the session to rest: opens all gates, approves everything, and continues what a kill interrupted.
    async fn finish(&mut self) -> Result<(), String> {
        self.fixture.model().release_all(&self.names.name(""));
        if self.has_been_killed {
            self.prompt("finish").await?;
        }
        let deadline = Instant::now() + PATIENCE;
        loop {
            self.receive();
            if let Some(ask) = self.seen.asks().into_iter().next() {
                self.answer(&ask, ApprovalChoice::Allow)?;
            }
            if matches!(self.status(), SessionStatus::Idle | SessionStatus::Closed) {
                return Ok(());
            }
            if Instant::now() > deadline {
                return Err(format!("prompts do not end; the last messages are {}", self.seen.newest(5)));
            }
            sleep(POLL).await;
        }
    }

    async fn check(&mut self) -> Result<(), String> {
        self.finish().await?;
        // What belongs to a prompt comes before its response, so nothing may come after it.
        let live = self.seen.conversation(0);
        let shown = self.load().await?;
        self.seen.check_responses(self.prompts.iter().map(|(id, _)| *id))?;
        let journal = self.journal().await;
        let fold = Fold::of(&journal, &Context::default());
        for key in &self.sent {
            let count = fold.conversation.iter().filter(|delivered| delivered.key == *key).count();
            let prompt = self.prompts.iter().find(|(_, of)| of == key);
            let reason = prompt.and_then(|(id, _)| self.seen.stop_reason(*id));
            if count > 1 || (reason.as_deref() == Some("end_turn") && count == 0) {
                return Err(format!("the prompt {key} ended with {reason:?}, and is there {count} times"));
            }
        }
        let marks = self.fixture.marks();
        check_effects(&fold, &marks, &marks, &self.names.name(""))?;
        let recorded = EditorConversation::of(&journal);
        shown.compare("what `session/load` shows", &recorded)?;
        if !self.has_been_killed && !self.has_been_closed {
            live.without_prompts().compare("what the editor saw", &recorded.without_prompts())?;
        }
        self.counts.views += 2;
        Ok(())
    }
}
