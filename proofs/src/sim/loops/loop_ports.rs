//! The environment of each loop: hooks, tools and a model that know which loop they serve.
//!
//! Branches run at the same time, so what the checks need to know of a loop cannot be read from the order of events. The
//! environment of a loop is the same in every life of the process.

use std::collections::BTreeMap;
use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lariat_core::BoxFuture;
use lariat_core::cancel::CancellationToken;
use lariat_core::event::{AgentEvent, Event};
use lariat_core::id::{LoopId, SessionId, ToolCallId};
use lariat_core::model::{ModelStream, ProviderError, StreamConfig, StreamProvider};
use lariat_core::tool::{AgentTool, ToolEffects};
use lariat_runtime::drive::{Ports, ToolSet};
use lariat_test::{Act, FaultyStore, Ledger, LedgerTool, ScriptedModel, SeededRandom, VirtualClock};

use super::super::choice::{ChoiceKind, Choices};
use super::super::violation::Violation;
use super::super::witness::Book;
use super::watch::{LoopWatch, Watch};

/// Makes the environment of each loop.
pub(super) struct LoopPorts {
    pub(super) seed: SeededRandom,
    pub(super) clock: VirtualClock,
    pub(super) watch: Arc<Watch>,
    pub(super) store: Arc<FaultyStore>,
    pub(super) book: Book,
    pub(super) choices: Choices,
    pub(super) session_id: SessionId,
    pub(super) model: Arc<ScriptedModel>,
    /// What all loops share.
    pub(super) shared: Ports,
    pub(super) made: Mutex<BTreeMap<LoopId, (Arc<Ports>, Ledger)>>,
}

impl LoopPorts {
    /// Returns the environment of a loop.
    pub(super) fn of(&self, loop_id: &LoopId) -> Arc<Ports> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let (ports, _) = made.entry(loop_id.clone()).or_insert_with(|| self.make(loop_id));
        Arc::clone(ports)
    }

    /// Returns what the tools of each loop did.
    pub(super) fn ledgers(&self) -> Vec<(LoopId, Ledger)> {
        let made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        made.iter().map(|(loop_id, (_, ledger))| (loop_id.clone(), ledger.clone())).collect()
    }

    fn make(&self, loop_id: &LoopId) -> (Arc<Ports>, Ledger) {
        let ledger = Ledger::new();
        let mut ports = self.shared.clone();
        ports.hooks = Arc::new(LoopWatch { watch: Arc::clone(&self.watch), loop_id: loop_id.clone() });
        ports.tools = self.tools(loop_id, &ledger);
        ports.model = Arc::new(LoopModel {
            model: Arc::clone(&self.model),
            loop_id: loop_id.clone(),
            watch: Arc::clone(&self.watch),
            store: Arc::clone(&self.store),
            session_id: self.session_id.clone(),
        });
        (Arc::new(ports), ledger)
    }

    /// Tools: `read` may run concurrently with others of its loop, `write` and `exec` may not.
    pub(super) fn tools(&self, loop_id: &LoopId, ledger: &Ledger) -> ToolSet {
        let tool = |name: &'static str, effects: ToolEffects| -> Arc<dyn AgentTool> {
            let mut random = self.seed.fork(&format!("{name} {loop_id}"));
            let (watch, book, choices) = (Arc::clone(&self.watch), self.book.clone(), self.choices.clone());
            let (session_id, loop_id) = (self.session_id.clone(), loop_id.clone());
            let tool = LedgerTool::new(name, ledger.clone(), self.clock.shared()).with_effects(effects);
            Arc::new(tool.with_script(move |invocation| {
                check_dispatch(invocation.call_id, &loop_id, &watch, &book, &session_id);
                act(&mut random, &choices)
            }))
        };
        let all = ToolEffects::ALL;
        ToolSet::new([
            tool("read", ToolEffects::READS),
            tool("write", ToolEffects::WRITES),
            tool("exec", all),
        ])
    }
}

