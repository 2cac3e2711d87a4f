//! Replays recorded exchanges and compares the requests and events with the recording.
//!
//! A cassette is four text files in `tests/cassettes/PROTOCOL/`:
//! - `FEATURE.given.json`: the request as the agent states it ([`CassetteInput`]);
//! - `FEATURE.request.json`: the HTTP request that the protocol must build from it, exactly what the model
//!   sees;
//! - `FEATURE.response.sse`: the body of the response; for AWS streams `FEATURE.response.frames` (one JSON
//!   object `{headers, payload}` per line, framed by this test) or `FEATURE.response.bin` (raw bytes);
//! - `FEATURE.events.json`: the events that the decoder must make of the body, and how the stream ended.
//!
//! `LARIAT_RECORD=1` writes the second and the fourth file; review the diff before you commit it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use aws_smithy_eventstream::frame::write_message_to;
use aws_smithy_types::event_stream::{Header, HeaderValue, Message};
use lariat_core::message::AgentMessage;
use lariat_core::model::{
    CacheConfig, ModelConfig, OutputSchema, StreamConfig, StreamEvent, ThinkingLevel, ToolChoice,
};
use lariat_core::tool::ToolDefinition;
use lariat_core::transcript::Transcript;
use lariat_model::wire::OutgoingRequest;
use lariat_model::{ApiProtocol, Protocol};
use serde::Deserialize;
use serde_json::{Value, json};

/// A request as the agent states it.
#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct CassetteInput {
    model: ModelConfig,
    system: String,
    messages: Vec<AgentMessage>,
    tools: Vec<ToolDefinition>,
    tool_choice: ToolChoice,
    output_schema: Option<OutputSchema>,
    thinking_level: ThinkingLevel,
    max_tokens: Option<u32>,
    temperature: Option<f32>,
    cache: CacheConfig,
}

impl CassetteInput {
    fn request(self) -> StreamConfig {
        let (transcript, repairs) = Transcript::repair(self.messages.into_iter().map(Arc::new));
        assert_eq!(repairs, [], "the conversation of a cassette is valid");
        let mut request = StreamConfig::new(Arc::new(self.model), transcript.request().unwrap());
        request.system_prompt = self.system.into();
        request.tools = self.tools.into();
        request.tool_choice = self.tool_choice;
        request.output_schema = self.output_schema.map(Arc::new);
        request.thinking_level = self.thinking_level;
        request.max_tokens = self.max_tokens;
        request.temperature = self.temperature;
        request.cache_config = self.cache;
        request
    }
}

#[expect(clippy::disallowed_methods, reason = "cassettes are files of this test")]
fn read(path: &Path) -> Option<Vec<u8>> {
    std::fs::read(path).ok()
}

#[expect(clippy::disallowed_methods, reason = "a developer turns recording on by hand")]
fn recording() -> bool {
    std::env::var("LARIAT_RECORD").is_ok_and(|value| value == "1")
}

#[expect(clippy::disallowed_methods, reason = "recording writes the test's own files")]
fn write(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
}

/// Paths of all cassettes, without the suffix after the feature's name.
fn cassettes() -> Vec<PathBuf> {
    let folders = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cassettes")).unwrap();
    let files = folders.flat_map(|folder| std::fs::read_dir(folder.unwrap().path()).unwrap());
    let mut found: Vec<PathBuf> = files
        .filter_map(|file| {
            let path = file.unwrap().path();
            let feature = path.file_name()?.to_str()?.strip_suffix(".given.json")?.to_owned();
            Some(path.with_file_name(feature))
        })
        .collect();
    found.sort();
    found
}

fn part(cassette: &Path, suffix: &str) -> PathBuf {
    let mut path = cassette.as_os_str().to_owned();
    path.push(suffix);
    path.into()
}

/// The HTTP request in a readable form.
fn readable(outgoing: &OutgoingRequest) -> Value {
    let headers: BTreeMap<&str, &str> = outgoing
        .headers
        .iter()
        .map(|(name, value)| {
            (name.as_str(), if value.is_sensitive() { "(secret)" } else { value.to_str().unwrap() })
        })
        .collect();
    let body: Value = serde_json::from_slice(&outgoing.body).unwrap();
    json!({
        "method": outgoing.method.as_str(),
        "url": outgoing.url,
        "auth": format!("{:?}", outgoing.auth),
        "headers": headers,
        "body": body,
    })
}

