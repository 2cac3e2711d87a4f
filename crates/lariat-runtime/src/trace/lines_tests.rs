use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use lariat_core::event::{AgentEvent, Event, EventRecord, FORMAT_VERSION, TurnTrigger};
use lariat_core::id::EventId;
use lariat_core::time::Timestamp;
use serde_json::Value;

use super::{LiveEvents, TraceLog, TraceSink};
use crate::observe::Observer;

#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<Value>>>);

impl Kept {
    fn lines(&self) -> Vec<Value> {
        self.0.lock().unwrap().clone()
    }
}

impl TraceSink for Kept {
    fn write_line(&mut self, line: &str) -> io::Result<()> {
        self.0.lock().unwrap().push(serde_json::from_str(line)?);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Says that a line came, and takes it when it may.
struct Slow(Kept, Sender<()>, Receiver<()>);

impl TraceSink for Slow {
    fn write_line(&mut self, line: &str) -> io::Result<()> {
        let _ = self.1.send(());
        let _ = self.2.recv();
        self.0.write_line(line)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn event(seq: u64, event: AgentEvent) -> Event {
    let (id, timestamp) = (EventId::default(), Timestamp::from_millis(seq));
    Arc::new(EventRecord { v: FORMAT_VERSION, seq, id, timestamp, loop_id: Some("s.c.0".into()), event })
}

fn turn(index: u32) -> Event {
    let started = AgentEvent::TurnStart { turn_index: index, triggered_by: TurnTrigger::User };
    event(u64::from(index), started)
}

fn progress() -> Event {
    let (tool_call_id, tool_name) = ("c".into(), "t".to_owned());
    event(9, AgentEvent::ProgressMessage { tool_call_id, tool_name, text: "half".to_owned() })
}

#[test]
fn every_event_is_a_line_that_reads_back_as_the_event() {
    for (live, lines) in [(LiveEvents::Skip, 1), (LiveEvents::Write, 2)] {
        let kept = Kept::default();
        let log = TraceLog::start(kept.clone(), live).unwrap();
        log.observe(&"s".into(), &turn(0));
        log.observe(&"s".into(), &progress());
        log.close();
        assert_eq!(kept.lines().len(), lines);
        let line = &kept.lines()[0];
        assert_eq!((&line["session_id"], &line["name"]), (&"s".into(), &"iteration.before".into()));
        assert_eq!(EventRecord::from_json(line.to_string().as_bytes()).unwrap().event, turn(0).event);
    }
}

#[test]
fn a_sink_that_is_too_slow_costs_events_that_are_counted_and_nobody_waits() {
    let (kept, (arrived, arrivals), (go, gone)) = (Kept::default(), channel(), channel());
    let log = TraceLog::with_room(Slow(kept.clone(), arrived, gone), LiveEvents::Skip, 2).unwrap();
    log.observe(&"s".into(), &turn(0));
    arrivals.recv().unwrap();
    // One is being written, two wait, the rest has no room.
    (1..10).for_each(|index| log.observe(&"s".into(), &turn(index)));
    assert_eq!(log.lost(), 7);
    drop(go);
    log.close();
    let lines = kept.lines();
    let turns: Vec<_> = lines.iter().filter_map(|line| line["turn_index"].as_u64()).collect();
    assert_eq!(turns, [0, 1, 2]);
    let lost: Vec<_> = lines.iter().filter(|line| line["type"] == "Lost").collect();
    assert_eq!((lost.len(), &lost[0]["events"]), (1, &7.into()));
    assert_eq!(log.lost(), 0, "a line tells of them");
}

#[test]
fn what_a_sink_cannot_take_is_counted_and_told_when_it_can_again() {
    struct Full(Kept, u32);
    impl TraceSink for Full {
        fn write_line(&mut self, line: &str) -> io::Result<()> {
            self.1 += 1;
            if self.1 <= 2 { Err(io::ErrorKind::StorageFull.into()) } else { self.0.write_line(line) }
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let kept = Kept::default();
    let log = TraceLog::start(Full(kept.clone(), 0), LiveEvents::Skip).unwrap();
    (0..3).for_each(|index| log.observe(&"s".into(), &turn(index)));
    log.close();
    let lines = kept.lines();
    // The first event failed, then the line that tells of it, so the second event was the first to get through.
    assert_eq!(lines[0]["turn_index"], 1);
    assert_eq!((&lines[1]["type"], &lines[1]["events"]), (&"Lost".into(), &1.into()));
    assert_eq!(lines[2]["turn_index"], 2);
}

#[test]
fn after_the_end_nothing_is_written_and_everything_is_counted() {
    let kept = Kept::default();
    let log = TraceLog::start(kept.clone(), LiveEvents::Skip).unwrap();
    log.close();
    log.observe(&"s".into(), &turn(0));
    log.close();
    assert_eq!((kept.lines().len(), log.lost()), (0, 1));
}
