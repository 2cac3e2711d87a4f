//! Tests of what clients see of a session.

use std::sync::Arc;

use super::*;
use crate::event::{CommandRecord, FORMAT_VERSION, Import};
use crate::message::{AgentMessage, LlmMessage, Message, UserMessage};

fn record(seq: u64, event: AgentEvent) -> EventRecord {
    EventRecord {
        v: FORMAT_VERSION,
        seq,
        id: EventId::new(uuid::Uuid::from_u128(u128::from(seq) + 1)),
        timestamp: Timestamp::from_millis(seq),
        loop_id: None,
        event,
    }
}

fn after(events: impl IntoIterator<Item = AgentEvent>) -> ClientState {
    let mut state = ClientState::default();
    (0..).zip(events).for_each(|(seq, event)| state.apply(&record(seq, event)));
    state
}

fn command(id: &str, by: &str) -> AgentEvent {
    AgentEvent::CommandAccepted(Box::new(CommandRecord::new(id, "test", by, "prompt", "digest")))
}

fn queued(n: u128, queue: QueueKind) -> AgentEvent {
    let message = Message::User(UserMessage::new(vec!["words".to_owned().into()]));
    let id = MessageId::new(uuid::Uuid::from_u128(n));
    AgentEvent::MessageQueued {
        queue,
        message: Arc::new(AgentMessage::Llm(LlmMessage { id, turn_id: None, message })),
    }
}

fn mode(mode: &str) -> AgentEvent {
    AgentEvent::ModeChanged { mode: mode.to_owned() }
}

#[test]
fn finds_the_position_of_each_command() {
    let state = after([command("a", "ann"), mode("plan"), command("b", "ann"), command("a", "bob")]);
    assert_eq!(state.commands_like("a"), [0, 3]);
    assert_eq!(state.commands_like("b"), [2]);
    assert_eq!(state.commands_like("c"), [0; 0]);
}

#[test]
fn only_the_event_after_a_command_is_its_effect() {
    let state = after([
        command("a", "ann"),
        queued(1, QueueKind::FollowUp),
        queued(2, QueueKind::FollowUp),
        command("b", "bob"),
        queued(3, QueueKind::Steering),
    ]);
    let senders: Vec<_> = state.queue().iter().map(|waiting| waiting.by.as_deref()).collect();
    assert_eq!(senders, [Some("bob"), Some("ann"), None]);
}

#[test]
fn decisions_of_an_import_do_not_apply() {
    let import = Import::new("i", "lariat", "s".into());
    let imported = |events: Vec<AgentEvent>| {
        let start = [mode("bypass"), AgentEvent::SessionImported(Box::new(import.clone()))];
        after(start.into_iter().chain(events))
    };
    let state = imported(vec![command("a", "ann"), mode("bypass")]);
    assert_eq!((state.mode(), state.commands_like("a").len(), state.is_commanded()), (None, 0, false));
    let taken_over = AgentEvent::SessionTakenOver { import_id: "i".to_owned() };
    assert_eq!(imported(vec![mode("bypass"), taken_over, mode("plan")]).mode(), Some("plan"));
}

#[test]
fn session_that_its_client_hosts_itself_is_left_to_that_client() {
    let mut own = CommandRecord::new("b", "test", "ann", "prompt", "digest");
    own.is_in_process = true;
    let own = AgentEvent::CommandAccepted(Box::new(own));
    assert!(after([command("a", "ann")]).is_commanded());
    assert!(!after([command("a", "ann"), own.clone()]).is_commanded());
    assert!(after([own, command("a", "ann")]).is_commanded());
}

#[test]
fn state_survives_its_snapshot() {
    let state = after([command("a", "ann"), queued(1, QueueKind::Steering), mode("plan")]);
    let json = serde_json::to_string(&state).unwrap();
    assert_eq!(serde_json::from_str::<ClientState>(&json).unwrap(), state);
}

#[test]
fn restore_of_files_and_command_of_the_user_are_open_until_their_end() {
    let restore = FileRestore::new(vec!["c1".to_owned()], None);
    let started = || AgentEvent::FileRestoreStarted(Box::new(restore.clone()));
    let state = after([started()]);
    assert_eq!((state.file_restore(), state.has_file_restore()), (Some(&restore), true));
    let ended = AgentEvent::FileRestoreEnded(Box::default());
    assert!(!after([started(), ended]).has_file_restore());

    let run =
        || AgentEvent::UserCommandStarted { command_id: "k".to_owned(), command: "cargo test".to_owned() };
    assert_eq!(after([run()]).user_command().unwrap().command, "cargo test");
    assert_eq!(after([run(), AgentEvent::UserCommandEnded(Box::default())]).user_command(), None);

    // What another machine began is not this one's to finish.
    let import = AgentEvent::SessionImported(Box::new(Import::new("i", "lariat", SessionId::from("s"))));
    let imported = after([import, started(), run()]);
    assert!(!imported.has_file_restore() && imported.user_command().is_none());
}
