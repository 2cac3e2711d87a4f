//! A panic in code of the embedding program fails what it was called for, never the run.

use std::panic::resume_unwind;
use std::time::Duration;

use lariat_core::BoxFuture;
use lariat_core::cancel::CancellationToken;
use lariat_core::config::ContextConfig;
use lariat_core::context::{CompactionProposal, CompactionQuery, CompactionStrategy};
use lariat_core::event::RunOutcome;
use lariat_core::hooks::{FilterResult, Flow, Hooks, InputFilter};
use lariat_core::id::ToolCallId;
use lariat_core::message::AgentMessage;
use lariat_core::model::{ModelStream, ProviderError, StreamConfig, StreamProvider};
use lariat_core::permission::Verdict;
use lariat_core::transcript::Window;
use lariat_core::usage::Usage;
use lariat_test::tools::Ending;
use lariat_test::{Act, Answer, Reply, ScriptedPolicy};
use serde_json::Value;

use super::fixture::{Fixture, call, kinds, rest};

#[tokio::test(start_paused = true)]
async fn panicking_tool_is_a_failed_tool_call() {
    let fixture = Fixture::new([call("c1", "write"), Reply::text("I see")]);
    let agent =
        fixture.agent().tool(fixture.tool("write", || Act::panic("index out of bounds"))).build().unwrap();
    assert_eq!(agent.run("go").await.unwrap().text, "I see");
    assert!(fixture.sent_messages(1)[2].contains("index out of bounds"), "{:?}", fixture.sent_messages(1));
    assert_eq!(fixture.ledger.all()[0].ending, Ending::Panicked);
}

struct PanickingProvider;

impl StreamProvider for PanickingProvider {
    fn provider_id(&self) -> &str {
        "broken"
    }

    fn stream(&self, _request: StreamConfig, _cancel: CancellationToken) -> ModelStream {
        resume_unwind(Box::new("provider"))
    }
}

#[tokio::test(start_paused = true)]
async fn panicking_provider_fails_the_run_with_agent_end() {
    let fixture = Fixture::new([]);
    let agent = fixture.agent().model(PanickingProvider).build().unwrap();
    let error = agent.run("go").await.unwrap_err();
    assert!(error.failure().is_some_and(|failure| failure.error.contains("panicked")), "{error}");
    assert_eq!(kinds(&fixture.journal(&agent.session_id()).await).last().unwrap(), "AgentEnd");
}