/// The model, as a loop calls it.
struct LoopModel {
    model: Arc<ScriptedModel>,
    loop_id: LoopId,
    watch: Arc<Watch>,
    store: Arc<FaultyStore>,
    session_id: SessionId,
}

impl StreamProvider for LoopModel {
    fn provider_id(&self) -> &str {
        self.model.provider_id()
    }

    fn stream(&self, request: StreamConfig, cancel: CancellationToken) -> ModelStream {
        let checked =
            self.store.inspect(&self.session_id, |journal| check_request(&request, &self.loop_id, journal));
        if let Err(violation) = checked {
            self.watch.report(violation);
        }
        self.model.stream(request, cancel)
    }

    fn count_tokens<'a>(
        &'a self,
        request: StreamConfig,
    ) -> BoxFuture<'a, Result<Option<u64>, ProviderError>> {
        self.model.count_tokens(request)
    }
}

/// Checks that a request contains the result of the previous turn of the loop's conversation, and nothing of a sibling.
fn check_request(request: &StreamConfig, loop_id: &LoopId, journal: &[Event]) -> Result<(), Violation> {
    let mut others: HashSet<&LoopId> = HashSet::new();
    for event in journal {
        match &event.event {
            AgentEvent::ParallelLoopStart { loop_ids, .. } => others.extend(loop_ids),
            AgentEvent::ParallelLoopEnd { selected_loop_id, .. } => {
                others.remove(selected_loop_id);
            }
            _ => {}
        }
    }
    others.remove(loop_id);
    let is_other = |event: &Event| event.loop_id.as_ref().is_some_and(|id| others.contains(id));
    let there = |id| request.messages.iter_back().any(|message| message.id() == id);
    for event in journal.iter().filter(|event| is_other(event)) {
        if let AgentEvent::MessageEnd { message } = &event.event
            && there(message.id())
        {
            let mixed = format!("{loop_id} sent message {} of a sibling", message.id());
            return Err(Violation::Mixed(mixed));
        }
    }
    for event in journal.iter().rev().filter(|event| !is_other(event)) {
        match &event.event {
            AgentEvent::Compaction { .. } => return Ok(()),
            AgentEvent::TurnEnd { message, tool_results, .. } if !tool_results.is_empty() => {
                let is_complete = there(message.id()) && tool_results.iter().all(|result| there(result.id()));
                return if is_complete { Ok(()) } else { Err(Violation::Forgotten(format!("{message:?}"))) };
            }
            _ => {}
        }
    }
    Ok(())
}

/// Checks that a running tool is recorded as started in its loop, and that the loop knows it.
fn check_dispatch(call: &ToolCallId, loop_id: &LoopId, watch: &Watch, book: &Book, session_id: &SessionId) {
    let started = book.newest(session_id, |event| {
        event.loop_id.as_ref() == Some(loop_id)
            && matches!(&event.event, AgentEvent::ToolExecutionStart { tool_call_id, .. } if tool_call_id == call)
    });
    if started.is_none() {
        watch.report(Violation::RanBeforeRecorded(call.clone()));
    }
}

fn act(random: &mut SeededRandom, choices: &Choices) -> Act {
    let moment = Duration::from_millis(random.below(30_000));
    let roll = random.below(100);
    if roll >= 40 && !choices.disturb(ChoiceKind::Tool) {
        return Act::text("ok");
    }
    match roll {
        0..=39 => Act::text(format!("result {}", random.below(50))),
        40..=49 => Act::text("line\n".repeat(1 + random.index(40))),
        50..=69 => Act::text("done").after(moment),
        70..=76 => Act::fail("it failed"),
        77..=80 => Act::panic("scripted"),
        81..=88 => Act::text("done")
            .with_progress("working")
            .with_update("so far")
            .after(moment)
            .with_progress("nearly"),
        89..=92 => Act::text("at last").after(moment).ignoring_cancel(),
        93..=95 => Act::never(),
        96 => Act::never().ignoring_cancel(),
        _ => Act::text(""),
    }
}
