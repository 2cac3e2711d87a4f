//! Tests of the record of a race.

use lariat_core::message::AgentMessage;
use serde::Deserialize as _;

use super::record::RaceEvent;
use super::*;
use crate::actor_critic::LoopAgent;

fn end(name: &str, lines: u64, check: Option<i64>) -> BranchEnd {
    BranchEnd {
        name: name.to_owned(),
        snapshot: Some(format!("tree-{name}")),
        files: 1,
        insertions: lines,
        check_exit_code: check,
        ..BranchEnd::default()
    }
}

#[test]
fn steps_are_read_back_as_they_were_written() {
    let mut settings = RaceSettings::new("task", vec![LoopAgent::default(); 2]);
    settings.check = Some("true".to_owned());
    let steps = [
        RaceEvent::Started { settings: Box::new(settings), snapshot: "s0".to_owned() },
        RaceEvent::BranchEnded(Box::new(end("b", 3, Some(0)))),
        RaceEvent::BranchEnded(Box::new(end("a", 2, Some(1)))),
        RaceEvent::TakeStarted { branch: "a".to_owned(), from: "s0".to_owned() },
        RaceEvent::TakeStarted { branch: "b".to_owned(), from: "s1".to_owned() },
        RaceEvent::Taken { branch: "b".to_owned() },
        RaceEvent::TakeStarted { branch: "a".to_owned(), from: "tree-b".to_owned() },
    ];
    let mut record = RaceRecord::default();
    for step in &steps {
        let AgentMessage::Extension(message) = step.message() else { panic!("an extension message") };
        record.apply(RaceEvent::deserialize(&message.data).unwrap());
    }
    assert_eq!((record.snapshot.as_str(), record.taken.as_deref()), ("s0", Some("b")));
    let unfinished = UnfinishedTake { branch: "a".to_owned(), from: "tree-b".to_owned() };
    assert_eq!(record.unfinished, Some(unfinished));
    record.apply(RaceEvent::Taken { branch: "a".to_owned() });
    assert_eq!((record.taken.as_deref(), record.unfinished.as_ref()), (Some("a"), None));
    assert_eq!(record.branches.keys().collect::<Vec<_>>(), ["a", "b"]);
    let names: Vec<&str> = record.candidates().iter().map(|end| end.name.as_str()).collect();
    assert_eq!(names, ["b"], "a branch whose check failed cannot be selected");
}

#[test]
fn branches_have_short_names() {
    assert_eq!((branch_name(0).as_str(), branch_name(15).as_str()), ("a", "p"));
}
