//! Runs a session for a controlling program that sends prompts line by line and may answer approval requests.
//!
//! A client of the session's host, like `watch`. Prompts run one after another, and each ends with a result. What the program
//! changes (model, hooks, system prompt, permission mode) applies before the next prompt; the permission mode also changes
//! during a run. This loop never waits for the session: a hook may wait for the program's answer meanwhile, which only this
//! loop reads. When the input ends, the queued prompts still run. Only the program approves tool calls: without its answer, a
//! tool call is denied. Functions that it registered as hooks are called before the run continues; one that fails blocks.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use lariat_api::{Action, Answer, LogRequest, ProblemCode, SessionStatus, SessionView};
use lariat_core::event::{AgentEvent, EventRecord};
use lariat_core::permission::{PermissionDecision, PermissionRequest};
use lariat_service::callbacks::{HandlerResult, HookRunner};
use lariat_service::models::Models;
use lariat_service::{AnswerAttempts, HookCallbacks, HostedSession, LoadedProject, Prompt, SessionOptions};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use uuid::Uuid;

use super::callbacks::CallbackCall;
use super::client::{CommandResponse, CommandSender, Outgoing, SessionClient};
use super::feed::{Feed, FeedItem};
use super::followed_run::{FollowedRun, RunTracker};
use super::inputs::{InputEvent, Inputs, OptionalInputs, StdinLine, Stop};
use super::output::{Stdout, facts, mcp_servers, report};
use super::{CommandResult, ending, load_options, message};
use crate::args::task::Task;
use crate::exit::Exit;
use crate::problem::Problem;
use crate::process_env::ProcessEnv;
use crate::wire::sdk::{self, ControlLine, ControlRequest};
use crate::wire::stream_json::{StreamJson, mode_name};

/// Maximum number of queued prompts.
const MAX_QUEUED: usize = 64;

/// Tells the model that the program did not approve a tool call.
const NOT_APPROVED: &str = "This tool call requires approval, and the program that controls the session does \
                            not answer approval requests.";

/// What the agent of the session is built from.
pub(super) struct SessionSource<'a> {
    pub(super) env: &'a ProcessEnv,
    pub(super) task: Task,
    pub(super) driving: SessionOptions,
    /// Calls functions of the program for hooks.
    pub(super) callbacks: Arc<dyn HookRunner>,
}

/// What the program changed since the last prompt.
#[derive(Default)]
struct Changes {
    /// Hooks, the system prompt or the model: the session needs another agent.
    needs_agent: bool,
    has_model: bool,
    mode: Option<&'static str>,
}

/// A unit of work.
enum QueuedTask {
    /// Continues the run that a crash interrupted.
    Recover,
    Prompt(Prompt),
}

/// What the host does at the moment.
enum Work {
    Nothing,
    /// The session takes over what the program changed, before this task.
    Preparing(JoinHandle<Result<(), lariat_api::Problem>>, QueuedTask),
    Running(Box<ControlledRun>),
}

/// The current run.
struct ControlledRun {
    run: FollowedRun,
    attempts: AnswerAttempts,
    is_recovery: bool,
}

/// Something that the session did.
enum SessionInput {
    Prepared(Result<(), lariat_api::Problem>),
    Sent(CommandResponse),
    Feed(Result<FeedItem, lariat_api::Problem>),
}

/// An approval request that the program has not answered.
struct UnansweredRequest {
    request: Arc<PermissionRequest>,
    input: Value,
}

struct ControlledSession<'a> {
    source: SessionSource<'a>,
    place: LoadedProject,
    session: HostedSession,
    client: SessionClient,
    sender: CommandSender,
    feed: Feed,
    tracker: RunTracker,
    lines: StreamJson,
    out: Stdout,
    work: Work,
    queue: VecDeque<QueuedTask>,
    changes: Changes,
    /// Requests of the program that wait for the session.
    open_replies: usize,
    questions: HashMap<String, UnansweredRequest>,
    /// Calls of the program's functions that it has not answered.
    callbacks: HashMap<String, oneshot::Sender<HandlerResult>>,
    /// Whether the program can still write.
    is_open: bool,
    /// A registration of hooks cannot be used: nothing runs without them.
    is_refused: bool,
    /// An interrupted run waits for the program's first line, which may register hooks.
    is_waiting: bool,
    /// The program closed our output, so the run was interrupted.
    has_hung_up: bool,
    stop: Option<Stop>,
    last: Exit,
}