/// Panics in one of the hooks.
struct PanickingHooks(&'static str);

impl PanickingHooks {
    fn panic_at(&self, point: &str) -> Flow {
        if self.0 == point { resume_unwind(Box::new("hook")) } else { Flow::Continue }
    }
}

impl Hooks for PanickingHooks {
    fn before_loop(&self, _messages: &Window, _loop_index: u64) -> Flow {
        self.panic_at("before_loop")
    }

    fn before_turn(&self, _messages: &Window, _turn_index: u32) -> Flow {
        self.panic_at("before_turn")
    }

    fn before_tool_execution(&self, _name: &str, _call: &ToolCallId, _args: &Value) -> Flow {
        self.panic_at("before_tool_execution")
    }

    fn after_tool_execution(&self, _name: &str, _call: &ToolCallId, _is_error: bool) {
        let _ = self.panic_at("after_tool_execution");
    }

    fn before_tool_execution_update(&self, _name: &str, _call: &ToolCallId, _text: &str) -> Flow {
        self.panic_at("before_tool_execution_update")
    }

    fn after_tool_execution_update(&self, _name: &str, _call: &ToolCallId, _text: &str) {
        let _ = self.panic_at("after_tool_execution_update");
    }

    fn after_turn(&self, _messages: &Window, _usage: &Usage) {
        let _ = self.panic_at("after_turn");
    }

    fn after_loop(&self, _messages: &Window, _usage: &Usage) {
        let _ = self.panic_at("after_loop");
    }

    fn on_error(&self, _error: &str) {
        let _ = self.panic_at("on_error");
    }
}

#[tokio::test(start_paused = true)]
async fn panicking_hook_stops_the_run() {
    let points = [
        "before_loop",
        "before_turn",
        "before_tool_execution",
        "after_tool_execution",
        "before_tool_execution_update",
        "after_tool_execution_update",
        "after_turn",
        "after_loop",
    ];
    for point in points {
        let fixture = Fixture::new([call("c1", "write"), Reply::text("done")]);
        let tool =
            fixture.tool("write", || Act::text("ok").with_update("part").after(Duration::from_secs(1)));
        let agent = fixture.agent().tool(tool).hooks(PanickingHooks(point)).build().unwrap();
        let mut stream = agent.run_stream("go");
        let events = kinds(&rest(&mut stream).await);
        let outcome = stream.finish().await.unwrap().outcome;
        let suppresses =
            ["before_tool_execution_update", "before_tool_execution", "before_loop", "before_turn"];
        let updates = events.iter().filter(|kind| *kind == "ToolExecutionUpdate").count();
        assert_eq!(updates, usize::from(!suppresses.contains(&point)), "{point}");
        let (stopped, ran) = match point {
            "before_loop" | "before_turn" => (RunOutcome::StoppedByHook, 0),
            "before_tool_execution" => (RunOutcome::Completed, 0),
            _ => (RunOutcome::Completed, 1),
        };
        assert_eq!((outcome, fixture.ledger.len()), (stopped, ran), "{point}");
        assert_eq!(kinds(&fixture.journal(&agent.session_id()).await).last().unwrap(), "AgentEnd");
    }
}

#[tokio::test(start_paused = true)]
async fn panicking_error_hook_does_not_change_the_error() {
    let fixture = Fixture::new([Reply::error(ProviderError::Auth("wrong key".into()))]);
    let agent = fixture.agent().hooks(PanickingHooks("on_error")).build().unwrap();
    let error = agent.run("go").await.unwrap_err();
    assert!(error.failure().is_some_and(|failure| failure.error.contains("wrong key")), "{error}");
    assert_eq!(kinds(&fixture.journal(&agent.session_id()).await).last().unwrap(), "AgentEnd");
}

#[tokio::test(start_paused = true)]
async fn panicking_policy_denies() {
    let fixture = Fixture::new([call("c1", "write"), Reply::text("I see")]);
    let policy = ScriptedPolicy::new(fixture.clock.clone(), |_| -> Answer<Verdict> { Answer::Panic });
    let agent = fixture
        .agent()
        .tool(fixture.tool("write", || Act::text("ok")))
        .permission_policy(policy)
        .build()
        .unwrap();
    assert_eq!(agent.run("go").await.unwrap().text, "I see");
    assert!(fixture.ledger.is_empty());
}

struct KeywordFilter;

impl InputFilter for KeywordFilter {
    fn filter(&self, message: &AgentMessage) -> FilterResult {
        match message.as_llm().map(|message| message.text()).unwrap_or_default().as_str() {
            "bad" => FilterResult::Reject("not here".into()),
            "odd" => FilterResult::Warn("that is odd".into()),
            "crash" => resume_unwind(Box::new("filter")),
            _ => FilterResult::Pass,
        }
    }
}

#[tokio::test(start_paused = true)]
async fn filter_passes_warns_rejects_and_rejects_when_it_panics() {
    let fixture = Fixture::new([Reply::text("one"), Reply::text("two")]);
    let agent = fixture.agent().input_filter(KeywordFilter).build().unwrap();
    assert_eq!(agent.run("bad").await.unwrap().outcome, RunOutcome::Rejected);
    assert_eq!(agent.run("crash").await.unwrap().outcome, RunOutcome::Rejected);
    assert_eq!(fixture.model.requests(), 0);
    assert_eq!(agent.run("good").await.unwrap().text, "one");
    agent.run("odd").await.unwrap();
    assert_eq!(fixture.sent_messages(1).last().unwrap(), "user: odd\n[Warning: that is odd]");
    assert_eq!(fixture.sent_messages(1)[0], "user: good", "rejected prompts are not in the conversation");
}

struct PanickingCompaction;

impl CompactionStrategy for PanickingCompaction {
    fn compact<'a>(
        &'a self,
        _query: CompactionQuery,
        _cancel: CancellationToken,
    ) -> BoxFuture<'a, CompactionProposal> {
        resume_unwind(Box::new("compaction"))
    }
}

#[tokio::test(start_paused = true)]
async fn panicking_compaction_is_refused_and_the_run_continues() {
    let fixture = Fixture::new([Reply::text("fine")]);
    let context = ContextConfig::with_window(10);
    let agent = fixture.agent().context(Some(context)).compaction(PanickingCompaction).build().unwrap();
    assert_eq!(agent.run("a prompt that is larger than the window ".repeat(9)).await.unwrap().text, "fine");
    let journal = kinds(&fixture.journal(&agent.session_id()).await);
    assert!(journal.iter().any(|kind| kind == "CompactionRefused"), "{journal:?}");
}
