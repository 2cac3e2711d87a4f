//! Runs a session for a controlling program that sends prompts line by line and may answer approval requests.
//!
//! Prompts run one after another, and each ends with a result. Requests to Lariat are answered at once, also during a run.
//! When the input ends, the queued prompts still run. Only the program approves tool calls: without its answer, a tool call
//! is denied. Functions that it registered as hooks are called before the run continues; one that fails blocks.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use lariat_core::event::{AgentEvent, Event, EventRecord};
use lariat_core::permission::{PermissionDecision, PermissionRequest};
use lariat_guard::Mode;
use lariat_guard::hooks::{HandlerResult, HookRunner};
use lariat_runtime::{AgentError, RunStream};
use lariat_service::models::Models;
use lariat_service::{
    AgentFacts, HookCallbacks, LoadedProject, LocalService, Prompt, ServiceError, Session, SessionOptions,
    SessionSelector,
};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use uuid::Uuid;

use super::callbacks::CallbackCall;
use super::inputs::{InputEvent, Inputs, OptionalInputs, StdinLine, Stop};
use super::output::{Stdout, facts, mcp_servers, report};
use super::{CommandResult, ending, load_options};
use crate::args::task::Task;
use crate::exit::Exit;
use crate::problem::Problem;
use crate::process_env::ProcessEnv;
use crate::wire::json::{Ending, SchemaCheck};
use crate::wire::sdk::{self, ControlLine, Request};
use crate::wire::stream_json::{StreamJson, mode_name};

/// How often the model may retry an answer that does not match the schema.
const RETRIES: u32 = 2;

/// Maximum number of queued prompts.
const MAX_QUEUED: usize = 64;

/// Tells the model that the program did not approve a tool call.
const NOT_APPROVED: &str = "This tool call requires approval, and the program that controls the session does \
                            not answer approval requests.";

/// What a session is built from, to rebuild it with another model.
pub(super) struct SessionSource<'a> {
    pub(super) env: &'a ProcessEnv,
    pub(super) service: &'a LocalService,
    pub(super) task: Task,
    pub(super) driving: SessionOptions,
    /// Calls functions of the program for hooks.
    pub(super) callbacks: Arc<dyn HookRunner>,
}

/// A queued unit of work.
enum QueuedTask {
    Recover,
    Prompt(Prompt),
}

/// An approval request that the program has not answered.
struct Question {
    request: Arc<PermissionRequest>,
    input: Value,
}

/// The current run.
struct ActiveRun {
    run: RunStream,
    earlier: Option<Ending>,
    tries_left: u32,
    is_recovery: bool,
}

struct Host<'a> {
    source: SessionSource<'a>,
    place: LoadedProject,
    session: Session,
    lines: StreamJson,
    out: Stdout,
    active: Option<ActiveRun>,
    queue: VecDeque<QueuedTask>,
    questions: HashMap<String, Question>,
    /// Calls of the program's functions that it has not answered.
    callbacks: HashMap<String, oneshot::Sender<HandlerResult>>,
    /// A registration of hooks cannot be used: nothing runs without them.
    is_refused: bool,
    /// An interrupted run waits for the program's first line, which may register hooks.
    is_waiting: bool,
    stop: Option<Stop>,
    /// The model changed: rebuild the session before the next prompt.
    is_stale: bool,
    last: Exit,
}

/// Serves the program until its input ends.
pub(super) async fn serve(
    source: SessionSource<'_>,
    place: LoadedProject,
    session: Session,
    recovers: bool,
    mut inputs: Inputs,
) -> CommandResult {
    let lines = StreamJson::new(session.id().to_string(), source.task.stream_options);
    let mut host = Host {
        source,
        place,
        session,
        lines,
        out: Stdout::default(),
        active: None,
        queue: recovers.then_some(QueuedTask::Recover).into_iter().collect(),
        questions: HashMap::new(),
        callbacks: HashMap::new(),
        is_refused: false,
        is_waiting: recovers,
        stop: None,
        is_stale: false,
        last: Exit::Done,
    };
    let mut is_open = true;
    loop {
        if host.active.is_none() && !host.begin(is_open).await? {
            break;
        }
        let event = next_event(host.active.as_mut().map(|active| &mut active.run));
        let optional = OptionalInputs { lines: is_open && host.queue.len() < MAX_QUEUED, ticks: false };
        match inputs.next(event, optional).await {
            InputEvent::Session(Some(event)) => host.event(&event),
            InputEvent::Session(None) => host.finish_run().await?,
            InputEvent::Stop(stop) if host.stop.is_some() => return Ok(stop.exit()),
            InputEvent::Stop(stop) => {
                host.stop = Some(stop);
                host.queue.clear();
                host.session.interrupt();
            }
            InputEvent::Line(StdinLine::Text(line)) => {
                host.is_waiting = false;
                host.line(&line).await;
            }
            InputEvent::Line(ended) => {
                if let StdinLine::Broken(reason) = ended {
                    report("error", &reason);
                    host.last = Exit::Usage;
                }
                (is_open, host.is_waiting) = (false, false);
                inputs.close_callbacks();
                host.deny_open_requests();
            }
            InputEvent::Callback(call) => host.call_back(call),
            InputEvent::Tick | InputEvent::Suspend | InputEvent::Key(_) | InputEvent::TerminalClosed => {}
        }
    }
    inputs.close_callbacks();
    host.callbacks.clear();
    host.session.close().await;
    Ok(host.stop.map_or(host.last, Stop::exit))
}