/// Serves the program until its input ends. `view` is the state of the session, if it has any.
pub(super) async fn serve(
    source: SessionSource<'_>,
    place: LoadedProject,
    session: HostedSession,
    view: Option<&SessionView>,
    mut inputs: Inputs,
) -> CommandResult {
    let mut host = ControlledSession::new(source, place, session, view).await?;
    loop {
        host.finish_run().await?;
        if matches!(host.work, Work::Nothing) && !host.begin()? {
            break;
        }
        let optional = OptionalInputs { lines: host.is_open && host.queue.len() < MAX_QUEUED, ticks: false };
        let happened = next_event(&mut host.work, &mut host.sender, &mut host.feed);
        match inputs.next(happened, optional).await {
            InputEvent::Session(happened) => host.happened(happened)?,
            InputEvent::Stop(stop) if host.stop.is_some() => return Ok(stop.exit()),
            InputEvent::Stop(stop) => {
                host.stop = Some(stop);
                host.queue.clear();
                host.interrupt();
            }
            InputEvent::Line(StdinLine::Text(line)) => {
                host.is_waiting = false;
                host.line(&line);
            }
            InputEvent::Line(ended) => {
                if let StdinLine::Broken(reason) = ended {
                    report("error", &reason);
                    host.last = Exit::Usage;
                }
                (host.is_open, host.is_waiting) = (false, false);
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

/// Waits for the session. Can be dropped and called again.
async fn next_event(work: &mut Work, sender: &mut CommandSender, feed: &mut Feed) -> SessionInput {
    if let Work::Preparing(changes, _) = work {
        let lost = |error: tokio::task::JoinError| {
            Err(lariat_api::Problem::new(ProblemCode::Unavailable, error.to_string()))
        };
        return SessionInput::Prepared(changes.await.unwrap_or_else(lost));
    }
    tokio::select! {
        biased;
        sent = sender.result() => SessionInput::Sent(sent),
        item = feed.next() => SessionInput::Feed(item),
    }
}

impl<'a> ControlledSession<'a> {
    async fn new(
        source: SessionSource<'a>,
        place: LoadedProject,
        session: HostedSession,
        view: Option<&SessionView>,
    ) -> Result<Self, Problem> {
        let client = SessionClient { sessions: session.sessions(), session_id: session.id().clone() };
        let interrupted = view.filter(|view| view.status == SessionStatus::Interrupted);
        let mut request = LogRequest::default();
        request.follow = true;
        // The end of an interrupted run is recognised by its beginning.
        request.after = view.filter(|_| interrupted.is_none()).map(|view| view.cursor.clone());
        let feed = Feed::open(&client.sessions, &client.session_id, request).await;
        Ok(Self {
            lines: StreamJson::new(session.id().to_string(), source.task.stream_options),
            source,
            place,
            session,
            sender: CommandSender::new(client.clone()),
            client,
            feed: feed.map_err(ending::host_problem)?,
            tracker: RunTracker::new(view),
            out: Stdout::default(),
            work: Work::Nothing,
            queue: interrupted.map(|_| QueuedTask::Recover).into_iter().collect(),
            changes: Changes::default(),
            open_replies: 0,
            questions: HashMap::new(),
            callbacks: HashMap::new(),
            is_open: true,
            is_refused: false,
            is_waiting: interrupted.is_some(),
            has_hung_up: false,
            stop: None,
            last: Exit::Done,
        })
    }

    /// Starts the next queued task. Returns false if there is none and none will come.
    fn begin(&mut self) -> Result<bool, Problem> {
        if self.stop.is_some() || self.out.is_broken() || self.is_refused {
            return Ok(false);
        }
        if self.is_waiting || self.open_replies > 0 {
            return Ok(true);
        }
        let Some(queued) = self.queue.pop_front() else { return Ok(self.is_open) };
        match self.prepare(matches!(queued, QueuedTask::Recover))? {
            Some(preparing) => self.work = Work::Preparing(preparing, queued),
            None => self.start(queued),
        }
        Ok(true)
    }

    /// Lets the session take over what the program changed. `None` if it changed nothing.
    fn prepare(
        &mut self,
        is_recovery: bool,
    ) -> Result<Option<JoinHandle<Result<(), lariat_api::Problem>>>, Problem> {
        let mut changes = std::mem::take(&mut self.changes);
        if changes.needs_agent {
            let SessionSource { env, task, driving, .. } = &self.source;
            self.place = env.load_project(&load_options(env, task)?)?;
            self.session.configure(self.place.clone(), driving.clone());
        }
        if is_recovery {
            // An interrupted run accepts no other model, and the mode is set with the command that continues the run.
            self.changes.mode = changes.mode.take();
            self.changes.has_model = std::mem::take(&mut changes.has_model);
        }
        let model = self.place.settings.model.clone().filter(|_| changes.has_model);
        if !changes.needs_agent && model.is_none() && changes.mode.is_none() {
            return Ok(None);
        }
        let (session, client) = (self.session.clone(), self.client.clone());
        Ok(Some(tokio::spawn(async move {
            match model {
                Some(model) => drop(client.send(Action::SetModel { model, effort: None }).await?),
                None if changes.needs_agent => session.rebuild().await?,
                None => {}
            }
            if let Some(mode) = changes.mode {
                client.send(Action::SetMode { mode: mode.to_owned() }).await?;
            }
            Ok(())
        })))
    }

    fn start(&mut self, queued: QueuedTask) {
        let is_recovery = matches!(queued, QueuedTask::Recover);
        let action = match queued {
            // Every command continues an interrupted run; this one sets the mode first.
            QueuedTask::Recover => match self.changes.mode.take() {
                Some(mode) => Action::SetMode { mode: mode.to_owned() },
                None => Action::Continue,
            },
            QueuedTask::Prompt(prompt) => {
                let facts = facts(&self.session.facts(), &self.place, &self.source.env.folders);
                let init = self.lines.init(&facts, Uuid::new_v4());
                self.out.line(&init);
                message(prompt)
            }
        };
        self.follow(action, FollowedRun::after(None), AnswerAttempts::default(), is_recovery);
    }

    fn follow(&mut self, action: Action, run: FollowedRun, attempts: AnswerAttempts, is_recovery: bool) {
        self.sender.send(Outgoing::Run(action));
        self.work = Work::Running(Box::new(ControlledRun { run, attempts, is_recovery }));
    }

    fn happened(&mut self, happened: SessionInput) -> Result<(), Problem> {
        match happened {
            SessionInput::Prepared(prepared) => {
                let work = std::mem::replace(&mut self.work, Work::Nothing);
                prepared.map_err(ending::host_problem)?;
                if let Work::Preparing(_, queued) = work
                    && self.stop.is_none()
                    && !self.is_refused
                {
                    self.start(queued);
                }
            }
            SessionInput::Sent(sent) => self.sent(sent)?,
            SessionInput::Feed(item) => match item.map_err(ending::host_problem)? {
                FeedItem::Event(event) => self.event(&event),
                FeedItem::Synced => self.tracker.is_synced = true,
                FeedItem::Lost(problem) => return Err(ending::host_problem(problem)),
                FeedItem::Ended => {
                    return Err(Problem::new(Exit::Failed, "the log of the session ended early"));
                }
            },
        }
        Ok(())
    }

    /// Handles the response to a command.
    fn sent(&mut self, sent: CommandResponse) -> Result<(), Problem> {
        match sent {
            CommandResponse::Run(sent) => {
                let Work::Running(active) = &mut self.work else { return Ok(()) };
                match sent {
                    Ok(_) => active.run.is_accepted = true,
                    Err(problem) if active.is_recovery && problem.code == ProblemCode::WrongStatus => {
                        self.work = Work::Nothing;
                    }
                    Err(problem) => return Err(ending::host_problem(problem)),
                }
            }
            CommandResponse::Answer(Err(problem)) if problem.code != ProblemCode::AlreadyAnswered => {
                report("warning", &format!("could not send the program's answer: {}", problem.message));
            }
            CommandResponse::Mode(id, changed) => {
                let mode = self.session.facts().mode;
                self.reply(&id, changed.map(|_| json!({ "mode": mode_name(mode) })));
            }
            CommandResponse::Context(id, context) => {
                let model = self.session.facts().model;
                let usage = |context| sdk::context_usage(&context, &model.id, model.context_window);
                self.reply(&id, context.map(usage));
            }
            CommandResponse::Answer(_) | CommandResponse::Interrupt | CommandResponse::Message(..) => {}
        }
        Ok(())
    }

    /// Answers a request of the program that waited for the session.
    fn reply(&mut self, id: &str, answer: Result<Value, lariat_api::Problem>) {
        self.open_replies = self.open_replies.saturating_sub(1);
        self.out.line(&match answer {
            Ok(answer) => sdk::success(id, answer),
            Err(problem) => sdk::failure(id, &problem.message),
        });
    }

    fn event(&mut self, record: &EventRecord) {
        let figures = self.tracker.event(record);
        if !self.tracker.is_synced {
            return self.lines.earlier_event(record);
        }
        for line in self.lines.event(record) {
            self.out.line(&line);
        }
        match &record.event {
            AgentEvent::PermissionRequired { request } => self.on_question(request),
            AgentEvent::PermissionDecided { request_id, decision: PermissionDecision::Withdrawn, .. } => {
                let id = request_id.to_string();
                if self.questions.remove(&id).is_some() {
                    self.out.line(&sdk::cancel(&id));
                }
            }
            _ => {}
        }
        if let (Work::Running(active), Some(figures)) = (&mut self.work, figures) {
            active.run.ended = Some(figures);
        }
        if self.out.is_broken() && !self.has_hung_up {
            self.has_hung_up = true;
            self.interrupt();
        }
    }

    /// Asks the program about a tool call, or denies it if the program does not answer.
    fn on_question(&mut self, request: &Arc<PermissionRequest>) {
        if !self.source.task.answers_approvals || !self.is_open {
            let answer = Answer::Approval { decision: PermissionDecision::deny(NOT_APPROVED) };
            self.sender.send(Outgoing::Answer(request.id, answer));
            return;
        }
        let id = request.id.to_string();
        let rewritten = request.args.as_deref().cloned();
        let input = rewritten.unwrap_or_else(|| self.lines.tally().input(&request.tool_call_id));
        self.out.line(&sdk::can_use_tool(&id, request, &input));
        self.questions.insert(id, UnansweredRequest { request: Arc::clone(request), input });
    }

    /// Finishes a run that ended: checks its answer against the schema and writes its result.
    async fn finish_run(&mut self) -> Result<(), Problem> {
        let Work::Running(active) = &mut self.work else { return Ok(()) };
        let Some(mut ending) = active.run.ending(&self.tracker, &self.client).await? else { return Ok(()) };
        let (is_recovery, mut attempts) = (active.is_recovery, active.attempts);
        self.work = Work::Nothing;
        if is_recovery {
            return Ok(());
        }
        let problem = ending::check_answer(&self.session, &mut ending, &mut attempts);
        if let Some(problem) = problem.filter(|_| self.stop.is_none()) {
            let run = FollowedRun::after(Some(ending));
            self.follow(Action::RetryAnswer { problem }, run, attempts, false);
            return Ok(());
        }
        let result = self.lines.result(&ending, Uuid::new_v4());
        self.out.line(&result);
        self.last = ending::exit(&ending, self.stop);
        Ok(())
    }

    fn interrupt(&mut self) {
        if matches!(self.work, Work::Running(_)) {
            self.sender.send(Outgoing::Interrupt);
        }
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
        if !matches!(self.work, Work::Nothing) {
            return Err("hooks must be registered before the first prompt".to_owned());
        }
        let (callbacks, unsupported) = HookCallbacks::read(hooks, Arc::clone(&self.source.callbacks))?;
        for event in unsupported {
            report("warning", &format!("Lariat does not have the event `{event}`, so its hooks do not run"));
        }
        self.source.driving.callbacks = Some(callbacks);
        self.changes.needs_agent = true;
        Ok(())
    }

    /// Denies all open approval requests and fails all open hooks, because the input ended.
    fn deny_open_requests(&mut self) {
        self.callbacks.clear();
        let questions = std::mem::take(&mut self.questions);
        questions.values().for_each(|question| self.on_question(&question.request));
    }

    fn line(&mut self, line: &str) {
        if line.trim().is_empty() {
            return;
        }
        match sdk::read(line) {
            ControlLine::Prompt(prompt) => self.queue.push_back(QueuedTask::Prompt(prompt)),
            ControlLine::Request { id, request } => {
                let answer = match self.answer(&id, request) {
                    Ok(Some(answer)) => sdk::success(&id, answer),
                    Ok(None) => {
                        self.open_replies += 1;
                        return;
                    }
                    Err(error) => sdk::failure(&id, &error),
                };
                self.out.line(&answer);
            }
            ControlLine::Response { id, answer } => {
                if let Some(call) = self.callbacks.remove(&id) {
                    let _ = call.send(sdk::hook_result(answer));
                    return;
                }
                let Some(UnansweredRequest { request, input }) = self.questions.remove(&id) else { return };
                let (decision, interrupts) = sdk::decision(&answer, &request, &input);
                self.sender.send(Outgoing::Answer(request.id, Answer::Approval { decision }));
                if interrupts {
                    self.interrupt();
                }
            }
            // Requests need no decision of the program, so there is nothing to cancel.
            ControlLine::Cancel | ControlLine::Other => {}
            ControlLine::Broken(reason) => {
                report("warning", &format!("ignoring an invalid line of input: {reason}"))
            }
        }
    }

    /// Carries out a request of the program. Returns the answer, or `None` if it follows from the session.
    fn answer(&mut self, id: &str, request: ControlRequest) -> Result<Option<Value>, String> {
        Ok(Some(match request {
            ControlRequest::Initialize { hooks, system_prompt, unsupported } => {
                for name in &unsupported {
                    report("warning", &format!("{name} are not supported"));
                }
                if !hooks.is_null()
                    && let Err(why) = self.register(&hooks)
                {
                    report("error", &format!("cannot use the program's hooks: {why}"));
                    (self.is_refused, self.last) = (true, Exit::Setup);
                    self.queue.clear();
                    self.interrupt();
                    return Err(why);
                }
                if !system_prompt.is_empty() {
                    let before = self.source.driving.system_prompt.take();
                    let all = before.map(|before| format!("{before}\n\n{system_prompt}"));
                    self.source.driving.system_prompt = Some(all.unwrap_or(system_prompt));
                    self.changes.needs_agent = true;
                }
                sdk::welcome(&self.session.facts().model.id)
            }
            ControlRequest::Interrupt => {
                self.interrupt();
                json!({})
            }
            ControlRequest::SetMode(name) => {
                let mode = self.session.permitted_mode(&name);
                let mode = mode.ok_or_else(|| format!("unknown permission mode `{name}`"))?;
                if !matches!(self.work, Work::Nothing) {
                    self.sender.send(Outgoing::SetMode(id.to_owned(), mode.name().to_owned()));
                    return Ok(None);
                }
                self.changes.mode = Some(mode.name());
                json!({ "mode": mode_name(mode) })
            }
            ControlRequest::SetModel(model) => self.set_model(model)?,
            ControlRequest::ContextUsage => {
                self.sender.send(Outgoing::Context(id.to_owned()));
                return Ok(None);
            }
            ControlRequest::McpStatus => {
                json!({ "mcpServers": mcp_servers(&self.session.facts().mcp_servers) })
            }
            ControlRequest::Unknown(name) => return Err(format!("`{name}` is not supported")),
        }))
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
        (self.changes.needs_agent, self.changes.has_model) = (true, true);
        Ok(json!({}))
    }
}
