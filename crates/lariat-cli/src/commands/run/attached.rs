//! `lariat attach`: follows a session of the background host, answers its questions and steers it.
//!
//! Durable events come from the log and live ones from the live channel; [`Feed`] puts them in one order. Invariant:
//! detaching, however it happens, stops nothing.

use std::io::IsTerminal as _;
use std::sync::Arc;

use futures_util::StreamExt as _;
use lariat_api::{
    Action, Answer, AskSubject, Delivery, ItemStream, LogItem, LogRequest, PromptContent, SessionStatus,
    SessionView, Sessions as _,
};
use lariat_core::content::ToolCall;
use lariat_core::display;
use lariat_core::event::{AgentEvent, Event};
use lariat_core::id::RequestId;
use lariat_core::permission::UserQuestion;
use lariat_service::clock;
use lariat_terminal::approval;
use lariat_terminal::finished_call::Verbosity;
use lariat_terminal::theme::{Style, Theme};
use tokio::time::Instant;

use super::client::SessionClient;
use super::feed::{Feed, FeedItem};
use super::inputs::{InputEvent, Inputs, OptionalInputs};
use super::keys::TypedKey;
use super::output::{Stdout, write_stderr};
use super::questions::{KeyEffect, PendingQuestion, Questions, model_answer};
use super::terminal::Terminal;
use crate::args::background::AttachArgs;
use crate::commands::CommandResult;
use crate::commands::background::{HostConnection, from_protocol};
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
    let connection = HostConnection::open(env).await?;
    let view = connection.find(&args.id).await?;
    let mut request = LogRequest::follow(view.cursor.clone());
    if view.seq <= SHOWN_FROM_START {
        request.after = None;
    }
    if args.json {
        return print_log(connection.remote.log(&view.session_id, request).await.map_err(from_protocol)?)
            .await;
    }
    let client = SessionClient { sessions: Arc::new(connection.remote), session_id: view.session_id.clone() };
    let feed = Feed::open(&client.sessions, &client.session_id, request).await.map_err(from_protocol)?;
    let place = env.load_project(&env.load_options(None))?;
    let (theme, out) =
        (env.terminal(&place.settings, Stream::Error), env.terminal(&place.settings, Stream::Output));
    let terminal = if std::io::stderr().is_terminal() { Terminal::open(theme.live) } else { None };
    let interactive = terminal.is_some();
    let inputs = Inputs::new(terminal)?;
    let id: String = view.session_id.as_str().chars().take(ID).collect();
    if theme.is_terminal {
        let line = format!("session {id} · {} · type to steer, Ctrl-C to detach\n", status(&view));
        write_stderr(&theme.paint(Style::Dim, &line));
    }
    let mut attached = AttachedTerminal {
        client,
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
    let ended = attached.follow(feed).await;
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

/// A terminal that follows a session.
struct AttachedTerminal {
    client: SessionClient,
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

impl AttachedTerminal {
    async fn follow(&mut self, mut feed: Feed) -> Result<Exit, Problem> {
        loop {
            let optional = OptionalInputs { lines: false, ticks: true };
            match self.inputs.next(feed.next(), optional).await {
                InputEvent::Session(item) => match item.map_err(from_protocol)? {
                    FeedItem::Event(event) => self.event(&event),
                    FeedItem::Synced => {
                        self.is_synced = true;
                        self.show_asks().await?;
                    }
                    FeedItem::Lost(problem) => {
                        self.is_running = false;
                        self.note(Style::Warning, &format!("the run stopped: {problem}"));
                    }
                    FeedItem::Ended => return Ok(Exit::Done),
                },
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
                InputEvent::Line(_) | InputEvent::Callback(_) => {}
            }
            // Without a user, there is nothing to wait for after the run.
            if self.out.is_broken() || (self.is_synced && !self.interactive && !self.is_running) {
                return Ok(Exit::Done);
            }
        }
    }

    fn event(&mut self, record: &Event) {
        let text = self.printer.event(record, clock::now());
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
                self.put(PendingQuestion::about(request, &self.calls));
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
        let view = self.client.view().await.map_err(from_protocol)?;
        self.is_running = matches!(view.status, SessionStatus::Running | SessionStatus::RequiresAction);
        for ask in view.asks {
            match ask.subject {
                AskSubject::Approval { request } if self.interactive => {
                    self.put(PendingQuestion::about(&request, &self.calls));
                }
                AskSubject::Question { text, .. } if self.interactive => {
                    // The id of the ask is the id of the approval request.
                    if let Ok(request) = uuid::Uuid::parse_str(ask.id.as_str()).map(RequestId::new) {
                        let options = ask.choices.iter().filter_map(|choice| text_of(&choice.answer));
                        let question = UserQuestion::new(text, options.collect());
                        self.put(PendingQuestion::Model(request, question));
                    }
                }
                AskSubject::Question { text, .. } => self.note(
                    Style::Strong,
                    &format!(
                        "{text}\nanswer with `lariat sessions approve {} --answer TEXT`",
                        self.client.session_id
                    ),
                ),
                AskSubject::Plan { .. } => self.note(
                    Style::Strong,
                    &format!(
                        "a plan waits; `lariat sessions approve {}` carries it out",
                        self.client.session_id
                    ),
                ),
                _ => {}
            }
        }
        Ok(())
    }

    /// Adds a question, and shows it if it is the only one.
    fn put(&mut self, question: PendingQuestion) {
        if self.questions.put(question) {
            self.ask();
        }
    }

    /// Shows the first question, or returns to the output if there is none.
    fn ask(&mut self) {
        if self.questions.is_empty() {
            let text = self.printer.resume(clock::now());
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
        let text = self.printer.tick(clock::now());
        self.out.write(&text);
        if let Some(prompt) = self.questions.ready(Instant::now()) {
            write_stderr(&prompt);
        }
    }

    async fn key(&mut self, key: &TypedKey) -> Result<(), Problem> {
        match self.questions.key(key, Instant::now(), &self.theme) {
            KeyEffect::Write(words) => write_stderr(&words),
            KeyEffect::Decided(request, decision) => {
                write_stderr(&format!("{}\n", approval::decision_text(&decision)));
                self.answer(request, Answer::Approval { decision }).await;
            }
            KeyEffect::Answered(request, answer) => {
                write_stderr("\n");
                self.answer(request, model_answer(answer)).await;
            }
            KeyEffect::Typing(shown) => {
                let text = self.printer.draft(self.questions.draft.text(), clock::now());
                self.out.write(&text);
                if !self.printer.is_live() {
                    write_stderr(&shown);
                }
            }
            KeyEffect::Message(words) => {
                let text = self.printer.draft("", clock::now());
                self.out.write(&text);
                let content = PromptContent::text(words.clone());
                let action = Action::Prompt { content, delivery: Delivery::Steer };
                match self.client.send(action).await {
                    Ok(_) => self.note(Style::Strong, &format!("you: {words}")),
                    Err(problem) => self.note(Style::Warning, &format!("not sent: {problem}")),
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Answers a question, and shows the next one.
    async fn answer(&mut self, request: RequestId, answer: Answer) {
        if let Err(problem) = self.client.answer(request, answer).await {
            self.note(Style::Warning, &problem.message);
        }
        self.ask();
    }

    fn note(&mut self, style: Style, words: &str) {
        let text = self.printer.note(style, &display::block(words), clock::now());
        self.out.write(&text);
    }
}
