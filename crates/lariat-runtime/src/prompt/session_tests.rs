use lariat_core::message::AgentMessage;
use lariat_core::model::SectionStability;

use super::*;

fn sections(list: &[(&str, &str)]) -> Vec<PromptSection> {
    list.iter().map(|(name, text)| PromptSection::new(*name, SectionStability::SemiStatic, *text)).collect()
}

#[test]
fn changed_new_and_removed_sections_are_noted_once_and_the_prompt_stays() {
    let sent: Arc<[_]> =
        sections(&[("memory", "Use tabs."), ("map", "src/a.rs"), ("rules", "Be kind.")]).into();
    let now = sections(&[("memory", "Use spaces."), ("rules", "Be kind."), ("skills", "pdf")]);
    let prompt = SessionPrompt::new(sent, now, Arc::default());
    assert_eq!(prompt.system().as_str(), "Use tabs.\n\nsrc/a.rs\n\nBe kind.");
    let mut sent_notes = NewestNotes::default();
    let notes = prompt.changed_sections(&sent_notes);
    let names: Vec<&str> = notes.iter().map(|note| &*note.section).collect();
    assert_eq!(names, ["memory", "map", "skills"]);
    assert!(notes[0].text.contains("Use spaces."));
    assert!(notes[1].text.contains("no longer applies"));
    for note in notes {
        sent_notes.add(&Arc::new(AgentMessage::note(note.section, note.text)));
    }
    assert!(prompt.changed_sections(&sent_notes).is_empty());
}
