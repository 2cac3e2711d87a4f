//! Configured hooks: what they receive and when, what their answers do, and what their failure means.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lariat_core::BoxFuture;
use lariat_core::cancel::CancellationToken;
use lariat_core::config::ContextConfig;
use lariat_core::content::Content;
use lariat_core::context::{CompactionProposal, CompactionQuery, CompactionStrategy};
use lariat_core::event::{AgentEvent, CompactionEdit, Description, Event, RunOutcome};
use lariat_core::hooks::{FilterResult, Flow, HookAnswer, Hooks, InputFilter, LifecycleEventKind};
use lariat_core::id::{SessionId, ToolCallId};
use lariat_core::message::AgentMessage;
use lariat_core::model::ProviderError;
use lariat_core::permission::{Approver, PermissionDecision, PermissionRequest, Verdict};
use lariat_core::replay::{config_of, replay_session};
use lariat_core::run::ToolTraits;
use lariat_core::tool::ToolEffects;
use lariat_core::transcript::Window;
use lariat_core::usage::Usage;
use lariat_guard::hooks::{Handler, HandlerResult, HookConfig, HookRunner, Invocation};
use lariat_guard::{NoLinks, SessionDirectories, Trust};
use lariat_runtime::prompt::{Section, SectionStability};
use lariat_runtime::{Agent, Gate};
use lariat_test::{Act, Answer, Reply, ScriptedHooks, ScriptedPolicy};
use serde_json::{Value, json};

use super::fixture::{Fixture, call, durable, idle, kind, kinds, rest, until};

/// Everything that happened, in order.
type Log = Arc<Mutex<Vec<String>>>;

/// Runs no programs: returns what the command says. `exit 2 why` blocks, `hang` never ends, `late` ends after
/// its timeout.
#[derive(Default)]
struct ScriptedCommands {
    log: Log,
    inputs: Mutex<Vec<Value>>,
    hanging: AtomicUsize,
}

/// Counts a hanging hook until it is dropped.
struct HangingRunner<'a>(&'a AtomicUsize);

impl Drop for HangingRunner<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl HookRunner for ScriptedCommands {
    fn run<'a>(&'a self, handler: &'a Handler, input: &'a str) -> BoxFuture<'a, HandlerResult> {
        let inputs: Value = serde_json::from_str(input).unwrap();
        self.log.lock().unwrap().push(inputs["hook_event_name"].as_str().unwrap().to_owned());
        self.inputs.lock().unwrap().push(inputs);
        let Invocation::Shell(command) = &handler.way else { panic!() };
        let exited = |code, output: &str, errors: &str| {
            let ended = HandlerResult::Exited { code, output: output.to_owned(), errors: errors.to_owned() };
            Box::pin(std::future::ready(ended))
        };
        match command.split_once("exit 2 ") {
            Some((_, reason)) => exited(2, "", reason),
            None if command == "hang" => Box::pin(async {
                self.hanging.fetch_add(1, Ordering::SeqCst);
                let _hanging = HangingRunner(&self.hanging);
                std::future::pending().await
            }),
            None if command == "late" => Box::pin(async {
                tokio::time::sleep(handler.timeout).await;
                HandlerResult::TimedOut
            }),
            None if command == "ok" => exited(0, "", ""),
            None => exited(0, command, ""),
        }
    }
}

impl ScriptedCommands {
    /// Returns all inputs of an event.
    fn of(&self, event: &str) -> Vec<Value> {
        let inputs = self.inputs.lock().unwrap();
        inputs.iter().filter(|inputs| inputs["hook_event_name"] == event).cloned().collect()
    }
}

fn hooked(hooks: &Value) -> (Arc<Gate>, Arc<ScriptedCommands>) {
    let mut hook_config = HookConfig::default();
    assert_eq!(hook_config.add("settings.json", hooks), []);
    let commands = Arc::new(ScriptedCommands::default());
    let gate =
        Gate::new(Vec::new(), Trust::Trusted, SessionDirectories::new("/w", "/people/me"), Arc::new(NoLinks));
    (Arc::new(gate.with_hooks(hook_config, commands.clone())), commands)
}

