//! A run, followed to its end, for a person at a terminal or for a script.
//!
//! Owns who answers questions: the person when there is one, in the order in which they were asked; otherwise the answer is
//! no at once, and the end of the run lists what was denied. What the person types between questions is said to the run.
//! Invariant: nothing is approved that the person did not approve.

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

/// What the model gets for a call that needs an approval in a run that no person watches.
const UNATTENDED: &str = "This call needs a person's approval, and this run cannot ask. Do without it, or say what \
                          should be allowed.";

/// What following a run came to.
pub(super) enum Followed {
    /// Its end.
    Over(Box<AgentOutput>),
    /// There was nothing to go on with.
    Nothing,
    /// The plan is not as it was shown. Nothing was carried out.
    PlanChanged,
    /// The person did not want to wait.
    Quit,
}

/// A session that is watched.
pub(super) struct Watch<'a> {
    session: &'a Session,
    pub(super) face: Face,
    ears: Ears,
    attended: bool,
    pub(super) look: Look,
    questions: Questions,
    /// The calls of the last reply.
    calls: Vec<Arc<ToolCall>>,
    background: Background,
    refused: Vec<Arc<PermissionRequest>>,
    stop: Option<Stop>,
    has_quit: bool,
    hung_up: bool,
}

impl<'a> Watch<'a> {
    /// Watches a session.
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

    /// How it ends when the person did not want to wait.
    pub(super) fn quit(&self) -> Option<Exit> {
        self.has_quit.then(|| self.stop.map_or(Exit::Interrupted, Stop::exit))
    }

    /// Whether it is to end.
    pub(super) const fn is_stopped(&self) -> bool {
        self.stop.is_some() || self.hung_up
    }

    /// Whether a person can be asked.
    pub(super) const fn is_attended(&self) -> bool {
        self.attended
    }

    fn listening(&self) -> Listening {
        Listening { lines: false, ticks: self.face.is_for_person() || !self.questions.is_empty() }
    }

    /// Follows a run to its end.
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

    /// Asks for one of several letters, outside of a run. `None` when the person did not choose.
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

    /// Writes how it ended, and says it in a code.
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
            tell("note", &format!("not sent, because the run was over: {}", self.questions.draft.text()));
        }
        let exit = ending::exit(&ended, self.stop);
        if self.face.is_for_person() && self.look.is_terminal {
            say(&ending::summary(&ended, session, &self.look));
            // What the summary says in a line needs no error; why the provider failed does.
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
            // Answered elsewhere, or not asked any more.
            AgentEvent::PermissionDecided { request_id, .. } => {
                if self.questions.withdraw(*request_id) {
                    say("\n");
                    self.ask();
                }
            }
            // On a screen it is a line and the status; a script that waits for minutes should say what for.
            event @ (AgentEvent::ModelRetry { .. } | AgentEvent::ModelFallback { .. })
                if !self.face.is_for_person() =>
            {
                if let Some((_, words)) = notes::note(event) {
                    tell("note", &words);
                }
            }
            AgentEvent::JournalUnavailable { error, .. } if !self.face.is_for_person() => {
                tell("note", &format!("the session cannot be saved, the run waits: {error}"));
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

    /// Asks, when nothing else is asked.
    fn put(&mut self, open: Open) {
        if self.questions.put(open) {
            self.ask();
        }
    }

    /// Shows the first question; without one, the run has the screen again.
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

    /// Stops the program until the person lets it go on.
    fn suspend(&mut self) {
        self.face.pause();
        self.ears.suspend();
        self.ask();
    }

    /// A key was pressed.
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
                // A tool that does not wait any more does not hear it.
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
                let state = if is_sent { "you" } else { "not sent, the run is over" };
                self.note(Style::Strong, &format!("{state}: {words}"));
            }
        }
    }

    /// A note for the person who watches.
    fn note(&mut self, style: Style, words: &str) {
        if self.attended && !self.face.note(style, words) {
            say(&format!("\n{}\n", display::block(words)));
        }
    }

    /// The terminal is gone: what is open is denied, and what comes, too.
    fn hang_up(&mut self) {
        self.attended = false;
        for open in self.questions.take() {
            if let Open::Call { request, .. } = open {
                self.session.respond(request.id, PermissionDecision::deny(UNATTENDED));
            }
        }
        self.face.resume();
    }

    /// What was denied because this run could not ask, and how it would be allowed.
    fn tell_refused(&self) {
        let Some(first) = self.refused.first() else { return };
        let mut words = match self.refused.len() {
            1 => "1 call was denied: it needs approval, and this run cannot ask".to_owned(),
            count => format!("{count} calls were denied: they need approval, and this run cannot ask"),
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
                "run it on a terminal to approve it; `lariat permissions explain {} {}` shows why it asks",
                first.tool_name,
                text::shell_word(&display::line(&first.summary))
            ),
            allow => format!("allow them with {}", allow.join(" ")),
        };
        say(&format!("note: {words}\n  hint: {next}\n"));
    }
}
