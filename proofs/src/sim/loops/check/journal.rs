//! Checks the journal of a finished session: the rules for the durable events of every run, across all
//! processes.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use lariat_core::config::ExecutionLimits;
use lariat_core::event::{AgentEvent, CompactionCause, Event, LimitKind, RunOutcome};
use lariat_core::id::{LoopId, MessageId, ToolCallId};
use lariat_core::message::{AssistantMessage, StopReason};
use lariat_core::time::Timestamp;
use lariat_core::usage::Usage;

use super::super::super::violation::Violation;

/// How far past its deadline a run may end: the grace period of tools, and a slow or unavailable store.
const DEADLINE_SLACK: Duration = Duration::from_secs(30);

/// How many times in a row hooks may prevent a run from ending.
const MOST_BLOCKED_STOPS: u32 = 8;

/// What a world allows besides.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::sim) struct Tolerance {
    /// How far the clock jumped in all, forwards and backwards: a run may end that much after its deadline.
    pub(in crate::sim) jumped: Duration,
    /// Whether a run may be without an end.
    pub(in crate::sim) may_stay_open: bool,
    /// Whether a run may be without start and end: a crash cut it off after the messages that it took over, and the next run
    /// has another id.
    pub(in crate::sim) may_not_begin: bool,
}

/// State of one run, as far as it was read.
#[derive(Default)]
struct RunState {
    started: bool,
    ended: Option<RunOutcome>,
    turns: u32,
    turn: Option<Turn>,
    usage: Usage,
    /// What its sub-agents spent.
    sub_agents: Usage,
    active: Duration,
    last_seen: Option<Timestamp>,
    jumped: Duration,
    aborted: bool,
    /// How often in a row hooks prevented the end, and the message of the last time.
    in_a_row: u32,
    blocked: Option<MessageId>,
}

#[derive(Default)]
struct Turn {
    reply: Option<(MessageId, StopReason)>,
    calls: Vec<ToolCallId>,
    started: HashSet<ToolCallId>,
    ended: HashSet<ToolCallId>,
    asked: HashSet<ToolCallId>,
    granted: HashSet<ToolCallId>,
    results: HashMap<ToolCallId, MessageId>,
    overflows: u32,
    given_up: bool,
}

/// Checks a finished journal.
pub(in crate::sim) fn check(
    events: &[Event],
    limits: Option<&ExecutionLimits>,
    tolerance: Tolerance,
) -> Result<(), Violation> {
    let mut stories: HashMap<LoopId, RunState> = HashMap::new();
    for (at, event) in events.iter().enumerate() {
        if event.seq != at as u64 {
            return wrong(at, "its seq is not its position");
        }
        if !event.is_durable() {
            return wrong(at, "a live event in the journal");
        }
        let Some(loop_id) = &event.loop_id else { continue };
        let story = stories.entry(loop_id.clone()).or_default();
        story.jumped = tolerance.jumped;
        story.read(at, event, limits)?;
    }
    for (loop_id, story) in &stories {
        let is_excused = tolerance.may_stay_open || (tolerance.may_not_begin && !story.started);
        if story.ended.is_none() && !is_excused {
            return wrong(events.len(), &format!("loop {loop_id} has no AgentEnd"));
        }
    }
    Ok(())
}

fn wrong<T>(at: usize, what: &str) -> Result<T, Violation> {
    Err(Violation::WrongJournal(format!("event {at}: {what}")))
}

