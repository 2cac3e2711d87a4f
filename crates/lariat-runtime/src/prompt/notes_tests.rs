use std::sync::Arc;

use lariat_core::message::AgentMessage;

use super::*;

/// Sends a section as a conversation would, and returns what the model reads.
fn send(teller: &NoteWriter, sent_notes: &mut NewestNotes, text: &str) -> Option<String> {
    let note = teller.note("facts", text, sent_notes)?;
    sent_notes.add(&Arc::new(AgentMessage::note(note.section.clone(), note.text.clone())));
    Some(note.text)
}

#[test]
fn section_is_sent_only_when_it_is_new_or_changed() {
    let (teller, mut sent_notes) = (NoteWriter::default(), NewestNotes::default());
    let first = send(&teller, &mut sent_notes, "It is Monday.").unwrap();
    assert!(first.contains("It is Monday."), "{first}");
    assert_eq!(send(&teller, &mut sent_notes, "It is Monday.\n"), None);
    assert!(send(&teller, &mut sent_notes, "It is Tuesday.").unwrap().contains("It is Tuesday."));
    assert!(send(&teller, &mut sent_notes, "It is Monday.").is_some(), "changing back is a change, too");
}

#[test]
fn small_change_of_a_long_section_is_sent_as_a_difference() {
    let (teller, mut sent_notes) = (NoteWriter::default(), NewestNotes::default());
    let text = |branch: &str| format!("On branch {branch}.\n{}", "A line of the status.\n".repeat(20));
    send(&teller, &mut sent_notes, &text("main")).unwrap();
    let change = send(&teller, &mut sent_notes, &text("fix")).unwrap();
    assert!(change.contains("- On branch main.\n+ On branch fix.\n"), "{change}");
    assert!(!change.contains("A line of the status."), "{change}");
    assert_eq!(send(&teller, &mut sent_notes, &text("fix")), None);
}

#[test]
fn another_process_recognises_sent_sections_and_sends_changes_in_full() {
    let mut sent_notes = NewestNotes::default();
    let text = |n: u32| format!("{}number {n}\n", "A line.\n".repeat(20));
    send(&NoteWriter::default(), &mut sent_notes, &text(1)).unwrap();
    assert_eq!(send(&NoteWriter::default(), &mut sent_notes, &text(1)), None);
    let change = send(&NoteWriter::default(), &mut sent_notes, &text(2)).unwrap();
    assert!(change.contains("A line.") && change.contains("number 2"), "{change}");
}

#[test]
fn removed_section_is_withdrawn_once() {
    let (teller, mut sent_notes) = (NoteWriter::default(), NewestNotes::default());
    assert_eq!(send(&teller, &mut sent_notes, ""), None, "nothing was sent");
    send(&teller, &mut sent_notes, "Plan mode.").unwrap();
    assert!(send(&teller, &mut sent_notes, "").unwrap().contains("no longer applies"));
    assert_eq!(send(&teller, &mut sent_notes, ""), None);
}

#[test]
fn section_of_the_system_prompt_is_sent_only_after_it_changed() {
    let (teller, mut sent_notes) = (NoteWriter::default(), NewestNotes::default());
    let first = "Use tabs.\n".repeat(20);
    assert_eq!(teller.note_since("memory", Some(&first), &first, &sent_notes), None);
    let now = format!("{first}Never push.\n");
    let note = teller.note_since("memory", Some(&first), &now, &sent_notes).unwrap();
    assert!(note.text.contains("+ Never push."), "{}", note.text);
    sent_notes.add(&Arc::new(AgentMessage::note("memory", note.text)));
    assert_eq!(teller.note_since("memory", Some(&first), &now, &sent_notes), None);
    let back = teller.note_since("memory", Some(&first), &first, &sent_notes).unwrap();
    assert!(back.text.contains("- Never push."), "{}", back.text);
}
