//! Follows the runs of a session to their end, for a user at a terminal or for a script.
//!
//! A client of the session's host: shows its events, and sends it what the user types and decides. The user answers
//! questions in order. Without a user, every approval request is denied at once, and the end of the run lists the denied
//! tool calls. Only the user approves tool calls.

use std::sync::Arc;

use lariat_api::{
    Action, Answer, Delivery, LogRequest, ProblemCode, PromptContent, SessionStatus, SessionView,
};
use lariat_core::content::ToolCall;
use lariat_core::display;
use lariat_core::event::{AgentEvent, EventRecord, RunOutcome};
use lariat_core::permission::{PermissionDecision, PermissionRequest};
use lariat_service::HostedSession;
use lariat_terminal::theme::{Style, Theme};
use lariat_terminal::{approval, notes, text};
use tokio::time::Instant;

use super::background::BackgroundCommands;
use super::client::{CommandResponse, CommandSender, Outgoing, SessionClient};
use super::feed::{Feed, FeedItem};
use super::figures::RunFigures;
use super::followed_run::{FollowedRun, RunTracker};
use super::inputs::{InputEvent, Inputs, OptionalInputs, Stop};
use super::keys::TypedKey;
use super::output::{RunOutput, report, write_stderr};
use super::questions::{KeyEffect, PendingQuestion, Questions, model_answer};
use super::{CommandResult, ending};
use crate::exit::Exit;
use crate::failure::FailureContext;
use crate::problem::Problem;
use crate::screen::queue::MessageQueue;
use crate::wire::json::Ending;

/// Tells the model that a tool call was denied because no user can approve it.
const CANNOT_ASK: &str = "This tool call requires the user's approval, and this run cannot ask. Continue without it, or say what \
                          should be allowed.";

/// The result of following a run.
pub(super) enum FollowResult {
    /// The run ended.
    Finished(Box<Ending>),
    /// There was nothing to recover or to answer.
    Nothing,
    /// The plan changed after it was shown. Nothing was applied.
    PlanChanged,
    /// The user quit at once.
    Quit,
}

/// Something that the session did.
enum SessionInput {
    Sent(CommandResponse),
    Feed(Result<FeedItem, lariat_api::Problem>),
}

/// Follows the runs of a session.
pub(super) struct RunWatcher {
    pub(super) session: HostedSession,
    client: SessionClient,
    sender: CommandSender,
    feed: Feed,
    tracker: RunTracker,
    pub(super) run_output: RunOutput,
    inputs: Inputs,
    interactive: bool,
    pub(super) theme: Theme,
    questions: Questions,
    /// The tool calls of the last reply.
    calls: Vec<Arc<ToolCall>>,
    background: BackgroundCommands,
    queue: MessageQueue,
    denied: Vec<Arc<PermissionRequest>>,
    stop: Option<Stop>,
    has_quit: bool,
    hung_up: bool,
}

impl RunWatcher {
    /// Follows a session. `view` is its state, if it has any.
    pub(super) async fn new(
        session: HostedSession,
        view: Option<&SessionView>,
        run_output: RunOutput,
        inputs: Inputs,
        interactive: bool,
        theme: Theme,
    ) -> Result<Self, Problem> {
        let client = SessionClient { sessions: session.sessions(), session_id: session.id().clone() };
        let mut request = LogRequest::default();
        request.follow = true;
        // The figures of an interrupted run need its beginning.
        request.after =
            view.filter(|view| view.status != SessionStatus::Interrupted).map(|view| view.cursor.clone());
        let feed = Feed::open(&client.sessions, &client.session_id, request).await;
        Ok(Self {
            feed: feed.map_err(ending::host_problem)?,
            tracker: RunTracker::new(view),
            sender: CommandSender::new(client.clone()),
            client,
            questions: Questions::new(session.facts().is_sandboxed),
            session,
            run_output,
            inputs,
            interactive,
            theme,
            calls: Vec::new(),
            background: BackgroundCommands::default(),
            queue: MessageQueue::default(),
            denied: Vec::new(),
            stop: None,
            has_quit: false,
            hung_up: false,
        })
    }

    /// The exit code if the user quit at once.
    pub(super) fn quit(&self) -> Option<Exit> {
        self.has_quit.then(|| self.stop.map_or(Exit::Interrupted, Stop::exit))
    }

    /// Whether the user or the system asked to stop.
    pub(super) const fn is_stopped(&self) -> bool {
        self.stop.is_some() || self.hung_up
    }

    /// Who stopped the program.
    pub(super) const fn stop(&self) -> Option<Stop> {
        self.stop
    }

    /// Ends the output of several runs.
    pub(super) fn close_output(&mut self) {
        self.run_output.close_screen();
        self.report_refused_and_stopped();
    }