/// Configures one handler for each of these events.
fn on<'a>(handlers: impl IntoIterator<Item = (&'a str, &'a str)>) -> Value {
    let entry =
        |(event, command): (&str, &str)| (event.to_owned(), json!([{"hooks": [{"command": command}]}]));
    Value::Object(handlers.into_iter().map(entry).collect())
}

fn stops(reason: &str) -> String {
    json!({"continue": false, "stopReason": reason}).to_string()
}

/// In-process hooks that log their names.
struct LoggingHooks(Log);

impl LoggingHooks {
    fn note(&self, name: &str) -> Flow {
        self.0.lock().unwrap().push(name.to_owned());
        Flow::Continue
    }
}

impl Hooks for LoggingHooks {
    fn before_loop(&self, _: &Window, _: u64) -> Flow {
        self.note("before_loop")
    }
    fn after_loop(&self, _: &Window, _: &Usage) {
        let _ = self.note("after_loop");
    }
    fn before_turn(&self, _: &Window, _: u32) -> Flow {
        self.note("before_turn")
    }
    fn after_turn(&self, _: &Window, _: &Usage) {
        let _ = self.note("after_turn");
    }
    fn before_tool_execution(&self, _: &str, _: &ToolCallId, _: &Value) -> Flow {
        self.note("before_tool_execution")
    }
    fn after_tool_execution(&self, _: &str, _: &ToolCallId, _: bool) {
        let _ = self.note("after_tool_execution");
    }
}

impl InputFilter for LoggingHooks {
    fn filter(&self, _: &AgentMessage) -> FilterResult {
        let _ = self.note("input filter");
        FilterResult::Pass
    }
}

#[tokio::test(start_paused = true)]
async fn in_process_and_configured_hooks_run_in_a_fixed_order() {
    let fixture = Fixture::new([call("c1", "write"), Reply::text("done")]);
    let (gate, commands) = hooked(&on([
        ("SessionStart", "ok"),
        ("UserPromptSubmit", "ok"),
        ("PreToolUse", "ok"),
        ("PermissionRequest", "ok"),
        ("Notification", "ok"),
        ("PostToolUse", "ok"),
        ("Stop", "ok"),
        ("SessionEnd", "ok"),
    ]));
    let agent = fixture.agent().permission_policy(gate).tool(fixture.tool("write", || Act::text("written")));
    let agent =
        agent.hooks(LoggingHooks(commands.log.clone())).input_filter(LoggingHooks(commands.log.clone()));
    let agent = agent.build().unwrap();
    let mut stream = agent.run_stream("go");
    let event = until(&mut stream, "PermissionRequired").await;
    let AgentEvent::PermissionRequired { request } = &event.event else { panic!() };
    // The user answers after the notification was sent.
    while commands.of("Notification").is_empty() {
        tokio::task::yield_now().await;
    }
    stream.respond_permission(request.id, PermissionDecision::Allow);
    assert_eq!(stream.finish().await.unwrap().text, "done");
    agent.close().await;
    assert_eq!(
        *commands.log.lock().unwrap(),
        [
            "SessionStart",
            "before_loop",
            "input filter",
            "UserPromptSubmit",
            "before_turn",
            "before_tool_execution",
            "PreToolUse",
            "PermissionRequest",
            "Notification",
            "PostToolUse",
            "after_tool_execution",
            "after_turn",
            "before_turn",
            "after_turn",
            "Stop",
            "after_loop",
            "SessionEnd",
        ]
    );
    assert_eq!(commands.of("Notification")[0]["notification_type"], "permission_prompt");
    fixture.assert_valid();
}

