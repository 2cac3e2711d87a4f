//! Assigns events to sessions as they arrive.
//!
//! Invariant: each event belongs to at most one session, and a session's events keep their order of arrival.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use lariat_core::event::{AgentEvent, Event};
use lariat_core::id::{LoopId, SessionId};
use lariat_core::session::{LoopRecord, LoopStatus, Session, SessionFormation};
use lariat_core::time::Timestamp;

/// When a new session begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SessionFormationPolicy {
    /// When a loop names a session id for the first time.
    #[default]
    PerSessionId,
    /// Also when a loop begins after a session was inactive for longer than this. The recorder then completes the old
    /// session and gives the new one the same id followed by `~2`, `~3` and so on; its loops keep the original id.
    InactivityTimeout {
        /// The longest inactivity within one session, in seconds.
        secs: u64,
    },
}

/// Configures a [`SessionRecorder`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionRecorderConfig {
    /// When a new session begins.
    pub formation_policy: SessionFormationPolicy,
    /// Whether to record streamed chunks of messages ([`AgentEvent::MessageUpdate`]) too.
    pub include_streaming_events: bool,
}

impl SessionRecorderConfig {
    /// Sets the policy.
    pub const fn with_formation_policy(mut self, policy: SessionFormationPolicy) -> Self {
        self.formation_policy = policy;
        self
    }

    /// Sets whether to record streamed chunks of messages.
    pub const fn with_streaming_events(mut self, include: bool) -> Self {
        self.include_streaming_events = include;
        self
    }
}

/// Builds sessions from events. Pass it every event of an agent and its sub-agents, in the order of arrival.
///
/// ```
/// use lariat_store::recorder::{SessionRecorder, SessionRecorderConfig};
///
/// let mut recorder = SessionRecorder::new(SessionRecorderConfig::default());
/// recorder.flush();
/// assert!(recorder.drain_completed().is_empty());
/// ```
#[derive(Debug)]
pub struct SessionRecorder {
    config: SessionRecorderConfig,
    /// In the order in which they began.
    open_sessions: Vec<OpenSession>,
    /// Index into `open_sessions` of each loop's session.
    loops: HashMap<LoopId, usize>,
    /// Number of sessions begun under each id.
    rounds: HashMap<SessionId, u32>,
    /// The session of the last event.
    latest: Option<SessionId>,
    /// Events that arrived before their session began.
    early: Vec<Event>,
    completed: Vec<Session>,
}

/// A session that still receives events.
#[derive(Debug)]
struct OpenSession {
    /// The id that its loops name.
    session_id: SessionId,
    /// The id of the recorded session.
    name: SessionId,
    formation: SessionFormation,
    events: Vec<Event>,
    open: Vec<LoopId>,
    last: Timestamp,
}

impl OpenSession {
    fn session(&self) -> Option<Session> {
        let mut session = Session::of(&self.events)?;
        session.session_id = self.name.clone();
        session.formation = self.formation.clone();
        Some(session)
    }

    fn add(&mut self, event: &Event) {
        self.last = self.last.max(event.timestamp);
        self.events.push(Arc::clone(event));
    }
}

impl SessionRecorder {
    /// Creates a recorder without sessions.
    pub fn new(config: SessionRecorderConfig) -> Self {
        Self {
            config,
            open_sessions: Vec::new(),
            loops: HashMap::new(),
            rounds: HashMap::new(),
            latest: None,
            early: Vec::new(),
            completed: Vec::new(),
        }
    }

    /// Records the next event.
    pub fn on_event(&mut self, event: &Event) {
        if matches!(event.event, AgentEvent::MessageUpdate { .. }) && !self.config.include_streaming_events {
            return;
        }
        if let AgentEvent::AgentStart(start) = &event.event {
            let at = self.session_for(&start.session_id, event.timestamp);
            self.loops.insert(start.loop_id.clone(), at);
            let early = std::mem::take(&mut self.early);
            if let Some(session) = self.open_sessions.get_mut(at) {
                early.iter().for_each(|event| session.add(event));
                session.open.push(start.loop_id.clone());
            }
        }
        let own = match (&event.loop_id, &event.event) {
            (Some(loop_id), _) => match self.loops.get(loop_id) {
                Some(at) => Some(*at),
                // The recorder did not see this loop begin, or its session is complete: no session takes the event.
                None => return,
            },
            (
                None,
                AgentEvent::ParallelLoopStart { session_id, .. }
                | AgentEvent::ParallelLoopEnd { session_id, .. },
            ) => self.open_sessions.iter().rposition(|session| session.session_id == *session_id),
            (None, _) => self.latest(),
        };
        let Some(session) = own.and_then(|at| self.open_sessions.get_mut(at)) else {
            self.early.push(Arc::clone(event));
            return;
        };
        session.add(event);
        self.latest = Some(session.name.clone());
        if let (AgentEvent::AgentEnd { .. }, Some(loop_id)) = (&event.event, &event.loop_id) {
            session.open.retain(|open| open != loop_id);
        }
    }

