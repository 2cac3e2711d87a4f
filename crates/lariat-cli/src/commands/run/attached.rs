//! `lariat attach`: follows a session of the background host, answers its questions and steers it.
//!
//! Durable events come from the log and live ones from the live channel; [`Feed`] puts them in one order. Invariant:
//! detaching, however it happens, stops nothing.

use std::collections::VecDeque;
use std::io::IsTerminal as _;
use std::sync::Arc;

use futures_util::StreamExt as _;
use lariat_api::{
    Action, Answer, AskSubject, Delivery, ItemStream, Live, LiveItem, LogItem, LogRequest, PromptContent,
    SessionStatus, SessionView, Sessions as _,
};
use lariat_core::clock::Clock as _;
use lariat_core::content::ToolCall;
use lariat_core::display;
use lariat_core::event::{AgentEvent, Event};
use lariat_core::id::{RequestId, SessionId};
use lariat_core::permission::{PermissionRequest, UserQuestion};
use lariat_runtime::system::SystemClock;
use lariat_terminal::approval;
use lariat_terminal::finished_call::Verbosity;
use lariat_terminal::theme::{Style, Theme};
use tokio::time::Instant;

use super::inputs::{InputEvent, Inputs, OptionalInputs};
use super::keys::Key;
use super::output::{Stdout, write_stderr};
use super::questions::{Outcome, PendingQuestion, Questions};
use super::terminal::Terminal;
use super::tool_questions::{AskedBy, ToolQuestion};
use crate::args::background::AttachArgs;
use crate::commands::CommandResult;
use crate::commands::background::{Connection, from_protocol};
use crate::exit::Exit;
use crate::problem::Problem;
use crate::process_env::{ProcessEnv, Stream};
use crate::screen::printer::Printer;

/// A session with at most this many events is shown from its start.
const SHOWN_FROM_START: u64 = 2_000;
/// Characters of an id: enough to identify a session.
const ID: usize = 8;

/// Runs `lariat attach`.
pub(crate) async fn attach(env: &ProcessEnv, args: &AttachArgs) -> CommandResult {
    let connection = Connection::open(env).await?;
    let view = connection.find(&args.id).await?;
    let mut request = LogRequest::follow(view.cursor.clone());
    if view.seq <= SHOWN_FROM_START {
        request.after = None;
    }
    let log = connection.remote.log(&view.session_id, request).await.map_err(from_protocol)?;
    if args.json {
        return print_log(log).await;
    }
    let live = connection.remote.live(&view.session_id).await.map_err(from_protocol)?;
    let place = env.load_project(&env.load_options(None))?;
    let (theme, out) =
        (env.terminal(&place.settings, Stream::Error), env.terminal(&place.settings, Stream::Output));
    let terminal = if std::io::stderr().is_terminal() { Terminal::open(theme.live) } else { None };
    let interactive = terminal.is_some();
    let (inputs, _) = Inputs::new(terminal)?;
    let id: String = view.session_id.as_str().chars().take(ID).collect();
    if theme.is_terminal {
        let line = format!("session {id} · {} · type to steer, Ctrl-C to detach\n", status(&view));
        write_stderr(&theme.paint(Style::Dim, &line));
    }
    let mut attached = Attached {
        session_id: view.session_id.clone(),
        connection,
        inputs,
        interactive,
        printer: Printer::new(out, Verbosity::Normal),
        out: Stdout::default(),
        questions: Questions::new(true),
        calls: Vec::new(),
        is_synced: false,
        is_running: false,
        theme,
    };
    let ended = attached.follow(Feed::new(log, live)).await;
    let end = attached.printer.finish();
    attached.out.write(&end);
    let exit = ended?;
    if interactive {
        write_stderr(&format!(
            "detached; `lariat attach {id}` attaches again, `lariat stop {id}` stops it\n"
        ));
    }
    Ok(exit)
}

/// Writes the log as one JSON document per line, until the client leaves.
async fn print_log(mut log: ItemStream<LogItem>) -> CommandResult {
    let mut out = Stdout::default();
    while !out.is_broken() {
        let item = tokio::select! {
            item = log.next() => item,
            _ = tokio::signal::ctrl_c() => return Ok(Exit::Interrupted),
        };
        let Some(item) = item else { break };
        let item = item.map_err(from_protocol)?;
        out.line(&serde_json::to_value(&item).unwrap_or_default());
    }
    Ok(Exit::Done)
}

fn status(view: &SessionView) -> &'static str {
    match view.status {
        SessionStatus::Running => "running",
        SessionStatus::RequiresAction => "asks you",
        SessionStatus::Interrupted => "interrupted; send a message to continue it",
        _ => "idle; send a message to continue it",
    }
}

