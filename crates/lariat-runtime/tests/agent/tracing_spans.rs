//! What a subscriber of `tracing` sees of a run.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use lariat_runtime::trace::TracingSpans;
use lariat_runtime::{Agent, FunctionTool};
use lariat_test::{Reply, ScriptedModel};
use serde_json::json;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// A span that a subscriber saw.
#[derive(Debug, Default)]
struct SeenSpan {
    name: &'static str,
    parent: Option<usize>,
    fields: BTreeMap<&'static str, String>,
    is_closed: bool,
}

/// Collects the spans of Lariat.
#[derive(Clone, Default)]
struct Spans(Arc<Mutex<Vec<SeenSpan>>>);

impl Spans {
    fn change(&self, id: &Id, change: impl FnOnce(&mut SeenSpan)) {
        change(&mut self.0.lock().unwrap()[index(id)]);
    }
}

fn index(id: &Id) -> usize {
    usize::try_from(id.into_u64()).unwrap() - 1
}

struct Fields<'a>(&'a mut BTreeMap<&'static str, String>);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }
}

impl Subscriber for Spans {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "lariat"
    }
    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut spans = self.0.lock().unwrap();
        let mut seen = SeenSpan { name: span.metadata().name(), ..SeenSpan::default() };
        seen.parent = span.parent().map(index);
        span.record(&mut Fields(&mut seen.fields));
        spans.push(seen);
        Id::from_u64(spans.len() as u64)
    }
    fn record(&self, id: &Id, values: &Record<'_>) {
        self.change(id, |span| values.record(&mut Fields(&mut span.fields)));
    }
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &Event<'_>) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
    fn try_close(&self, id: Id) -> bool {
        self.change(&id, |span| span.is_closed = true);
        true
    }
}

#[tokio::test]
async fn subscriber_sees_nested_spans_with_usage_and_without_contents() {
    let seen = Spans::default();
    let _guard = tracing::subscriber::set_default(seen.clone());
    let model = ScriptedModel::new([
        Reply::tool_call("call-1", "add", json!({"a": "secret argument"})),
        Reply::text("secret answer"),
    ]);
    let add =
        FunctionTool::pure("add", "Adds.", |(a, b): (i64, i64)| Ok::<_, String>(a + b)).names(["a", "b"]);
    let agent = Agent::builder().model(model).tool(add).observer(Arc::new(TracingSpans::default()));
    let output = agent.build().unwrap().run("secret question").await.unwrap();

    let spans = seen.0.lock().unwrap();
    let tree: Vec<_> = spans.iter().map(|span| (span.name, span.parent.map(|at| spans[at].name))).collect();
    assert_eq!(
        tree,
        [
            ("run", None),
            ("turn", Some("run")),
            ("request", Some("turn")),
            ("tool", Some("turn")),
            ("turn", Some("run")),
            ("request", Some("turn")),
        ]
    );
    assert_eq!((spans[3].parent, spans[5].parent), (Some(1), Some(4)), "each in its own turn");
    assert!(spans.iter().all(|span| span.is_closed), "{spans:?}");

    let field = |span: usize, name: &str| spans[span].fields.get(name).map(String::as_str);
    let tokens = output.usage.context().to_string();
    assert_eq!(field(0, "gen_ai.usage.input_tokens"), Some(tokens.as_str()));
    assert_eq!((field(0, "lariat.outcome"), field(0, "lariat.turns")), (Some("\"completed\""), Some("2")));
    assert!(field(0, "gen_ai.conversation.id").is_some());
    assert_eq!((field(1, "lariat.turn"), field(4, "lariat.turn")), (Some("0"), Some("1")));
    assert!(field(2, "gen_ai.usage.output_tokens").is_some());
    assert_eq!(
        (field(3, "gen_ai.tool.name"), field(3, "gen_ai.tool.call.id")),
        (Some("\"add\""), Some("\"call-1\""))
    );
    let text = format!("{spans:?}");
    assert!(!text.contains("secret"), "{text}");
}
