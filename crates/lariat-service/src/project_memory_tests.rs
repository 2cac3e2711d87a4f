//! Tests the memory file of a project.

use std::os::unix::fs::PermissionsExt as _;

use super::*;

struct TempDirectory(PathBuf);

impl Drop for TempDirectory {
    fn drop(&mut self) {
        #[expect(clippy::disallowed_methods, reason = "a test removes its own directory")]
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn memory(name: &str) -> (TempDirectory, ProjectMemory) {
    let folder = std::env::temp_dir().join(format!("lariat-memory-{name}-{}", std::process::id()));
    let memory = ProjectMemory::new(folder.join("memory/project.json"));
    (TempDirectory(folder), memory)
}

fn propose(memory: &ProjectMemory, text: &str) -> ProposalOutcome {
    memory.propose(MemoryKind::Fact, text, MemorySource::Model, &SessionId::from("s1")).unwrap()
}

#[test]
fn proposal_enters_no_prompt_before_the_user_approves() {
    let (_folder, memory) = memory("approve");
    let ProposalOutcome::Waits(id) = propose(&memory, "Tests run\nwith  nextest.") else { panic!("no id") };
    assert!(memory.load().unwrap().approved().is_empty());
    assert_eq!(memory.set_status(std::slice::from_ref(&id), MemoryStatus::Approved).unwrap().len(), 1);
    let content = memory.load().unwrap();
    assert_eq!(content.approved()[0].text, "Tests run with nextest.");
    assert_eq!(content.approved()[0].session_id, Some(SessionId::from("s1")));
    assert_eq!(propose(&memory, "Tests run with nextest."), ProposalOutcome::Known);
}

#[test]
fn invisible_characters_of_a_proposal_become_visible() {
    let (_folder, memory) = memory("invisible");
    propose(&memory, "Use tabs.\u{e0068}\u{202e}\u{1b}[2K\u{200b}");
    let text = memory.load().unwrap().entries[0].text.clone();
    assert_eq!(text, "Use tabs.⟨U+E0068⟩⟨U+202E⟩⟨U+001B⟩[2K⟨U+200B⟩");
}

#[test]
fn number_of_proposals_is_limited() {
    let (_folder, memory) = memory("limit");
    for number in 0..MAX_PROPOSALS {
        assert!(matches!(propose(&memory, &format!("fact {number}")), ProposalOutcome::Waits(_)));
    }
    assert_eq!(propose(&memory, "one more"), ProposalOutcome::Full);
    memory.add(MemoryKind::Fact, "the user may always add").unwrap();
    let ids: std::collections::BTreeSet<String> =
        memory.load().unwrap().entries.into_iter().map(|entry| entry.id).collect();
    assert_eq!(ids.len(), MAX_PROPOSALS + 1);
}

#[test]
fn memory_that_is_off_gives_nothing_and_takes_nothing() {
    let (_folder, memory) = memory("off");
    memory.add(MemoryKind::Goal, "Release 1.0").unwrap();
    memory.set_off(true).unwrap();
    assert!(memory.load().unwrap().approved().is_empty());
    assert_eq!(propose(&memory, "new"), ProposalOutcome::Off);
    memory.set_off(false).unwrap();
    assert_eq!(memory.load().unwrap().approved().len(), 1);
}

#[test]
fn goals_come_first_and_leave_when_done() {
    let (_folder, memory) = memory("goals");
    let goal = memory.add(MemoryKind::Goal, "Release 1.0").unwrap();
    memory.add(MemoryKind::Fact, "newer").unwrap();
    let content = memory.load().unwrap();
    assert_eq!(
        content.approved().iter().map(|entry| &*entry.text).collect::<Vec<_>>(),
        ["Release 1.0", "newer"]
    );
    memory.set_status(&[goal.id], MemoryStatus::Done).unwrap();
    assert_eq!(memory.load().unwrap().approved().len(), 1);
}

#[test]
fn file_is_private_and_a_damaged_one_is_an_error() {
    let (_folder, memory) = memory("private");
    memory.add(MemoryKind::Fact, "x").unwrap();
    let mode = memory.path().metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    #[expect(clippy::disallowed_methods, reason = "a test damages the file")]
    std::fs::write(memory.path(), "{ \"entries\": [ { \"text\": 1 } ] }").unwrap();
    assert!(matches!(memory.load(), Err(StateFileError::Damaged { .. })));
    assert!(memory.add(MemoryKind::Fact, "y").is_err());
}
