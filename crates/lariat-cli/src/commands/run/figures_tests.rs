use std::sync::Arc;

use lariat_core::event::Event;
use serde_json::json;

use super::*;
use crate::screen::test_data::*;

fn figures(events: &[Event]) -> Vec<RunFigures> {
    let mut fold = RunFold::default();
    events.iter().filter_map(|event| fold.event(event)).collect()
}

#[test]
fn end_of_a_run_has_its_last_reply_and_all_figures() {
    let changed = json!({ "path": "a.txt", "change": "added" });
    let ended = figures(&[
        loop_start(0),
        turn_start(1, 0),
        reply_end(2, "I look."),
        tool_end(3, "c1", "write_file", Ok(("ok", changed))),
        turn_start(4, 1),
        reply_end(5, "Done."),
        loop_end(6, RunOutcome::Completed),
    ]);
    let [run] = ended.as_slice() else { panic!("{ended:?}") };
    let ending = run.clone().ending(at(0));
    assert_eq!((ending.text.as_str(), ending.turns, ending.usage), ("Done.", 2, usage()));
    assert_eq!(ending.duration.as_millis(), 6);
    assert_eq!(ending.files.iter().map(|file| file.path.as_str()).collect::<Vec<_>>(), ["a.txt"]);
}

#[test]
fn events_of_other_loops_are_left_out() {
    let of_child =
        |event: Event| Arc::new(EventRecord { loop_id: Some("s.c.2".into()), ..EventRecord::clone(&event) });
    let ended = figures(&[
        loop_start(0),
        turn_start(1, 0),
        reply_end(2, "mine"),
        of_child(loop_start(3)),
        of_child(reply_end(4, "of the child")),
        of_child(loop_end(5, RunOutcome::Aborted)),
        loop_end(6, RunOutcome::Completed),
    ]);
    let [run] = ended.as_slice() else { panic!("{ended:?}") };
    assert_eq!((run.text.as_str(), &run.outcome), ("mine", &RunOutcome::Completed));
}
