//! Regression tests for problems of embedding programs.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use lariat_core::event::{AgentEvent, Event, RunOutcome};
use lariat_core::id::{RequestId, SessionId};
use lariat_core::model::{FailureKind, ModelConfig, ProviderError};
use lariat_core::permission::{AskBeforeEffects, PermissionDecision};
use lariat_core::store::SessionStore;
use lariat_runtime::{Agent, AgentBuilder, AgentError, BuildError};
use lariat_test::{Act, FaultyStore, Reply, ScriptedModel};
use tokio::runtime::{Builder, Runtime};

use super::fixture::{Fixture, call, formatted, kinds, rest, until};

fn process() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

fn session() -> SessionId {
    "s".into()
}

fn texts(agent: &Agent) -> Vec<String> {
    agent.messages().iter().map(|message| formatted(message)).collect()
}

/// A closed agent leaves its session to others, and later continues with their messages.
#[tokio::test(start_paused = true)]
async fn close_releases_the_session_and_a_later_prompt_resumes_it() {
    let fixture = Fixture::new(["one", "two", "three"].map(Reply::text));
    let first = fixture.agent().session_id("s").build().unwrap();
    first.run("a").await.unwrap();
    let late = fixture.store.head(&session()).await.unwrap();
    first.close().await;

    let second = fixture.agent().session_id("s").build().unwrap();
    second.run("b").await.unwrap();
    assert!(fixture.store.head(&session()).await.unwrap() > late);
    second.close().await;
    first.run("c").await.unwrap();
    assert_eq!(
        texts(&first),
        ["user: a", "assistant: one", "user: b", "assistant: two", "user: c", "assistant: three"]
    );
}

/// A dropped agent releases its session, and so does one that starts a new session.
#[tokio::test(start_paused = true)]
async fn dropped_and_rotated_agents_release_their_sessions() {
    let fixture = Fixture::new(["one", "two"].map(Reply::text));
    let store = Arc::new(FaultyStore::new(Arc::clone(&fixture.clock)));
    let agent = fixture.agent().store(store.clone()).session_id("s").build().unwrap();
    agent.run("a").await.unwrap();
    let (claimed, first) = (store.epoch(&session()), agent.session_id());
    agent.new_session().unwrap();
    agent.run("b").await.unwrap();
    assert!(store.epoch(&first) > claimed, "the session that was left is released");
    let (second, claimed) = (agent.session_id(), store.epoch(&agent.session_id()));
    drop(agent);
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert!(store.epoch(&second) > claimed, "the session of a dropped agent is released");
}

/// The loser of two agents on one session gets its messages and the reason.
#[tokio::test(start_paused = true)]
async fn loser_of_two_agents_gets_the_messages_and_a_typed_error() {
    let fixture = Fixture::new(["one", "two", "never"].map(Reply::text));
    let first = fixture.agent().session_id("s").build().unwrap();
    first.run("a").await.unwrap();
    let second = fixture.agent().session_id("s").build().unwrap();
    second.run("b").await.unwrap();
    let lost = first.run("c").await.unwrap_err();
    assert!(lost.is_session_taken(), "{lost:?}");
    assert!(!AgentError::Busy.is_session_taken());
    assert_eq!(texts(&first), ["user: a", "assistant: one", "user: b", "assistant: two"]);
}

/// The messages of an existing session are available before anything is recovered or run.
#[tokio::test(start_paused = true)]
async fn load_returns_the_messages_of_an_existing_session_and_claims_nothing() {
    let fixture = Fixture::new(["one", "two"].map(Reply::text));
    let writer = fixture.agent().session_id("s").build().unwrap();
    writer.run("a").await.unwrap();
    let reader = fixture.agent().session_id("s").build().unwrap();
    assert_eq!(reader.load().await.unwrap().len(), 2);
    assert_eq!(texts(&reader), ["user: a", "assistant: one"]);
    writer.run("b").await.expect("the writer was not fenced off");
    assert_eq!(reader.load().await.unwrap().len(), 4);
}

/// Fixtures in which a process died while an approval request was open.
fn after_death_at_a_question() -> Arc<Fixture> {
    let fixture =
        Arc::new(Fixture::without_time(ScriptedModel::new([call("c1", "write"), Reply::text("done")])));
    let first = process();
    first.block_on(async {
        let agent = asking(&fixture).build().unwrap();
        let mut stream = agent.run_stream("write it");
        until(&mut stream, "PermissionRequired").await;
        let asked = agent.pending_permissions();
        assert_eq!(asked.len(), 1, "{asked:?}");
        // Forget the stream instead of dropping it: the process dies.
        std::mem::forget(stream);
    });
    drop(first);
    fixture
}