fn response(cassette: &Path) -> Vec<u8> {
    let framed = read(&part(cassette, ".response.frames")).map(|lines| frames(&lines));
    let raw = || [".response.sse", ".response.bin"].iter().find_map(|suffix| read(&part(cassette, suffix)));
    framed.or_else(raw).unwrap_or_else(|| panic!("{} has no response", cassette.display()))
}

fn frames(lines: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for line in std::str::from_utf8(lines).unwrap().lines() {
        let frame: Value = serde_json::from_str(line).unwrap();
        let mut message = Message::new(frame["payload"].to_string().into_bytes());
        for (name, value) in frame["headers"].as_object().unwrap() {
            let value = value.as_str().unwrap().to_owned();
            message = message.add_header(Header::new(name.clone(), HeaderValue::String(value.into())));
        }
        write_message_to(&message, &mut bytes).unwrap();
    }
    bytes
}

/// Decodes a body that arrives in chunks of `size` bytes.
fn events(protocol: &dyn Protocol, request: &StreamConfig, body: &[u8], size: usize) -> Value {
    let mut decoder = protocol.decoder(request);
    let mut events = Vec::new();
    let mut ended = Ok(());
    for piece in body.chunks(size) {
        ended = decoder.feed(piece);
        events.extend(std::iter::from_fn(|| decoder.next_event()));
        if ended.is_err() {
            break;
        }
    }
    let ended = ended.and_then(|()| decoder.end());
    events.extend(std::iter::from_fn(|| decoder.next_event()));
    let ended = ended.err().map_or_else(|| "complete".to_owned(), |error| error.to_string());
    json!({"events": events.iter().map(event).collect::<Vec<Value>>(), "ended": ended})
}

fn event(event: &StreamEvent) -> Value {
    match event {
        StreamEvent::Start { model } => json!({"start": model}),
        StreamEvent::TextDelta { index, delta } => json!({"text": [index, delta]}),
        StreamEvent::ThinkingDelta { index, delta } => json!({"thinking": [index, delta]}),
        StreamEvent::ThinkingSignature { index, signature } => json!({"signature": [index, signature]}),
        StreamEvent::ToolCallDelta { index, delta } => json!({"arguments": [index, delta]}),
        StreamEvent::ToolCallEnd { index, call } => json!({"call": [index, call]}),
        StreamEvent::Block { index, content } => json!({"block": [index, content]}),
        StreamEvent::Done { stop_reason, usage } => json!({"done": [stop_reason, usage]}),
        other => json!(format!("{other:?}")),
    }
}

/// Compares with a file or records it. Appends any difference to `wrong`.
fn compare(path: &Path, made: &Value, wrong: &mut String) {
    if recording() {
        write(path, &format!("{}\n", serde_json::to_string_pretty(made).unwrap()));
        return;
    }
    let expected: Value =
        read(path).and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
    if *made != expected {
        writeln!(wrong, "{}: is now\n{made:#}\n", path.display()).unwrap();
    }
}

#[test]
fn every_cassette_replays_as_recorded() {
    let cassettes = cassettes();
    assert!(cassettes.len() >= 10, "{} cassettes", cassettes.len());
    let mut wrong = String::new();
    for cassette in cassettes {
        let given = read(&part(&cassette, ".given.json")).unwrap();
        let given: CassetteInput =
            serde_json::from_slice(&given).unwrap_or_else(|e| panic!("{}: {e}", cassette.display()));
        let request = given.request();
        let api: ApiProtocol = request.model_config.api.parse().unwrap();
        let protocol = api.implementation();
        let outgoing = protocol.request(&request).unwrap_or_else(|e| panic!("{}: {e}", cassette.display()));
        compare(&part(&cassette, ".request.json"), &readable(&outgoing), &mut wrong);

        let body = response(&cassette);
        let whole = events(protocol, &request, &body, body.len().max(1));
        for size in [1, 7, 64] {
            assert_eq!(
                events(protocol, &request, &body, size),
                whole,
                "{} in chunks of {size}",
                cassette.display()
            );
        }
        compare(&part(&cassette, ".events.json"), &whole, &mut wrong);
    }
    assert!(wrong.is_empty(), "{wrong}");
}
