use std::sync::Arc;

use lariat_core::message::AgentMessage;

use super::*;

/// Tells a section, as a conversation would, and gives back what the model reads.
fn say(teller: &Teller, told: &mut Told, text: &str) -> Option<String> {
    let note = teller.tell("facts", text, told)?;
    told.add(&Arc::new(AgentMessage::note(note.section.clone(), note.text.clone())));
    Some(note.text)
}

#[test]
fn a_section_is_told_when_it_is_new_and_when_it_changed_and_never_in_between() {
    let (teller, mut told) = (Teller::default(), Told::default());
    let first = say(&teller, &mut told, "It is Monday.").unwrap();
    assert!(first.contains("It is Monday."), "{first}");
    assert_eq!(say(&teller, &mut told, "It is Monday.\n"), None);
    assert!(say(&teller, &mut told, "It is Tuesday.").unwrap().contains("It is Tuesday."));
    assert!(say(&teller, &mut told, "It is Monday.").is_some(), "back again is a change");
}

#[test]
fn a_small_change_of_a_long_section_is_told_as_a_difference() {
    let (teller, mut told) = (Teller::default(), Told::default());
    let text = |branch: &str| format!("On branch {branch}.\n{}", "A line of the status.\n".repeat(20));
    say(&teller, &mut told, &text("main")).unwrap();
    let change = say(&teller, &mut told, &text("mend")).unwrap();
    assert!(change.contains("- On branch main.\n+ On branch mend.\n"), "{change}");
    assert!(!change.contains("A line of the status."), "{change}");
    assert_eq!(say(&teller, &mut told, &text("mend")), None);
}

#[test]
fn another_process_knows_what_was_told_and_tells_a_change_in_full() {
    let mut told = Told::default();
    let text = |n: u32| format!("{}number {n}\n", "A line.\n".repeat(20));
    say(&Teller::default(), &mut told, &text(1)).unwrap();
    assert_eq!(say(&Teller::default(), &mut told, &text(1)), None);
    let change = say(&Teller::default(), &mut told, &text(2)).unwrap();
    assert!(change.contains("A line.") && change.contains("number 2"), "{change}");
}

#[test]
fn a_section_that_ended_is_taken_back_once() {
    let (teller, mut told) = (Teller::default(), Told::default());
    assert_eq!(say(&teller, &mut told, ""), None, "nothing was told");
    say(&teller, &mut told, "Plan mode.").unwrap();
    assert!(say(&teller, &mut told, "").unwrap().contains("does not apply any more"));
    assert_eq!(say(&teller, &mut told, ""), None);
}

#[test]
fn what_the_system_prompt_says_is_not_told_until_it_is_different() {
    let (teller, mut told) = (Teller::default(), Told::default());
    let first = "Use tabs.\n".repeat(20);
    assert_eq!(teller.tell_since("memory", Some(&first), &first, &told), None);
    let now = format!("{first}Never push.\n");
    let note = teller.tell_since("memory", Some(&first), &now, &told).unwrap();
    assert!(note.text.contains("+ Never push."), "{}", note.text);
    told.add(&Arc::new(AgentMessage::note("memory", note.text)));
    assert_eq!(teller.tell_since("memory", Some(&first), &now, &told), None);
    let back = teller.tell_since("memory", Some(&first), &first, &told).unwrap();
    assert!(back.text.contains("- Never push."), "{}", back.text);
}
