//! The telemetry of a run as a collector receives it: over HTTP, decoded with the official protobuf messages.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use lariat::model::{ProviderError, RetryConfig};
use lariat::otlp::{Otlp, OtlpConfig};
use lariat::serde_json::json;
use lariat::tool::SubAgentTool;
use lariat::trace::Content;
use lariat::{Agent, AllowAll, FunctionTool, ToolContext};
use lariat_test::{Reply, ScriptedModel};
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// Receives OTLP over HTTP and replies with the given status codes first, then with 200.
#[derive(Default)]
struct Collector {
    posts: Mutex<Vec<(String, Vec<u8>)>>,
    answers: Mutex<Vec<u16>>,
}

impl Collector {
    async fn start(answers: impl IntoIterator<Item = u16>) -> (Arc<Self>, String) {
        let collector =
            Arc::new(Self { answers: Mutex::new(answers.into_iter().collect()), ..Self::default() });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let receiving = Arc::clone(&collector);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let receiving = Arc::clone(&receiving);
                tokio::spawn(async move { receiving.serve(stream).await });
            }
        });
        (collector, address)
    }

    async fn serve(&self, mut stream: TcpStream) {
        let mut bytes = Vec::new();
        loop {
            let head = loop {
                if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
                    break end + 4;
                }
                if stream.read_buf(&mut bytes).await.unwrap_or(0) == 0 {
                    return;
                }
            };
            let text = String::from_utf8_lossy(&bytes[..head]).to_lowercase();
            let length = text.split("content-length: ").nth(1).unwrap().lines().next().unwrap();
            let length: usize = length.trim().parse().unwrap();
            while bytes.len() < head + length {
                stream.read_buf(&mut bytes).await.unwrap();
            }
            self.posts.lock().unwrap().push((text, bytes[head..head + length].to_vec()));
            bytes.drain(..head + length);
            let status = self.answers.lock().unwrap().pop().unwrap_or(200);
            let answer = format!("HTTP/1.1 {status} x\r\ncontent-length: 0\r\n\r\n");
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    }

    fn of(&self, path: &str) -> Vec<(String, Vec<u8>)> {
        let posts = self.posts.lock().unwrap();
        posts.iter().filter(|(head, _)| head.starts_with(&format!("post {path} "))).cloned().collect()
    }

    fn spans(&self) -> Vec<Span> {
        let (_, body) = self.of("/v1/traces").pop().unwrap();
        let request = ExportTraceServiceRequest::decode(&*body).unwrap();
        let scopes = request.resource_spans.into_iter().flat_map(|resource| resource.scope_spans);
        scopes.flat_map(|scope| scope.spans).collect()
    }

    fn says(&self, words: &str) -> bool {
        let posts = self.posts.lock().unwrap();
        posts.iter().any(|(_, body)| body.windows(words.len()).any(|window| window == words.as_bytes()))
    }
}

async fn run(config: OtlpConfig) -> Arc<Otlp> {
    let otlp = Otlp::start(config);
    let script = [
        Reply::error(ProviderError::Network("words of a service".into())),
        Reply::tool_call("c1", "works", json!({})),
        Reply::tool_call("c2", "breaks", json!({})),
        Reply::text("words of a model"),
        Reply::error(ProviderError::Auth("words of a service".into())),
    ];
    let works = FunctionTool::new("works", "d", |(): (), _: ToolContext| async {
        Ok::<_, String>("words of a file")
    });
    let breaks =
        FunctionTool::new("breaks", "d", |(): (), _: ToolContext| async { Err::<(), _>("words of a tool") });
    let mut retry = RetryConfig::default();
    retry.initial_delay_ms = 1;
    let agent = Agent::builder()
        .model(ScriptedModel::new(script))
        .tool(works)
        .tool(breaks)
        .permission_policy(AllowAll)
        .retry(retry)
        .observer(otlp.clone())
        .build()
        .unwrap();
    for _ in 0..2 {
        agent.run("words of a user").await.or_else(lariat::AgentError::into_output).unwrap();
    }
    otlp.flush().await;
    otlp
}

fn name_of<'a>(spans: &'a [Span], id: &[u8]) -> &'a str {
    spans.iter().find(|span| span.span_id == id).map_or("none", |span| span.name.as_str())
}

