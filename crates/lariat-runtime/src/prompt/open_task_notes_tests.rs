use std::sync::Arc;

use lariat_core::content::{Content, ToolCall};
use lariat_core::event::{AgentEvent, Goal, GoalStatus, RecordedMessage};
use lariat_core::message::{
    AssistantMessage, LlmMessage, Message, SharedMessage, StopReason, ToolResultMessage,
};
use lariat_core::time::Timestamp;
use lariat_core::transcript::Transcript;
use lariat_core::usage::Usage;
use serde_json::json;

use super::*;

/// A conversation with the memory of its session.
#[derive(Default)]
struct Conversation {
    messages: Vec<SharedMessage>,
    memory: SessionMemory,
    recitation: OpenTaskNotes,
    calls: usize,
}

impl Conversation {
    fn started() -> Self {
        let mut conversation = Self::default();
        conversation.push("Fix the tests.".into());
        conversation
    }

    fn push(&mut self, mut message: AgentMessage) {
        let n = self.messages.len() as u128 + 1;
        message.assign_id(|| lariat_core::id::MessageId::new(uuid::Uuid::from_u128(n)));
        let message = Arc::new(message);
        let event = AgentEvent::MessageEnd { message: RecordedMessage::Full(Arc::clone(&message)) };
        self.memory.apply(&recorded(event));
        self.messages.push(message);
    }

    /// Adds a reply that calls a tool, and its result.
    fn turn(&mut self, tool: &str, result: &str) {
        self.calls += 1;
        let id = format!("c{}", self.calls);
        let call =
            ToolCall { id: (&*id).into(), name: tool.to_owned(), arguments: json!({}), signature: None };
        let reply = AssistantMessage {
            content: vec![Content::ToolCall(Arc::new(call))],
            stop_reason: StopReason::ToolUse,
            model: "m".into(),
            requested_model: None,
            provider: "p".into(),
            usage: Usage::default(),
            timestamp: Timestamp::default(),
            error_message: None,
        };
        let result = ToolResultMessage {
            tool_call_id: (&*id).into(),
            tool_name: tool.to_owned(),
            content: vec![Content::text(result)],
            is_error: false,
            timestamp: Timestamp::default(),
        };
        let message =
            |message| AgentMessage::Llm(LlmMessage { id: Default::default(), turn_id: None, message });
        self.push(message(Message::Assistant(reply)));
        self.push(message(Message::ToolResult(result)));
    }

    /// Returns the current notes, and adds them to the conversation.
    fn send_notes(&mut self) -> Vec<String> {
        let (transcript, _) = Transcript::repair(self.messages.iter().cloned());
        let window = transcript.window();
        let sent_notes = NewestNotes::of(&window);
        let query = NotesQuery::new(window, sent_notes, 0, Timestamp::default())
            .with_memory(Arc::new(self.memory.clone()));
        let notes = futures_util::FutureExt::now_or_never(self.recitation.notes(query)).unwrap();
        let notes: Vec<String> = notes
            .into_iter()
            .map(|note| {
                self.push(AgentMessage::note(note.section, note.text.clone()));
                note.text
            })
            .collect();
        notes
    }
}

#[test]
fn task_list_just_written_is_not_repeated() {
    let mut conversation = Conversation::started();
    conversation.turn("todo", "[>] read\n[ ] fix\n");
    assert!(conversation.send_notes().is_empty());
}

#[test]
fn task_list_is_repeated_every_forty_turns() {
    let mut conversation = Conversation::started();
    conversation.turn("todo", "[>] read\n[ ] fix\n");
    let mut notes = Vec::new();
    for turn in 0..100 {
        conversation.turn("read_file", "text");
        notes.extend(conversation.send_notes().into_iter().map(|text| (turn, text)));
    }
    let turns: Vec<i32> = notes.iter().map(|(turn, _)| *turn).collect();
    assert_eq!(turns, [40, 81]);
    assert!(notes[0].1.contains("[ ] fix"), "{}", notes[0].1);
}

#[test]
fn task_list_outside_the_window_is_repeated_immediately() {
    let mut conversation = Conversation::started();
    conversation.turn("todo", "[>] read\n[ ] fix\n");
    conversation.messages.truncate(1);
    let notes = conversation.send_notes();
    assert!(notes.len() == 1 && notes[0].contains("[ ] fix"), "{notes:?}");
}

#[test]
fn completed_task_list_is_not_repeated() {
    let mut conversation = Conversation::started();
    conversation.turn("todo", "[x] read\n[x] fix\n");
    conversation.messages.truncate(1);
    assert!(conversation.send_notes().is_empty());
}

#[test]
fn goals_are_sent_when_they_change_and_withdrawn_when_reached() {
    let mut conversation = Conversation::started();
    let goal = |status: &str| -> AgentEvent {
        let goal: Goal =
            serde_json::from_value(json!({"goal_id": "g", "text": "All tests pass.", "status": status}))
                .unwrap();
        AgentEvent::GoalChanged(Box::new(goal))
    };
    conversation.memory.apply(&recorded(goal("active")));
    assert_eq!(conversation.memory.goals().first().map(|goal| goal.status), Some(GoalStatus::Active));
    assert!(conversation.send_notes()[0].contains("All tests pass."));
    assert!(conversation.send_notes().is_empty());
    conversation.memory.apply(&recorded(goal("done")));
    assert!(conversation.send_notes()[0].contains("no longer applies"));
    assert!(conversation.send_notes().is_empty());
}

/// Wraps an event in a record.
fn recorded(event: AgentEvent) -> lariat_core::event::EventRecord {
    lariat_core::event::EventRecord {
        v: lariat_core::event::FORMAT_VERSION,
        seq: 0,
        id: Default::default(),
        timestamp: Default::default(),
        loop_id: None,
        event,
    }
}
