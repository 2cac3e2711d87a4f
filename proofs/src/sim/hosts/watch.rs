//! Checks what the agents of a host do, and keeps what outlives the process: what tools did and what was observed.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lariat_core::event::{AgentEvent, Event};
use lariat_core::id::{SessionId, ToolCallId};
use lariat_core::model::StreamConfig;
use lariat_core::tool::ToolContext;
use lariat_runtime::Observer;
use lariat_test::FaultyStore;

use super::super::choice::Choices;
use super::super::story;
use super::super::violation::Violation;
use super::super::witness::Book;
use super::conversation::left_behind;
use super::setting::{APPROVED, DEFAULT_MODEL, Setting};

/// The observers of a host.
pub(super) struct Watch {
    pub(super) setting: Setting,
    pub(super) book: Book,
    pub(super) choices: Choices,
    store: Arc<FaultyStore>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    violation: Option<Violation>,
    executed: HashSet<(SessionId, ToolCallId)>,
    requests: u64,
    log: Vec<String>,
}

impl Watch {
    pub(super) fn new(setting: Setting, choices: Choices, store: Arc<FaultyStore>) -> Self {
        Self { setting, book: Book::default(), choices, store, state: Mutex::default() }
    }

    pub(super) fn begin_life(&self, life: u64) {
        self.note(|| format!("=== life {life}"));
        self.choices.tell(|| format!("Process {life} starts its host."));
    }

    /// Adds a line to the log, which two runs of a seed must have in common.
    pub(super) fn note(&self, line: impl FnOnce() -> String) {
        self.lock().log.push(line());
    }

    pub(super) fn report(&self, violation: Violation) {
        self.lock().violation.get_or_insert(violation);
    }

    pub(super) fn violation(&self) -> Option<Violation> {
        self.lock().violation.take()
    }

    /// Whether something went wrong already.
    pub(super) fn has_violation(&self) -> bool {
        self.lock().violation.is_some()
    }

    /// Checks a request to the model: it contains nothing that the user left behind, and uses the model that a client chose.
    pub(super) fn begin_request(&self, session_id: &SessionId, request: &StreamConfig) {
        self.lock().requests += 1;
        self.choices.tell(|| format!("{session_id} asks the model."));
        let (behind, model) =
            self.store.inspect(session_id, |events| (left_behind(events), chosen_model(events).to_owned()));
        let wrong = request.messages.iter().find(|message| behind.contains(&message.id()));
        if let Some(message) = wrong {
            self.report(Violation::NotRewound(format!("{session_id} sends {}", message.id())));
        }
        if request.model_config.id != model {
            let asked = &request.model_config.id;
            self.report(Violation::WrongChoice(format!("{session_id} asks `{asked}` instead of `{model}`")));
        }
    }

    /// Checks the start of a tool.
    pub(super) fn begin_tool(&self, context: &ToolContext) {
        if let Err(violation) = self.check_tool(context) {
            self.report(violation);
        }
    }

    fn check_tool(&self, context: &ToolContext) -> Result<(), Violation> {
        let (session_id, call) = (&context.session_id, &context.tool_call_id);
        if !self.lock().executed.insert((session_id.clone(), call.clone())) {
            return Err(Violation::RanTwice(call.clone()));
        }
        let is_start = |event: &Event| {
            event.loop_id.as_ref() == Some(&context.loop_id)
                && matches!(&event.event, AgentEvent::ToolExecutionStart { tool_call_id, .. } if tool_call_id == call)
        };
        if self.book.newest(session_id, is_start).is_none() {
            return Err(Violation::RanBeforeRecorded(call.clone()));
        }
        let is_approved = call.as_str().strip_suffix(APPROVED).is_none_or(|planned| {
            self.store.inspect(session_id, |events| {
                events.iter().any(|event| match &event.event {
                    AgentEvent::PlanDecided { approved, .. } => {
                        approved.iter().any(|id| id.as_str() == planned)
                    }
                    _ => false,
                })
            })
        });
        if self.setting.is_forbidden(call) || !is_approved {
            return Err(Violation::RanForbidden(call.clone()));
        }
        Ok(())
    }

    /// Tool executions and requests so far.
    pub(super) fn totals(&self) -> (u64, u64) {
        let state = self.lock();
        (state.executed.len() as u64, state.requests)
    }

    pub(super) fn log(&self) -> Vec<String> {
        self.lock().log.clone()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The model that a client chose last.
fn chosen_model(events: &[Event]) -> &str {
    let chosen = events.iter().rev().find_map(|event| match &event.event {
        AgentEvent::ModelChanged { model, .. } => Some(model.as_str()),
        _ => None,
    });
    chosen.unwrap_or(DEFAULT_MODEL)
}

/// Observes the events of every run.
impl Observer for Watch {
    fn observe(&self, session_id: &SessionId, event: &Event) {
        if let Some(sentence) =
            self.choices.has_story().then(|| story::sentence(session_id.as_str(), event)).flatten()
        {
            self.choices.tell(|| sentence);
        }
        self.note(|| format!("{session_id} {} {} {}", event.seq, event.timestamp, event.event.name()));
        if event.is_durable() && !self.book.knows(session_id, event.seq, event.id) {
            self.report(Violation::SeenBeforeAcknowledged(format!("{session_id}: {:?}", event.event)));
        }
    }
}
