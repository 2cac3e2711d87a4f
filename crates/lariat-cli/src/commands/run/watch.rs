//! Follows a run to its end, for a user at a terminal or for a script.
//!
//! The user answers questions in order. Without a user, every approval request is denied at once, and the end of the run
//! lists the denied tool calls. What the user types between questions goes to the run. Only the user approves tool calls.

use std::sync::Arc;

use lariat_core::content::ToolCall;
use lariat_core::display;
use lariat_core::event::{AgentEvent, EventRecord, RunOutcome};
use lariat_core::permission::{PermissionDecision, PermissionRequest};
use lariat_runtime::{AgentError, AgentOutput, RunStream};
use lariat_service::Session;
use lariat_terminal::theme::{Style, Theme};
use lariat_terminal::{approval, notes, text};
use tokio::time::Instant;

use super::background::BackgroundCommands;
use super::inputs::{InputEvent, Inputs, OptionalInputs, Stop};
use super::keys::Key;
use super::output::{RunOutput, report, write_stderr};
use super::questions::{Outcome, PendingQuestion, Questions};
use super::tool_questions::AskedBy;
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
    Finished(Box<AgentOutput>),
    /// There was nothing to recover or to answer.
    Nothing,
    /// The plan changed after it was shown. Nothing was applied.
    PlanChanged,
    /// The user quit at once.
    Quit,
}

/// Follows the runs of a session.
pub(super) struct RunWatcher<'a> {
    session: &'a Session,
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

impl<'a> RunWatcher<'a> {
    pub(super) fn new(
        session: &'a Session,
        run_output: RunOutput,
        inputs: Inputs,
        interactive: bool,
        theme: Theme,
    ) -> Self {
        Self {
            session,
            run_output,
            inputs,
            interactive,
            theme,
            questions: Questions::new(session.is_sandboxed()),
            calls: Vec::new(),
            background: BackgroundCommands::default(),
            queue: MessageQueue::default(),
            denied: Vec::new(),
            stop: None,
            has_quit: false,
            hung_up: false,
        }
    }

    /// The exit code if the user quit at once.
    pub(super) fn quit(&self) -> Option<Exit> {
        self.has_quit.then(|| self.stop.map_or(Exit::Interrupted, Stop::exit))
    }

    /// Whether the user or the system asked to stop.
    pub(super) const fn is_stopped(&self) -> bool {
        self.stop.is_some() || self.hung_up
    }

    /// Whether a user can answer questions.
    pub(super) const fn is_interactive(&self) -> bool {
        self.interactive
    }

    fn optional(&self) -> OptionalInputs {
        OptionalInputs { lines: false, ticks: self.run_output.is_screen() || !self.questions.is_empty() }
    }

    pub(super) async fn follow(&mut self, mut run: RunStream) -> Result<FollowResult, Problem> {
        loop {
            let optional = self.optional();
            match self.inputs.next(Some(&mut run), optional).await {
                InputEvent::Event(event) => self.event(&event),
                InputEvent::RunEnded => break,
                InputEvent::Stop(stop) if self.stop.is_some() || stop == Stop::Quit => {
                    self.stop = Some(stop);
                    self.has_quit = true;
                    self.run_output.pause();
                    return Ok(FollowResult::Quit);
                }
                InputEvent::Stop(stop) => {
                    self.stop = Some(stop);
                    self.session.interrupt();
                    self.note(Style::Warning, "stopping; press Ctrl-C again to quit at once");
                }
                InputEvent::Suspend => self.suspend(),
                InputEvent::Key(key) => self.key(&key, Some(&run)),
                InputEvent::TerminalClosed => self.deny_open_requests(),
                InputEvent::Question(question) => self.put(PendingQuestion::Tool(question)),
                InputEvent::Tick => self.tick(),
                InputEvent::Line(_) | InputEvent::Callback(_) => {}
            }
        }
        self.questions.take().for_each(drop);
        match run.finish().await.or_else(AgentError::into_output) {
            Ok(output) => Ok(FollowResult::Finished(Box::new(output))),
            Err(error) if error.is_nothing_to_recover() || error.is_nothing_to_answer() => {
                Ok(FollowResult::Nothing)
            }
            Err(AgentError::PlanChanged) => Ok(FollowResult::PlanChanged),
            Err(error) => Err(ending::failed(error)),
        }
    }

