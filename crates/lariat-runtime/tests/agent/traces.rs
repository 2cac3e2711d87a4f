//! Observers: which events they receive, and the spans derived from them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lariat_core::evaluation::PickFirstEvaluation;
use lariat_core::event::{AgentEvent, Event};
use lariat_core::id::SessionId;
use lariat_core::model::ProviderError;
use lariat_runtime::trace::{
    AttributeValue, Content, Measurement, Metric, Span, Spans, Telemetry, Workflow, genai,
};
use lariat_runtime::{Observer, SubAgentTool};
use lariat_test::{Act, Reply, ScriptedModel};
use serde_json::json;

use super::fixture::{Fixture, call, kinds};

#[derive(Default)]
struct RecordingObserver(Mutex<Vec<(SessionId, Event)>>);

impl RecordingObserver {
    fn telemetry(&self, content: Content) -> (Vec<Span>, Vec<Measurement>) {
        let (mut fold, mut spans, mut measured) = (Spans::new(content), Vec::new(), Vec::new());
        for (session_id, event) in &*self.0.lock().unwrap() {
            fold.observe(session_id, event, |telemetry| match telemetry {
                Telemetry::Span(span) => spans.push(*span),
                Telemetry::Measured(measurement) => measured.push(measurement),
            });
        }
        (spans, measured)
    }
}

impl Observer for RecordingObserver {
    fn observe(&self, session_id: &SessionId, event: &Event) {
        self.0.lock().unwrap().push((session_id.clone(), Arc::clone(event)));
    }
}

struct PanickingObserver;

impl Observer for PanickingObserver {
    fn observe(&self, _: &SessionId, _: &Event) {
        panic!("a faulty observer");
    }
}

fn text<'a>(span: &'a Span, name: &str) -> Option<&'a str> {
    span.attributes.iter().find(|(key, _)| *key == name).and_then(|(_, value)| match value {
        AttributeValue::Text(text) => Some(text.as_str()),
        _ => None,
    })
}

/// A run with a failed model call, a failing tool, a working tool and an answer; each takes a known time.
async fn eventful(agent_said: &str) -> Arc<RecordingObserver> {
    let second = Duration::from_secs(1);
    let fixture = Fixture::new([
        Reply::error(ProviderError::Network("secret words of a service".into())),
        call("c1", "breaks").then_wait(second),
        Reply::tool_call("c2", "works", json!({"path": "secret words of a model"})),
        Reply::text(agent_said),
    ]);
    let recorded = Arc::new(RecordingObserver::default());
    let breaks = fixture.tool("breaks", || Act::fail("secret words of a tool"));
    let works = fixture.tool("works", || Act::text("secret words of a file").after(Duration::from_secs(3)));
    let agent = fixture.agent().tool(breaks).tool(works).observer(recorded.clone()).build().unwrap();
    agent.run("secret words of a user").await.unwrap();
    recorded
}

#[tokio::test(start_paused = true)]
async fn observers_receive_every_event_in_order_despite_one_that_panics() {
    let fixture = Fixture::new([call("c1", "write"), Reply::text("done")]);
    let recorded = Arc::new(RecordingObserver::default());
    let agent = fixture
        .agent()
        .tool(fixture.tool("write", || Act::text("ok")))
        .observer(Arc::new(PanickingObserver))
        .observer(recorded.clone())
        .build()
        .unwrap();
    agent.run("go").await.unwrap();
    let recorded: Vec<(SessionId, Event)> = recorded.0.lock().unwrap().clone();
    let durable: Vec<Event> =
        recorded.iter().map(|(_, event)| event).filter(|event| event.is_durable()).cloned().collect();
    let journal = fixture.journal(&agent.session_id()).await;
    assert_eq!(kinds(&durable), kinds(&journal));
    assert!(recorded.iter().all(|(session_id, _)| *session_id == agent.session_id()));
    assert!(recorded.len() > durable.len(), "live events, too");
}

#[tokio::test(start_paused = true)]
async fn run_is_a_tree_of_spans_with_the_times_of_its_events() {
    let (spans, _) = eventful("secret words of an answer").await.telemetry(Content::Off);
    let root = spans.last().unwrap();
    assert_eq!((root.name.as_str(), root.parent), ("invoke_agent", None));
    let shown: Vec<String> = spans
        .iter()
        .map(|span| {
            assert_eq!(span.trace_id, root.trace_id);
            assert!(span.parent.is_none() || span.parent == Some(root.span_id));
            let seconds = span.end.since(span.start).as_millis() / 1000;
            let error = text(span, genai::ERROR_TYPE).map(|kind| format!(" {kind}")).unwrap_or_default();
            assert_eq!(span.error.is_some(), !error.is_empty());
            format!("{} {seconds}s{error}", span.name)
        })
        .collect();
    let model = text(&spans[0], genai::REQUEST_MODEL).unwrap();
    let expected = [
        format!("chat {model} 0s network"),
        format!("chat {model} 1s"),
        "execute_tool breaks 0s tool_error".to_owned(),
        format!("chat {model} 0s"),
        "execute_tool works 3s".to_owned(),
        format!("chat {model} 0s"),
    ];
    assert_eq!(shown[..6], expected);
    assert_eq!(text(root, genai::OUTCOME), Some("completed"));
    let ids: std::collections::BTreeSet<u64> = spans.iter().map(|span| span.span_id).collect();
    assert_eq!(ids.len(), spans.len());
}