    /// Returns the session with the most recent event, which receives events without a loop.
    fn latest(&self) -> Option<usize> {
        let latest = self.latest.as_ref()?;
        self.open_sessions.iter().position(|session| session.name == *latest)
    }

    /// Returns the index of the session that a new loop joins, and begins a new session if needed.
    fn session_for(&mut self, session_id: &SessionId, now: Timestamp) -> usize {
        let known = self.open_sessions.iter().rposition(|session| session.session_id == *session_id);
        let formation = match known.and_then(|at| self.open_sessions.get(at)) {
            None => SessionFormation::FirstLoop,
            Some(session) => match self.idle(session, now) {
                None => return known.unwrap_or_default(),
                Some(idle) => SessionFormation::InactivityTimeout { idle_secs: idle.as_secs() },
            },
        };
        if let Some(at) = known {
            self.complete(at);
        }
        let round = self.rounds.entry(session_id.clone()).or_default();
        *round += 1;
        let name = match *round {
            1 => session_id.clone(),
            round => SessionId::from(format!("{session_id}~{round}")),
        };
        self.open_sessions.push(OpenSession {
            session_id: session_id.clone(),
            name,
            formation,
            events: Vec::new(),
            open: Vec::new(),
            last: now,
        });
        self.open_sessions.len() - 1
    }

    /// Returns how long a session was inactive, if that exceeds the timeout. A session with an open loop never times out.
    fn idle(&self, session: &OpenSession, now: Timestamp) -> Option<Duration> {
        let SessionFormationPolicy::InactivityTimeout { secs } = self.config.formation_policy else {
            return None;
        };
        let idle = now.since(session.last);
        (session.open.is_empty() && idle > Duration::from_secs(secs)).then_some(idle)
    }

    /// Completes a session.
    fn complete(&mut self, at: usize) {
        let open = self.open_sessions.remove(at);
        self.loops.retain(|_, index| *index != at);
        self.loops.values_mut().filter(|index| **index > at).for_each(|index| *index -= 1);
        let Some(mut session) = open.session() else { return };
        for one in session.loops.iter_mut().filter(|one| one.ended_at.is_none()) {
            one.status = LoopStatus::Aborted;
            one.ended_at = Some(open.last);
        }
        self.completed.push(session);
    }

    /// Completes all sessions and marks their open loops as aborted. If a loop of one of these sessions begins later, it
    /// starts a session with the next number in its name, so that it does not replace the completed record.
    pub fn flush(&mut self) {
        while !self.open_sessions.is_empty() {
            self.complete(0);
        }
    }

    /// Returns the sessions completed since the last call.
    pub fn drain_completed(&mut self) -> Vec<Session> {
        std::mem::take(&mut self.completed)
    }

    /// Returns all sessions recorded so far, completed ones first.
    pub fn sessions(&self) -> impl Iterator<Item = Session> {
        self.completed.iter().cloned().chain(self.open_sessions.iter().filter_map(OpenSession::session))
    }

    /// Returns a session by id.
    pub fn get_session(&self, session_id: &SessionId) -> Option<Session> {
        let open = self.open_sessions.iter().find(|open| open.name == *session_id);
        let completed = || self.completed.iter().find(|session| session.session_id == *session_id).cloned();
        open.and_then(OpenSession::session).or_else(completed)
    }

    /// Returns a loop that has not ended.
    pub fn current_loop(&self, loop_id: &LoopId) -> Option<LoopRecord> {
        let open = self.open_sessions.get(*self.loops.get(loop_id)?)?;
        let session = open.open.contains(loop_id).then(|| open.session())??;
        session.get_loop(loop_id).cloned()
    }
}

#[cfg(test)]
#[path = "session_recorder_tests.rs"]
pub(in crate::recorder) mod tests;
