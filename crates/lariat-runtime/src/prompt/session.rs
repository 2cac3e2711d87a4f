//! The system prompt of one session: what is sent, and what would be sent if the session began now.

use std::sync::{Arc, OnceLock};

use lariat_core::context::{NewestNotes, Note};
use lariat_core::model::{PromptSection, SystemPrompt};
use lariat_core::run::RunConfig;

use super::NoteWriter;

/// The slot for a session's prompt, filled once it is assembled. Shared by the session's context, its runs
/// and the agent. Boxed, because every agent has one and most have no sections.
pub(crate) type PromptSlot = Arc<OnceLock<Box<SessionPrompt>>>;

/// The system prompt of a session.
#[derive(Debug)]
pub(crate) struct SessionPrompt {
    /// As journaled, and sent with every request.
    sent: Arc<[PromptSection]>,
    system: SystemPrompt,
    /// As the sources provide it now.
    current: Vec<PromptSection>,
    teller: NoteWriter,
    /// The configuration of runs, which includes the size of the prompt.
    run: Arc<RunConfig>,
}

impl SessionPrompt {
    pub(crate) fn new(sent: Arc<[PromptSection]>, current: Vec<PromptSection>, run: Arc<RunConfig>) -> Self {
        Self { system: SystemPrompt::of_sections(&sent), sent, current, teller: NoteWriter::default(), run }
    }

    /// The configuration of the session's runs.
    pub(crate) const fn run_config(&self) -> &Arc<RunConfig> {
        &self.run
    }

    pub(crate) const fn system(&self) -> &SystemPrompt {
        &self.system
    }

    pub(crate) fn sections(&self) -> &[PromptSection] {
        &self.sent
    }

    /// Returns notes about sections that differ from the system prompt.
    pub(crate) fn changed_sections(&self, sent_notes: &NewestNotes) -> Vec<Note> {
        let find = |sections: &[PromptSection], name: &str| {
            let found = sections.iter().find(|section| section.name == name);
            found.map_or_else(|| Arc::from(""), |section| Arc::clone(&section.text))
        };
        let mut names: Vec<&str> = self.sent.iter().map(|section| &*section.name).collect();
        names.extend(self.current.iter().map(|section| &*section.name));
        let mut seen: Vec<&str> = Vec::new();
        names.retain(|name| {
            !seen.contains(name) && {
                seen.push(name);
                true
            }
        });
        let note = |name: &&str| {
            let (sent, now) = (find(&self.sent, name), find(&self.current, name));
            self.teller.note_since(name, Some(&sent), &now, sent_notes)
        };
        names.iter().filter_map(note).collect()
    }
}

#[cfg(test)]
mod tests {
    use lariat_core::message::AgentMessage;
    use lariat_core::model::SectionStability;

    use super::*;

    fn sections(list: &[(&str, &str)]) -> Vec<PromptSection> {
        list.iter()
            .map(|(name, text)| PromptSection::new(*name, SectionStability::SemiStatic, *text))
            .collect()
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
}
