//! The invariants of a finished tree of agents, over the journals of all its sessions.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use lariat_core::event::{AgentEvent, Event, RecordedMessage, RunOutcome};
use lariat_core::id::{LoopId, MessageId, SessionId, ToolCallId};
use lariat_core::run::RunConfig;
use lariat_core::usage::Usage;

use super::super::loops::{Tolerance, check_journal, check_prefixes, check_queues};
use super::super::violation::Violation;
use super::life::Tree;
use super::watch::ROOT;

/// Number of prefixes of the journal of one agent to recover, about.
const PREFIXES: u64 = 8;

/// A sub-agent as its parent's journal tells it.
struct Child<'a> {
    session_id: &'a SessionId,
    parent: &'a SessionId,
    parent_loop: Option<&'a LoopId>,
    call: &'a ToolCallId,
    report: Option<MessageId>,
    ends: Vec<(&'a RunOutcome, Usage)>,
}

/// Checks all journals and returns the number of recovered prefixes.
pub(super) fn finished(tree: &Tree) -> Result<u64, Violation> {
    if let Some(breach) = tree.model.violations().first() {
        return Err(Violation::InvalidRequest(format!("{breach:?}")));
    }
    if let Some(misuse) = tree.disk.store.misuses().first() {
        return Err(Violation::Misuse(format!("{misuse:?}")));
    }
    let sessions = tree.disk.store.sessions();
    let journals: BTreeMap<&SessionId, Vec<Event>> =
        sessions.iter().map(|session_id| (session_id, tree.disk.store.survivors(session_id))).collect();
    let children = children(&journals)?;
    // Recovery needs no tool: a call that is still to run gets the answer that there is none.
    let config = Arc::new(RunConfig::default());
    let mut prefixes = 0;
    for (session_id, journal) in &journals {
        let is_root = session_id.as_str() == ROOT;
        let limits = if is_root { tree.setting.limits.as_ref() } else { Some(&tree.setting.child_limits) };
        // A sub-agent whose call was dropped may die with the process; its parent does not need it any more.
        let tolerance = Tolerance { jumped: tree.jumped(), may_stay_open: !is_root, may_not_begin: true };
        check_journal(journal, limits, tolerance).map_err(|violation| of_session(session_id, violation))?;
        if is_root {
            check_queues(journal)?;
        } else {
            check_child(session_id, journal, children.get(*session_id))?;
        }
        let recovered = check_prefixes(journal, &config, tree.setting.seed, PREFIXES);
        prefixes += recovered.map_err(|violation| of_session(session_id, violation))?;
    }
    let saved: u64 = journals.values().map(|journal| own_spent(journal).total()).sum();
    let unsaved = tree.watch.delivered().saturating_sub(saved);
    children.values().try_for_each(|child| {
        // The agents below it may have recorded more than it did.
        let most = tree_spent(child.session_id, &children, &journals) + unsaved;
        check_end(child, &journals, most)
    })?;
    Ok(prefixes)
}

fn of_session(session_id: &SessionId, violation: Violation) -> Violation {
    match violation {
        Violation::WrongJournal(what) => Violation::WrongJournal(format!("{session_id}: {what}")),
        Violation::LimitExceeded(what) => Violation::LimitExceeded(format!("{session_id}: {what}")),
        Violation::Prefix { at, what } => Violation::Prefix { at, what: format!("{session_id}: {what}") },
        other => other,
    }
}

fn wrong<T>(what: String) -> Result<T, Violation> {
    Err(Violation::WrongTree(what))
}

/// Finds the sub-agents: each is spawned once, for a call that spawns no other.
fn children<'a>(
    journals: &'a BTreeMap<&'a SessionId, Vec<Event>>,
) -> Result<HashMap<&'a SessionId, Child<'a>>, Violation> {
    let mut children: HashMap<&SessionId, Child<'_>> = HashMap::new();
    for (parent, journal) in journals {
        let mut by_loop: HashMap<&LoopId, &SessionId> = HashMap::new();
        let mut calls: HashSet<(Option<&LoopId>, &ToolCallId)> = HashSet::new();
        for event in journal {
            match &event.event {
                AgentEvent::SubAgentSpawned {
                    tool_call_id, child_loop_id, child_session_id, report, ..
                } => {
                    let parent_loop = event.loop_id.as_ref();
                    if !calls.insert((parent_loop, tool_call_id)) {
                        return wrong(format!("call {tool_call_id} of {parent} spawns a second sub-agent"));
                    }
                    by_loop.insert(child_loop_id, child_session_id);
                    let child = Child {
                        session_id: child_session_id,
                        parent,
                        parent_loop,
                        call: tool_call_id,
                        report: *report,
                        ends: Vec::new(),
                    };
                    if children.insert(child_session_id, child).is_some() {
                        return wrong(format!("{child_session_id} is spawned twice"));
                    }
                }
                AgentEvent::SubAgentCompleted { child_loop_id, outcome, usage, .. } => {
                    let child = by_loop.get(child_loop_id).and_then(|child| children.get_mut(*child));
                    let Some(child) = child else {
                        return wrong(format!("the end of {child_loop_id}, which {parent} did not spawn"));
                    };
                    child.ends.push((outcome, *usage));
                }
                _ => {}
            }
        }
    }
    Ok(children)
}