#[tokio::test(start_paused = true)]
async fn hooks_learn_that_a_run_failed_and_cannot_change_it() {
    let fixture = Fixture::new([Reply::error(ProviderError::Auth("no key".into()))]);
    let (gate, commands) = hooked(&on([("StopFailure", "exit 2 not like this"), ("Stop", "ok")]));
    let agent = fixture.agent().permission_policy(gate).build().unwrap();
    let outcome = agent.run("go").await.unwrap_err().into_output().unwrap().outcome;
    assert!(matches!(outcome, RunOutcome::Failed { .. }), "{outcome:?}");
    let calls = commands.of("StopFailure");
    assert_eq!((calls.len(), commands.of("Stop").len()), (1, 0));
    assert!(calls[0]["error_details"].as_str().unwrap().contains("no key"), "{calls:?}");
    fixture.assert_valid();
}

#[tokio::test(start_paused = true)]
async fn prompt_blocked_by_a_hook_never_reaches_the_model() {
    let fixture = Fixture::new([Reply::text("done")]);
    let (gate, commands) = hooked(&on([("UserPromptSubmit", "exit 2 not on Sundays")]));
    let agent = fixture.agent().permission_policy(gate).build().unwrap();
    let output = agent.run("go").await.unwrap();
    assert_eq!((output.outcome, fixture.model.requests()), (RunOutcome::Rejected, 0));
    let journal = fixture.journal(&agent.session_id()).await;
    let rejected = journal.iter().find_map(|event| match &event.event {
        AgentEvent::InputRejected { reason } => Some(reason.clone()),
        _ => None,
    });
    assert_eq!(rejected.as_deref(), Some("not on Sundays"));
    assert_eq!(commands.of("UserPromptSubmit")[0]["prompt"], "go");
}

