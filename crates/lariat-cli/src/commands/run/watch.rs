//! Follows a run to its end, for a user at a terminal or for a script.
//!
//! The user answers questions in order. Without a user, every approval request is denied at once, and the end of the run
//! lists the denied tool calls. What the user types between questions goes to the run. Only the user approves tool calls.

use std::sync::Arc;

use lariat_core::content::ToolCall;
use lariat_core::event::{AgentEvent, EventRecord, RunOutcome};
use lariat_core::permission::{PermissionDecision, PermissionRequest};
use lariat_guard::display;
use lariat_runtime::{AgentError, AgentOutput, RunStream};
use lariat_service::Session;
use tokio::time::Instant;

use super::background::Background;
use super::ears::{Ears, Heard, Listening, Stop};
use super::face::{Face, say, tell};
use super::keys::Key;
use super::questions::{Open, Outcome, Questions};
use super::{Ended, ending};
use crate::exit::Exit;
use crate::failure::Circumstances;
use crate::problem::Problem;
use crate::screen::approval;
use crate::screen::look::{Look, Style};
use crate::screen::{notes, text};
use crate::wire::json::Ending;

/// Tells the model that a tool call was denied because no user can approve it.
const UNATTENDED: &str = "This tool call requires the user's approval, and this run cannot ask. Continue without it, or say what \
                          should be allowed.";

/// The result of following a run.
pub(super) enum Followed {
    /// The run ended.
    Over(Box<AgentOutput>),
    /// There was nothing to recover or to answer.
    Nothing,
    /// The plan changed after it was shown. Nothing was applied.
    PlanChanged,
    /// The user quit at once.
    Quit,
}

/// Follows the runs of a session.
pub(super) struct Watch<'a> {
    session: &'a Session,
    pub(super) face: Face,
    ears: Ears,
    attended: bool,
    pub(super) look: Look,
    questions: Questions,
    /// The tool calls of the last reply.
    calls: Vec<Arc<ToolCall>>,
    background: Background,
    refused: Vec<Arc<PermissionRequest>>,
    stop: Option<Stop>,
    has_quit: bool,
    hung_up: bool,
}

