//! Hooks and input filters of the embedding program: how often they are called, in which order, and what they suppress.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use lariat_core::content::joined_text;
use lariat_core::event::{AgentEvent, RunOutcome};
use lariat_core::hooks::{FilterResult, Flow, Hooks, InputFilter};
use lariat_core::id::ToolCallId;
use lariat_core::message::AgentMessage;
use lariat_core::permission::{AskBeforeEffects, PermissionDecision};
use lariat_runtime::AgentBuilder;
use lariat_test::tools::Ending;
use lariat_test::{Act, Reply, ScriptedModel};
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};

use super::fixture::{Fixture, call, rest, until};

/// The calls of hooks and filters, in order.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn add(&self, line: String) {
        self.0.lock().unwrap().push(line);
    }

    fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

/// Suppresses updates with the text `secret`.
struct UpdateHooks(Log);

impl Hooks for UpdateHooks {
    fn before_tool_execution_update(&self, name: &str, call: &ToolCallId, text: &str) -> Flow {
        self.0.add(format!("before {name} {call} {text}"));
        if text == "secret" { Flow::Stop } else { Flow::Continue }
    }

    fn after_tool_execution_update(&self, name: &str, call: &ToolCallId, text: &str) {
        self.0.add(format!("after {name} {call} {text}"));
    }
}

#[tokio::test(start_paused = true)]
async fn stopped_update_is_not_published_and_the_tool_continues() {
    let fixture = Fixture::new([call("c1", "write"), Reply::text("done")]);
    let second = Duration::from_secs(1);
    let tool = fixture.tool("write", move || {
        let act = Act::text("ok").with_update("one").after(second).with_update("secret").after(second);
        act.with_update("three").after(second)
    });
    let log = Log::default();
    let agent = fixture.agent().tool(tool).hooks(UpdateHooks(log.clone())).build().unwrap();
    let mut stream = agent.run_stream("go");
    let events = rest(&mut stream).await;
    let published: Vec<String> = events
        .iter()
        .filter_map(|event| match &event.event {
            AgentEvent::ToolExecutionUpdate { partial_result, .. } => {
                Some(joined_text(&partial_result.content))
            }
            _ => None,
        })
        .collect();
    assert_eq!(published, ["one", "three"]);
    assert_eq!(
        log.lines(),
        [
            "before write c1 one",
            "after write c1 one",
            "before write c1 secret",
            "before write c1 three",
            "after write c1 three"
        ]
    );
    assert_eq!(fixture.ledger.all()[0].ending, Ending::Returned);
    assert_eq!(fixture.sent_messages(1).last().unwrap(), "tool: ok");
}

/// Records the tool calls that are about to start.
struct StartHooks(Log);

impl Hooks for StartHooks {
    fn before_tool_execution(&self, name: &str, call: &ToolCallId, _args: &Value) -> Flow {
        self.0.add(format!("{name} {call}"));
        Flow::Continue
    }
}

fn asking(fixture: &Fixture, log: &Log) -> AgentBuilder {
    let agent = fixture.agent().session_id("s").permission_policy(AskBeforeEffects);
    agent.tool(fixture.tool("write", || Act::text("ok"))).hooks(StartHooks(log.clone()))
}

fn process() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

#[tokio::test(start_paused = true)]
async fn hook_before_a_tool_call_is_not_called_again_after_approval() {
    let fixture = Fixture::new([call("c1", "write"), Reply::text("done")]);
    let log = Log::default();
    let agent = asking(&fixture, &log).build().unwrap();
    let mut stream = agent.run_stream("go");
    until(&mut stream, "PermissionRequired").await;
    assert_eq!(log.lines(), ["write c1"], "the hook comes before the approval");
    stream.respond_permission(agent.pending_permissions()[0].id, PermissionDecision::Allow);
    stream.finish().await.unwrap();
    assert_eq!((log.lines().len(), fixture.ledger.len()), (1, 1));
}

#[test]
fn hook_before_a_tool_call_is_not_called_again_after_a_crash_at_the_approval() {
    let replies = [call("c1", "write"), Reply::text("done")];
    let (fixture, log) = (Arc::new(Fixture::without_time(ScriptedModel::new(replies))), Log::default());
    let first = process();
    first.block_on(async {
        let agent = asking(&fixture, &log).build().unwrap();
        let mut stream = agent.run_stream("go");
        until(&mut stream, "PermissionRequired").await;
        // Forget the stream instead of dropping it: the process dies.
        std::mem::forget(stream);
    });
    drop(first);
    process().block_on(async {
        let agent = asking(&fixture, &log).build().unwrap();
        let mut stream = agent.recover_stream().unwrap();
        until(&mut stream, "PermissionRequired").await;
        stream.respond_permission(agent.pending_permissions()[0].id, PermissionDecision::Allow);
        stream.finish().await.unwrap();
        assert_eq!((log.lines().len(), fixture.ledger.len()), (1, 1));
    });
}

/// Records its name, and warns with it or rejects.
struct NamedFilter(&'static str, Log, fn(String) -> FilterResult);

impl InputFilter for NamedFilter {
    fn filter(&self, _message: &AgentMessage) -> FilterResult {
        self.1.add(self.0.to_owned());
        (self.2)(self.0.to_owned())
    }
}

#[tokio::test(start_paused = true)]
async fn filters_run_in_order_until_one_rejects() {
    let fixture = Fixture::new([Reply::text("fine")]);
    let log = Log::default();
    let filter = |name, result| NamedFilter(name, log.clone(), result);
    let agent = fixture.agent().input_filter(filter("b", FilterResult::Warn));
    let agent = agent.input_filter(filter("a", FilterResult::Warn)).build().unwrap();
    agent.run("hello").await.unwrap();
    assert_eq!(log.lines(), ["b", "a"]);
    assert_eq!(fixture.sent_messages(0), ["user: hello\n[Warning: b]\n[Warning: a]"]);

    let log = Log::default();
    let filter = |name, result| NamedFilter(name, log.clone(), result);
    let agent = fixture.agent().input_filter(filter("b", FilterResult::Warn));
    let agent = agent.input_filter(filter("no", FilterResult::Reject));
    let agent = agent.input_filter(filter("a", FilterResult::Warn)).build().unwrap();
    assert_eq!(agent.run("hello").await.unwrap().outcome, RunOutcome::Rejected);
    assert_eq!(log.lines(), ["b", "no"], "no filter follows the one that rejected");
    assert_eq!(fixture.model.requests(), 1);
}
