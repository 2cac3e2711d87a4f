//! Tests of notes to the model between its replies.

use super::catalogue;
use super::invariants;
use super::scenario::*;
use crate::event::RunOutcome;

#[test]
fn note_follows_the_prompt_and_is_sent_once() {
    let harness = catalogue::notes_sent().play();
    assert_eq!(harness.conversation().get(1).map(String::as_str), Some("user: It is Monday."));
    let count = harness.conversation().iter().filter(|line| line.contains("Monday")).count();
    assert_eq!(count, 1, "it is unchanged");
    assert_eq!(harness.count("effect Consult"), harness.count("effect CallModel"));
    assert!(harness.is_before("effect Consult", "effect CallModel"));
    invariants::check(&harness);
}

#[test]
fn note_removed_by_compaction_is_sent_again() {
    let harness = catalogue::notes_and_compaction().play();
    assert!(harness.logged("event Compaction"));
    let last = harness.sent.last().unwrap();
    assert!(last.iter().any(|message| message.note_section() == Some("date")));
    invariants::check(&harness);
}

#[test]
fn run_can_be_cancelled_while_a_context_source_hangs() {
    let harness = catalogue::notes_sent().when("effect Consult", TestAction::Cancel).play();
    assert_eq!(harness.outcome(), &RunOutcome::Aborted);
    invariants::check(&harness);
}