/// The text of an answer to a question.
fn text_of(answer: &Answer) -> Option<String> {
    match answer {
        Answer::Value { value } => value.as_str().map(str::to_owned),
        _ => None,
    }
}

/// Durable and live events in one order.
struct Feed {
    log: ItemStream<LogItem>,
    live: ItemStream<Live>,
    /// The number of durable events that were delivered.
    next: u64,
    /// Live events that follow durable ones that have not arrived yet.
    held: VecDeque<LiveItem>,
}

enum FeedItem {
    Event(Event),
    Synced,
    /// The log has ended.
    Ended,
}

impl Feed {
    fn new(log: ItemStream<LogItem>, live: ItemStream<Live>) -> Self {
        Self { log, live, next: 0, held: VecDeque::new() }
    }

    /// Waits for the next event. Can be dropped and called again.
    async fn next(&mut self) -> Result<FeedItem, lariat_api::Problem> {
        loop {
            while let Some(item) = self.held.pop_front_if(|item| item.after <= self.next) {
                // What a durable event has replaced since is not shown any more.
                if item.after == self.next {
                    return Ok(FeedItem::Event(item.event));
                }
            }
            tokio::select! {
                biased;
                live = self.live.next() => {
                    if let Some(Ok(Live::Event(item))) = live {
                        self.held.push_back(item);
                    } else if live.is_none() {
                        // The log alone still has everything that matters.
                        self.live = Box::pin(futures_util::stream::pending());
                    }
                }
                item = self.log.next() => match item {
                    None => return Ok(FeedItem::Ended),
                    Some(Err(problem)) => return Err(problem),
                    Some(Ok(LogItem::Event { event, .. })) => {
                        self.next = event.seq + 1;
                        return Ok(FeedItem::Event(event));
                    }
                    Some(Ok(LogItem::Synced { cursor })) => {
                        self.next = cursor.next();
                        return Ok(FeedItem::Synced);
                    }
                    Some(Ok(_)) => {}
                },
            }
        }
    }
}

/// A terminal that follows a session.
struct Attached {
    session_id: SessionId,
    connection: Connection,
    inputs: Inputs,
    interactive: bool,
    printer: Printer,
    out: Stdout,
    questions: Questions,
    /// The tool calls of the last reply.
    calls: Vec<Arc<ToolCall>>,
    is_synced: bool,
    is_running: bool,
    theme: Theme,
}

impl Attached {
    async fn follow(&mut self, mut feed: Feed) -> Result<Exit, Problem> {
        loop {
            let optional = OptionalInputs { lines: false, ticks: true };
            tokio::select! {
                biased;
                input = self.inputs.next(None, optional) => match input {
                    InputEvent::Stop(stop) => return Ok(if self.interactive { Exit::Done } else { stop.exit() }),
                    InputEvent::TerminalClosed => return Ok(Exit::Done),
                    InputEvent::Suspend => {
                        let text = self.printer.pause();
                        self.out.write(&text);
                        self.inputs.suspend();
                        self.ask();
                    }
                    InputEvent::Key(key) => self.key(&key).await?,
                    InputEvent::Tick => self.tick(),
                    _ => {}
                },
                item = feed.next() => match item.map_err(from_protocol)? {
                    FeedItem::Event(event) => self.event(&event),
                    FeedItem::Synced => {
                        self.is_synced = true;
                        self.show_asks().await?;
                    }
                    FeedItem::Ended => return Ok(Exit::Done),
                },
            }
            // Without a person, there is nothing to wait for after the run.
            if self.out.is_broken() || (self.is_synced && !self.interactive && !self.is_running) {
                return Ok(Exit::Done);
            }
        }
    }

    fn event(&mut self, record: &Event) {
        let text = self.printer.event(record, SystemClock.now());
        self.out.write(&text);
        match &record.event {
            AgentEvent::AgentStart(_) => self.is_running = true,
            AgentEvent::AgentEnd { .. } => self.is_running = false,
            AgentEvent::MessageEnd { message } => {
                if let Some(reply) = message.shared().and_then(|message| message.as_assistant()) {
                    self.calls = reply.tool_calls().cloned().collect();
                }
            }
            AgentEvent::PermissionRequired { request } if self.is_synced && self.interactive => {
                self.put(request);
            }
            AgentEvent::PermissionDecided { request_id, .. } if self.questions.withdraw(*request_id) => {
                write_stderr("\n");
                self.ask();
            }
            _ => {}
        }
    }