/// The next event of the run; `None` at its end.
async fn next_event(run: Option<&mut RunStream>) -> Option<Event> {
    match run {
        Some(run) => run.next().await,
        None => std::future::pending().await,
    }
}

impl Host<'_> {
    /// Starts the next queued task. Returns false if there is none and none will come.
    async fn begin(&mut self, is_open: bool) -> Result<bool, Problem> {
        if self.stop.is_some() || self.out.is_broken() || self.is_refused {
            return Ok(false);
        }
        if self.is_waiting {
            return Ok(true);
        }
        let Some(queued) = self.queue.pop_front() else { return Ok(is_open) };
        if self.is_stale {
            self.rebuild().await?;
        }
        let is_recovery = matches!(queued, QueuedTask::Recover);
        let run = match queued {
            QueuedTask::Recover => self.session.recover()?,
            QueuedTask::Prompt(prompt) => {
                let init = self
                    .lines
                    .init(&facts(&AgentFacts::from(&self.session), self.place.path()), Uuid::new_v4());
                self.out.line(&init);
                self.session.prompt(prompt)?
            }
        };
        self.active = Some(ActiveRun { run, earlier: None, tries_left: RETRIES, is_recovery });
        Ok(true)
    }

    /// Rebuilds the session with another model or with hooks of the program.
    async fn rebuild(&mut self) -> Result<(), Problem> {
        let SessionSource { env, service, task, driving, .. } = &self.source;
        self.place = env.load_project(&load_options(env, task)?)?;
        let (id, mut driving) = (self.session.id(), driving.clone());
        // A session without a prompt is not stored yet.
        let is_stored = service.archive().head(&id).await.map_err(ServiceError::from)? > 0;
        let which = match is_stored {
            true => SessionSelector::Resume(id.to_string()),
            false => SessionSelector::New,
        };
        driving.new_id = Some(id);
        let mode = self.session.mode();
        self.session = service.open_session(&self.place, &which, driving).await?;
        self.session.set_mode(mode);
        self.is_stale = false;
        Ok(())
    }

    fn event(&mut self, record: &EventRecord) {
        for line in self.lines.event(record) {
            self.out.line(&line);
        }
        match &record.event {
            AgentEvent::PermissionRequired { request } if self.source.task.answers_approvals => {
                self.ask(request)
            }
            AgentEvent::PermissionRequired { request } => {
                self.session.respond(request.id, PermissionDecision::deny(NOT_APPROVED));
            }
            AgentEvent::PermissionDecided { request_id, decision: PermissionDecision::Withdrawn, .. } => {
                let id = request_id.to_string();
                if self.questions.remove(&id).is_some() {
                    self.out.line(&sdk::cancel(&id));
                }
            }
            _ => {}
        }
        if self.out.is_broken() {
            self.session.interrupt();
        }
    }

    fn ask(&mut self, request: &Arc<PermissionRequest>) {
        let id = request.id.to_string();
        let rewritten = request.args.as_deref().cloned();
        let input = rewritten.unwrap_or_else(|| self.lines.tally().input(&request.tool_call_id));
        self.out.line(&sdk::can_use_tool(&id, request, &input));
        self.questions.insert(id, Question { request: Arc::clone(request), input });
    }

    /// Finishes a run: checks its answer against the schema and writes its result.
    async fn finish_run(&mut self) -> Result<(), Problem> {
        let Some(ActiveRun { run, earlier, tries_left, is_recovery }) = self.active.take() else {
            return Ok(());
        };
        let output = match run.finish().await.or_else(AgentError::into_output) {
            Ok(output) => output,
            Err(error) if error.is_nothing_to_recover() => return Ok(()),
            Err(error) => return Err(ending::failed(error)),
        };
        let mut ending = Ending::of(&output).after(earlier.as_ref());
        if is_recovery {
            // There may be another interrupted run.
            if output.outcome.is_completed() {
                self.queue.push_front(QueuedTask::Recover);
            }
            return Ok(());
        }
        if output.outcome.is_completed() {
            match self.session.answer(&output) {
                None => {}
                Some(Ok(value)) => ending.schema_check = Some(SchemaCheck::Match(value)),
                Some(Err(problem)) => {
                    ending.schema_check = Some(SchemaCheck::Mismatch(problem.clone()));
                    if tries_left > 0
                        && let Some(run) = self.session.retry_answer(&problem)?
                    {
                        let earlier = Some(ending);
                        self.active =
                            Some(ActiveRun { run, earlier, tries_left: tries_left - 1, is_recovery });
                        return Ok(());
                    }
                }
            }
        }
        let result = self.lines.result(&ending, Uuid::new_v4());
        self.out.line(&result);
        self.last = ending::exit(&ending, self.stop);
        Ok(())
    }

    /// Calls a function of the program, and withdraws the calls that timed out.
    fn call_back(&mut self, call: CallbackCall) {
        let late: Vec<String> = self
            .callbacks
            .iter()
            .filter(|(_, answer)| answer.is_closed())
            .map(|(id, _)| id.clone())
            .collect();
        for id in late {
            self.callbacks.remove(&id);
            self.out.line(&sdk::cancel(&id));
        }
        let id = Uuid::new_v4().to_string();
        self.out.line(&sdk::hook_callback(&id, &call.callback_id, &call.input));
        self.callbacks.insert(id, call.answer);
    }

    /// Registers functions of the program as hooks, from the next prompt on.
    fn register(&mut self, hooks: &Value) -> Result<(), String> {
        if self.active.is_some() {
            return Err("hooks must be registered before the first prompt".to_owned());
        }
        let (callbacks, unsupported) = HookCallbacks::read(hooks, Arc::clone(&self.source.callbacks))?;
        for event in unsupported {
            report("warning", &format!("Lariat does not have the event `{event}`, so its hooks do not run"));
        }
        self.source.driving.callbacks = Some(callbacks);
        self.is_stale = true;
        Ok(())
    }

    /// Denies all open approval requests and fails all open hooks, because the input ended.
    fn deny_open_requests(&mut self) {
        self.callbacks.clear();
        for (_, question) in self.questions.drain() {
            self.session.respond(question.request.id, PermissionDecision::deny(NOT_APPROVED));
        }
    }

    async fn line(&mut self, line: &str) {
        if line.trim().is_empty() {
            return;
        }
        match sdk::read(line) {
            ControlLine::Prompt(prompt) => self.queue.push_back(QueuedTask::Prompt(prompt)),
            ControlLine::Request { id, request } => {
                let answer = match self.answer(request).await {
                    Ok(answer) => sdk::success(&id, answer),
                    Err(error) => sdk::failure(&id, &error),
                };
                self.out.line(&answer);
            }
            ControlLine::Response { id, answer } => {
                if let Some(call) = self.callbacks.remove(&id) {
                    let _ = call.send(sdk::hook_result(answer));
                    return;
                }
                let Some(Question { request, input }) = self.questions.remove(&id) else { return };
                let (decision, interrupts) = sdk::decision(&answer, &request, &input);
                self.session.respond(request.id, decision);
                if interrupts {
                    self.session.interrupt();
                }
            }
            // Requests are answered at once, so there is nothing to cancel.
            ControlLine::Cancel | ControlLine::Other => {}
            ControlLine::Broken(reason) => {
                report("warning", &format!("ignoring an invalid line of input: {reason}"))
            }
        }
    }

    async fn answer(&mut self, request: Request) -> Result<Value, String> {
        match request {
            Request::Initialize { hooks, system_prompt, unsupported } => {
                for name in &unsupported {
                    report("warning", &format!("{name} are not supported"));
                }
                if !hooks.is_null()
                    && let Err(why) = self.register(&hooks)
                {
                    report("error", &format!("cannot use the program's hooks: {why}"));
                    (self.is_refused, self.last) = (true, Exit::Setup);
                    self.queue.clear();
                    self.session.interrupt();
                    return Err(why);
                }
                if !system_prompt.is_empty() {
                    let before = self.source.driving.system_prompt.take();
                    let all = before.map(|before| format!("{before}\n\n{system_prompt}"));
                    self.source.driving.system_prompt = Some(all.unwrap_or(system_prompt));
                    self.is_stale = true;
                }
                Ok(sdk::welcome(&self.session.model().id))
            }
            Request::Interrupt => {
                if self.active.is_some() {
                    self.session.interrupt();
                }
                Ok(json!({}))
            }
            Request::SetMode(name) => {
                let mode = Mode::parse(&name).ok_or_else(|| format!("unknown permission mode `{name}`"))?;
                Ok(json!({ "mode": mode_name(self.session.set_mode(mode)) }))
            }
            Request::SetModel(model) => self.set_model(model),
            Request::ContextUsage => {
                let report = self.session.context().await.map_err(|error| error.to_string())?;
                let model = self.session.model();
                Ok(sdk::context_usage(&report, &model.id, model.context_window))
            }
            Request::McpStatus => Ok(json!({ "mcpServers": mcp_servers(&self.session.mcp_servers()) })),
            Request::Unknown(name) => Err(format!("`{name}` is not supported")),
        }
    }

    /// Switches the model from the next prompt on.
    fn set_model(&mut self, model: Option<String>) -> Result<Value, String> {
        match model {
            Some(model) => {
                let keys = self.source.env.keys();
                let found = Models::new(&self.place.settings, &keys)
                    .with_catalogue(&self.place.catalogue)
                    .find(&model);
                found.map_err(|error| error.to_string())?;
                self.source.task.set("model", model.into());
            }
            None => drop(self.source.task.settings.remove("model")),
        }
        self.is_stale = true;
        Ok(json!({}))
    }
}
