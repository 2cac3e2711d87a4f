//! Tests of the scripted model: what scripts deliver, how they wait, fail and end, and how violations are
//! rejected.

use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures_util::StreamExt;
use lariat_core::content::{Content, ToolCall};
use lariat_core::message::{AssistantMessage, Message, StopReason};
use lariat_core::model::{ModelConfig, StreamEvent};
use lariat_core::transcript::Transcript;
use lariat_core::usage::Usage;
use serde_json::json;

use super::*;
use crate::clock::{EPOCH, VirtualClock};
use crate::executor::{Halt, block_on};
use crate::model::reply::DEFAULT_USAGE;
use crate::model::strict::ViolationKind;

type Items = Vec<Result<StreamEvent, ProviderError>>;

fn transcript() -> Transcript {
    let mut transcript = Transcript::new();
    transcript.push_user(Arc::new(Message::user("hi").into())).unwrap();
    transcript
}

fn request() -> StreamConfig {
    StreamConfig::new(Arc::new(ModelConfig::new("test", "model-1")), transcript().window())
}

fn play(model: &ScriptedModel) -> Items {
    let stream = model.stream(request(), CancellationToken::new());
    block_on(&VirtualClock::new(), stream.collect()).unwrap()
}

fn start() -> Result<StreamEvent, ProviderError> {
    Ok(StreamEvent::Start { model: "model-1".into() })
}

fn text(index: usize, delta: &str) -> Result<StreamEvent, ProviderError> {
    Ok(StreamEvent::TextDelta { index, delta: delta.into() })
}

fn done(stop_reason: StopReason) -> Result<StreamEvent, ProviderError> {
    Ok(StreamEvent::Done { stop_reason, usage: DEFAULT_USAGE })
}

fn network() -> ProviderError {
    ProviderError::Network("reset".into())
}

