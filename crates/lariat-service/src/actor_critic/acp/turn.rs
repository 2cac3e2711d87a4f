//! One agent from its start to its end: opens a session, sends the prompt, follows what happens, answers what it asks.
//!
//! Invariants: everything that an agent sends is limited in size and number; at the deadline, at the cost limit and when its caller
//! is gone, the prompt is cancelled and the agent ends with everything that it started.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use lariat_acp::client::{
    AgentError, AgentLine, AgentRequest, CallStatus, CallStep, Client, ExternalCall, ModelChoice,
    PermissionChoice, SessionUpdate, StopWord, ToolCalls,
};
use lariat_connect::LinePipe;
use lariat_core::display;
use lariat_core::event::Task;
use lariat_core::usage::Cost;
use lariat_host::process::{Exit, Process, Supervisor};
use lariat_runtime::redact::Redactor;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};

use super::access::CallAccess;
use super::event::{ExternalEvent, ReportedCall};
use crate::actor_critic::external::ExternalAgent;
use crate::actor_critic::programs::KILLED;
use crate::actor_critic::record::ActorOutput;

/// How long an agent may take to answer a request before the prompt. Some of them start slowly.
const START_TIME: Duration = Duration::from_secs(120);
/// How long it may take to end the prompt after it was cancelled.
const CANCEL_TIME: Duration = Duration::from_secs(2);
/// How long the exit of an agent that closed its output is awaited, to report it.
const EXIT_TIME: Duration = Duration::from_secs(2);
/// Maximum number of requests of the agent that wait for our answers.
const MAX_ANSWERS: usize = 64;
/// Maximum number of bytes of all messages of a turn.
const MAX_BYTES: u64 = 1 << 30;
/// Maximum number of lines that are not messages.
const MAX_STRAYS: u64 = 1_000;
/// Maximum number of bytes of a reply; the end is kept.
const MAX_TEXT: usize = 256 * 1024;
/// Maximum number of bytes of what an agent writes, in an error.
const MAX_ERROR: usize = 500;

/// Why a turn cannot continue.
enum Fault {
    /// The agent closed its output, or broke the limits of the connection.
    Ended,
    /// It answered one of our requests with an error.
    Refused(&'static str, AgentError),
    /// It did not answer a request in time.
    Silent(&'static str),
    /// It did something that Lariat does not accept.
    Broke(String),
    /// It reported more cost than permitted.
    CostLimit(Cost),
}

/// What an agent did.
pub(crate) struct TurnOutput {
    pub(crate) output: ActorOutput,
    /// All its replies of the turn.
    pub(crate) all_text: String,
}

/// An answer to a request of the agent.
struct Answer {
    id: Value,
    result: Result<Value, AgentError>,
    /// The call that was denied, and why.
    denied: Option<(String, String)>,
}

/// One agent.
pub(crate) struct Turn<'a> {
    /// `None` once it is closed.
    pipe: Option<LinePipe>,
    process: Process,
    client: Client,
    access: &'a CallAccess<'a>,
    redactor: Redactor,
    events: mpsc::Sender<ExternalEvent>,
    answers: FuturesUnordered<BoxFuture<'a, Answer>>,
    /// Requests for permission without an answer, as JSON.
    asked: BTreeSet<String>,
    calls: ToolCalls,
    text: String,
    last_text: String,
    all_text: String,
    cost: Cost,
    max_cost: Option<Cost>,
    bytes: u64,
    strays: u64,
    last_stray: String,
}

impl<'a> Turn<'a> {
    pub(crate) fn new(
        process: Process,
        supervisor: Supervisor,
        access: &'a CallAccess<'a>,
        redactor: Redactor,
        events: mpsc::Sender<ExternalEvent>,
        max_cost: Option<Cost>,
    ) -> Self {
        Self {
            pipe: Some(LinePipe::new(process.clone(), supervisor)),
            process,
            client: Client::default(),
            access,
            redactor,
            events,
            answers: FuturesUnordered::new(),
            asked: BTreeSet::new(),
            calls: ToolCalls::default(),
            text: String::new(),
            last_text: String::new(),
            all_text: String::new(),
            cost: Cost::default(),
            max_cost,
            bytes: 0,
            strays: 0,
            last_stray: String::new(),
        }
    }