impl<'a> Watch<'a> {
    pub(super) fn new(session: &'a Session, face: Face, ears: Ears, attended: bool, look: Look) -> Self {
        Self {
            session,
            face,
            ears,
            attended,
            look,
            questions: Questions::new(session.is_confined()),
            calls: Vec::new(),
            background: Background::default(),
            refused: Vec::new(),
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
    pub(super) const fn is_attended(&self) -> bool {
        self.attended
    }

    fn listening(&self) -> Listening {
        Listening { lines: false, ticks: self.face.is_for_person() || !self.questions.is_empty() }
    }

    pub(super) async fn follow(&mut self, mut run: RunStream) -> Result<Followed, Problem> {
        loop {
            let listening = self.listening();
            match self.ears.next(Some(&mut run), listening).await {
                Heard::Event(event) => self.event(&event),
                Heard::Over => break,
                Heard::Stop(stop) if self.stop.is_some() || stop == Stop::Quit => {
                    self.stop = Some(stop);
                    self.has_quit = true;
                    self.face.pause();
                    return Ok(Followed::Quit);
                }
                Heard::Stop(stop) => {
                    self.stop = Some(stop);
                    self.session.interrupt();
                    self.note(Style::Warning, "stopping; press Ctrl-C again to quit at once");
                }
                Heard::Suspend => self.suspend(),
                Heard::Key(key) => self.key(&key, Some(&run)),
                Heard::HungUp => self.hang_up(),
                Heard::Asked(asked) => self.put(Open::Tool(asked)),
                Heard::Tick => self.tick(),
                Heard::Line(_) => {}
            }
        }
        self.questions.take().for_each(drop);
        match run.finish().await.or_else(AgentError::into_output) {
            Ok(output) => Ok(Followed::Over(Box::new(output))),
            Err(error) if error.is_nothing_to_recover() || error.is_nothing_to_answer() => {
                Ok(Followed::Nothing)
            }
            Err(AgentError::PlanChanged) => Ok(Followed::PlanChanged),
            Err(error) => Err(ending::failed(error)),
        }
    }

    /// Asks the user for one of several letters, between runs. `None` if the user did not choose.
    pub(super) async fn choose(&mut self, words: String, letters: &'static str) -> Option<char> {
        if !self.attended {
            return None;
        }
        self.put(Open::Choice { words, letters });
        loop {
            match self.ears.next(None, Listening { lines: false, ticks: true }).await {
                Heard::Key(key) => {
                    let outcome = self.questions.key(&key, Instant::now(), &self.look);
                    if let Outcome::Chosen(letter) = outcome {
                        say(&format!("{}\n", letter.map(String::from).unwrap_or_default()));
                        return letter;
                    }
                }
                Heard::Stop(stop) => {
                    self.stop = Some(stop);
                    break;
                }
                Heard::HungUp => {
                    self.attended = false;
                    break;
                }
                Heard::Suspend => self.suspend(),
                Heard::Tick => self.tick(),
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
        circumstances: &Circumstances,
    ) -> Ended {
        let Some(ended) = ended else { return Ok(Exit::Failed) };
        self.face.end(&ended);
        self.tell_refused();
        if let Some(words) = self.background.farewell() {
            tell("note", &words);
        }
        if !self.questions.draft.is_empty() {
            tell("note", &format!("not sent, because the run ended: {}", self.questions.draft.text()));
        }
        let exit = ending::exit(&ended, self.stop);
        if self.face.is_for_person() && self.look.is_terminal {
            say(&ending::summary(&ended, session, &self.look));
            // The summary covers every end except a provider failure, which needs its cause.
            if !matches!(ended.outcome, RunOutcome::Failed { .. }) {
                return Ok(exit);
            }
        }
        match ending::problem(&ended, exit, session, circumstances) {
            Some(problem) => Err(problem),
            None => Ok(exit),
        }
    }

    fn event(&mut self, record: &EventRecord) {
        self.face.event(record);
        if self.face.out.is_broken() && !self.hung_up {
            self.hung_up = true;
            self.session.interrupt();
        }
        match &record.event {
            AgentEvent::MessageEnd { message } => {
                if let Some(reply) = message.shared().and_then(|message| message.as_assistant()) {
                    self.calls = reply.tool_calls().cloned().collect();
                }
            }
            AgentEvent::PermissionRequired { request } if self.attended => {
                let call = self.calls.iter().find(|call| call.id == request.tool_call_id);
                let arguments = call.map(|call| call.arguments.clone());
                let request = Arc::clone(request);
                self.put(Open::Call { request, arguments, wants_reason: false });
            }
            AgentEvent::PermissionRequired { request } => {
                self.session.respond(request.id, PermissionDecision::deny(UNATTENDED));
                self.refused.push(Arc::clone(request));
            }
            // Answered elsewhere, or withdrawn.
            AgentEvent::PermissionDecided { request_id, .. } => {
                if self.questions.withdraw(*request_id) {
                    say("\n");
                    self.ask();
                }
            }
            // The screen shows retries itself. In a script, say why it waits.
            event @ (AgentEvent::ModelRetry { .. } | AgentEvent::ModelFallback { .. })
                if !self.face.is_for_person() =>
            {
                if let Some((_, words)) = notes::note(event) {
                    tell("note", &words);
                }
            }
            AgentEvent::JournalUnavailable { error, .. } if !self.face.is_for_person() => {
                tell("note", &format!("could not save the session, the run is waiting: {error}"));
            }
            event => self.background.event(event, &self.calls),
        }
    }

    fn tick(&mut self) {
        self.face.tick();
        if let Some(prompt) = self.questions.ready(Instant::now()) {
            say(&prompt);
        }
    }

    /// Adds a question, and shows it if it is the only one.
    fn put(&mut self, open: Open) {
        if self.questions.put(open) {
            self.ask();
        }
    }

    /// Shows the first question, or returns to the run's output if there is none.
    fn ask(&mut self) {
        if self.questions.is_empty() {
            self.face.resume();
            self.face.draft(self.questions.draft.text());
            return;
        }
        self.face.pause();
        if let Some(words) = self.questions.show(Instant::now(), &self.look) {
            say(&words);
        }
    }

    /// Suspends the program until the user resumes it.
    fn suspend(&mut self) {
        self.face.pause();
        self.ears.suspend();
        self.ask();
    }

    fn key(&mut self, key: &Key, run: Option<&RunStream>) {
        match self.questions.key(key, Instant::now(), &self.look) {
            Outcome::Nothing | Outcome::Chosen(_) => {}
            Outcome::Write(words) => say(&words),
            Outcome::Decided(request, decision) => {
                say(&format!("{}\n", approval::decided(&decision)));
                self.session.respond(request, decision);
                self.ask();
            }
            Outcome::Answered(asked, answer) => {
                say("\n");
                // The tool may have stopped waiting.
                let _ = asked.answer.send(answer);
                self.ask();
            }
            Outcome::Typing(shown) => {
                if !self.face.draft(self.questions.draft.text()) {
                    say(&shown);
                }
            }
            Outcome::Said(words) => {
                self.face.draft("");
                let is_sent = run.is_some_and(|run| run.inject_message(words.clone()));
                let state = if is_sent { "you" } else { "not sent, the run ended" };
                self.note(Style::Strong, &format!("{state}: {words}"));
            }
        }
    }

    /// Shows a note if a user is watching.
    fn note(&mut self, style: Style, words: &str) {
        if self.attended && !self.face.note(style, words) {
            say(&format!("\n{}\n", display::block(words)));
        }
    }

    /// Denies open and future approval requests, because the terminal was closed.
    fn hang_up(&mut self) {
        self.attended = false;
        for open in self.questions.take() {
            if let Open::Call { request, .. } = open {
                self.session.respond(request.id, PermissionDecision::deny(UNATTENDED));
            }
        }
        self.face.resume();
    }

    /// Lists the tool calls that were denied because this run cannot ask, and how to allow them.
    fn tell_refused(&self) {
        let Some(first) = self.refused.first() else { return };
        let mut words = match self.refused.len() {
            1 => "denied 1 tool call: it requires approval, and this run cannot ask".to_owned(),
            count => format!("denied {count} tool calls: they require approval, and this run cannot ask"),
        };
        for request in self.refused.iter().take(5) {
            let summary = request.summary.lines().next().unwrap_or_default();
            words.push_str(&format!("\n  {}", display::line(summary)));
        }
        let rules = self.refused.iter().filter_map(|request| request.remember.as_deref());
        let mut rules: Vec<&str> = rules.flat_map(str::lines).collect();
        rules.sort_unstable();
        rules.dedup();
        let allow: Vec<String> = rules
            .iter()
            .take(5)
            .map(|rule| format!("--allow {}", text::shell_word(&display::line(rule))))
            .collect();
        let next = match allow.as_slice() {
            [] => format!(
                "run in a terminal to approve it; `lariat permissions explain {} {}` shows why it requires approval",
                first.tool_name,
                text::shell_word(&display::line(&first.summary))
            ),
            allow => format!("allow them with {}", allow.join(" ")),
        };
        say(&format!("note: {words}\n  hint: {next}\n"));
    }
}
