//! Checks a tree of agents while it runs, and keeps what outlives the process: what tools did and what models were asked.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lariat_core::event::{AgentEvent, Event};
use lariat_core::id::{SessionId, ToolCallId};
use lariat_core::model::StreamConfig;
use lariat_core::tool::ToolContext;
use lariat_runtime::Observer;

use super::super::choice::Choices;
use super::super::story;
use super::super::violation::Violation;
use super::super::witness::Book;
use super::setting::{MOST_TOKENS, ROOT_ONLY, Setting};

/// The session of the agent above all others.
pub(super) const ROOT: &str = "root";

/// The observers of a tree.
pub(super) struct Watch {
    pub(super) setting: Setting,
    pub(super) book: Book,
    pub(super) choices: Choices,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    violation: Option<Violation>,
    executed: HashSet<(SessionId, ToolCallId)>,
    requests: u64,
    /// The position after the last event that observers saw of each session, and whether a run may begin there.
    seen: HashMap<SessionId, (u64, bool)>,
    /// Tokens of the replies of this process, and the most requests that were open at the same time.
    spent: u64,
    /// Tokens of the replies of all processes.
    delivered: u64,
    open: u64,
    most_open: u64,
    log: Vec<String>,
}

impl Watch {
    pub(super) fn new(setting: Setting, book: Book, choices: Choices) -> Self {
        Self { setting, book, choices, state: Mutex::default() }
    }

    pub(super) fn begin_life(&self, life: u64) {
        let mut state = self.lock();
        (state.spent, state.open, state.most_open) = (0, 0, 0);
        state.seen.clear();
        state.log.push(format!("=== life {life}"));
        drop(state);
        self.choices.tell(|| format!("Process {life} starts."));
    }

    pub(super) fn report(&self, violation: Violation) {
        self.lock().violation.get_or_insert(violation);
    }

    pub(super) fn violation(&self) -> Option<Violation> {
        self.lock().violation.take()
    }

    /// Checks a request to the model: whose it is, and whether that agent may still work.
    pub(super) fn begin_request(self: &Arc<Self>, request: &StreamConfig) -> OpenRequest {
        let checked = self.check_request(request);
        let mut state = self.lock();
        state.requests += 1;
        state.open += 1;
        state.most_open = state.most_open.max(state.open);
        if let Err(violation) = checked {
            state.violation.get_or_insert(violation);
        }
        // Each open call may spend more than was left when it began.
        let most = self.setting.pool.map(|pool| pool + (state.most_open + 1) * MOST_TOKENS);
        if let Some(most) = most.filter(|most| state.spent >= *most) {
            let over = Violation::OverBudget(format!("{} tokens of {most}", state.spent));
            state.violation.get_or_insert(over);
        }
        OpenRequest(Arc::clone(self))
    }

    fn check_request(&self, request: &StreamConfig) -> Result<(), Violation> {
        self.book.lineage(|lineage| {
            let owners: BTreeSet<&SessionId> =
                request.messages.iter().filter_map(|message| lineage.owner_of(message.id())).collect();
            if owners.len() > 1 {
                return Err(Violation::Mixed(format!("a request with messages of {owners:?}")));
            }
            // After a crash, a snapshot may contain what no caller of the store was ever shown.
            let Some(session_id) = owners.first() else { return Ok(()) };
            self.choices.tell(|| format!("{session_id} asks the model."));
            match lineage.is_over(session_id) {
                Some(why) => Err(Violation::RanAgain(format!("{session_id} asks the model, but {why}"))),
                None => Ok(()),
            }
        })
    }

    /// Checks the start of a tool.
    pub(super) fn begin_tool(&self, context: &ToolContext, name: &str) {
        if let Err(violation) = self.check_tool(context, name) {
            self.report(violation);
        }
    }

    fn check_tool(&self, context: &ToolContext, name: &str) -> Result<(), Violation> {
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
        let is_root = session_id.as_str() == ROOT;
        if self.setting.is_forbidden(call) || (name == ROOT_ONLY && self.setting.is_restricted && !is_root) {
            return Err(Violation::RanForbidden(call.clone()));
        }
        self.book.lineage(|lineage| {
            if lineage.depth(session_id) > self.setting.max_depth {
                return Err(Violation::WrongTree(format!("{session_id} is too deep")));
            }
            match lineage.is_over(session_id) {
                Some(why) => Err(Violation::RanAgain(format!("{session_id} runs {name}, but {why}"))),
                None => Ok(()),
            }
        })
    }

    /// Tool executions and requests so far.
    pub(super) fn totals(&self) -> (u64, u64) {
        let state = self.lock();
        (state.executed.len() as u64, state.requests)
    }

    /// Tokens of all replies of the model.
    pub(super) fn delivered(&self) -> u64 {
        self.lock().delivered
    }

    pub(super) fn log(&self) -> Vec<String> {
        self.lock().log.clone()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request to the model, until its stream ends or is dropped.
pub(super) struct OpenRequest(Arc<Watch>);

impl OpenRequest {
    /// Notes the tokens of a reply.
    pub(super) fn spend(&self, tokens: u64) {
        let mut state = self.0.lock();
        state.spent += tokens;
        state.delivered += tokens;
    }
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.open = state.open.saturating_sub(1);
    }
}

/// Observes the events of every session of the tree.
impl Observer for Watch {
    fn observe(&self, session_id: &SessionId, event: &Event) {
        if self.choices.has_story()
            && let Some(sentence) = story::sentence(session_id.as_str(), event)
        {
            self.choices.tell(|| sentence);
        }
        let mut state = self.lock();
        let kind = event.event.name();
        state.log.push(format!("{session_id} {} {} {kind}", event.seq, event.timestamp));
        if !event.is_durable() {
            return;
        }
        let ends = matches!(event.event, AgentEvent::AgentEnd { .. });
        let seen = state.seen.insert(session_id.clone(), (event.seq + 1, ends));
        let is_next = match seen {
            None => true,
            // Between two runs, others may write.
            Some((next, true)) => event.seq >= next,
            Some((next, false)) => event.seq == next,
        };
        if !is_next {
            let gap = format!("{session_id}: {} after {seen:?}", event.seq);
            state.violation.get_or_insert(Violation::ObserverGap(gap));
        }
        if !self.book.knows(session_id, event.seq, event.id) {
            let early = Violation::SeenBeforeAcknowledged(format!("{session_id}: {:?}", event.event));
            state.violation.get_or_insert(early);
        }
    }
}