#[tokio::test(start_paused = true)]
async fn spans_contain_no_content_unless_enabled() {
    let recorded = eventful("secret words of an answer").await;
    let (off, measured) = recorded.telemetry(Content::Off);
    assert!(!format!("{off:?} {measured:?}").contains("secret words"));
    let (on, measured) = recorded.telemetry(Content::On);
    let on = format!("{on:?}");
    for who in ["a service", "a model", "a tool", "a file", "a user", "an answer"] {
        assert!(on.contains(&format!("secret words of {who}")), "{who}");
    }
    assert!(!format!("{measured:?}").contains("secret words"), "never in metrics");
}

#[tokio::test(start_paused = true)]
async fn tokens_and_durations_are_measured_for_every_operation() {
    let (_, measured) = eventful("done").await.telemetry(Content::Off);
    let mut counted: BTreeMap<String, (usize, f64)> = BTreeMap::new();
    for measurement in measured {
        let named = |name: &str| {
            let value = measurement.attributes.iter().find(|(key, _)| *key == name);
            value.map(|(_, value)| format!("{value:?}")).unwrap_or_default()
        };
        let of = match measurement.metric {
            Metric::TokenUsage => named(genai::TOKEN_TYPE),
            Metric::OperationDuration => named(genai::OPERATION_NAME),
        };
        let entry = counted.entry(of).or_default();
        *entry = (entry.0 + 1, entry.1 + measurement.value);
    }
    let counted: Vec<_> = counted.into_iter().map(|(of, (times, sum))| (of, times, sum.floor())).collect();
    let of = |text: &str| format!("{:?}", AttributeValue::Text(text.to_owned()));
    let chat = counted.iter().find(|(name, ..)| *name == of("chat")).unwrap();
    assert_eq!((chat.1, chat.2), (4, 1.0));
    let tool = counted.iter().find(|(name, ..)| *name == of("execute_tool")).unwrap();
    assert_eq!((tool.1, tool.2), (2, 3.0));
    let input = counted.iter().find(|(name, ..)| *name == of("input")).unwrap();
    assert_eq!((input.1, input.2), (3, 30.0));
    let output = counted.iter().find(|(name, ..)| *name == of("output")).unwrap();
    assert_eq!((output.1, output.2), (3, 15.0));
}

#[tokio::test(start_paused = true)]
async fn spans_of_unfinished_tools_end_with_a_cancelled_run() {
    let fixture = Fixture::new([call("c1", "hangs")]);
    let recorded = Arc::new(RecordingObserver::default());
    let hangs = fixture.tool("hangs", || Act::text("never").after(Duration::from_secs(3600)));
    let agent = fixture.agent().tool(hangs).observer(recorded.clone()).build().unwrap();
    let mut stream = agent.prompt("go").unwrap();
    super::fixture::until(&mut stream, "ToolExecutionStart").await;
    stream.cancel();
    stream.finish().await.unwrap();
    let (spans, _) = recorded.telemetry(Content::Off);
    let names: Vec<&str> = spans.iter().map(|span| span.name.as_str()).collect();
    assert_eq!(names[1..], ["execute_tool hangs", "invoke_agent"]);
    assert!(spans[1].error.is_some());
}

/// The spans of a run whose sub-agent delegates further, and of a sub-agent in the background.
async fn delegating() -> Arc<RecordingObserver> {
    let task = |background: bool| json!({"task": "look", "run_in_background": background});
    let fixture = Fixture::new([
        Reply::tool_call("p1", "outer", task(false)),
        Reply::tool_call("p2", "outer", task(true)),
        Reply::text("I wait."),
        Reply::text("done"),
    ]);
    let model = |replies: Vec<Reply>| Arc::new(ScriptedModel::new(replies).with_clock(fixture.clock.clone()));
    let inner = SubAgentTool::new("inner", model(vec![Reply::text("seen")]));
    let second = Reply::text("slow").then_wait(Duration::from_secs(5));
    let outer_replies =
        vec![Reply::tool_call("o1", "inner", json!({"task": "deeper"})), Reply::text("ok"), second];
    let outer = SubAgentTool::new("outer", model(outer_replies)).with_tools([Arc::new(inner) as Arc<_>]);
    let recorded = Arc::new(RecordingObserver::default());
    let agent = fixture.agent().tool(outer.with_background()).observer(recorded.clone()).build().unwrap();
    agent.run("go").await.unwrap();
    recorded
}

