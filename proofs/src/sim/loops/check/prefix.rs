//! Recovers from prefixes of a journal, in an environment where everything succeeds at once: from every prefix of a short
//! journal, and from as many of a long one, which the seed chooses.
//!
//! Whatever prefix a crash left, the run must end, with exactly one `AgentEnd`, no tool call started twice
//! and only valid requests.

use std::collections::HashSet;
use std::sync::Arc;

use lariat_core::context::CompactionProposal;
use lariat_core::event::{AgentEvent, Event, EventRecord};
use lariat_core::hooks::HookAnswer;
use lariat_core::id::{LoopId, ToolCallId};
use lariat_core::message::StopReason;
use lariat_core::model::StreamEvent;
use lariat_core::permission::{PermissionDecision, Verdict};
use lariat_core::run::{Effect, FilterOutcome, Input, ModelSignal, OpId, Run, RunConfig};
use lariat_core::session::SessionFold;
use lariat_core::time::Stamp;
use lariat_core::tool::ToolResult;
use lariat_core::usage::Usage;

use lariat_test::SeededRandom;
use lariat_test::model::validate_messages;

use super::super::super::violation::Violation;

/// Maximum number of inputs until a recovered run ends.
const MOST_INPUTS: usize = 200;

/// Recovers every open run of prefixes and returns the number of prefixes: about `most`, at most twice as many.
pub(in crate::sim) fn check(
    events: &[Event],
    config: &Arc<RunConfig>,
    seed: u64,
    most: u64,
) -> Result<u64, Violation> {
    let mut random = SeededRandom::new(seed).fork("prefixes");
    let one_of = (events.len() as u64 / most.max(1)).max(1);
    let mut fold = SessionFold::default();
    let mut prefixes = 0;
    for at in 0..=events.len() {
        if let Some(newest) = at.checked_sub(1).and_then(|newest| events.get(newest)) {
            fold.apply(newest);
        }
        if random.below(one_of) > 0 {
            continue;
        }
        prefixes += 1;
        let prefix = events.get(..at).unwrap_or_default();
        let open: Vec<LoopId> = fold.open_loops().map(|start| start.loop_id.clone()).collect();
        for loop_id in open {
            recover(prefix, &fold, &loop_id, config).map_err(|what| Violation::Prefix { at, what })?;
        }
    }
    Ok(prefixes)
}

fn recover(
    prefix: &[Event],
    fold: &SessionFold,
    loop_id: &LoopId,
    config: &Arc<RunConfig>,
) -> Result<(), String> {
    let own = |event: &&Event| event.loop_id.as_ref() == Some(loop_id);
    let mut started: HashSet<ToolCallId> =
        prefix.iter().filter(own).filter_map(|event| started(event)).collect();
    let recovered = Run::recover_from(Arc::clone(config), fold, None, prefix, loop_id)
        .map_err(|error| error.to_string())?;
    let now = prefix.last().map(|event| event.timestamp).unwrap_or_default();
    let mut entropy = 0;
    let mut stamp = || {
        entropy += 1;
        Stamp { now, entropy }
    };
    let mut run = recovered.resume(stamp());
    let mut ends = 0;
    let mut timers: Vec<OpId> = Vec::new();
    for _ in 0..MOST_INPUTS {
        let mut inputs = Vec::new();
        while let Some(effect) = run.next_effect() {
            match effect {
                Effect::Record(record) => {
                    if let Some(call) = self::started(&record)
                        && !started.insert(call.clone())
                    {
                        return Err(format!("call {call} started again"));
                    }
                    ends += u32::from(matches!(record.event, AgentEvent::AgentEnd { .. }));
                }
                Effect::StartTimer { op, .. } => timers.push(op),
                Effect::Abandon { op } => timers.retain(|other| *other != op),
                Effect::CallModel { op, window, .. } => {
                    if let Some(violation) = validate_messages(window.llm_messages()).first() {
                        return Err(format!("invalid request: {violation:?}"));
                    }
                    inputs.extend(good_reply(op));
                }
                effect => inputs.extend(good_answer(effect)),
            }
        }
        if run.is_finished() {
            return if ends == 1 { Ok(()) } else { Err(format!("{ends} AgentEnds")) };
        }
        // No input is pending, so time passes.
        if inputs.is_empty() {
            inputs.extend(timers.pop().map(|op| Input::Timer { op }));
        }
        if inputs.is_empty() {
            return Err("the run waits although nothing is pending".to_owned());
        }
        inputs.into_iter().for_each(|input| run.handle(input, stamp()));
    }
    Err("the run does not end".to_owned())
}

fn started(record: &EventRecord) -> Option<ToolCallId> {
    match &record.event {
        AgentEvent::ToolExecutionStart { tool_call_id, .. } => Some(tool_call_id.clone()),
        _ => None,
    }
}

fn good_reply(op: OpId) -> [Input; 2] {
    let text = StreamEvent::TextDelta { index: 0, delta: "done".to_owned() };
    let done = StreamEvent::Done { stop_reason: StopReason::Stop, usage: Usage::default() };
    [text, done].map(|event| Input::Model { op, signal: ModelSignal::Event(event) })
}

fn good_answer(effect: Effect) -> Option<Input> {
    Some(match effect {
        Effect::Hook(hook) if hook.expects_answer() => Input::HookAnswered { proceed: true },
        Effect::Filter { .. } => {
            Input::Filtered(FilterOutcome::Pass { context: Vec::new(), warnings: Vec::new() })
        }
        Effect::CallHooks { op, .. } => Input::HooksAnswered { op, answer: HookAnswer::default() },
        Effect::Consult { op, .. } => Input::Consulted { op, notes: Vec::new() },
        Effect::CountTokens { op, .. } => Input::Counted { op, tokens: None },
        Effect::Compact { op, .. } => Input::Compacted { op, compacted: CompactionProposal::default() },
        Effect::AskForMore { request } => {
            Input::BudgetAnswered { request: request.id, more: None, by: "a user".to_owned() }
        }
        Effect::Authorize { call } => Input::Authorized { call: call.id.clone(), verdict: Verdict::Allow },
        Effect::Ask { request } => {
            Input::PermissionAnswered { request: request.id, decision: PermissionDecision::Allow }
        }
        Effect::RunTool { call, .. } => {
            Input::ToolFinished { call: call.id.clone(), result: Ok(ToolResult::text("ok")) }
        }
        _ => return None,
    })
}
