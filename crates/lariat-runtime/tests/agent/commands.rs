//! Commands of clients that change a session.

use lariat_core::event::{AgentEvent, CommandRecord, QueueKind};
use lariat_core::message::AgentMessage;
use lariat_core::permission::{AskBeforeEffects, PermissionDecision};
use lariat_runtime::{AgentError, CommandEffect};
use lariat_test::{Act, Reply};

use super::fixture::{Fixture, call, kinds, until};

/// The run delivered the message before the command arrived; it must not be delivered again. Found by the simulator (world `hosts`).
#[tokio::test(start_paused = true)]
async fn command_that_replaces_a_delivered_message_records_nothing() {
    let fixture = Fixture::new([call("c1", "write"), Reply::text("done")]);
    let agent = fixture
        .agent()
        .session_id("s")
        .permission_policy(AskBeforeEffects)
        .tool(fixture.tool("write", || Act::text("ok")))
        .build()
        .unwrap();
    let mut stream = agent.stream("hi");
    let asked = until(&mut stream, "PermissionRequired").await;
    let delivered = fixture.journal(&"s".into()).await.iter().find_map(|event| match &event.event {
        AgentEvent::MessageEnd { message } => Some(message.id()),
        _ => None,
    });
    let replace = async || {
        let message = Box::new(AgentMessage::user("again"));
        let effects = vec![
            CommandEffect::Unqueue(delivered.unwrap()),
            CommandEffect::Queue(QueueKind::FollowUp, message),
        ];
        let command = CommandRecord::new("c1", "test", "user:ada", "editQueue", "digest");
        agent.record_command(command, effects).await.unwrap_err()
    };
    assert!(matches!(replace().await, AgentError::NotAsked), "during the run");
    let AgentEvent::PermissionRequired { request } = &asked.event else { panic!("{asked:?}") };
    stream.respond_permission(request.id, PermissionDecision::Allow);
    assert_eq!(stream.finish().await.unwrap().text, "done");
    assert!(matches!(replace().await, AgentError::NotAsked), "after the run");
    let kinds = kinds(&fixture.journal(&"s".into()).await);
    assert!(!kinds.iter().any(|kind| kind == "CommandAccepted" || kind == "MessageQueued"), "{kinds:?}");
}
