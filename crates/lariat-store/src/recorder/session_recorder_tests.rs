use lariat_core::event::{
    EventRecord, FORMAT_VERSION, LoopStart, MessageRef, RecordedMessage, RunOutcome, SpawnRef, StreamDelta,
    TurnTrigger,
};
use lariat_core::id::{EventId, MessageId};
use lariat_core::message::AgentMessage;
use lariat_core::usage::Usage;

use super::*;

/// Builds events of loops at given times.
#[derive(Default)]
pub(in crate::recorder) struct Events(u64);

impl Events {
    pub(in crate::recorder) fn at(&mut self, secs: u64, loop_id: &str, event: AgentEvent) -> Event {
        self.0 += 1;
        Arc::new(EventRecord {
            v: FORMAT_VERSION,
            seq: self.0,
            id: EventId::new(uuid::Uuid::from_u128(self.0.into())),
            timestamp: Timestamp::from_millis(secs * 1000),
            loop_id: (!loop_id.is_empty()).then(|| LoopId::from(loop_id)),
            event,
        })
    }

    fn start(&mut self, secs: u64, session: &str, loop_id: &str) -> Event {
        self.at(secs, loop_id, start(session, loop_id))
    }

    /// A loop with one message, from start to end.
    pub(in crate::recorder) fn complete_loop(
        &mut self,
        secs: u64,
        session: &str,
        loop_id: &str,
    ) -> Vec<Event> {
        vec![
            self.start(secs, session, loop_id),
            self.at(secs, loop_id, said(loop_id)),
            self.at(secs + 1, loop_id, ended()),
        ]
    }
}

fn start(session: &str, loop_id: &str) -> AgentEvent {
    AgentEvent::AgentStart(Box::new(LoopStart::new("agent".into(), session.into(), loop_id.into())))
}

fn said(text: &str) -> AgentEvent {
    let mut message = AgentMessage::user(text);
    message.assign_id(|| MessageId::new(uuid::Uuid::new_v4()));
    AgentEvent::MessageEnd { message: RecordedMessage::Full(Arc::new(message)) }
}

fn ended() -> AgentEvent {
    let usage = Usage::new(5, 7);
    AgentEvent::AgentEnd { messages: Vec::new(), usage, outcome: RunOutcome::Completed, rejection: None }
}

fn record_all(config: SessionRecorderConfig, events: &[Event]) -> SessionRecorder {
    let mut recorder = SessionRecorder::new(config);
    events.iter().for_each(|event| recorder.on_event(event));
    recorder
}

fn names(sessions: impl IntoIterator<Item = Session>) -> Vec<(String, usize)> {
    sessions.into_iter().map(|session| (session.session_id.to_string(), session.loops.len())).collect()
}

#[test]
fn assigns_interleaved_loops_to_their_sessions() {
    let mut events = Events::default();
    let mut spawned = LoopStart::new("child".into(), "c".into(), "c.x.1".into());
    let spawn = SpawnRef {
        parent_session_id: "s".into(),
        parent_loop_id: "s.x.1".into(),
        tool_call_id: "t".into(),
        tool_name: "task".into(),
    };
    spawned.spawned_by = Some(spawn.clone());
    let stream = [
        events.start(1, "s", "s.x.1"),
        events.at(2, "s.x.1", said("to the parent")),
        events.at(3, "c.x.1", AgentEvent::AgentStart(Box::new(spawned))),
        events.at(4, "s.x.1", AgentEvent::TurnStart { turn_index: 0, triggered_by: TurnTrigger::User }),
        events.at(5, "c.x.1", said("to the child")),
        events.at(6, "c.x.1", ended()),
    ];
    let recorder = record_all(SessionRecorderConfig::default(), &stream);
    assert_eq!(names(recorder.sessions()), [("s".to_owned(), 1), ("c".to_owned(), 1)]);
    let parent = recorder.get_session(&"s".into()).unwrap();
    assert_eq!(parent.loops[0].events.len(), 3);
    assert_eq!(
        (parent.loops[0].status, parent.formation),
        (LoopStatus::Running, SessionFormation::FirstLoop)
    );
    let child = recorder.get_session(&"c".into()).unwrap();
    assert_eq!((child.parent_spawn_ref, child.loops[0].status), (Some(spawn), LoopStatus::Completed));
    assert_eq!(recorder.current_loop(&"s.x.1".into()).unwrap().messages.len(), 1);
    assert!(recorder.current_loop(&"c.x.1".into()).is_none(), "it has ended");
    assert!(recorder.get_session(&"x".into()).is_none());
}