fn asking(fixture: &Fixture) -> AgentBuilder {
    let tool = fixture.tool("write", || Act::text("ok"));
    fixture.agent().session_id("s").permission_policy(AskBeforeEffects).tool(tool)
}

fn question(event: &AgentEvent) -> Option<RequestId> {
    match event {
        AgentEvent::PermissionRequired { request } => Some(request.id),
        _ => None,
    }
}

/// The approval request is in the stream of the resumed run, with its old id, and can be answered.
#[test]
fn open_approval_request_is_repeated_in_the_stream_after_a_crash() {
    let fixture = after_death_at_a_question();
    process().block_on(async {
        let agent = asking(&fixture).build().unwrap();
        assert_eq!(agent.pending_permissions().len(), 0, "the session was not read yet");
        agent.load().await.unwrap();
        let open = agent.pending_permissions();
        assert_eq!(open.iter().map(|request| request.tool_name.as_str()).collect::<Vec<_>>(), ["write"]);

        let mut stream = agent.recover_stream().unwrap();
        let event = until(&mut stream, "PermissionRequired").await;
        assert_eq!(question(&event.event), Some(open[0].id), "it is the same request");
        assert_eq!(agent.pending_permissions().len(), 1);
        stream.respond_permission(open[0].id, PermissionDecision::Allow);
        rest(&mut stream).await;
        assert_eq!(stream.finish().await.unwrap().text, "done");
        assert_eq!((agent.pending_permissions().len(), fixture.ledger.len()), (0, 1));
        let journal = fixture.journal(&session()).await;
        assert_eq!(kinds(&journal).iter().filter(|kind| *kind == "PermissionRequired").count(), 2);
    });
}

/// A tool that is gone when its call is approved is an error for the model, not a failure of the run.
#[test]
fn approved_call_of_a_missing_tool_is_reported_to_the_model() {
    let fixture = after_death_at_a_question();
    process().block_on(async {
        let agent = fixture.agent().session_id("s").permission_policy(AskBeforeEffects).build().unwrap();
        let mut stream = agent.recover_stream().unwrap();
        let request = question(&until(&mut stream, "PermissionRequired").await.event).unwrap();
        stream.respond_permission(request, PermissionDecision::Allow);
        assert_eq!(stream.finish().await.unwrap().text, "done");
        assert!(fixture.sent_messages(1)[2].contains("no tool is named `write`"));
        assert!(fixture.ledger.is_empty());
    });
}

/// Callbacks and subscriptions receive it, too.
#[test]
fn open_approval_request_reaches_callbacks_and_subscribers_after_a_crash() {
    let fixture = after_death_at_a_question();
    process().block_on(async {
        let asked: Arc<Mutex<Vec<RequestId>>> = Arc::default();
        let heard = Arc::clone(&asked);
        let agent = asking(&fixture)
            .wait_for_answers()
            .on_event(move |event| heard.lock().unwrap().extend(question(event)))
            .build()
            .unwrap();
        let mut events = agent.subscribe();
        let answering = async {
            loop {
                let event: Event = events.recv().await.unwrap();
                if let Some(request) = question(&event.event) {
                    agent.respond_permission(request, PermissionDecision::Allow);
                    break request;
                }
            }
        };
        let (output, request) = futures_util::future::join(agent.recover(), answering).await;
        assert_eq!(output.unwrap().unwrap().text, "done");
        assert_eq!(*asked.lock().unwrap(), [request]);
    });
}

/// A model that keeps failing is an error with a kind, which contains the output until then.
#[tokio::test(start_paused = true)]
async fn failed_model_call_is_an_error_with_its_kind_and_the_output() {
    let auth = || ProviderError::Auth("no such key".into());
    let fixture = Fixture::new([call("c1", "write"), Reply::error(auth()), Reply::text("back")]);
    let agent = fixture.agent().tool(fixture.tool("write", || Act::text("ok"))).build().unwrap();
    let mut stream = agent.run_stream("go");
    assert!(matches!(rest(&mut stream).await.last().unwrap().event, AgentEvent::AgentEnd { .. }));
    let error = stream.finish().await.unwrap_err();
    let failure = error.failure().unwrap();
    assert_eq!((failure.kind, failure.error.as_str()), (FailureKind::Auth, "authentication: no such key"));
    assert_eq!(failure.output.turns, 2);
    assert!(matches!(failure.output.outcome, RunOutcome::Failed { .. }));
    assert!(!error.is_retryable());
    assert_eq!(error.into_output().unwrap().turns, 2);
    // The agent stays usable.
    assert_eq!(agent.run("again").await.unwrap().text, "back");
}

