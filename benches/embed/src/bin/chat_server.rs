//! A scripted model behind OpenAI's chat completions API, on loopback, for the programs beside it.
//!
//! It answers from the request alone, so any number of programs get the same answers in any order. It is
//! strict about what the programs must get right: the tool's parameters, the tool's result, the denial, the
//! schema of the answer. Prints `listening ADDRESS`, and exits when its standard input closes or after
//! [`MAX_CONNECTIONS`].

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use serde_json::{Value, json};

/// Connections before the server exits.
const MAX_CONNECTIONS: usize = 1_000;
/// Longest request body in bytes.
const MAX_BODY: usize = 1 << 20;
/// How long a connection may be silent.
const SILENCE: Duration = Duration::from_secs(30);

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    println!("listening {}", listener.local_addr()?);
    std::thread::spawn(|| {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        std::process::exit(0);
    });
    for stream in listener.incoming().take(MAX_CONNECTIONS) {
        let stream = stream?;
        std::thread::spawn(move || {
            if let Err(error) = serve(&stream) {
                eprintln!("server: {error}");
            }
        });
    }
    Ok(())
}

/// Answers the requests of one connection.
fn serve(stream: &TcpStream) -> Result<(), Failure> {
    stream.set_read_timeout(Some(SILENCE))?;
    let (mut reader, mut writer) = (BufReader::new(stream), stream);
    let mut line = String::new();
    while reader.read_line(&mut line)? > 0 {
        let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
        let mut length = 0;
        loop {
            line.clear();
            if reader.read_line(&mut line)? == 0 || line.trim().is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse()?;
            }
        }
        if length > MAX_BODY {
            return Err("the request is too long".into());
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let (status, kind, text) = match (path.as_str(), serde_json::from_slice::<Value>(&body)) {
            ("/v1/chat/completions", Ok(request)) => respond(&request),
            (path, _) => ("404 Not Found", "application/json", error(&format!("no such path: {path}"))),
        };
        let head =
            format!("HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n", text.len());
        writer.write_all(head.as_bytes())?;
        writer.write_all(text.as_bytes())?;
        line.clear();
    }
    Ok(())
}

fn error(message: &str) -> String {
    json!({"error": {"message": message, "type": "invalid_request_error"}}).to_string()
}

/// Status, content type and body.
fn respond(request: &Value) -> (&'static str, &'static str, String) {
    let reply = match reply(request) {
        Ok(reply) => reply,
        Err(message) => return ("400 Bad Request", "application/json", error(&message)),
    };
    let reason = if reply["tool_calls"].is_array() { "tool_calls" } else { "stop" };
    let usage = json!({"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12});
    let common = |object: &str| json!({"id": "chatcmpl-1", "object": object, "created": 1, "model": "gpt"});
    if request["stream"] != true {
        let mut whole = common("chat.completion");
        whole["choices"] = json!([{"index": 0, "message": reply, "finish_reason": reason}]);
        whole["usage"] = usage;
        return ("200 OK", "application/json", whole.to_string());
    }
    let chunk = |delta: &Value, reason: Value| {
        let mut chunk = common("chat.completion.chunk");
        chunk["choices"] = json!([{"index": 0, "delta": delta, "finish_reason": reason}]);
        chunk
    };
    let mut last = chunk(&json!({}), reason.into());
    last["usage"] = usage;
    let events = format!("data: {}\n\ndata: {last}\n\ndata: [DONE]\n\n", chunk(&reply, Value::Null));
    ("200 OK", "text/event-stream", events)
}

/// The message that the model sends next.
fn reply(request: &Value) -> Result<Value, String> {
    let messages = request["messages"].as_array().ok_or("no messages")?;
    let texts = |role: &'static str| {
        messages
            .iter()
            .filter(move |message| message["role"] == role)
            .map(|message| text(&message["content"]))
    };
    let results: Vec<String> = texts("tool").collect();
    let prompt = texts("user").next().ok_or("no message of the user")?;
    match (prompt.as_str(), results.as_slice()) {
        ("What is 20 + 22?", []) => call(request, "add", &json!({"a": 20, "b": 22})),
        ("What is 20 + 22?", [sum]) => Ok(answer(&format!("20 + 22 = {sum}."))),
        ("Deploy everywhere.", []) => call(request, "deploy", &json!({"target": "staging"})),
        ("Deploy everywhere.", [_]) => call(request, "deploy", &json!({"target": "production"})),
        ("Deploy everywhere.", [first, second]) => {
            let outcome = |result: &str| if result.contains("deployed to") { "yes" } else { "no" };
            Ok(answer(&format!("staging: {}, production: {}.", outcome(first), outcome(second))))
        }
        ("What is the capital of France?", []) => {
            let schema = &request["response_format"]["json_schema"]["schema"];
            if schema["properties"]["inhabitants"]["type"] != "integer" {
                return Err(format!("expected the schema of the answer, got {}", request["response_format"]));
            }
            Ok(answer(r#"{"name": "Paris", "inhabitants": 2103778}"#))
        }
        (prompt, results) => Err(format!("no reply for `{prompt}` with {} tool results", results.len())),
    }
}

fn answer(text: &str) -> Value {
    json!({"role": "assistant", "content": text})
}

/// A call of a tool, if the request offers the tool with these parameters.
fn call(request: &Value, name: &str, arguments: &Value) -> Result<Value, String> {
    let tools = request["tools"].as_array().ok_or("no tools")?;
    let tool = tools.iter().find(|tool| tool["function"]["name"] == name);
    let tool = tool.ok_or_else(|| format!("no tool `{name}`"))?;
    let offered = &tool["function"]["parameters"]["properties"];
    let wanted = arguments.as_object().ok_or("arguments must be an object")?;
    if let Some(missing) = wanted.keys().find(|parameter| offered[parameter.as_str()].is_null()) {
        return Err(format!("tool `{name}` has no parameter `{missing}`: {offered}"));
    }
    let id = format!("call_{}", request["messages"].as_array().map_or(0, Vec::len));
    let function = json!({"name": name, "arguments": arguments.to_string()});
    let calls = json!([{"index": 0, "id": id, "type": "function", "function": function}]);
    Ok(json!({"role": "assistant", "content": null, "tool_calls": calls}))
}

/// The text of a message: a string, or a list of parts.
fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        _ => String::new(),
    }
}
