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
struct MemorySink(Arc<Mutex<Vec<Value>>>);

impl MemorySink {
    fn lines(&self) -> Vec<Value> {
        self.0.lock().unwrap().clone()
    }
}

impl TraceSink for MemorySink {
    fn write_line(&mut self, line: &str) -> io::Result<()> {
        self.0.lock().unwrap().push(serde_json::from_str(line)?);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A sink that reports each line and waits for permission to write it.
struct SlowSink(MemorySink, Sender<()>, Receiver<()>);

impl TraceSink for SlowSink {
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
fn every_event_is_a_line_that_parses_to_the_same_event() {
    for (live, lines) in [(LiveEvents::Skip, 1), (LiveEvents::Write, 2)] {
        let sink = MemorySink::default();
        let log = TraceLog::start(sink.clone(), live).unwrap();
        log.observe(&"s".into(), &turn(0));
        log.observe(&"s".into(), &progress());
        log.close();
        assert_eq!(sink.lines().len(), lines);
        let line = &sink.lines()[0];
        assert_eq!((&line["session_id"], &line["name"]), (&"s".into(), &"iteration.before".into()));
        assert_eq!(EventRecord::from_json(line.to_string().as_bytes()).unwrap().event, turn(0).event);
    }
}

#[test]
fn slow_sink_loses_counted_events_and_blocks_no_run() {
    let (sink, (arrived, arrivals), (go, gone)) = (MemorySink::default(), channel(), channel());
    let log = TraceLog::with_capacity(SlowSink(sink.clone(), arrived, gone), LiveEvents::Skip, 2).unwrap();
    log.observe(&"s".into(), &turn(0));
    arrivals.recv().unwrap();
    // One is being written, two are queued, the rest does not fit.
    (1..10).for_each(|index| log.observe(&"s".into(), &turn(index)));
    assert_eq!(log.lost_count(), 7);
    drop(go);
    log.close();
    let lines = sink.lines();
    let turns: Vec<_> = lines.iter().filter_map(|line| line["turn_index"].as_u64()).collect();
    assert_eq!(turns, [0, 1, 2]);
    let lost: Vec<_> = lines.iter().filter(|line| line["type"] == "Lost").collect();
    assert_eq!((lost.len(), &lost[0]["events"]), (1, &7.into()));
    assert_eq!(log.lost_count(), 0, "a line reports them");
}

#[test]
fn events_lost_to_a_failing_sink_are_counted_and_reported_later() {
    struct FailingSink(MemorySink, u32);
    impl TraceSink for FailingSink {
        fn write_line(&mut self, line: &str) -> io::Result<()> {
            self.1 += 1;
            if self.1 <= 2 { Err(io::ErrorKind::StorageFull.into()) } else { self.0.write_line(line) }
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let sink = MemorySink::default();
    let log = TraceLog::start(FailingSink(sink.clone(), 0), LiveEvents::Skip).unwrap();
    (0..3).for_each(|index| log.observe(&"s".into(), &turn(index)));
    log.close();
    let lines = sink.lines();
    // The first event failed, then the line that reports it, so the second event was written first.
    assert_eq!(lines[0]["turn_index"], 1);
    assert_eq!((&lines[1]["type"], &lines[1]["events"]), (&"Lost".into(), &1.into()));
    assert_eq!(lines[2]["turn_index"], 2);
}

#[test]
fn events_after_close_are_counted_but_not_written() {
    let sink = MemorySink::default();
    let log = TraceLog::start(sink.clone(), LiveEvents::Skip).unwrap();
    log.close();
    log.observe(&"s".into(), &turn(0));
    log.close();
    assert_eq!((sink.lines().len(), log.lost_count()), (0, 1));
}