/// Of two tools with the same name, one would not be reachable.
#[tokio::test(start_paused = true)]
async fn duplicate_or_invalid_tool_names_fail_to_build() {
    let fixture = Fixture::new([]);
    let build = |names: &[&str]| {
        let tools = names.iter().map(|name| fixture.tool(name, || Act::text("ok")));
        tools.fold(fixture.agent(), AgentBuilder::tool).build().map(drop)
    };
    assert_eq!(build(&["a", "b", "a"]), Err(BuildError::DuplicateTool("a".into())));
    let long = "x".repeat(65);
    for name in ["", "two words", "dots.in.it", "ünïcode", "slash/", long.as_str()] {
        assert_eq!(build(&["fine", name]), Err(BuildError::InvalidToolName(name.into())), "{name}");
    }
    assert_eq!(build(&["mcp__server__tool", "read-file", "A1", &"x".repeat(64)]), Ok(()));
    assert_eq!(build(&["recall"]), Ok(()), "the caller's tool replaces the built-in one");
}

/// Outside a tokio runtime, starting a run is an error, not a panic.
#[test]
fn starting_a_run_outside_tokio_is_an_error() {
    let fixture = {
        let runtime = process();
        let _inside = runtime.enter();
        Fixture::without_time(ScriptedModel::new([Reply::text("hi")]))
    };
    let agent = fixture.agent().build().unwrap();
    let stream = agent.run_stream("go");
    let finished = futures_util::FutureExt::now_or_never(stream.finish()).unwrap();
    assert!(matches!(finished, Err(AgentError::NoRuntime)), "{finished:?}");
    assert!(matches!(agent.prompt("go"), Err(AgentError::NoRuntime)));
    assert!(matches!(agent.recover_stream(), Err(AgentError::NoRuntime)));
    assert_eq!(process().block_on(agent.run("go")).unwrap().text, "hi", "the agent is free");
}

/// A reason that begins with "Denied" does not repeat the word.
#[tokio::test(start_paused = true)]
async fn denied_tool_call_says_denied_once() {
    for (reason, sent_messages) in [
        ("Denied:\n- `rm x`: a rule.", "tool: Denied: `rm x`: a rule."),
        ("Denied: not now", "tool: Denied: not now"),
        ("not now", "tool: Denied: not now"),
        ("Denied:\n- one.\n- two.", "tool: Denied: \n- one.\n- two."),
    ] {
        let fixture = Fixture::new([call("c1", "write"), Reply::text("I see")]);
        let agent = fixture
            .agent()
            .permission_policy(AskBeforeEffects)
            .tool(fixture.tool("write", || Act::text("ok")));
        let agent = agent.build().unwrap();
        let mut stream = agent.run_stream("go");
        let request = question(&until(&mut stream, "PermissionRequired").await.event).unwrap();
        stream.respond_permission(request, PermissionDecision::deny(reason));
        stream.finish().await.unwrap();
        assert_eq!(fixture.sent_messages(1)[2], sent_messages);
    }
}

/// If the context window of the model is known, compaction is on by default.
#[tokio::test(start_paused = true)]
async fn compaction_is_on_if_the_window_of_the_model_is_known() {
    let mut model = ModelConfig::new("scripted", "small");
    model.context_window = 6_000;
    for (config, compacts) in [(Some(model), true), (None, false)] {
        let fixture = Fixture::with_model(ScriptedModel::from_fn(|_, _| Reply::text("word ".repeat(400))));
        let agent = match config {
            Some(config) => fixture.agent().model_config(config),
            None => fixture.agent(),
        };
        let agent = agent.build().unwrap();
        for _ in 0..16 {
            agent.run("more").await.unwrap();
        }
        let journal = kinds(&fixture.journal(&agent.session_id()).await);
        let compacted = journal.iter().any(|kind| kind == "Compaction");
        assert_eq!(compacted, compacts, "{journal:?}");
    }
}
