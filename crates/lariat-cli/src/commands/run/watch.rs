//! A run, followed to its end, for a person at a terminal or for a script.
//!
//! Owns who answers questions: the person when there is one, in the order in which they were asked; otherwise the answer is
//! no at once, and what was refused is told at the end.
//! Invariant: nothing is approved that nobody answered.

use std::collections::VecDeque;
use std::sync::Arc;

use lariat_core::event::{AgentEvent, EventRecord, RunOutcome};
use lariat_core::id::RequestId;
use lariat_core::permission::{PermissionDecision, PermissionRequest};
use lariat_guard::display;
use lariat_runtime::{AgentError, AgentOutput, RunStream};
use lariat_service::Session;

use super::ask::Asked;
use super::ears::{Ears, Heard, Listening, Stop, Typed};
use super::face::{Face, say, tell};
use super::{Ended, ending};
use crate::exit::Exit;
use crate::failure::Circumstances;
use crate::problem::Problem;
use crate::screen::approval::{self, Answer};
use crate::screen::look::Look;
use crate::screen::{notes, text};
use crate::wire::json::Ending;

/// Told to the model about a call that somebody would have to approve.
const NOBODY: &str = "This call needs a person's approval, and nobody is there to be asked. Do without it, or say what \
                      should be allowed.";

/// What following a run came to.
pub(super) enum Followed {
    /// Its end.
    Over(Box<AgentOutput>),
    /// There was nothing to go on with.
    Nothing,
    /// Somebody did not want to wait.
    Quit,
}

/// A question that is not answered yet.
enum Open {
    /// Whether a call may run; and whether the person wants to say why not.
    Call { request: Arc<PermissionRequest>, wants_reason: bool },
    /// Something that a tool asks.
    Tool(Asked),
}

