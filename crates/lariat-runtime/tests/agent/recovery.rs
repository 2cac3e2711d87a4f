//! A process that dies during a run, and another one that resumes the session.

use std::sync::Arc;

use lariat_core::event::{AgentEvent, RunOutcome};
use lariat_core::id::SessionId;
use lariat_runtime::AgentError;
use lariat_test::tools::Ending;
use lariat_test::{Act, Reply, ScriptedModel};
use tokio::runtime::{Builder, Runtime};

use super::fixture::{Fixture, call, kinds, starts, until};

fn process() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// Fixtures in which a process died while a tool ran.
fn after_death_mid_tool(rest: impl IntoIterator<Item = Reply>) -> Arc<Fixture> {
    let replies = [call("c1", "write")].into_iter().chain(rest);
    let fixture = Arc::new(Fixture::without_time(ScriptedModel::new(replies)));
    let first = process();
    first.block_on(async {
        let agent = fixture.agent().session_id("s").tool(fixture.tool("write", Act::never)).build().unwrap();
        let mut stream = agent.run_stream("write it");
        until(&mut stream, "ToolExecutionStart").await;
        while fixture.ledger.running() == 0 {
            tokio::task::yield_now().await;
        }
        // Forget the stream instead of dropping it: the process dies.
        std::mem::forget(stream);
    });
    drop(first);
    assert_eq!(fixture.ledger.all()[0].ending, Ending::Dropped);
    fixture
}

fn session() -> SessionId {
    "s".into()
}

#[test]
fn interrupted_run_is_reported_and_recovered_without_running_its_tool_twice() {
    let fixture = after_death_mid_tool([Reply::text("I will check first"), Reply::text("next")]);
    process().block_on(async {
        let agent =
            fixture.agent().session_id("s").tool(fixture.tool("write", || Act::text("ok"))).build().unwrap();
        let before = fixture.journal(&session()).await;
        for _ in 0..3 {
            let Err(AgentError::Interrupted(open)) = agent.run("hello?").await else { panic!() };
            assert_eq!(open, starts(&before)[0].loop_id);
        }
        assert_eq!(fixture.journal(&session()).await, before, "a refused prompt writes nothing");

        let output = agent.recover().await.unwrap().unwrap();
        assert_eq!(output.text, "I will check first");
        assert_eq!(output.outcome, RunOutcome::Completed);
        assert_eq!(fixture.ledger.len(), 1, "the tool did not run again");
        let sent_messages = fixture.sent_messages(1);
        assert_eq!(sent_messages[0], "user: write it");
        assert!(sent_messages[2].starts_with("tool: Interrupted"), "{sent_messages:?}");
        let journal = fixture.journal(&session()).await;
        assert!(journal.iter().any(|event| matches!(
            &event.event,
            AgentEvent::LoopRecovered { interrupted, .. } if *interrupted == ["c1".into()]
        )));
        assert_eq!(kinds(&journal).iter().filter(|kind| *kind == "AgentEnd").count(), 1);

        assert!(agent.recover().await.unwrap().is_none());
        assert_eq!(agent.run("hello?").await.unwrap().text, "next");
        fixture.assert_valid();
    });
}

#[test]
fn message_queued_before_the_crash_is_still_delivered() {
    let fixture = Arc::new(Fixture::without_time(ScriptedModel::new([
        call("c1", "write"),
        Reply::text("I see"),
        Reply::text("that too"),
    ])));
    let first = process();
    first.block_on(async {
        let agent = fixture.agent().session_id("s").tool(fixture.tool("write", Act::never)).build().unwrap();
        let mut stream = agent.run_stream("write it");
        until(&mut stream, "ToolExecutionStart").await;
        agent.follow_up("remember me");
        until(&mut stream, "MessageQueued").await;
        std::mem::forget(stream);
    });
    drop(first);
    process().block_on(async {
        let agent = fixture.agent().session_id("s").build().unwrap();
        let output = agent.recover().await.unwrap().unwrap();
        assert_eq!(output.text, "that too");
        assert_eq!(fixture.sent_messages(2).last().unwrap(), "user: remember me");
        agent.run("next").await.unwrap();
        assert_eq!(fixture.sent_messages(3).last().unwrap(), "user: next", "the message is delivered once");
        assert_eq!(fixture.model.requests(), 4);
    });
}

#[test]
fn same_agent_recovers_after_its_task_was_lost() {
    let fixture =
        Arc::new(Fixture::without_time(ScriptedModel::new([call("c1", "write"), Reply::text("continued")])));
    let agent = fixture.agent().session_id("s").tool(fixture.tool("write", Act::never)).build().unwrap();
    let first = process();
    let stream = first.block_on(async {
        let mut stream = agent.run_stream("write it");
        until(&mut stream, "ToolExecutionStart").await;
        stream
    });
    drop(first);
    process().block_on(async {
        assert!(matches!(stream.finish().await, Err(AgentError::TaskLost)));
        assert!(!agent.is_streaming());
        assert!(matches!(agent.run("hello?").await, Err(AgentError::Interrupted(_))));
        assert_eq!(agent.recover().await.unwrap().unwrap().text, "continued");
        assert_eq!(agent.messages().len(), 4);
    });
}

#[test]
fn restored_conversation_is_recovered_like_any_other() {
    let fixture =
        Arc::new(Fixture::without_time(ScriptedModel::new([call("c1", "write"), Reply::text("continued")])));
    let first = process();
    first.block_on(async {
        let agent = fixture.agent().session_id("s").tool(fixture.tool("write", Act::never)).build().unwrap();
        let saved = r#"[{"role": "user", "content": [{"type": "text", "text": "from elsewhere"}]}]"#;
        agent.restore_messages(saved).unwrap();
        let mut stream = agent.continue_loop().unwrap();
        until(&mut stream, "ToolExecutionStart").await;
        std::mem::forget(stream);
    });
    drop(first);
    process().block_on(async {
        let agent = fixture.agent().session_id("s").build().unwrap();
        agent.recover().await.unwrap().unwrap();
        assert_eq!(fixture.sent_messages(1)[0], "user: from elsewhere");
        assert_eq!(agent.messages().len(), 4);
        fixture.assert_valid();
    });
}