    /// Asks the user for one of several letters, between runs. `None` if the user did not choose.
    pub(super) async fn choose(&mut self, words: String, letters: &'static str) -> Option<char> {
        if !self.interactive {
            return None;
        }
        self.put(PendingQuestion::Choice { words, letters });
        loop {
            match self.inputs.next(None, OptionalInputs { lines: false, ticks: true }).await {
                InputEvent::Key(key) => {
                    let outcome = self.questions.key(&key, Instant::now(), &self.theme);
                    if let Outcome::Chosen(letter) = outcome {
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

    /// Writes the closing messages and returns the exit code.
    pub(super) fn end(
        mut self,
        ended: Option<Ending>,
        session: Option<&str>,
        failure_context: &FailureContext,
    ) -> CommandResult {
        let Some(ended) = ended else { return Ok(Exit::Failed) };
        self.run_output.end(&ended);
        self.report_denied();
        if let Some(words) = self.background.closing_note() {
            report("note", &words);
        }
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

    fn event(&mut self, record: &EventRecord) {
        self.run_output.event(record);
        self.queue.apply(&record.event);
        if self.run_output.out.is_broken() && !self.hung_up {
            self.hung_up = true;
            self.session.interrupt();
        }
        match &record.event {
            AgentEvent::MessageEnd { message } => {
                if let Some(reply) = message.shared().and_then(|message| message.as_assistant()) {
                    self.calls = reply.tool_calls().cloned().collect();
                }
            }
            AgentEvent::PermissionRequired { request } if self.interactive => {
                let call = self.calls.iter().find(|call| call.id == request.tool_call_id);
                let arguments = call.map(|call| call.arguments.clone());
                let request = Arc::clone(request);
                self.put(PendingQuestion::Call { request, arguments, wants_reason: false });
            }
            AgentEvent::PermissionRequired { request } => {
                self.session.respond(request.id, PermissionDecision::deny(CANNOT_ASK));
                self.denied.push(Arc::clone(request));
            }
            // Answered elsewhere, or withdrawn.
            AgentEvent::PermissionDecided { request_id, .. } => {
                if self.questions.withdraw(*request_id) {
                    write_stderr("\n");
                    self.ask();
                }
            }
            // The screen shows retries itself. In a script, say why it waits.
            event @ (AgentEvent::ModelRetry { .. } | AgentEvent::ModelFallback { .. })
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

    fn key(&mut self, key: &Key, run: Option<&RunStream>) {
        match self.questions.key(key, Instant::now(), &self.theme) {
            Outcome::Nothing | Outcome::Chosen(_) => {}
            Outcome::Write(words) => write_stderr(&words),
            Outcome::Decided(request, decision) => {
                write_stderr(&format!("{}\n", approval::decision_text(&decision)));
                self.session.respond(request, decision);
                self.ask();
            }
            Outcome::Answered(asked, answer) => {
                write_stderr("\n");
                // The tool may have stopped waiting.
                if let AskedBy::Tool(reply) = asked.asked_by {
                    let _ = reply.send(answer);
                }
                self.ask();
            }
            Outcome::Typing(shown) => {
                if !self.run_output.draft(self.questions.draft.text()) {
                    write_stderr(&shown);
                }
            }
            Outcome::Queue(words) => {
                self.run_output.draft("");
                let is_sent = run.is_some_and(|run| run.queue_message(words.clone()));
                // The screen lists the queue at its bottom, and prints a message when the model receives it.
                if !is_sent {
                    self.note(Style::Strong, &format!("not sent, the run ended: {words}"));
                } else if !self.run_output.shows_queue() {
                    self.note(Style::Dim, &format!("queued for after this run: {words}"));
                }
            }
            Outcome::Message(words) => {
                self.run_output.draft("");
                let is_sent = run.is_some_and(|run| run.inject_message(words.clone()));
                let state = if is_sent { "you" } else { "not sent, the run ended" };
                self.note(Style::Strong, &format!("{state}: {words}"));
            }
        }
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
        for open in self.questions.take() {
            if let PendingQuestion::Call { request, .. } = open {
                self.session.respond(request.id, PermissionDecision::deny(CANNOT_ASK));
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
