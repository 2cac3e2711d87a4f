//! Tests exchanges on virtual time, with a transport that responds once. The fault matrix (`cargo xtask
//! faults`) covers the rest.

use std::sync::Mutex;

use futures_util::stream;
use http::HeaderMap;
use lariat_core::model::StreamProvider;
use lariat_core::transcript::Transcript;
use lariat_core::usage::Cost;
use lariat_test::{VirtualClock, block_on};

use super::*;
use crate::ApiProtocol;
use crate::http::{Deadlines, Transport, TransportError};

/// Responds to one request.
struct SingleResponse(Mutex<Option<HttpResponse>>);

impl Transport for SingleResponse {
    fn send(&self, _request: Request<Bytes>) -> BoxFuture<'static, Result<HttpResponse, TransportError>> {
        let answer = self.0.lock().unwrap().take().expect("one request is sent");
        Box::pin(std::future::ready(Ok(answer)))
    }
}

type Chunk = Result<Bytes, TransportError>;

/// Runs an exchange and returns all its events.
fn run_exchange(
    status: u16,
    body: impl Stream<Item = Chunk> + Send + 'static,
    clock: &VirtualClock,
) -> Vec<Result<StreamEvent, ProviderError>> {
    let incoming = HttpResponse { status, headers: HeaderMap::new(), body: Box::pin(body) };
    let transport = Arc::new(SingleResponse(Mutex::new(Some(incoming))));
    let provider =
        HttpProvider::new(ApiProtocol::OpenAiChat.implementation(), transport).with_clock(clock.shared());
    let mut model = ModelConfig::new("openai-chat", "gpt-5");
    model = model.with_base_url("http://127.0.0.1/v1").with_api_key("a-key-to-try");
    model.cost = serde_json::from_value(serde_json::json!({"input": 1.0, "output": 2.0})).unwrap();
    let (transcript, _) = Transcript::repair([Arc::new("hello".into())]);
    let request = StreamConfig::new(Arc::new(model), transcript.window());
    let events = provider.stream(request, CancellationToken::new());
    block_on(clock, events.collect()).expect("an exchange ends")
}

const TEXT: &[u8] = b"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hi\"}}]}\n\n";
const FINISH: &[u8] = b"data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\
    \"usage\":{\"prompt_tokens\":1000000,\"completion_tokens\":1000000,\"total_tokens\":2000000}}\n\ndata: [DONE]\n\n";

fn chunk(bytes: &'static [u8]) -> Chunk {
    Ok(Bytes::from_static(bytes))
}

#[test]
fn yields_events_before_an_error_and_nothing_after_it() {
    let broken = Err(TransportError::Broken("connection reset".to_owned()));
    let given = run_exchange(200, stream::iter([chunk(TEXT), broken, chunk(FINISH)]), &VirtualClock::new());
    let (last, before) = given.split_last().unwrap();
    assert!(matches!(last, Err(ProviderError::Network(_))), "{last:?}");
    assert!(before.iter().all(Result::is_ok));
    assert!(before.iter().flatten().any(StreamEvent::has_content));
}

#[test]
fn done_event_carries_the_cost_of_the_model() {
    let given = run_exchange(200, stream::iter([chunk(TEXT), chunk(FINISH)]), &VirtualClock::new());
    let Some(Ok(StreamEvent::Done { usage, .. })) = given.last() else { panic!("{given:?}") };
    assert_ne!(usage.cost, Cost::ZERO);
}

#[test]
fn classifies_error_response_whose_body_never_ends() {
    let clock = VirtualClock::new();
    let body = stream::iter([chunk(b"{\"error\":{\"message\":\"no\"")]).chain(stream::pending());
    let given = run_exchange(401, body, &clock);
    assert!(
        matches!(&given[..], [Err(ProviderError::Auth(detail))] if detail.status == Some(401)),
        "{given:?}"
    );
    assert_eq!(clock.now().since(lariat_test::EPOCH), ERROR_BODY_TIMEOUT);
}

#[test]
fn deadline_applies_to_a_body_that_never_pauses() {
    let clock = VirtualClock::new();
    let (time, deadlines) = (clock.clone(), Deadlines::default());
    // Always ready, so an exchange that checks the time only while waiting would never check it.
    let mut left = 2 * deadlines.no_progress.as_secs();
    let flood = stream::repeat_with(move || {
        left = left.checked_sub(1).expect("the exchange must not read forever");
        time.advance(Duration::from_secs(1));
        chunk(b": keep-alive\n\n")
    });
    let given = run_exchange(200, flood, &clock);
    assert!(matches!(given.last(), Some(Err(ProviderError::Network(_)))), "{given:?}");
    assert_eq!(clock.now().since(lariat_test::EPOCH), deadlines.no_progress);
}