/// Each `invoke_agent` span with the spans above it, and the number of traces.
fn paths(spans: &[Span]) -> (Vec<String>, usize) {
    let path = |span: &Span| {
        let above = std::iter::successors(Some(span), |span| {
            spans.iter().find(|other| Some(other.span_id) == span.parent && other.trace_id == span.trace_id)
        });
        let mut names: Vec<&str> = above.map(|span| span.name.as_str()).collect();
        names.reverse();
        names.join(" > ").replace("execute_tool ", "").replace("invoke_agent", "run")
    };
    let mut paths: Vec<String> = spans.iter().filter(|span| span.name == "invoke_agent").map(path).collect();
    paths.sort();
    let traces: BTreeSet<u128> = spans.iter().map(|span| span.trace_id).collect();
    (paths, traces.len())
}

#[tokio::test(start_paused = true)]
async fn runs_of_sub_agents_are_in_the_trace_of_their_root_below_their_tool_calls() {
    let recorded = delegating().await;
    let expected = ["run", "run > outer > run", "run > outer > run", "run > outer > run > inner > run"];
    let (spans, _) = recorded.telemetry(Content::Off);
    assert_eq!(paths(&spans), (expected.map(str::to_owned).to_vec(), 1));
    let parents: BTreeSet<u64> =
        spans.iter().filter(|span| span.name == "invoke_agent").filter_map(|span| span.parent).collect();
    assert_eq!(parents.len(), 3, "each below a tool call of its own");

    // The events of a sub-agent can arrive before those of its parent.
    let is_start = |(_, event): &(SessionId, Event)| matches!(&event.event, AgentEvent::AgentStart(start) if start.spawned_by.is_some());
    let mut events = recorded.0.lock().unwrap();
    let (mut starts, rest): (Vec<_>, Vec<_>) = std::mem::take(&mut *events).into_iter().partition(is_start);
    starts.reverse();
    starts.extend(rest);
    *events = starts;
    drop(events);
    let (spans, _) = recorded.telemetry(Content::Off);
    assert_eq!(paths(&spans), (expected.map(str::to_owned).to_vec(), 1));
}

#[tokio::test(start_paused = true)]
async fn branches_are_in_one_trace_below_one_span() {
    let (fixture, recorded) = (Fixture::new([]), Arc::new(RecordingObserver::default()));
    let agent = |script: Vec<Reply>, name: &str| {
        let model = ScriptedModel::new(script).with_clock(Arc::clone(&fixture.clock));
        fixture.agent().provider(Arc::new(model)).config_id(name).session_id("s").observer(recorded.clone())
    };
    let branches = ["a", "b"].map(|name| agent(vec![Reply::text(name)], name).build().unwrap());
    let session = agent(Vec::new(), "session").build().unwrap();
    session.run_branches("go", &branches, Arc::new(PickFirstEvaluation)).await.unwrap();
    let (spans, _) = recorded.telemetry(Content::Off);
    let above = "invoke_workflow branches > run";
    assert_eq!(paths(&spans), (vec![above.to_owned(), above.to_owned()], 1));
    let root = spans.last().unwrap();
    assert_eq!((root.name.as_str(), root.parent), ("invoke_workflow branches", None));
    assert!(spans.iter().all(|span| span.start >= root.start && span.end <= root.end));
}

#[tokio::test(start_paused = true)]
async fn runs_of_a_workflow_are_in_its_trace_with_their_sub_agents() {
    let recorded = delegating().await;
    let workflow = Workflow::of_session(&"the loop".into());
    let (mut fold, mut spans) = (Spans::new(Content::Off).with_workflow(Some(workflow)), Vec::new());
    for (session_id, event) in &*recorded.0.lock().unwrap() {
        fold.observe(session_id, event, |telemetry| match telemetry {
            Telemetry::Span(span) => spans.push(*span),
            Telemetry::Measured(_) => {}
        });
    }
    let times = (spans[0].start, spans[0].end);
    spans.push(workflow.span("loop", &"the loop".into(), times, []));
    let expected = ["run", "run > outer > run", "run > outer > run", "run > outer > run > inner > run"];
    let expected = expected.map(|path| format!("invoke_workflow loop > {path}"));
    assert_eq!(paths(&spans), (expected.to_vec(), 1));
}