/// A session that is watched.
pub(super) struct Watch<'a> {
    session: &'a Session,
    face: Face,
    ears: Ears,
    attended: bool,
    look: Look,
    open: VecDeque<Open>,
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
            open: VecDeque::new(),
            refused: Vec::new(),
            stop: None,
            has_quit: false,
            hung_up: false,
        }
    }

    /// How it ends when somebody did not want to wait.
    pub(super) fn quit(&self) -> Option<Exit> {
        self.has_quit.then(|| self.stop.map_or(Exit::Interrupted, Stop::exit))
    }

    /// Whether somebody wants it to end.
    pub(super) const fn is_stopped(&self) -> bool {
        self.stop.is_some() || self.hung_up
    }

    /// Follows a run to its end.
    pub(super) async fn follow(&mut self, mut run: RunStream) -> Result<Followed, Problem> {
        loop {
            let listening = Listening { lines: !self.open.is_empty(), ticks: self.face.is_for_person() };
            match self.ears.next(Some(&mut run), listening).await {
                Heard::Event(event) => self.event(&event),
                Heard::Over => break,
                Heard::Stop(stop) if self.stop.is_some() => {
                    self.stop = Some(stop);
                    self.has_quit = true;
                    return Ok(Followed::Quit);
                }
                Heard::Stop(stop) => {
                    self.stop = Some(stop);
                    self.session.interrupt();
                    if self.attended {
                        self.face.pause();
                        say("\nInterrupting; once more quits at once.\n");
                        self.face.resume();
                    }
                }
                Heard::Line(typed) => self.typed(typed),
                Heard::Asked(asked) => self.put(Open::Tool(asked)),
                Heard::Tick => self.face.tick(),
            }
        }
        self.open.clear();
        match run.finish().await.or_else(AgentError::into_output) {
            Ok(output) => Ok(Followed::Over(Box::new(output))),
            Err(error) if error.is_nothing_to_recover() => Ok(Followed::Nothing),
            Err(error) => Err(ending::failed(error)),
        }
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
            AgentEvent::PermissionRequired { request } if self.attended => {
                self.put(Open::Call { request: Arc::clone(request), wants_reason: false });
            }
            AgentEvent::PermissionRequired { request } => {
                self.session.respond(request.id, PermissionDecision::deny(NOBODY));
                self.refused.push(Arc::clone(request));
            }
            AgentEvent::PermissionDecided { request_id, .. } => self.decided(*request_id),
            AgentEvent::JournalUnavailable { error, .. } => {
                tell("note", &format!("the journal cannot be written, the run waits: {error}"));
            }
            // On a screen it is a line and the status; a script that waits for minutes should say what for.
            event @ (AgentEvent::ModelRetry { .. } | AgentEvent::ModelFallback { .. })
                if !self.face.is_for_person() =>
            {
                if let Some((_, words)) = notes::note(event) {
                    tell("note", &words);
                }
            }
            _ => {}
        }
    }

    /// Asks, when nothing else is asked.
    fn put(&mut self, open: Open) {
        self.open.push_back(open);
        if self.open.len() == 1 {
            self.ask();
        }
    }

    fn ask(&mut self) {
        match self.open.front() {
            None => return self.face.resume(),
            Some(_) => self.face.pause(),
        }
        self.ears.forget();
        match self.open.front() {
            Some(Open::Call { request, .. }) => {
                say(&format!("\n{}", approval::question(request, &self.look)))
            }
            Some(Open::Tool(asked)) => {
                let mut words = format!("\n? {}\n", display::block(&asked.question.text));
                for (at, option) in asked.question.options.iter().enumerate() {
                    words.push_str(&format!("  {}. {}\n", at + 1, display::line(option)));
                }
                say(&format!("{words}> "));
            }
            None => {}
        }
    }

    /// A question was answered by somebody else, or is not asked any more.
    fn decided(&mut self, decided: RequestId) {
        let is_first = |open: &Open| matches!(open, Open::Call { request, .. } if request.id == decided);
        let was_shown = self.open.front().is_some_and(is_first);
        self.open.retain(|open| !is_first(open));
        if was_shown {
            self.ask();
        }
    }

    /// A line was typed, as an answer to the first question.
    fn typed(&mut self, typed: Typed) {
        let (line, is_over) = match &typed {
            Typed::Line(line) => (Some(line.as_str()), false),
            Typed::End | Typed::Broken(_) => (None, true),
        };
        if is_over {
            // Nobody answers any more: what is open is refused, and what comes, too.
            self.attended = false;
        }
        match self.open.front_mut() {
            Some(Open::Call { request, wants_reason }) => {
                let answer = match *wants_reason {
                    true => Answer::Decided(approval::reason(line)),
                    false => approval::answer(line, request),
                };
                match answer {
                    Answer::Decided(decision) => {
                        let id = request.id;
                        self.session.respond(id, decision);
                        self.answered();
                    }
                    Answer::WantsReason => {
                        *wants_reason = true;
                        say("why not> ");
                    }
                    Answer::Unclear => {
                        let choices = approval::choices(request, &self.look);
                        say(&choices);
                    }
                }
            }
            Some(Open::Tool(_)) => {
                if let Some(Open::Tool(asked)) = self.open.pop_front() {
                    let answer = line.map(|line| chosen(line, &asked.question.options));
                    // A tool that does not wait any more does not hear it.
                    let _ = asked.answer.send(answer);
                    self.ask();
                }
            }
            None => {}
        }
        if is_over {
            for open in std::mem::take(&mut self.open) {
                if let Open::Call { request, .. } = open {
                    self.session.respond(request.id, PermissionDecision::deny(NOBODY));
                }
            }
            self.face.resume();
        }
    }

    /// The first question is answered.
    fn answered(&mut self) {
        self.open.pop_front();
        self.ask();
    }

    /// What was refused because nobody was there, and how it would be allowed.
    fn tell_refused(&self) {
        let Some(first) = self.refused.first() else { return };
        let mut words = match self.refused.len() {
            1 => "1 call was denied: nobody was there to be asked".to_owned(),
            count => format!("{count} calls were denied: nobody was there to be asked"),
        };
        for request in self.refused.iter().take(5) {
            words.push_str(&format!("\n  {}: {}", request.tool_name, display::line(&request.summary)));
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

/// What was chosen: one of the options by its number, or what was typed.
fn chosen(line: &str, options: &[String]) -> String {
    let line = line.trim();
    let number = line.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    number.and_then(|at| options.get(at)).map_or(line, String::as_str).to_owned()
}