    /// Lists the tool calls that were denied, and the background commands that end now.
    fn report_refused_and_stopped(&self) {
        self.report_denied();
        if let Some(words) = self.background.closing_note() {
            report("note", &words);
        }
    }

    /// Whether a user can answer questions.
    pub(super) const fn is_interactive(&self) -> bool {
        self.interactive
    }

    fn optional(&self) -> OptionalInputs {
        OptionalInputs { lines: false, ticks: self.run_output.is_screen() || !self.questions.is_empty() }
    }

    /// Sends a command that starts a run, and follows the session until nothing is left to do.
    pub(super) async fn follow(&mut self, action: Action) -> Result<FollowResult, Problem> {
        let is_continue = matches!(action, Action::Continue);
        let mut run = FollowedRun::after(None);
        self.sender.send(Outgoing::Run(action));
        loop {
            if !self.sender.has_open_message()
                && let Some(ending) = run.ending(&self.tracker, &self.client).await?
            {
                self.questions.take().for_each(drop);
                return Ok(FollowResult::Finished(Box::new(ending)));
            }
            let optional = self.optional();
            let (sender, feed) = (&mut self.sender, &mut self.feed);
            let happened = async {
                tokio::select! {
                    biased;
                    sent = sender.result() => SessionInput::Sent(sent),
                    item = feed.next() => SessionInput::Feed(item),
                }
            };
            match self.inputs.next(happened, optional).await {
                InputEvent::Session(SessionInput::Feed(item)) => match item.map_err(ending::host_problem)? {
                    FeedItem::Event(event) => {
                        if let Some(figures) = self.event(&event) {
                            run.ended = Some(figures);
                        }
                    }
                    FeedItem::Synced => self.tracker.is_synced = true,
                    FeedItem::Lost(problem) => return Err(ending::host_problem(problem)),
                    FeedItem::Ended => {
                        return Err(Problem::new(Exit::Failed, "the log of the session ended early"));
                    }
                },
                InputEvent::Session(SessionInput::Sent(CommandResponse::Run(sent))) => match sent {
                    Ok(_) => run.is_accepted = true,
                    Err(problem) if is_continue && problem.code == ProblemCode::WrongStatus => {
                        return Ok(FollowResult::Nothing);
                    }
                    Err(problem) if problem.code == ProblemCode::DigestMismatch => {
                        return Ok(FollowResult::PlanChanged);
                    }
                    Err(problem) => return Err(ending::host_problem(problem)),
                },
                InputEvent::Session(SessionInput::Sent(sent)) => {
                    run.message = run.message.max(self.sent(sent).unwrap_or_default());
                }
                InputEvent::Stop(stop) if self.stop.is_some() || stop == Stop::Quit => {
                    self.stop = Some(stop);
                    self.has_quit = true;
                    self.run_output.pause();
                    return Ok(FollowResult::Quit);
                }
                InputEvent::Stop(stop) => {
                    self.stop = Some(stop);
                    self.sender.send(Outgoing::Interrupt);
                    self.note(Style::Warning, "stopping; press Ctrl-C again to quit at once");
                }
                InputEvent::Suspend => self.suspend(),
                InputEvent::Key(key) => self.key(&key),
                InputEvent::TerminalClosed => self.deny_open_requests(),
                InputEvent::Tick => self.tick(),
                InputEvent::Line(_) | InputEvent::Callback(_) => {}
            }
        }
    }

    /// Sends a command that starts no run.
    pub(super) async fn send(&self, action: Action) -> Result<(), Problem> {
        self.client.send(action).await.map(drop).map_err(ending::host_problem)
    }

    /// Reports the response to a message or an answer. Returns the position of a message that the session took.
    fn sent(&mut self, sent: CommandResponse) -> Option<u64> {
        match sent {
            CommandResponse::Message(_, Ok(receipt)) => Some(receipt.seq),
            CommandResponse::Message(words, Err(problem)) => {
                self.note(Style::Strong, &format!("not sent: {words} ({})", problem.message));
                None
            }
            CommandResponse::Answer(Err(problem)) if problem.code != ProblemCode::AlreadyAnswered => {
                self.note(Style::Warning, &problem.message);
                None
            }
            CommandResponse::Answer(_)
            | CommandResponse::Interrupt
            | CommandResponse::Run(_)
            | CommandResponse::Mode(..)
            | CommandResponse::Context(..) => None,
        }
    }