fn poll(stream: &mut ModelStream) -> Poll<Option<Result<StreamEvent, ProviderError>>> {
    stream.poll_next_unpin(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn replies_are_played_in_order_and_then_the_final_reply() {
    let model = ScriptedModel::new([Reply::text("one"), Reply::text("two")]).with_finale(Reply::text("bye"));
    for expected in ["one", "two", "bye", "bye"] {
        assert_eq!(play(&model), [start(), text(0, expected), done(StopReason::Stop)]);
    }
    assert_eq!(model.requests(), 4);
    model.extend([Reply::text("more")]);
    assert_eq!(play(&model)[1], text(0, "more"));
}

#[test]
fn blocks_are_numbered_and_calls_stop_for_tools() {
    let reply = Reply::thinking("hm", Some("sig")).then_text("look").then_call("c1", "read", json!({"a": 1}));
    let call = ToolCall { id: "c1".into(), name: "read".into(), arguments: json!({"a": 1}), signature: None };
    assert_eq!(
        play(&ScriptedModel::new([reply])),
        [
            start(),
            Ok(StreamEvent::ThinkingDelta { index: 0, delta: "hm".into() }),
            Ok(StreamEvent::ThinkingSignature { index: 0, signature: "sig".into() }),
            text(1, "look"),
            Ok(StreamEvent::ToolCallEnd { index: 2, call }),
            done(StopReason::ToolUse),
        ]
    );
    let calls = Reply::calls([("a", "read", json!({})), ("b", "write", json!({}))]);
    let indices: Vec<usize> = play(&ScriptedModel::new([calls]))
        .into_iter()
        .filter_map(|item| match item {
            Ok(StreamEvent::ToolCallEnd { index, .. }) => Some(index),
            _ => None,
        })
        .collect();
    assert_eq!(indices, [0, 1]);
}

#[test]
fn text_and_arguments_are_split_between_characters() {
    let reply = Reply::text("äöü€").split(3).then_call("c", "t", json!({"k": "é"}));
    assert_eq!(
        play(&ScriptedModel::new([reply.clone()]))[1..3],
        [text(0, "äöü"), text(0, "€")],
        "what was added after the split stays whole"
    );
    let deltas: String = play(&ScriptedModel::new([reply.split(2)]))
        .into_iter()
        .filter_map(|item| match item {
            Ok(StreamEvent::ToolCallDelta { index: 1, delta }) => Some(delta),
            _ => None,
        })
        .collect();
    assert_eq!(deltas, r#"{"k":"é"}"#);
}

#[test]
fn stop_reason_and_usage_can_be_chosen() {
    let usage = Usage::new(1_000, 7);
    let reply = Reply::tool_call("c", "t", json!({})).stop(StopReason::Length).with_usage(usage);
    let expected = Ok(StreamEvent::Done { stop_reason: StopReason::Length, usage });
    assert_eq!(play(&ScriptedModel::new([reply])).last(), Some(&expected));
}

#[test]
fn a_reply_can_fail_at_any_point_and_nothing_follows() {
    let failing = Reply::text("half").then_fail(network()).then_text("never");
    assert_eq!(play(&ScriptedModel::new([failing])), [start(), text(0, "half"), Err(network())]);
    assert_eq!(play(&ScriptedModel::new([Reply::error(network())])), [Err(network())]);
}

#[test]
fn a_reply_can_end_without_done() {
    assert_eq!(play(&ScriptedModel::new([Reply::text("half").cut()])), [start(), text(0, "half")]);
}

#[test]
fn a_waiting_reply_takes_virtual_time() {
    let clock = VirtualClock::new();
    let minute = EPOCH.after(Duration::from_secs(60));
    let reply = Reply::empty().then_wait_until(minute).then_wait(Duration::from_secs(30)).then_text("late");
    let model = ScriptedModel::new([reply]).with_clock(clock.shared());
    let items: Items = block_on(&clock, model.stream(request(), CancellationToken::new()).collect()).unwrap();
    assert_eq!(items, [start(), text(0, "late"), done(StopReason::Stop)]);
    assert_eq!(clock.now().since(EPOCH), Duration::from_secs(90));
}

#[test]
fn a_script_that_waits_without_a_clock_fails_with_a_clear_error() {
    let items = play(&ScriptedModel::new([Reply::empty().then_wait(Duration::from_secs(1))]));
    assert!(matches!(&items[1], Err(ProviderError::Other(detail)) if detail.message.contains("with_clock")));
}

#[test]
fn a_stalled_reply_never_ends_by_itself() {
    for (reply, before) in [(Reply::stall_forever(), 0), (Reply::text("a").then_stall(), 2)] {
        let model = ScriptedModel::new([reply]);
        let mut stream = model.stream(request(), CancellationToken::new());
        for _ in 0..before {
            assert!(poll(&mut stream).is_ready());
        }
        let rest = block_on(&VirtualClock::new(), stream.collect::<Items>());
        assert_eq!(rest, Err(Halt::Stalled));
    }
}

#[test]
fn cancelling_wakes_and_ends_a_stalled_reply() {
    let clock = VirtualClock::new();
    let model =
        ScriptedModel::new([Reply::stall_forever(), Reply::text("a"), Reply::text("a").ignoring_cancel()]);
    let cancel = CancellationToken::new();
    let mut stream = model.stream(request(), cancel.clone());
    let mut executor = crate::executor::Executor::new(clock, crate::random::SeededRandom::new(1));
    executor.spawn(async move {
        assert_eq!(stream.next().await, Some(Err(ProviderError::Cancelled)));
        assert_eq!(stream.next().await, None);
    });
    assert_eq!(executor.run(10), Err(Halt::Stalled));
    cancel.cancel();
    assert_eq!(executor.run(10), Ok(()));
    assert_eq!(
        poll(&mut model.stream(request(), cancel.clone())),
        Poll::Ready(Some(Err(ProviderError::Cancelled)))
    );
    assert_eq!(poll(&mut model.stream(request(), cancel)), Poll::Ready(Some(start())));
}

#[test]
fn a_yielding_model_is_pending_once_before_every_event() {
    let model = ScriptedModel::new([Reply::text("a"), Reply::text("a")]).with_yields();
    let mut stream = model.stream(request(), CancellationToken::new());
    for expected in [Some(start()), Some(text(0, "a")), Some(done(StopReason::Stop))] {
        assert!(poll(&mut stream).is_pending());
        assert_eq!(poll(&mut stream), Poll::Ready(expected));
    }
    assert_eq!(poll(&mut stream), Poll::Ready(None));
    assert_eq!(play(&model).len(), 3, "it wakes itself");
}

#[test]
fn a_function_sees_the_index_and_the_request() {
    let model = ScriptedModel::from_fn(|index, request| {
        Reply::text(format!("{index}: {} messages", request.messages.len()))
    });
    assert_eq!(play(&model)[1], text(0, "0: 1 messages"));
    assert_eq!(play(&model)[1], text(0, "1: 1 messages"));
}

#[test]
fn an_invalid_request_fails_like_http_400_and_consumes_no_reply() {
    let model = ScriptedModel::new([Reply::text("one")]).with_recording();
    let mut transcript = transcript();
    let reply = Message::Assistant(AssistantMessage {
        content: vec![Content::text("already answered")],
        stop_reason: StopReason::Stop,
        model: String::new(),
        provider: String::new(),
        requested_model: None,
        usage: Usage::default(),
        timestamp: Default::default(),
        error_message: None,
    });
    transcript.push_exchange(Arc::new(reply.into()), Vec::new()).unwrap();
    let bad = StreamConfig::new(Arc::default(), transcript.window());
    let items: Items =
        block_on(&VirtualClock::new(), model.stream(bad, CancellationToken::new()).collect()).unwrap();
    assert!(
        matches!(items.as_slice(), [Err(ProviderError::Api(detail))] if detail.message.contains("HTTP 400"))
    );
    let kind = ViolationKind::EndsInReply;
    assert_eq!(model.violations(), [RequestViolation { request: 0, violation: Violation { at: 1, kind } }]);
    assert_eq!(play(&model)[1], text(0, "one"));
    assert_eq!((model.requests(), model.recorded_requests().len()), (2, 2));
    assert_eq!(model.recorded_requests()[0].messages.len(), 2);
}