    /// Runs the agent to its end.
    ///
    /// # Errors
    /// If it fails before it has the prompt. What happens afterwards is a result.
    pub(crate) async fn run(
        mut self,
        agent: &ExternalAgent,
        prompt: &str,
        directory: &Path,
        time: Duration,
    ) -> Result<TurnOutput, String> {
        let began = Instant::now();
        let mut exit_code = 0;
        let mut problem = None;
        match timeout(time, self.open(agent, directory)).await {
            Err(_) => {
                (exit_code, problem) =
                    (KILLED, Some("the time limit ended it before it was ready".to_owned()))
            }
            Ok(Err(fault)) => {
                let (_, why) = self.explain(fault).await;
                return Err(format!("{agent} did not start: {why}"));
            }
            Ok(Ok(())) => {
                let params = self.client.prompt(prompt);
                let left = time.saturating_sub(began.elapsed());
                match timeout(left, self.request("session/prompt", &params)).await {
                    Err(_) => {
                        self.cancel().await;
                        (exit_code, problem) = (KILLED, Some("the time limit ended it".to_owned()));
                    }
                    Ok(Ok(result)) => {
                        if let StopWord::Unfinished(word) = StopWord::of(&result) {
                            (exit_code, problem) = (1, Some(format!("it stopped: {}", shown(&word))));
                        }
                    }
                    Ok(Err(Fault::CostLimit(cost))) => {
                        self.cancel().await;
                        let words = format!("the cost limit ended it at ${:.2}", cost.as_usd());
                        (exit_code, problem) = (KILLED, Some(words));
                    }
                    Ok(Err(fault)) => {
                        let (code, why) = self.explain(fault).await;
                        (exit_code, problem) = (code, Some(why));
                    }
                }
            }
        }
        // The caller records the last reply.
        self.keep_text();
        for call in self.calls.take_open() {
            self.report_end(call, "not finished").await;
        }
        self.close().await;
        let errors = self.redactor.text(&self.process.errors().text()).into_owned();
        let mut output = ActorOutput::default();
        output.text = std::mem::take(&mut self.last_text);
        output.stderr = match problem {
            Some(problem) if errors.trim().is_empty() => problem,
            Some(problem) => format!("{}\n{problem}", errors.trim_end()),
            None => errors,
        };
        output.seconds = began.elapsed().as_secs_f64();
        output.exit_code = exit_code;
        output.cost = self.cost;
        Ok(TurnOutput { output, all_text: std::mem::take(&mut self.all_text) })
    }

    /// Opens a session.
    async fn open(&mut self, agent: &ExternalAgent, directory: &Path) -> Result<(), Fault> {
        let params = Client::initialize(env!("CARGO_PKG_VERSION"));
        let result = self.soon("initialize", &params).await?;
        Client::check_version(&result).map_err(Fault::Broke)?;
        let params = json!({ "cwd": directory.display().to_string(), "mcpServers": [] });
        let opened = self.soon("session/new", &params).await?;
        self.client.open(&opened).map_err(Fault::Broke)?;
        let Some(model) = agent.model() else { return Ok(()) };
        match self.client.choose_model(&opened, model) {
            ModelChoice::Request(method, params) => self.soon(method, &params).await.map(drop),
            ModelChoice::Unknown(offered) => {
                let some: Vec<&str> = offered.iter().take(8).map(String::as_str).collect();
                let offered = some.join(", ");
                Err(Fault::Broke(shown(&format!("it does not offer the model `{model}`, but {offered}"))))
            }
            _ => Err(Fault::Broke("it offers no choice of models".to_owned())),
        }
    }

    /// A request that is answered before the prompt.
    async fn soon(&mut self, method: &'static str, params: &Value) -> Result<Value, Fault> {
        timeout(START_TIME, self.request(method, params)).await.unwrap_or(Err(Fault::Silent(method)))
    }

    /// Sends a request and handles everything until its response arrives.
    async fn request(&mut self, method: &'static str, params: &Value) -> Result<Value, Fault> {
        let (id, line) = self.client.request(method, params);
        self.send(line)?;
        loop {
            let Some(pipe) = &mut self.pipe else { return Err(Fault::Ended) };
            tokio::select! {
                line = pipe.receive() => {
                    let line = line.ok_or(Fault::Ended)?;
                    if let Some((answered, result)) = self.take(&line).await? && answered == id {
                        return result.map_err(|error| Fault::Refused(method, error));
                    }
                }
                Some(answer) = self.answers.next() => self.answer(answer).await?,
            }
        }
    }

    fn send(&mut self, line: String) -> Result<(), Fault> {
        let pipe = self.pipe.as_mut().ok_or(Fault::Ended)?;
        pipe.send(line.into_bytes()).map_err(|_| Fault::Ended)
    }