    /// Shows the questions that waited before this client came.
    async fn show_asks(&mut self) -> Result<(), Problem> {
        let view = self.connection.remote.view(&self.session_id).await.map_err(from_protocol)?;
        self.is_running = matches!(view.status, SessionStatus::Running | SessionStatus::RequiresAction);
        for ask in view.asks {
            match ask.subject {
                AskSubject::Approval { request } if self.interactive => self.put(&request),
                AskSubject::Question { text, .. } if self.interactive => {
                    // The id of the ask is the id of the approval request.
                    if let Ok(request) = uuid::Uuid::parse_str(ask.id.as_str()).map(RequestId::new) {
                        let options = ask.choices.iter().filter_map(|choice| text_of(&choice.answer));
                        self.put_question(request, UserQuestion::new(text, options.collect()));
                    }
                }
                AskSubject::Question { text, .. } => self.note(
                    Style::Strong,
                    &format!(
                        "{text}\nanswer with `lariat sessions approve {} --answer TEXT`",
                        self.session_id
                    ),
                ),
                AskSubject::Plan { .. } => self.note(
                    Style::Strong,
                    &format!("a plan waits; `lariat sessions approve {}` carries it out", self.session_id),
                ),
                _ => {}
            }
        }
        Ok(())
    }

    fn put_question(&mut self, request: RequestId, question: UserQuestion) {
        let asked_by = AskedBy::Session(request);
        if self.questions.put(PendingQuestion::Tool(ToolQuestion { question, asked_by })) {
            self.ask();
        }
    }

    fn put(&mut self, request: &Arc<PermissionRequest>) {
        if let Some(question) = &request.question {
            return self.put_question(request.id, (**question).clone());
        }
        let call = self.calls.iter().find(|call| call.id == request.tool_call_id);
        let arguments = call.map(|call| call.arguments.clone());
        let question = PendingQuestion::Call { request: Arc::clone(request), arguments, wants_reason: false };
        if self.questions.put(question) {
            self.ask();
        }
    }

    /// Shows the first question, or returns to the output if there is none.
    fn ask(&mut self) {
        if self.questions.is_empty() {
            let text = self.printer.resume(SystemClock.now());
            self.out.write(&text);
            return;
        }
        let text = self.printer.pause();
        self.out.write(&text);
        if let Some(words) = self.questions.show(Instant::now(), &self.theme) {
            write_stderr(&words);
        }
    }

    fn tick(&mut self) {
        let text = self.printer.tick(SystemClock.now());
        self.out.write(&text);
        if let Some(prompt) = self.questions.ready(Instant::now()) {
            write_stderr(&prompt);
        }
    }

    async fn key(&mut self, key: &Key) -> Result<(), Problem> {
        match self.questions.key(key, Instant::now(), &self.theme) {
            Outcome::Write(words) => write_stderr(&words),
            Outcome::Decided(request, decision) => {
                write_stderr(&format!("{}\n", approval::decision_text(&decision)));
                self.answer(request, Answer::Approval { decision }).await;
            }
            Outcome::Answered(ToolQuestion { asked_by: AskedBy::Session(request), .. }, answer) => {
                write_stderr("\n");
                let answer = match answer.filter(|answer| !answer.is_empty()) {
                    Some(text) => Answer::Value { value: text.into() },
                    None => Answer::Decline { reason: None },
                };
                self.answer(request, answer).await;
            }
            Outcome::Typing(shown) => {
                let text = self.printer.draft(self.questions.draft.text(), SystemClock.now());
                self.out.write(&text);
                if !self.printer.is_live() {
                    write_stderr(&shown);
                }
            }
            Outcome::Message(words) => {
                let text = self.printer.draft("", SystemClock.now());
                self.out.write(&text);
                let content = PromptContent::text(words.clone());
                let action = Action::Prompt { content, delivery: Delivery::Steer };
                match self.connection.send(&self.session_id, action).await {
                    Ok(_) => self.note(Style::Strong, &format!("you: {words}")),
                    Err(problem) => self.note(Style::Warning, &format!("not sent: {}", problem.cause)),
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Answers a question, and shows the next one.
    async fn answer(&mut self, request: RequestId, answer: Answer) {
        if let Err(problem) = self.send_answer(request, answer).await {
            self.note(Style::Warning, &problem.cause);
        }
        self.ask();
    }

    async fn send_answer(&self, request: RequestId, answer: Answer) -> Result<(), Problem> {
        let view = self.connection.remote.view(&self.session_id).await.map_err(from_protocol)?;
        let id = request.to_string();
        let Some(ask) = view.asks.iter().find(|ask| ask.id.as_str() == id) else {
            return Err(Problem::new(Exit::Failed, "another client answered first"));
        };
        let action = Action::Answer { ask_id: ask.id.clone(), digest: ask.digest.clone(), answer };
        self.connection.send(&self.session_id, action).await.map(drop)
    }

    fn note(&mut self, style: Style, words: &str) {
        let text = self.printer.note(style, &display::block(words), SystemClock.now());
        self.out.write(&text);
    }
}