/// Checks that a sub-agent's journal is that of one loop, which its parent spawned, and that nothing follows its end.
fn check_child(
    session_id: &SessionId,
    journal: &[Event],
    child: Option<&Child<'_>>,
) -> Result<(), Violation> {
    // A session that was claimed, and never written to.
    if journal.is_empty() {
        return Ok(());
    }
    let Some(child) = child else { return wrong(format!("{session_id} was never spawned")) };
    let mut starts = journal.iter().filter_map(|event| match &event.event {
        AgentEvent::AgentStart(start) => Some(start),
        _ => None,
    });
    let Some(start) = starts.next() else { return Ok(()) };
    if starts.next().is_some() {
        return wrong(format!("{session_id} has a second run"));
    }
    let is_linked = start.spawned_by.as_ref().is_some_and(|spawned| {
        spawned.parent_session_id == *child.parent
            && Some(&spawned.parent_loop_id) == child.parent_loop
            && spawned.tool_call_id == *child.call
    });
    if !is_linked {
        return wrong(format!("{session_id} names another parent: {:?}", start.spawned_by));
    }
    let end = journal.iter().position(|event| matches!(event.event, AgentEvent::AgentEnd { .. }));
    match end {
        Some(end) if end + 1 < journal.len() => wrong(format!("{session_id} works after its end")),
        _ => Ok(()),
    }
}

/// Checks that a parent has exactly one end and one result of a sub-agent, and that both agree with the sub-agent's journal. What a
/// sub-agent spent whose store failed includes what its own journal does not have: at most `most` tokens in all.
fn check_end(
    child: &Child<'_>,
    journals: &BTreeMap<&SessionId, Vec<Event>>,
    most: u64,
) -> Result<(), Violation> {
    let Child { session_id, parent, call, .. } = child;
    let parent_journal = journals.get(*parent).map(Vec::as_slice).unwrap_or_default();
    let parent_ended = parent_journal.iter().any(|event| {
        event.loop_id.as_ref() == child.parent_loop && matches!(event.event, AgentEvent::AgentEnd { .. })
    });
    if !parent_ended {
        return Ok(());
    }
    let [(outcome, recorded)] = child.ends.as_slice() else {
        return wrong(format!("{parent} records {} ends of the sub-agent of {call}", child.ends.len()));
    };
    let results = parent_journal.iter().filter(|event| match &event.event {
        AgentEvent::MessageEnd { message: RecordedMessage::Full(message) } => {
            event.loop_id.as_ref() == child.parent_loop
                && message.as_tool_result().is_some_and(|result| result.tool_call_id == **call)
        }
        _ => false,
    });
    let results = results.count();
    if results != 1 {
        return wrong(format!("{parent} has {results} results of {call}"));
    }
    if let Some(report) = child.report {
        let reports = parent_journal.iter().filter(
            |event| matches!(&event.event, AgentEvent::MessageQueued { message, .. } if message.id() == report),
        );
        let reports = reports.count();
        // A crash may cut off the start of the call. If the run is cancelled then, the sub-agent never begins.
        let is_start = |event: &Event| {
            event.loop_id.as_ref() == child.parent_loop
                && matches!(&event.event, AgentEvent::ToolExecutionStart { tool_call_id, .. } if tool_call_id == *call)
        };
        let has_started = parent_journal.iter().any(is_start);
        if reports != usize::from(has_started) {
            return wrong(format!("{parent} has {reports} reports of the sub-agent of {call}"));
        }
    }
    let journal = journals.get(*session_id).map(Vec::as_slice).unwrap_or_default();
    let spent = spent(journal);
    let is_right = match outcome {
        RunOutcome::Failed { .. } => (spent.total()..=most).contains(&recorded.total()),
        _ => *recorded == spent,
    };
    if !is_right {
        return Err(Violation::WrongUsage(format!(
            "{parent} records {} tokens of {session_id}, which spent {}",
            recorded.total(),
            spent.total()
        )));
    }
    Ok(())
}

/// What a session's agent and its own sub-agents spent.
fn spent(journal: &[Event]) -> Usage {
    let below = journal.iter().filter_map(|event| match &event.event {
        AgentEvent::SubAgentCompleted { usage, .. } => Some(*usage),
        _ => None,
    });
    below.fold(own_spent(journal), |mut spent, usage| {
        spent += usage;
        spent
    })
}

/// How many tokens a session and all sessions below it spent, as their journals say.
fn tree_spent(
    session_id: &SessionId,
    children: &HashMap<&SessionId, Child<'_>>,
    journals: &BTreeMap<&SessionId, Vec<Event>>,
) -> u64 {
    let own = journals.get(session_id).map_or(0, |journal| own_spent(journal).total());
    let below = children.values().filter(|child| child.parent == session_id);
    own + below.map(|child| tree_spent(child.session_id, children, journals)).sum::<u64>()
}

/// What a session's agent itself spent.
fn own_spent(journal: &[Event]) -> Usage {
    let mut spent = Usage::default();
    for event in journal {
        match &event.event {
            AgentEvent::MessageEnd { message: RecordedMessage::Full(message) } => {
                spent += message.as_assistant().map(|reply| reply.usage).unwrap_or_default();
            }
            AgentEvent::Compaction { usage, .. } | AgentEvent::CompactionRefused { usage, .. } => {
                spent += *usage;
            }
            _ => {}
        }
    }
    spent
}

impl Tree {
    /// How far the clock may have jumped.
    const fn jumped(&self) -> Duration {
        if self.setting.has_jumps { Duration::from_secs(10 * 7_200) } else { Duration::ZERO }
    }
}