    /// Asks the user for one of several letters, between runs. `None` if the user did not choose.
    pub(super) async fn choose(&mut self, words: String, letters: &'static str) -> Option<char> {
        if !self.interactive {
            return None;
        }
        self.put(PendingQuestion::Choice { words, letters });
        loop {
            let nothing = std::future::pending::<()>();
            match self.inputs.next(nothing, OptionalInputs { lines: false, ticks: true }).await {
                InputEvent::Key(key) => {
                    let outcome = self.questions.key(&key, Instant::now(), &self.theme);
                    if let KeyEffect::Chosen(letter) = outcome {
                        write_stderr(&format!("{}\n", letter.map(String::from).unwrap_or_default()));
                        return letter;
                    }
                }
                InputEvent::Stop(stop) => {
                    self.stop = Some(stop);
                    break;
                }
                InputEvent::TerminalClosed => {
                    self.interactive = false;
                    break;
                }
                InputEvent::Suspend => self.suspend(),
                InputEvent::Tick => self.tick(),
                _ => {}
            }
        }
        self.questions.take().for_each(drop);
        None
    }

    /// Runs the hooks for the end of the session, and releases it.
    pub(super) async fn close(&self) {
        self.session.close().await;
    }

    /// Writes the closing messages and returns the exit code.
    pub(super) fn end(
        mut self,
        ended: Option<Ending>,
        session: Option<&str>,
        failure_context: &FailureContext,
    ) -> CommandResult {
        let Some(ended) = ended else { return Ok(Exit::Failed) };
        self.run_output.end(&ended);
        self.report_refused_and_stopped();
        for words in self.queue.texts() {
            let state = match session {
                Some(_) => "still queued, the next run of this session sends it",
                None => "not sent, because the run ended",
            };
            report("note", &format!("{state}: {words}"));
        }
        if !self.questions.draft.is_empty() {
            report("note", &format!("not sent, because the run ended: {}", self.questions.draft.text()));
        }
        let exit = ending::exit(&ended, self.stop);
        if self.run_output.is_screen() && self.theme.is_terminal {
            write_stderr(&ending::summary(&ended, session, &self.theme));
            // The summary covers every end except a provider failure, which needs its cause.
            if !matches!(ended.outcome, RunOutcome::Failed { .. }) {
                return Ok(exit);
            }
        }
        match ending::problem(&ended, exit, session, failure_context) {
            Some(problem) => Err(problem),
            None => Ok(exit),
        }
    }

    /// Handles an event. Returns the figures of a run at its end.
    fn event(&mut self, record: &EventRecord) -> Option<RunFigures> {
        let figures = self.tracker.event(record);
        if self.tracker.is_synced {
            self.show(record);
        }
        figures
    }

    fn show(&mut self, record: &EventRecord) {
        self.run_output.event(record);
        self.queue.apply(&record.event);
        if self.run_output.out.is_broken() && !self.hung_up {
            self.hung_up = true;
            self.sender.send(Outgoing::Interrupt);
        }
        match &record.event {
            AgentEvent::MessageEnd { message } => {
                if let Some(reply) = message.shared().and_then(|message| message.as_assistant()) {
                    self.calls = reply.tool_calls().cloned().collect();
                }
            }
            AgentEvent::PermissionRequired { request } if self.interactive => {
                self.put(PendingQuestion::about(request, &self.calls));
            }
            AgentEvent::PermissionRequired { request } => {
                self.deny(request);
                self.denied.push(Arc::clone(request));
            }
            // Answered elsewhere, or withdrawn.
            AgentEvent::PermissionDecided { request_id, .. } => {
                if self.questions.withdraw(*request_id) {
                    write_stderr("\n");
                    self.ask();
                }
            }
            // The screen shows these itself. In a script, say why it waits and what hooks say.
            event @ (AgentEvent::ModelRetry { .. }
            | AgentEvent::ModelFallback { .. }
            | AgentEvent::InputWarned { .. }
            | AgentEvent::HookMessage { .. })
                if !self.run_output.is_screen() =>
            {
                if let Some((_, words)) = notes::note(event) {
                    report("note", &words);
                }
            }
            AgentEvent::JournalUnavailable { error, .. } if !self.run_output.is_screen() => {
                report("note", &format!("could not save the session, the run is waiting: {error}"));
            }
            event => self.background.event(event, &self.calls),
        }
    }

    fn tick(&mut self) {
        self.run_output.tick();
        if let Some(prompt) = self.questions.ready(Instant::now()) {
            write_stderr(&prompt);
        }
    }

    /// Adds a question, and shows it if it is the only one.
    fn put(&mut self, open: PendingQuestion) {
        if self.questions.put(open) {
            self.ask();
        }
    }

    /// Shows the first question, or returns to the run's output if there is none.
    fn ask(&mut self) {
        if self.questions.is_empty() {
            self.run_output.resume();
            self.run_output.draft(self.questions.draft.text());
            return;
        }
        self.run_output.pause();
        if let Some(words) = self.questions.show(Instant::now(), &self.theme) {
            write_stderr(&words);
        }
    }

