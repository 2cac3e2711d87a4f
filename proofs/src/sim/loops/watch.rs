//! Logs everything observable of a simulated process, in one order.
//!
//! Hooks and events appear exactly in the order in which they happened: before a hook is logged, the events
//! published up to then are. [`LoopWatch`] implements the hooks of a loop.

use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use futures_core::Stream;
use lariat_core::hooks::{Flow, HookInterest, Hooks};
use lariat_core::id::{LoopId, SessionId, ToolCallId};
use lariat_core::transcript::Window;
use lariat_core::usage::Usage;
use lariat_runtime::observe::Subscription;
use lariat_test::SeededRandom;
use serde_json::Value;

use super::super::choice::{ChoiceKind, Choices};
use super::super::story;
use super::super::violation::Violation;
use super::super::witness::Book;
use super::entry::{Entry, HookEntry};
use super::order::Orders;

/// The observer of a simulated session.
pub(super) struct Watch {
    interest: HookInterest,
    book: Book,
    session_id: SessionId,
    choices: Choices,
    state: Mutex<State>,
}

struct State {
    log: Vec<Entry>,
    events: Option<Subscription>,
    /// The position of the next durable event, once this life has seen one.
    next: Option<u64>,
    order: Orders,
    violations: VecDeque<Violation>,
    random: SeededRandom,
}

impl Watch {
    pub(super) fn new(
        interest: HookInterest,
        book: Book,
        session_id: SessionId,
        choices: Choices,
        random: SeededRandom,
    ) -> Arc<Self> {
        let order = Orders::new(interest);
        let (log, violations) = (Vec::new(), VecDeque::new());
        let state = State { log, events: None, next: None, order, violations, random };
        Arc::new(Self { interest, book, session_id, choices, state: Mutex::new(state) })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the observation of a new process.
    pub(super) fn begin_life(&self, life: u64, events: Subscription) {
        let mut state = self.lock();
        (state.events, state.next) = (Some(events), None);
        state.order.new_life();
        state.log.push(Entry::Life(life));
        self.choices.tell(|| format!("Process {life} starts."));
    }

    /// Logs the events published since the last call.
    pub(super) fn drain(&self) {
        let mut state = self.lock();
        self.drain_locked(&mut state);
    }

    fn drain_locked(&self, state: &mut State) {
        let mut context = Context::from_waker(Waker::noop());
        loop {
            let Some(events) = &mut state.events else { return };
            let Poll::Ready(Some(event)) = std::pin::Pin::new(events).poll_next(&mut context) else { return };
            if event.is_durable() {
                if !self.book.knows(&self.session_id, event.seq, event.id) {
                    state
                        .violations
                        .push_back(Violation::SeenBeforeAcknowledged(format!("{:?}", event.event)));
                }
                if let Some(next) = state.next.filter(|next| *next != event.seq) {
                    let gap = format!("{} instead of {next}", event.seq);
                    state.violations.push_back(Violation::ObserverGap(gap));
                }
                state.next = Some(event.seq + 1);
            }
            if self.choices.has_story() {
                let who = event.loop_id.as_ref().map_or("The session", |loop_id| loop_id.as_str());
                if let Some(sentence) = story::sentence(who, &event) {
                    self.choices.tell(|| sentence);
                }
            }
            self.note(state, Entry::Event(event));
        }
    }

    fn note(&self, state: &mut State, entry: Entry) {
        if let Err(violation) = state.order.accept(&entry) {
            state.violations.push_back(violation);
        }
        state.log.push(entry);
    }

    fn hook(&self, loop_id: &LoopId, entry: HookEntry, percent_stop: u8) -> Flow {
        let mut state = self.lock();
        self.drain_locked(&mut state);
        self.note(&mut state, Entry::Hook(loop_id.clone(), entry));
        let stops = state.random.chance(percent_stop) && self.choices.disturb(ChoiceKind::Hook);
        if stops { Flow::Stop } else { Flow::Continue }
    }

    pub(super) fn violation(&self) -> Option<Violation> {
        self.lock().violations.pop_front()
    }

    pub(super) fn report(&self, violation: Violation) {
        self.lock().violations.push_back(violation);
    }

    /// Adds the order of everything observed to a fingerprint.
    pub(super) fn hash_log(&self, hasher: &mut impl Hasher) {
        for entry in &self.lock().log {
            match entry {
                Entry::Life(life) => life.hash(hasher),
                Entry::Hook(loop_id, _) => loop_id.hash(hasher),
                Entry::Event(event) => (event.id, event.event.name()).hash(hasher),
            }
        }
    }

    pub(super) fn log(&self) -> Vec<Entry> {
        self.lock().log.clone()
    }
}

/// The hooks of one loop.
pub(super) struct LoopWatch {
    pub(super) watch: Arc<Watch>,
    pub(super) loop_id: LoopId,
}

impl LoopWatch {
    fn hook(&self, entry: HookEntry, percent_stop: u8) -> Flow {
        self.watch.hook(&self.loop_id, entry, percent_stop)
    }
}

impl Hooks for LoopWatch {
    fn interest(&self) -> HookInterest {
        self.watch.interest
    }

    fn before_loop(&self, _messages: &Window, _loop_index: u64) -> Flow {
        self.hook(HookEntry::BeforeLoop, 1)
    }

    fn after_loop(&self, _messages: &Window, _usage: &Usage) {
        let _ = self.hook(HookEntry::AfterLoop, 0);
    }

    fn before_turn(&self, _messages: &Window, _turn_index: u32) -> Flow {
        self.hook(HookEntry::BeforeTurn, 2)
    }

    fn after_turn(&self, _messages: &Window, _usage: &Usage) {
        let _ = self.hook(HookEntry::AfterTurn, 0);
    }

    fn before_tool_execution(&self, _tool_name: &str, tool_call_id: &ToolCallId, _args: &Value) -> Flow {
        self.hook(HookEntry::BeforeTool(tool_call_id.clone()), 4)
    }

    fn after_tool_execution(&self, _tool_name: &str, tool_call_id: &ToolCallId, _is_error: bool) {
        let _ = self.hook(HookEntry::AfterTool(tool_call_id.clone()), 0);
    }

    fn before_tool_execution_update(&self, _tool_name: &str, tool_call_id: &ToolCallId, _text: &str) -> Flow {
        self.hook(HookEntry::BeforeUpdate(tool_call_id.clone()), 30)
    }

    fn after_tool_execution_update(&self, _tool_name: &str, tool_call_id: &ToolCallId, _text: &str) {
        let _ = self.hook(HookEntry::AfterUpdate(tool_call_id.clone()), 0);
    }

    fn on_error(&self, _error: &str) {
        let _ = self.hook(HookEntry::OnError, 0);
    }
}