impl RunState {
    fn read(&mut self, at: usize, event: &Event, limits: Option<&ExecutionLimits>) -> Result<(), Violation> {
        if self.ended.is_some() {
            return wrong(at, "an event after AgentEnd");
        }
        let resumed = matches!(event.event, AgentEvent::LoopRecovered { .. });
        if let Some(seen) = self.last_seen.filter(|_| !resumed) {
            self.active += event.timestamp.since(seen);
        }
        self.last_seen = Some(event.timestamp);
        match &event.event {
            AgentEvent::AgentStart(_) if std::mem::replace(&mut self.started, true) => {
                return wrong(at, "a second AgentStart");
            }
            AgentEvent::AgentEnd { outcome, usage, .. } => self.end(at, outcome, usage, limits)?,
            AgentEvent::TurnStart { turn_index, .. } => self.begin_turn(at, *turn_index, limits)?,
            AgentEvent::AbortRequested | AgentEvent::HookStopped { .. } => self.aborted = true,
            AgentEvent::StopBlocked { message_id, .. } => self.keep_going(at, *message_id)?,
            AgentEvent::MessageQueued { message, .. } if self.blocked != Some(message.id()) => {
                self.in_a_row = 0;
            }
            _ => {
                if let Some(turn) = &mut self.turn {
                    turn.read(at, event)?;
                }
            }
        }
        if let AgentEvent::MessageEnd { message } = &event.event
            && let Some(assistant) = message.shared().and_then(|message| message.as_assistant())
        {
            if self.turn.is_none() {
                return wrong(at, "a reply outside a turn");
            }
            self.usage += assistant.usage;
        }
        if let AgentEvent::Compaction { usage, .. } | AgentEvent::CompactionRefused { usage, .. } =
            &event.event
        {
            self.usage += *usage;
        }
        if let AgentEvent::SubAgentCompleted { usage, .. } = &event.event {
            self.sub_agents += *usage;
        }
        if let AgentEvent::TurnEnd { .. } = &event.event
            && self.turn.take().is_none()
        {
            return wrong(at, "TurnEnd without a turn");
        }
        Ok(())
    }

    /// Checks that hooks prevent the end of a run only a limited number of times in a row.
    fn keep_going(&mut self, at: usize, message: MessageId) -> Result<(), Violation> {
        self.in_a_row += 1;
        self.blocked = Some(message);
        if self.turn.is_some() {
            return wrong(at, "the end was blocked in an open turn");
        }
        if self.in_a_row > MOST_BLOCKED_STOPS {
            return wrong(at, "the end was blocked too often");
        }
        Ok(())
    }

    fn begin_turn(
        &mut self,
        at: usize,
        index: u32,
        limits: Option<&ExecutionLimits>,
    ) -> Result<(), Violation> {
        if !self.started {
            return wrong(at, "TurnStart before AgentStart");
        }
        if self.turn.is_some() || index != self.turns {
            return wrong(at, "turns do not follow one another");
        }
        if self.aborted {
            return wrong(at, "a turn after the run was aborted");
        }
        self.turn = Some(Turn::default());
        self.turns += 1;
        let Some(limits) = limits else { return Ok(()) };
        let exceeded = |what: &str| Err(Violation::LimitExceeded(format!("{what} at event {at}")));
        if limits.max_turns.is_some_and(|max| self.turns as usize > max) {
            return exceeded("turns");
        }
        if limits.max_total_tokens.is_some_and(|max| (self.usage + self.sub_agents).total() >= max as u64) {
            return exceeded("tokens");
        }
        if limits.max_duration.is_some_and(|max| self.active >= max + self.jumped) {
            return exceeded("duration");
        }
        Ok(())
    }

    fn end(
        &mut self,
        at: usize,
        outcome: &RunOutcome,
        usage: &Usage,
        limits: Option<&ExecutionLimits>,
    ) -> Result<(), Violation> {
        if self.turn.is_some() {
            return wrong(at, "AgentEnd in an open turn");
        }
        if !self.started && *outcome != RunOutcome::StoppedByHook {
            return wrong(at, "AgentEnd without AgentStart");
        }
        if *usage != self.usage {
            return wrong(at, "the usage of AgentEnd is not the sum of its turns");
        }
        let stopped = matches!(
            outcome,
            RunOutcome::Aborted | RunOutcome::LimitReached { .. } | RunOutcome::StoppedByHook
        );
        if self.aborted && !stopped {
            return wrong(at, "an aborted run ended as if it was not");
        }
        if let Some(max) = limits.and_then(|limits| limits.max_duration)
            && self.active > max + DEADLINE_SLACK + self.jumped
            && !matches!(outcome, RunOutcome::LimitReached { limit: LimitKind::Duration, .. })
            && !self.aborted
        {
            return Err(Violation::LimitExceeded(format!("ran on for {:?} after its deadline", self.active)));
        }
        self.ended = Some(outcome.clone());
        Ok(())
    }
}