    /// Handles a line of the agent. Returns a response to a request of ours.
    async fn take(&mut self, line: &[u8]) -> Result<Option<(u64, Result<Value, AgentError>)>, Fault> {
        self.bytes += line.len() as u64;
        if self.bytes > MAX_BYTES {
            return Err(Fault::Broke(format!("it sent more than {} MiB", MAX_BYTES >> 20)));
        }
        match self.client.receive(line) {
            AgentLine::Response { id, result } => return Ok(Some((id, result))),
            AgentLine::Update(update) => self.update(update).await?,
            AgentLine::Request { id, request } => self.asked(id, request).await?,
            AgentLine::NoMessage => {
                self.strays += 1;
                self.last_stray = shown(&String::from_utf8_lossy(line));
                if self.strays > MAX_STRAYS {
                    return Err(Fault::Broke(format!(
                        "it writes lines that are not messages: {}",
                        self.last_stray
                    )));
                }
            }
            _ => {}
        }
        Ok(None)
    }

    async fn update(&mut self, update: SessionUpdate) -> Result<(), Fault> {
        match update {
            SessionUpdate::Text(text) => keep_end(&mut self.text, &text),
            SessionUpdate::ToolCall(change) => {
                match self.calls.apply(change).map_err(|_| too_many_calls())? {
                    Some(CallStep::Began(call)) => {
                        self.flush_text().await;
                        let call = ReportedCall::new(call, &self.redactor);
                        self.report(ExternalEvent::CallBegan(call)).await;
                    }
                    Some(CallStep::Ended(call)) => {
                        let status =
                            if call.status == CallStatus::Completed { "completed" } else { "failed" };
                        self.flush_text().await;
                        self.report_end(call, status).await;
                    }
                    _ => {}
                }
            }
            SessionUpdate::Plan(tasks) => {
                let clean = |text: String| self.redactor.text(&text).into_owned();
                let tasks =
                    tasks.into_iter().map(|(content, status)| Task::new(clean(content), clean(status)));
                let tasks = tasks.collect();
                self.report(ExternalEvent::Plan(tasks)).await;
            }
            SessionUpdate::Cost(usd) => {
                self.cost = self.cost.max(Cost::from_usd(usd));
                if self.max_cost.is_some_and(|most| self.cost > most) {
                    return Err(Fault::CostLimit(self.cost));
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Begins to answer a request of the agent.
    async fn asked(&mut self, id: Value, request: AgentRequest) -> Result<(), Fault> {
        if self.answers.len() >= MAX_ANSWERS {
            let error = AgentError::refused("too many requests wait for an answer");
            return self.send(Client::respond(&id, Err(error)));
        }
        let access = self.access;
        let answer: BoxFuture<'a, Answer> = match request {
            AgentRequest::Permission { call, choices } => {
                let call = self.calls.asked(call).map_err(|_| too_many_calls())?;
                self.asked.insert(id.to_string());
                Box::pin(permission(access, id, call, choices))
            }
            AgentRequest::Read { path, line, limit } => Box::pin(async move {
                let result = access.read(path, line, limit).await;
                Answer { id, result: result.map(|content| json!({ "content": content })), denied: None }
            }),
            AgentRequest::Write { path, content } => Box::pin(async move {
                let result = access.write(path, content).await;
                Answer { id, result: result.map(|()| json!({})), denied: None }
            }),
            AgentRequest::Unsupported(error) => return self.send(Client::respond(&id, Err(error))),
            _ => return Ok(()),
        };
        self.answers.push(answer);
        Ok(())
    }

    async fn answer(&mut self, answer: Answer) -> Result<(), Fault> {
        self.asked.remove(&answer.id.to_string());
        self.send(Client::respond(&answer.id, answer.result))?;
        if let Some((id, reason)) = answer.denied
            && let Some(call) = self.calls.deny(&id)
        {
            self.flush_text().await;
            let call = ReportedCall::new(call, &self.redactor);
            self.report(ExternalEvent::CallDenied { call, reason }).await;
        }
        Ok(())
    }

    /// Asks the agent to stop, and gives it a moment to say what it did.
    async fn cancel(&mut self) {
        // Nothing that waits is permitted any more.
        self.answers = FuturesUnordered::new();
        let asked = std::mem::take(&mut self.asked);
        for id in asked.iter().filter_map(|id| serde_json::from_str(id).ok()) {
            let _ = self.send(Client::respond(&id, Ok(Client::withdrawn())));
        }
        if let Some(line) = self.client.cancel() {
            let _ = self.send(line);
        }
        let end = async {
            while let Some(pipe) = &mut self.pipe
                && let Some(line) = pipe.receive().await
            {
                match self.client.receive(&line) {
                    AgentLine::Response { .. } => return,
                    AgentLine::Update(update) => drop(self.update(update).await),
                    AgentLine::Request { id, .. } => {
                        let _ = self.send(Client::respond(&id, Ok(Client::withdrawn())));
                    }
                    _ => {}
                }
            }
        };
        let _ = timeout(CANCEL_TIME, end).await;
    }

    async fn close(&mut self) {
        if let Some(mut pipe) = self.pipe.take() {
            pipe.close().await;
        }
    }

    /// Ends the agent, and says why it could not continue. Returns its exit code, too.
    async fn explain(&mut self, fault: Fault) -> (i64, String) {
        let mut code = 1;
        let why = match fault {
            Fault::Refused(_, error) if error.wants_login() => format!(
                "it is not logged in ({}); log in with its own program first, or pass its key with `--env NAME`",
                shown(&error.message)
            ),
            Fault::Refused(method, error) => {
                format!("it answered `{method}` with an error: {}", shown(&error.message))
            }
            Fault::Silent(method) => {
                format!("it did not answer `{method}` within {} s", START_TIME.as_secs())
            }
            Fault::Broke(why) => why,
            Fault::CostLimit(cost) => format!("the cost limit ended it at ${:.2}", cost.as_usd()),
            Fault::Ended => {
                let fault = self.pipe.as_ref().and_then(|pipe| pipe.fault().reason());
                match (fault, timeout(EXIT_TIME, self.process.wait()).await.map(|ended| ended.exit)) {
                    (Some(fault), _) => fault,
                    (None, Ok(Exit::Code(exit))) => {
                        code = if exit == 0 { 1 } else { i64::from(exit) };
                        format!("it ended with exit code {exit} before it answered")
                    }
                    (None, Ok(_)) => {
                        code = KILLED;
                        "a signal ended it before it answered".to_owned()
                    }
                    (None, Err(_)) => "it closed its output before it answered".to_owned(),
                }
            }
        };
        self.close().await;
        let errors = self.process.errors().text();
        let last = errors.lines().rfind(|line| !line.trim().is_empty()).map(shown);
        let last = last.or_else(|| Some(self.last_stray.clone()).filter(|stray| !stray.is_empty()));
        let why = match last {
            Some(last) => format!("{why}; it wrote: {last}"),
            None => why,
        };
        (code, self.redactor.text(&why).into_owned())
    }

    /// Reports what the agent said before a tool call.
    async fn flush_text(&mut self) {
        if self.keep_text() {
            self.report(ExternalEvent::Said(self.last_text.clone())).await;
        }
    }

    /// Makes what the agent said since the last tool call its last reply. Returns whether it said something.
    fn keep_text(&mut self) -> bool {
        let text = self.redactor.text(self.text.trim()).into_owned();
        self.text.clear();
        if text.is_empty() {
            return false;
        }
        keep_end(&mut self.all_text, &format!("{text}\n"));
        self.last_text = text;
        true
    }

    async fn report_end(&mut self, call: ExternalCall, status: &'static str) {
        let call = ReportedCall::new(call, &self.redactor);
        self.report(ExternalEvent::CallEnded { call, status }).await;
    }

    async fn report(&self, event: ExternalEvent) {
        // Without a receiver, the caller is about to end the turn.
        let _ = self.events.send(event).await;
    }
}

/// A turn that its caller gave up: it asks the agent to stop, and then ends it.
impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let Some(mut pipe) = self.pipe.take() else { return };
        if let (Some(line), Ok(runtime)) = (self.client.cancel(), tokio::runtime::Handle::try_current()) {
            let _ = pipe.send(line.into_bytes());
            runtime.spawn(async move {
                let _ = timeout(CANCEL_TIME / 4, async { while pipe.receive().await.is_some() {} }).await;
                pipe.close().await;
            });
        }
    }
}

async fn permission<'a>(
    access: &'a CallAccess<'a>,
    id: Value,
    call: ExternalCall,
    choices: Vec<PermissionChoice>,
) -> Answer {
    let permitted = access.permit(&call).await;
    let result = Ok(Client::decision(&choices, permitted.is_ok()));
    Answer { id, result, denied: permitted.err().map(|reason| (call.id, reason)) }
}

fn too_many_calls() -> Fault {
    Fault::Broke("it makes more tool calls than Lariat follows".to_owned())
}

/// Appends to a text of limited size: the end is kept.
fn keep_end(text: &mut String, more: &str) {
    text.push_str(more);
    if text.len() > MAX_TEXT {
        let start = text.ceil_char_boundary(text.len() - MAX_TEXT / 2);
        text.drain(..start);
    }
}

/// A text of the agent in one line of limited length.
fn shown(text: &str) -> String {
    let line = display::line(text.trim());
    line.get(..line.floor_char_boundary(MAX_ERROR)).unwrap_or_default().to_owned()
}