#[test]
fn flush_aborts_open_loops_and_completes_each_session_once() {
    let mut events = Events::default();
    let mut stream = events.complete_loop(1, "s", "s.x.1");
    stream.push(events.start(10, "s", "s.x.2"));
    stream.push(events.at(12, "s.x.2", said("half")));
    let mut recorder = record_all(SessionRecorderConfig::default(), &stream);
    assert!(recorder.drain_completed().is_empty());
    recorder.flush();
    assert!(recorder.current_loop(&"s.x.2".into()).is_none());
    assert_eq!(names(recorder.sessions()), [("s".to_owned(), 2)]);
    assert!(recorder.get_session(&"s".into()).is_some());
    let sessions = recorder.drain_completed();
    let states: Vec<_> = sessions[0].loops.iter().map(|one| (one.status, one.ended_at)).collect();
    let at = |secs: u64| Some(Timestamp::from_millis(secs * 1000));
    assert_eq!(states, [(LoopStatus::Completed, at(2)), (LoopStatus::Aborted, at(12))]);
    assert_eq!(sessions[0].total_usage().input, 5);
    assert!(recorder.drain_completed().is_empty() && recorder.sessions().next().is_none());
    recorder.on_event(&events.at(13, "s.x.2", said("too late")));
    assert!(recorder.sessions().next().is_none());
    events.complete_loop(20, "s", "s.x.3").iter().for_each(|event| recorder.on_event(event));
    assert_eq!(names(recorder.sessions()), [("s~2".to_owned(), 1)], "the completed session keeps its name");
}

#[test]
fn begins_a_new_session_only_after_inactivity() {
    let policy = SessionFormationPolicy::InactivityTimeout { secs: 60 };
    let config = SessionRecorderConfig::default().with_formation_policy(policy);
    let mut events = Events::default();
    let mut stream = events.complete_loop(1, "s", "s.x.1");
    stream.extend(events.complete_loop(62, "s", "s.x.2"));
    stream.extend(events.complete_loop(124, "s", "s.x.3"));
    let mut recorder = record_all(config, &stream);
    assert_eq!(
        names(recorder.drain_completed()),
        [("s".to_owned(), 2)],
        "60 s are not more than 60 s, 61 are"
    );
    let second = recorder.get_session(&"s~2".into()).unwrap();
    assert_eq!(second.formation, SessionFormation::InactivityTimeout { idle_secs: 61 });
    assert_eq!(second.loops[0].session_id.as_str(), "s");

    let mut open = vec![events.start(1, "t", "t.x.1")];
    open.extend(events.complete_loop(900, "t", "t.x.2"));
    assert_eq!(
        names(record_all(config, &open).sessions()),
        [("t".to_owned(), 2)],
        "an open loop is activity"
    );
    assert_eq!(
        names(record_all(SessionRecorderConfig::default(), &stream).sessions()),
        [("s".to_owned(), 3)]
    );
}

#[test]
fn records_message_chunks_only_if_configured() {
    let mut events = Events::default();
    let piece = AgentEvent::MessageUpdate {
        message: MessageRef::unresolved(MessageId::default()),
        delta: StreamDelta::Text { delta: "a".into() },
    };
    let progress =
        AgentEvent::ProgressMessage { tool_call_id: "t".into(), tool_name: "n".into(), text: "x".into() };
    let stream =
        [events.start(1, "s", "s.x.1"), events.at(2, "s.x.1", piece), events.at(3, "s.x.1", progress)];
    for (include, kept) in [(false, 2), (true, 3)] {
        let config = SessionRecorderConfig::default().with_streaming_events(include);
        let session = record_all(config, &stream).get_session(&"s".into()).unwrap();
        assert_eq!(session.loops[0].events.len(), kept);
    }
}

#[test]
fn keeps_events_before_the_first_loop_and_parallel_groups() {
    let mut events = Events::default();
    let loops: Vec<LoopId> = vec!["s.x.1".into(), "s.y.2".into()];
    let (session_id, prompts) = ("s".into(), Vec::new());
    let early = AgentEvent::ParallelLoopStart { session_id, loop_ids: loops.clone(), prompts };
    let late = AgentEvent::ParallelLoopEnd {
        session_id: "s".into(),
        selected_loop_id: "s.y.2".into(),
        selected_config_index: 1,
        evaluation_usage: Usage::default(),
    };
    let mut stream = vec![events.at(1, "", early)];
    stream.extend(events.complete_loop(2, "s", "s.x.1"));
    stream.extend(events.complete_loop(2, "s", "s.y.2"));
    stream.extend(events.complete_loop(3, "other", "other.x.1"));
    stream.push(events.at(9, "", late));
    let session = record_all(SessionRecorderConfig::default(), &stream).get_session(&"s".into()).unwrap();
    assert_eq!(session.parallel_siblings(&"s.x.1".into())[0].loop_id, loops[1]);
    assert!(session.get_loop(&"s.y.2".into()).unwrap().parallel_group.as_ref().unwrap().is_selected);
}
