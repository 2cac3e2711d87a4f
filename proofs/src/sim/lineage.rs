//! What the known events of all sessions say about a tree of agents: who spawned whom, and who has ended.
//!
//! Grows with the book of the witness, so every question is answered without reading a journal again.

use std::collections::{HashMap, HashSet};

use lariat_core::event::{AgentEvent, Event, RecordedMessage};
use lariat_core::id::{LoopId, MessageId, SessionId, ToolCallId};

/// How a sub-agent began.
#[derive(Clone, Debug)]
pub(super) struct Spawn {
    /// Its own loop.
    pub(super) loop_id: LoopId,
    pub(super) parent: SessionId,
    pub(super) parent_loop: LoopId,
    pub(super) call: ToolCallId,
    /// Whether its parent recorded its end.
    pub(super) is_completed: bool,
}

/// A tree of agents.
#[derive(Default)]
pub(super) struct Lineage {
    spawns: HashMap<SessionId, Spawn>,
    /// The sessions of sub-agents by their loops.
    sessions: HashMap<LoopId, SessionId>,
    ended: HashSet<LoopId>,
    owners: HashMap<MessageId, SessionId>,
}

impl Lineage {
    pub(super) fn observe(&mut self, session_id: &SessionId, event: &Event) {
        match (&event.event, &event.loop_id) {
            (
                AgentEvent::SubAgentSpawned { tool_call_id, child_loop_id, child_session_id, .. },
                Some(loop_id),
            ) => {
                let spawn = Spawn {
                    loop_id: child_loop_id.clone(),
                    parent: session_id.clone(),
                    parent_loop: loop_id.clone(),
                    call: tool_call_id.clone(),
                    is_completed: false,
                };
                self.spawns.insert(child_session_id.clone(), spawn);
                self.sessions.insert(child_loop_id.clone(), child_session_id.clone());
            }
            (AgentEvent::SubAgentCompleted { child_loop_id, .. }, _) => {
                let child = self.sessions.get(child_loop_id);
                if let Some(spawn) = child.and_then(|child| self.spawns.get_mut(child)) {
                    spawn.is_completed = true;
                }
            }
            (AgentEvent::AgentEnd { .. }, Some(loop_id)) => drop(self.ended.insert(loop_id.clone())),
            (AgentEvent::MessageEnd { message: RecordedMessage::Full(message) }, _)
            | (AgentEvent::MessageQueued { message, .. }, _) => {
                self.owners.insert(message.id(), session_id.clone());
            }
            _ => {}
        }
    }

    /// The sessions of sub-agents, each with the call that spawned it.
    pub(super) fn calls(&self) -> impl Iterator<Item = (&SessionId, &ToolCallId)> {
        self.spawns.iter().map(|(session_id, spawn)| (session_id, &spawn.call))
    }

    /// The session that a message belongs to.
    pub(super) fn owner_of(&self, message: MessageId) -> Option<&SessionId> {
        self.owners.get(&message)
    }

    /// How many agents are above a session's.
    pub(super) fn depth(&self, session_id: &SessionId) -> usize {
        self.ancestors(session_id).count()
    }

    /// Why a session's agent must not work any more: it or an agent above it has ended.
    pub(super) fn is_over(&self, session_id: &SessionId) -> Option<String> {
        if self.spawns.get(session_id).is_some_and(|own| self.ended.contains(&own.loop_id)) {
            return Some(format!("{session_id} has ended"));
        }
        self.ancestors(session_id).find_map(|spawn| {
            let call = &spawn.call;
            if spawn.is_completed {
                return Some(format!("{} has recorded the end of the sub-agent of {call}", spawn.parent));
            }
            self.ended.contains(&spawn.parent_loop).then(|| format!("run {} has ended", spawn.parent_loop))
        })
    }

    fn ancestors<'a>(&'a self, session_id: &SessionId) -> impl Iterator<Item = &'a Spawn> {
        let next = |spawn: &&'a Spawn| self.spawns.get(&spawn.parent);
        std::iter::successors(self.spawns.get(session_id), next)
    }
}