#[tokio::test(start_paused = true)]
async fn context_from_session_start_and_prompt_hooks_is_in_the_prompt() {
    let fixture = Fixture::new([Reply::text("one"), Reply::text("two")]);
    let (gate, commands) = hooked(&on([("SessionStart", "use tabs"), ("UserPromptSubmit", "it rains")]));
    let agent = fixture.agent().permission_policy(gate).build().unwrap();
    agent.run("go").await.unwrap();
    agent.run("on").await.unwrap();
    assert_eq!(fixture.sent_messages(0), ["user: go\n[Hook: use tabs]\n[Hook: it rains]"]);
    assert_eq!(fixture.sent_messages(1)[2], "user: on\n[Hook: it rains]");
    assert_eq!(commands.of("SessionStart").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn session_hooks_receive_how_the_session_starts_and_ends() {
    let fixture = Fixture::new((0..8).map(|_| Reply::text("done")));
    let (gate, commands) = hooked(&on([("SessionStart", "ok"), ("SessionEnd", "ok")]));
    let agent = |session: &str| {
        let memory = Section::new("memory", SectionStability::SemiStatic, "Use tabs.");
        let agent = fixture.agent().permission_policy(gate.clone()).session_id(SessionId::from(session));
        // Events before the first loop do not make the session a resumed one.
        let agent = agent.description(Description::default()).section(memory);
        agent.build().unwrap()
    };
    let first = agent("s");
    first.run("go").await.unwrap();
    first.new_session().unwrap();
    first.run("go").await.unwrap();
    drop(first);
    agent("s").run("go").await.unwrap();
    tokio::time::sleep(Duration::from_secs(5)).await;
    let sources: Vec<_> = commands.of("SessionStart").iter().map(|inputs| inputs["source"].clone()).collect();
    assert_eq!(sources, ["startup", "clear", "resume"]);
    let ends: Vec<_> = commands.of("SessionEnd").iter().map(|inputs| inputs["reason"].clone()).collect();
    assert_eq!(ends, ["clear", "other", "other"]);
    // An agent without a run has no session to end.
    agent("s").close().await;
    assert_eq!(commands.of("SessionEnd").len(), 3);
}

#[tokio::test(start_paused = true)]
async fn session_neither_ends_nor_starts_when_another_agent_takes_over() {
    let fixture = Fixture::new([Reply::text("one"), Reply::text("two")]);
    let (gate, commands) = hooked(&on([("SessionStart", "ok"), ("SessionEnd", "ok")]));
    let first = fixture.agent().permission_policy(gate.clone()).build().unwrap();
    first.run("go").await.unwrap();
    let second = fixture.agent().permission_policy(gate).session_id(first.session_id()).build().unwrap();
    second.take_over(&first);
    first.close().await;
    drop(first);
    second.run("on").await.unwrap();
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!((commands.of("SessionStart").len(), commands.of("SessionEnd").len()), (1, 0));
    second.close().await;
    assert_eq!((commands.of("SessionStart").len(), commands.of("SessionEnd").len()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn close_waits_at_most_1500_ms_for_hooks_and_drop_does_not_wait() {
    let fixture = Fixture::new([Reply::text("done"), Reply::text("done")]);
    let (gate, commands) = hooked(&on([("SessionEnd", "hang")]));
    let agent = fixture.agent().permission_policy(gate).build().unwrap();
    agent.run("go").await.unwrap();
    let before = fixture.clock.now();
    agent.close().await;
    assert_eq!(fixture.clock.now().since(before), Duration::from_millis(1_500));
    assert_eq!((commands.of("SessionEnd").len(), commands.hanging.load(Ordering::SeqCst)), (1, 0));
    agent.run("go").await.unwrap();
    let before = fixture.clock.now();
    drop(agent);
    assert_eq!(fixture.clock.now(), before);
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!((commands.of("SessionEnd").len(), commands.hanging.load(Ordering::SeqCst)), (2, 0));
}

#[tokio::test(start_paused = true)]
async fn hook_that_blocks_the_end_continues_the_run_and_its_journal_replays() {
    let fixture = Fixture::new((0..9).map(|n| Reply::text(format!("reply {n}"))));
    let (gate, commands) = hooked(&on([("Stop", "exit 2 the tests fail")]));
    let agent = fixture.agent().permission_policy(gate).build().unwrap();
    let output = agent.run("go").await.unwrap();
    assert_eq!((output.outcome, output.text.as_str()), (RunOutcome::Completed, "reply 8"));
    assert_eq!(fixture.sent_messages(1), ["user: go", "assistant: reply 0", "user: [Hook: the tests fail]"]);
    let inputs = commands.of("Stop");
    let active: Vec<_> = inputs.iter().map(|inputs| inputs["stop_hook_active"].as_bool().unwrap()).collect();
    assert_eq!(active, [false, true, true, true, true, true, true, true]);
    assert_eq!(inputs[1]["last_assistant_message"], "reply 1");
    let journal = fixture.journal(&agent.session_id()).await;
    for replay in replay_session(&Arc::new(config_of(&journal)), &journal) {
        assert_eq!(replay.divergence, None);
    }
    fixture.assert_valid();
}

#[tokio::test(start_paused = true)]
async fn hooks_without_objections_do_not_change_the_journal() {
    let journal = async |hooks: Option<Value>| {
        let fixture = Fixture::new([call("c1", "write"), Reply::text("done")]);
        let agent = fixture.agent().tool(fixture.tool("write", || Act::text("written")));
        let agent = match hooks {
            Some(hooks) => agent.permission_policy(hooked(&hooks).0).approver(ApproveAll),
            None => agent,
        };
        let agent = agent.build().unwrap();
        agent.run("go").await.unwrap();
        kinds(&durable(&fixture.journal(&agent.session_id()).await))
    };
    let asked = ["PermissionRequired", "PermissionDecided"];
    let mut plain = journal(Some(json!({}))).await;
    plain.retain(|kind| !asked.contains(&kind.as_str()));
    assert_eq!(plain, journal(None).await);
    let events = ["SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "PostCompact", "Notification"];
    let mut silent = journal(Some(on(events.map(|event| (event, "ok"))))).await;
    silent.retain(|kind| !asked.contains(&kind.as_str()));
    assert_eq!(silent, plain, "hooks without objections leave no trace");
}

/// An approver that always approves.
struct ApproveAll;

impl Approver for ApproveAll {
    fn ask<'a>(&'a self, _: &'a PermissionRequest) -> BoxFuture<'a, PermissionDecision> {
        Box::pin(std::future::ready(PermissionDecision::Allow))
    }
}

#[tokio::test(start_paused = true)]
async fn continue_false_in_any_hook_ends_the_run_with_its_reason() {
    for event in
        ["SessionStart", "UserPromptSubmit", "PreToolUse", "PermissionRequest", "PostToolUse", "Stop"]
    {
        let fixture = Fixture::new([call("c1", "write"), Reply::text("done"), Reply::text("too far")]);
        let (gate, commands) = hooked(&on([(event, stops("enough for today").as_str())]));
        let agent = fixture.agent().permission_policy(gate).approver(ApproveAll);
        let agent = agent.tool(fixture.tool("write", || Act::text("written"))).build().unwrap();
        let output = agent.run("go").await.unwrap();
        assert_eq!(output.outcome, RunOutcome::StoppedByHook, "{event}");
        let journal = fixture.journal(&agent.session_id()).await;
        let reasons: Vec<_> = journal
            .iter()
            .filter_map(|event| match &event.event {
                AgentEvent::HookStopped { reason } => Some(reason.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(reasons, ["enough for today"], "{event}");
        assert_eq!(commands.of(event).len(), 1, "{event}");
        // The number of requests before the stop: the model was not called again.
        let requests = match event {
            "SessionStart" | "UserPromptSubmit" => 0,
            "Stop" => 2,
            _ => 1,
        };
        assert_eq!(fixture.model.requests(), requests, "{event}");
        assert_eq!(fixture.ledger.len(), usize::from(matches!(event, "PostToolUse" | "Stop")), "{event}");
        let mut config = config_of(&journal);
        let traits = ToolTraits::new(ToolEffects::WRITES, true);
        config.tools.insert("write".to_owned(), traits);
        for replay in replay_session(&Arc::new(config), &journal) {
            assert_eq!(replay.divergence, None, "{event}");
        }
    }
}

/// What hooks said to the user.
fn hook_messages(journal: &[Event]) -> Vec<&str> {
    journal
        .iter()
        .filter_map(|event| match &event.event {
            AgentEvent::HookMessage { message } => Some(message.as_str()),
            _ => None,
        })
        .collect()
}

#[tokio::test(start_paused = true)]
async fn message_of_any_hook_is_recorded_for_the_user_and_not_for_the_model() {
    for event in
        ["SessionStart", "UserPromptSubmit", "PreToolUse", "PermissionRequest", "PostToolUse", "Stop"]
    {
        let fixture = Fixture::new([call("c1", "write"), Reply::text("done")]);
        let (gate, _) = hooked(&on([(event, r#"{"systemMessage": "formatted 2 files"}"#)]));
        let agent = fixture.agent().permission_policy(gate).approver(ApproveAll);
        let agent = agent.tool(fixture.tool("write", || Act::text("written"))).build().unwrap();
        assert_eq!(agent.run("go").await.unwrap().outcome, RunOutcome::Completed, "{event}");
        let journal = fixture.journal(&agent.session_id()).await;
        assert_eq!(hook_messages(&journal), ["formatted 2 files"], "{event}");
        assert_eq!(kind(&journal[0]), "AgentStart", "{event}");
        let is_message = |record: &&Event| matches!(record.event, AgentEvent::MessageEnd { .. });
        let messages: Vec<&Event> = journal.iter().filter(is_message).collect();
        assert!(!format!("{messages:?}").contains("formatted"), "{event}");
        let mut config = config_of(&journal);
        let traits = ToolTraits::new(ToolEffects::WRITES, true);
        config.tools.insert("write".to_owned(), traits);
        for replay in replay_session(&Arc::new(config), &journal) {
            assert_eq!(replay.divergence, None, "{event}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn message_of_a_hook_that_blocks_is_recorded() {
    let deny = r#"{"decision": "block", "reason": "no", "systemMessage": "ask the owner"}"#;
    for (event, requests) in [("UserPromptSubmit", 0), ("PreToolUse", 2)] {
        let fixture = Fixture::new([call("c1", "write"), Reply::text("done")]);
        let (gate, _) = hooked(&on([(event, deny)]));
        let agent = fixture.agent().permission_policy(gate).approver(ApproveAll);
        let agent = agent.tool(fixture.tool("write", || Act::text("written"))).build().unwrap();
        agent.run("go").await.unwrap();
        let journal = fixture.journal(&agent.session_id()).await;
        assert_eq!(hook_messages(&journal), ["ask the owner"], "{event}");
        assert_eq!((fixture.model.requests(), fixture.ledger.len()), (requests, 0), "{event}");
    }
}

#[tokio::test(start_paused = true)]
async fn run_with_a_hanging_hook_can_be_cancelled() {
    for event in ["SessionStart", "UserPromptSubmit", "Stop", "PreToolUse"] {
        let fixture = Fixture::new([call("c1", "write"), Reply::text("done")]);
        let (gate, commands) = hooked(&on([(event, "hang")]));
        let agent = fixture.agent().permission_policy(gate).approver(ApproveAll);
        let agent = agent.tool(fixture.tool("write", || Act::text("written"))).build().unwrap();
        let stream = agent.run_stream("go");
        while commands.hanging.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
        stream.cancel();
        assert_eq!(stream.finish().await.unwrap().outcome, RunOutcome::Aborted, "{event}");
        idle(&agent).await;
        assert_eq!(commands.hanging.load(Ordering::SeqCst), 0, "{event}");
    }
}

#[tokio::test(start_paused = true)]
async fn prompt_hook_that_times_out_blocks_the_prompt() {
    let fixture = Fixture::new([Reply::text("done")]);
    let (gate, _) = hooked(&on([("UserPromptSubmit", "late")]));
    let agent = fixture.agent().permission_policy(gate).build().unwrap();
    let before = fixture.clock.now();
    assert_eq!(agent.run("go").await.unwrap().outcome, RunOutcome::Rejected);
    assert_eq!(fixture.clock.now().since(before), Duration::from_secs(30));
    assert_eq!(fixture.model.requests(), 0);
}

#[tokio::test(start_paused = true)]
async fn panicking_hooks_block_only_what_can_be_blocked() {
    for kind in LifecycleEventKind::ALL {
        let fixture = Fixture::new((0..9).map(|_| Reply::text("done")));
        let hooks = ScriptedHooks::new(Arc::clone(&fixture.clock), move |moment| {
            if moment.kind() == kind { Answer::Panic } else { HookAnswer::default().into() }
        });
        let policy = ScriptedPolicy::new(Arc::clone(&fixture.clock), |_| Verdict::Allow.into());
        let agent = fixture.agent().permission_policy(policy.with_hooks(hooks)).build().unwrap();
        let outcome = agent.run("go").await.unwrap().outcome;
        let rejected = kind == LifecycleEventKind::Prompt;
        assert_eq!(outcome == RunOutcome::Rejected, rejected, "{kind:?}: {outcome:?}");
        // The hook blocks the end as often as allowed, then the run ends.
        let requests = if kind == LifecycleEventKind::Stop { 9 } else { usize::from(!rejected) };
        assert_eq!(fixture.model.requests(), requests, "{kind:?}");
    }
}

/// Keeps only user messages.
struct KeepUserMessages;

impl CompactionStrategy for KeepUserMessages {
    fn compact<'a>(
        &'a self,
        query: CompactionQuery,
        _: CancellationToken,
    ) -> BoxFuture<'a, CompactionProposal> {
        let going = query
            .window
            .iter()
            .filter(|message| message.as_user().is_none_or(|user| !user.origin.is_from_user()));
        let drop = |id| CompactionEdit::Drop { first: id, last: id };
        let edits = going.map(|message| drop(message.id())).collect();
        Box::pin(std::future::ready(CompactionProposal { edits, ..CompactionProposal::default() }))
    }
}

/// Creates an agent with a long conversation in a small window.
fn agent_with_small_window(fixture: &Fixture, gate: Arc<Gate>) -> Agent {
    let mut context = ContextConfig::with_window(1_000);
    (context.keep_first, context.keep_recent, context.system_prompt_tokens) = (0, 1, 0);
    let agent = fixture.agent().permission_policy(gate).context(Some(context)).compaction(KeepUserMessages);
    let agent = agent.build().unwrap();
    let talk: Vec<AgentMessage> = (0..4).map(|_| AgentMessage::note("n", "word ".repeat(250))).collect();
    agent.restore_messages(&serde_json::to_string(&talk).unwrap()).unwrap();
    agent
}

#[tokio::test(start_paused = true)]
async fn hooks_are_notified_of_a_compaction_and_their_context_is_in_the_next_request() {
    let fixture = Fixture::new([Reply::text("done")]);
    let mut hooks = on([("PreCompact", "ok"), ("PostCompact", "ok")]);
    hooks["SessionStart"] = json!([{"matcher": "compact", "hooks": [{"command": "use tabs"}]}]);
    let (gate, commands) = hooked(&hooks);
    let agent = agent_with_small_window(&fixture, gate);
    assert_eq!(agent.run("go").await.unwrap().text, "done");
    assert_eq!(*commands.log.lock().unwrap(), ["PreCompact", "PostCompact", "SessionStart"]);
    assert_eq!(commands.of("PreCompact")[0]["trigger"], "auto");
    assert_eq!(commands.of("SessionStart")[0]["source"], "compact");
    assert_eq!(fixture.sent_messages(0).last().unwrap(), "user: [Hook: use tabs]");
    let journal = fixture.journal(&agent.session_id()).await;
    let at = |wanted: &str| journal.iter().position(|event| kind(event) == wanted);
    assert!(at("Compaction").is_some());
    fixture.assert_valid();
}

#[tokio::test(start_paused = true)]
async fn compaction_blocked_by_a_hook_does_not_happen() {
    let fixture = Fixture::new([Reply::text("done")]);
    let (gate, commands) = hooked(&on([("PreCompact", "exit 2 not while I debug"), ("PostCompact", "ok")]));
    let agent = agent_with_small_window(&fixture, gate);
    assert_eq!(agent.run("go").await.unwrap().text, "done");
    let journal = fixture.journal(&agent.session_id()).await;
    let refused = journal.iter().find_map(|event| match &event.event {
        AgentEvent::CompactionRefused { reason, .. } => Some(reason.clone()),
        AgentEvent::Compaction { .. } => panic!("it was compacted"),
        _ => None,
    });
    assert_eq!(refused.as_deref(), Some("not while I debug"));
    assert!(commands.of("PostCompact").is_empty());
    assert_eq!(fixture.sent_messages(0).len(), 5);
}

#[tokio::test(start_paused = true)]
async fn hooks_neither_receive_nor_pass_on_secrets() {
    let fixture = Fixture::new([Reply::text("your key is hunter2-canary"), Reply::text("done")]);
    let (gate, commands) =
        hooked(&on([("UserPromptSubmit", "I know hunter2-canary"), ("Stop", "exit 2 hunter2-canary again")]));
    let agent = fixture.agent().permission_policy(gate).secret("KEY", "hunter2-canary").build().unwrap();
    agent.run("my key is hunter2-canary").await.unwrap();
    let inputs = commands.inputs.lock().unwrap();
    assert!(
        inputs.len() > 2 && inputs.iter().all(|inputs| !inputs.to_string().contains("hunter2")),
        "{inputs:?}"
    );
    assert_eq!(inputs[1]["last_assistant_message"], "your key is [redacted: KEY]");
    assert_eq!(fixture.sent_messages(0), ["user: my key is [redacted: KEY]\n[Hook: I know [redacted: KEY]]"]);
    assert_eq!(fixture.sent_messages(1)[2], "user: [Hook: [redacted: KEY] again]");
}

#[tokio::test]
async fn async_hook_delays_and_decides_nothing() {
    let fixture = Fixture::without_time(lariat_test::ScriptedModel::new([Reply::text("done")]));
    let handlers = |command: &str| json!([{"hooks": [{"command": command, "async": true}]}]);
    let (gate, commands) = hooked(&json!({
        "UserPromptSubmit": handlers("exit 2 no"), "Stop": handlers("hang"), "SessionStart": handlers("a remark")
    }));
    let agent = fixture.agent().permission_policy(gate).build().unwrap();
    let output = agent.run("go").await.unwrap();
    assert_eq!((output.outcome, output.text.as_str()), (RunOutcome::Completed, "done"));
    assert_eq!(fixture.sent_messages(0), ["user: go"]);
    while commands.inputs.lock().unwrap().len() < 3 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn hook_with_once_runs_once_per_session() {
    let fixture = Fixture::new((0..4).map(|_| Reply::text("done")));
    let (gate, commands) = hooked(&json!({
        "UserPromptSubmit": [{"hooks": [{"command": "remember the milk", "once": true}]}]
    }));
    let agent = fixture.agent().permission_policy(gate).build().unwrap();
    for _ in 0..2 {
        agent.run("go").await.unwrap();
    }
    agent.new_session().unwrap();
    agent.run("go").await.unwrap();
    assert_eq!(commands.of("UserPromptSubmit").len(), 2);
    let prompted = |request: usize| fixture.sent_messages(request).last().unwrap().contains("milk");
    assert_eq!([prompted(0), prompted(1), prompted(2)], [true, false, true]);
}

#[tokio::test(start_paused = true)]
async fn recovered_session_runs_start_hooks_as_resumed_and_stop_hooks_again() {
    let fixture = Fixture::new([Reply::text("one"), Reply::text("two")]);
    let (gate, commands) = hooked(&on([("SessionStart", "ok"), ("Stop", "hang")]));
    let agent = fixture.agent().permission_policy(gate).session_id(SessionId::from("s")).build().unwrap();
    let stream = agent.run_stream("go");
    while commands.hanging.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    // The process dies while the hook runs: everything up to here is in the journal.
    let died = fixture.journal(&agent.session_id()).await;
    let store = Arc::new(lariat_runtime::MemoryStore::new());
    let journal = lariat_core::store::SessionStore::claim(&*store, &SessionId::from("s")).await.unwrap();
    let append = lariat_core::store::Append::new(agent_session(), journal, 0, &died);
    lariat_core::store::SessionStore::append(&*store, append).await.unwrap();
    drop(stream);
    let (gate, commands) = hooked(&on([("SessionStart", "ok"), ("Stop", "exit 2 one more")]));
    let agent = fixture.agent().store(store).permission_policy(gate).session_id(SessionId::from("s")).build();
    let agent = agent.unwrap();
    let output = agent.recover().await.unwrap().unwrap();
    assert_eq!(output.outcome, RunOutcome::Completed);
    assert_eq!(commands.of("SessionStart")[0]["source"], "resume");
    assert_eq!(commands.of("Stop")[0]["last_assistant_message"], "one");
    assert_eq!(fixture.sent_messages(1)[2], "user: [Hook: one more]");
}

fn agent_session() -> &'static SessionId {
    static SESSION: std::sync::OnceLock<SessionId> = std::sync::OnceLock::new();
    SESSION.get_or_init(|| SessionId::from("s"))
}

#[tokio::test(start_paused = true)]
async fn prompt_hook_receives_the_text_of_all_messages() {
    let fixture = Fixture::new([Reply::text("done")]);
    let (gate, commands) = hooked(&on([("UserPromptSubmit", "ok")]));
    let agent = fixture.agent().permission_policy(gate).build().unwrap();
    let mut prompt = AgentMessage::user("what is this?");
    if let AgentMessage::Llm(llm) = &mut prompt {
        llm.message.content_mut().push(Content::text("and that?"));
    }
    let mut stream = agent.prompt_messages(vec![prompt, AgentMessage::user("quickly")]).unwrap();
    rest(&mut stream).await;
    assert_eq!(commands.of("UserPromptSubmit")[0]["prompt"], "what is this?\nand that?\n\nquickly");
}