impl Turn {
    fn read(&mut self, at: usize, event: &Event) -> Result<(), Violation> {
        match &event.event {
            AgentEvent::MessageEnd { message } => {
                let Some(message) = message.shared() else { return Ok(()) };
                if let Some(reply) = message.as_assistant() {
                    return self.reply(at, message.id(), reply);
                }
                if let Some(result) = message.as_tool_result() {
                    if !self.calls.contains(&result.tool_call_id) {
                        return wrong(at, "a result without a call");
                    }
                    if self.results.insert(result.tool_call_id.clone(), message.id()).is_some() {
                        return wrong(at, "a second result for one call");
                    }
                    if self.started.contains(&result.tool_call_id)
                        && !self.ended.contains(&result.tool_call_id)
                    {
                        return wrong(at, "the result of a tool that did not end");
                    }
                }
            }
            AgentEvent::PermissionRequired { request } => {
                self.asked.insert(request.tool_call_id.clone());
            }
            AgentEvent::PermissionDecided { tool_call_id, decision, .. } if decision.scope().is_some() => {
                self.granted.insert(tool_call_id.clone());
            }
            AgentEvent::ToolExecutionStart { tool_call_id, .. } => {
                let cut_off = matches!(
                    self.reply,
                    Some((_, StopReason::Length | StopReason::ContextExceeded | StopReason::Refusal))
                );
                if !self.calls.contains(tool_call_id) || cut_off {
                    return wrong(at, "a tool started without a tool call");
                }
                if !self.started.insert(tool_call_id.clone()) {
                    return wrong(at, "a call started twice");
                }
                if self.asked.contains(tool_call_id) && !self.granted.contains(tool_call_id) {
                    return wrong(at, "a tool started while its permission was pending or refused");
                }
            }
            AgentEvent::ToolExecutionEnd { tool_call_id, .. }
                if (!self.started.contains(tool_call_id) || !self.ended.insert(tool_call_id.clone())) =>
            {
                return wrong(at, "an end without a start");
            }
            AgentEvent::Compaction { cause: CompactionCause::Overflow, .. } => {
                self.overflows += 1;
                if self.overflows > 2 {
                    return wrong(at, "a third compaction for an overflow in one turn");
                }
            }
            AgentEvent::CompactionRefused { cause: CompactionCause::Overflow, .. } => self.given_up = true,
            // The new process repeats the model call, like every call whose reply is not recorded.
            AgentEvent::LoopRecovered { .. } => self.given_up = false,
            AgentEvent::TurnEnd { message, tool_results, .. } => {
                if self.reply.as_ref().map(|(id, _)| *id) != Some(message.id()) {
                    return wrong(at, "TurnEnd names another reply");
                }
                let expected: Vec<Option<&MessageId>> =
                    self.calls.iter().map(|call| self.results.get(call)).collect();
                let named: Vec<MessageId> = tool_results.iter().map(|result| result.id()).collect();
                if expected != named.iter().map(Some).collect::<Vec<_>>() {
                    return wrong(at, "the results of TurnEnd are not those of its calls, in call order");
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn reply(&mut self, at: usize, id: MessageId, reply: &AssistantMessage) -> Result<(), Violation> {
        if self.reply.is_some() {
            return wrong(at, "a second reply in one turn");
        }
        if self.given_up && !matches!(reply.stop_reason, StopReason::Error | StopReason::Aborted) {
            return wrong(at, "a reply to a request that did not fit and was not made smaller");
        }
        self.reply = Some((id, reply.stop_reason));
        self.calls = reply.tool_calls().map(|call| call.id.clone()).collect();
        Ok(())
    }
}