#[tokio::test]
async fn collector_receives_the_span_tree_of_a_run_with_retry_tools_and_errors() {
    let (collector, address) = Collector::start([503]).await;
    let otlp = run(OtlpConfig::new(address).with_header("x-key", "abc").with_service_name("test")).await;
    assert_eq!(otlp.lost_count(), 0);
    let posts = collector.of("/v1/traces");
    assert_eq!(posts.len(), 2, "a busy collector receives the spans again");
    assert_eq!(posts[0].1, posts[1].1);
    assert!(posts[1].0.contains("x-key: abc") && posts[1].0.contains("application/x-protobuf"));

    let spans = collector.spans();
    let tree: Vec<String> = spans
        .iter()
        .map(|span| {
            let failed = span.status.as_ref().is_some_and(|status| status.code == 2);
            assert!(span.end_time_unix_nano >= span.start_time_unix_nano && span.start_time_unix_nano > 0);
            let name = span.name.split(' ').next().unwrap();
            let name = if name == "chat" { name } else { &span.name };
            format!("{} > {name}{}", name_of(&spans, &span.parent_span_id), if failed { "!" } else { "" })
        })
        .collect();
    let expected = [
        "invoke_agent > chat!",
        "invoke_agent > chat",
        "invoke_agent > execute_tool works",
        "invoke_agent > chat",
        "invoke_agent > execute_tool breaks!",
        "invoke_agent > chat",
        "none > invoke_agent",
        "invoke_agent > chat!",
        "none > invoke_agent!",
    ];
    assert_eq!(tree, expected);
    let traces: std::collections::BTreeSet<&[u8]> =
        spans.iter().map(|span| span.trace_id.as_slice()).collect();
    assert_eq!(traces.len(), 2, "one trace per run");

    let (_, body) = collector.of("/v1/metrics").pop().unwrap();
    let request = ExportMetricsServiceRequest::decode(&*body).unwrap();
    let metrics = &request.resource_metrics[0].scope_metrics[0].metrics;
    let names: Vec<&str> = metrics.iter().map(|metric| metric.name.as_str()).collect();
    assert_eq!(names, ["gen_ai.client.token.usage", "gen_ai.client.operation.duration"]);
    let Some(Data::Histogram(tokens)) = &metrics[0].data else { unreachable!("histograms only") };
    let sum: f64 = tokens.data_points.iter().filter_map(|point| point.sum).sum();
    assert_eq!(sum, 45.0, "three replies of ten and five tokens");
    let counted: u64 = tokens.data_points.iter().flat_map(|point| &point.bucket_counts).sum();
    assert_eq!(counted, 6);
}

#[tokio::test]
async fn exports_no_content_unless_enabled() {
    let (collector, address) = Collector::start([]).await;
    run(OtlpConfig::new(address)).await;
    assert!(!collector.says("words of"), "content is off");
    assert!(collector.says("execute_tool breaks"), "spans are exported");

    let (collector, address) = Collector::start([]).await;
    run(OtlpConfig::new(address).with_content(Content::On)).await;
    for who in ["a user", "a model", "a file", "a tool", "a service"] {
        assert!(collector.says(&format!("words of {who}")), "{who}");
    }
}

#[tokio::test]
async fn failing_collector_loses_counted_spans_but_no_run() {
    let (_collector, address) = Collector::start([400; 9]).await;
    assert_eq!(run(OtlpConfig::new(address)).await.lost_count(), 9);
    let mut config = OtlpConfig::new("http://127.0.0.1:1");
    config.timeout = Duration::from_secs(1);
    assert_eq!(run(config).await.lost_count(), 9);
    assert!(!format!("{:?}", OtlpConfig::new("x").with_header("authorization", "secret")).contains("secret"));
}

#[tokio::test]
async fn collector_receives_sub_agents_below_the_tool_calls_that_spawned_them() {
    let (collector, address) = Collector::start([]).await;
    let otlp = Otlp::start(OtlpConfig::new(address));
    let inner = SubAgentTool::new("inner", ScriptedModel::new([Reply::text("seen")]));
    let child = [Reply::tool_call("c2", "inner", json!({"task": "deeper"})), Reply::text("ok")];
    let outer = SubAgentTool::new("outer", ScriptedModel::new(child)).with_tools([Arc::new(inner) as Arc<_>]);
    let agent = Agent::builder()
        .model(ScriptedModel::new([
            Reply::tool_call("c1", "outer", json!({"task": "look"})),
            Reply::text("done"),
        ]))
        .tool(outer)
        .permission_policy(AllowAll)
        .observer(otlp.clone())
        .build()
        .unwrap();
    agent.run("go").await.unwrap();
    otlp.flush().await;
    let spans = collector.spans();
    assert!(spans.iter().all(|span| span.trace_id == spans[0].trace_id), "one trace");
    let mut above: Vec<&str> = spans
        .iter()
        .filter(|span| span.name == "invoke_agent")
        .map(|span| name_of(&spans, &span.parent_span_id))
        .collect();
    above.sort_unstable();
    assert_eq!(above, ["execute_tool inner", "execute_tool outer", "none"]);
}