    /// Suspends the program until the user resumes it.
    fn suspend(&mut self) {
        self.run_output.pause();
        self.inputs.suspend();
        self.ask();
    }

    fn key(&mut self, key: &TypedKey) {
        match self.questions.key(key, Instant::now(), &self.theme) {
            KeyEffect::Nothing | KeyEffect::Chosen(_) => {}
            KeyEffect::Write(words) => write_stderr(&words),
            KeyEffect::Decided(request, decision) => {
                write_stderr(&format!("{}\n", approval::decision_text(&decision)));
                self.sender.send(Outgoing::Answer(request, Answer::Approval { decision }));
                self.ask();
            }
            KeyEffect::Answered(request, answer) => {
                write_stderr("\n");
                self.sender.send(Outgoing::Answer(request, model_answer(answer)));
                self.ask();
            }
            KeyEffect::Typing(shown) => {
                if !self.run_output.draft(self.questions.draft.text()) {
                    write_stderr(&shown);
                }
            }
            KeyEffect::Queue(words) => {
                self.run_output.draft("");
                let is_shown = self.run_output.shows_queue();
                // The screen lists the queue at its bottom, and prints a message when the model receives it.
                if self.send_message(&words, Delivery::Queue) && !is_shown {
                    self.note(Style::Dim, &format!("queued for after this run: {words}"));
                }
            }
            KeyEffect::Message(words) => {
                self.run_output.draft("");
                if self.send_message(&words, Delivery::Steer) {
                    self.note(Style::Strong, &format!("you: {words}"));
                }
            }
        }
    }

    /// Sends what the user typed. Returns false if too much waits already.
    fn send_message(&mut self, words: &str, delivery: Delivery) -> bool {
        if self.is_stopped() {
            self.note(Style::Strong, &format!("not sent, the run ends: {words}"));
            return false;
        }
        let action = Action::Prompt { content: PromptContent::text(words), delivery };
        let is_sent = self.sender.send(Outgoing::Message(action, words.to_owned()));
        if !is_sent {
            self.note(Style::Warning, &format!("not sent, because too many messages wait: {words}"));
        }
        is_sent
    }

    fn deny(&mut self, request: &PermissionRequest) {
        let answer = match request.question {
            Some(_) => Answer::Decline { reason: None },
            None => Answer::Approval { decision: PermissionDecision::deny(CANNOT_ASK) },
        };
        self.sender.send(Outgoing::Answer(request.id, answer));
    }

    /// Shows a note if a user is watching.
    fn note(&mut self, style: Style, words: &str) {
        if self.interactive && !self.run_output.note(style, words) {
            write_stderr(&format!("\n{}\n", display::block(words)));
        }
    }

    /// Denies open and future approval requests, because the terminal was closed.
    fn deny_open_requests(&mut self) {
        self.interactive = false;
        let open: Vec<PendingQuestion> = self.questions.take().collect();
        for open in open {
            match open {
                PendingQuestion::Call { request, .. } => self.deny(&request),
                PendingQuestion::Model(request, _) => {
                    self.sender.send(Outgoing::Answer(request, Answer::Decline { reason: None }));
                }
                PendingQuestion::Choice { .. } => {}
            }
        }
        self.run_output.resume();
    }

    /// Lists the tool calls that were denied because this run cannot ask, and how to allow them.
    fn report_denied(&self) {
        let Some(first) = self.denied.first() else { return };
        let (mut words, object) = match self.denied.len() {
            1 => ("denied 1 tool call: it requires approval, and this run cannot ask".to_owned(), "it"),
            count => {
                (format!("denied {count} tool calls: they require approval, and this run cannot ask"), "them")
            }
        };
        for request in self.denied.iter().take(5) {
            let summary = request.summary.lines().next().unwrap_or_default();
            words.push_str(&format!("\n  {}", display::line(summary)));
        }
        let rules = self.denied.iter().filter_map(|request| request.remember.as_deref());
        let mut rules: Vec<&str> = rules.flat_map(str::lines).collect();
        rules.sort_unstable();
        rules.dedup();
        let allow: Vec<String> = rules
            .iter()
            .take(5)
            .map(|rule| format!("--allow {}", text::shell_word(&display::line(rule))))
            .collect();
        // The summary of most tools starts with their name.
        let start = format!("{}: ", first.tool_name);
        let call = first.summary.strip_prefix(&start).unwrap_or(&first.summary);
        let next = match allow.as_slice() {
            [] => format!(
                "run in a terminal to approve {object}; `lariat permissions explain {} {}` shows why",
                first.tool_name,
                text::shell_word(&display::line(call))
            ),
            allow => format!("allow {object} with {}", allow.join(" ")),
        };
        write_stderr(&format!("note: {words}\n  hint: {next}\n"));
    }
}
