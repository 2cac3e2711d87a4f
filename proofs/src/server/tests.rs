//! Tests of the server on a real socket, with a hand-written client.

use http_body_util::{BodyExt, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{Answer, Frame, RawResponse, Script, Server, Turn, Wire, render};

/// Path and body of a prompt with two tools, for every protocol.
fn prompt(wire: Wire, streaming: bool) -> (String, Value) {
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}, "line": {"type": "integer"}},
        "required": ["path", "line"]});
    let base = wire.base_path();
    let verb = if streaming { "streamGenerateContent?alt=sse" } else { "generateContent" };
    let google = json!({
        "contents": [{"role": "user", "parts": [{"text": "go"}]}],
        "generationConfig": {"thinkingConfig": {"includeThoughts": true}},
        "tools": [{"functionDeclarations": [
            {"name": "read", "parametersJsonSchema": schema}, {"name": "list", "parametersJsonSchema": schema}]}],
    });
    match wire {
        Wire::AnthropicMessages => (
            format!("{base}/v1/messages"),
            json!({"model": "claude-sonnet-4-5", "max_tokens": 2048, "stream": streaming,
                "thinking": {"type": "enabled", "budget_tokens": 1024},
                "tools": [{"name": "read", "input_schema": schema}, {"name": "list", "input_schema": schema}],
                "messages": [{"role": "user", "content": "go"}]}),
        ),
        Wire::OpenAiChat => (
            format!("{base}/chat/completions"),
            json!({"model": "gpt-5.2", "stream": streaming, "reasoning_effort": "low",
                "tools": [{"type": "function", "function": {"name": "read", "parameters": schema}},
                    {"type": "function", "function": {"name": "list", "parameters": schema}}],
                "messages": [{"role": "user", "content": "go"}]}),
        ),
        Wire::OpenAiResponses | Wire::AzureResponses => (
            format!("{base}/responses"),
            json!({"model": "gpt-5.2", "stream": streaming, "store": false, "reasoning": {"effort": "low"},
                "include": ["reasoning.encrypted_content"],
                "tools": [{"type": "function", "name": "read", "parameters": schema},
                    {"type": "function", "name": "list", "parameters": schema}],
                "input": "go"}),
        ),
        Wire::Gemini => (format!("{base}/v1beta/models/gemini-3-pro:{verb}"), google),
        Wire::Vertex => {
            (format!("{base}/v1/projects/p/locations/l/publishers/google/models/gemini-3-pro:{verb}"), google)
        }
        Wire::BedrockConverse => (
            format!("{base}/model/m/{}", if streaming { "converse-stream" } else { "converse" }),
            json!({"messages": [{"role": "user", "content": [{"text": "go"}]}],
                "inferenceConfig": {"maxTokens": 2048},
                "additionalModelRequestFields": {"thinking": {"type": "enabled", "budget_tokens": 1024}},
                "toolConfig": {"tools": [{"toolSpec": {"name": "read", "inputSchema": {"json": schema}}},
                    {"toolSpec": {"name": "list", "inputSchema": {"json": schema}}}]}}),
        ),
    }
}

/// Sends one hand-written HTTP/1.1 request on its own connection. Returns head and raw body as far as they
/// arrived.
async fn post(server: &Server, path: &str, key: &str, body: &Value) -> (String, Vec<u8>) {
    let body = body.to_string();
    let mut socket = TcpStream::connect(server.address()).await.unwrap();
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: Bearer {key}\r\n\
         anthropic-version: 2023-06-01\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut bytes = Vec::new();
    // A connection that the script resets ends with an error; what arrived before is used.
    let _ = socket.read_to_end(&mut bytes).await;
    let split = bytes.windows(4).position(|window| window == b"\r\n\r\n").unwrap() + 4;
    let body = bytes.split_off(split);
    (String::from_utf8(bytes).unwrap(), body)
}

/// Joins the chunks of a chunked body, up to where it ends.
fn unchunked(mut body: &[u8]) -> Vec<u8> {
    let mut joined = Vec::new();
    while let Some(end) = body.windows(2).position(|window| window == b"\r\n") {
        let size = usize::from_str_radix(std::str::from_utf8(&body[..end]).unwrap(), 16).unwrap();
        joined.extend_from_slice(&body[end + 2..end + 2 + size]);
        body = &body[end + 4 + size..];
    }
    joined
}

#[tokio::test]
async fn a_prompt_gets_thinking_text_and_two_valid_calls_in_every_protocol() {
    let server = Server::start(Script::tool_loop()).await.unwrap();
    for wire in Wire::ALL {
        let (path, body) = prompt(wire, false);
        let (head, reply) = post(&server, &path, "secret", &body).await;
        assert!(head.starts_with("HTTP/1.1 200"), "{wire}: {head} {}", String::from_utf8_lossy(&reply));
        let text = String::from_utf8(reply).unwrap();
        assert!(
            text.contains("größe path") && text.contains("read") && text.contains("list"),
            "{wire}: {text}"
        );
        assert!(text.contains("Two tools will do"), "{wire}: {text}");
        let model = server.requests().last().unwrap().model.clone();
        assert!(wire == Wire::BedrockConverse || text.contains(&model), "{wire}: {text}");
    }
}

#[tokio::test]
async fn a_stream_is_exactly_the_rendered_frames() {
    for wire in Wire::ALL {
        let turn = Turn::new().model("m").thinking("hm").text("größer").call("a", "read", &json!({}));
        let server = Server::start(Script::queue([turn.clone()])).await.unwrap();
        let (path, mut body) = prompt(wire, true);
        if wire == Wire::OpenAiChat {
            body["stream_options"] = json!({"include_usage": true});
        }
        let (head, reply) = post(&server, &path, "secret", &body).await;
        assert!(
            head.to_lowercase().contains(&format!("content-type: {}", render::content_type(wire))),
            "{head}"
        );
        assert_eq!(unchunked(&reply), render::stream(wire, &turn).concat(), "{wire}");
    }
}

#[tokio::test]
async fn unrequested_parts_are_omitted() {
    let server = Server::start(Script::tool_loop()).await.unwrap();
    let (path, body) = prompt(Wire::OpenAiChat, true);
    let (_, reply) = post(&server, &path, "secret", &body).await;
    assert!(!String::from_utf8_lossy(&reply).contains("prompt_tokens"));
    let (path, mut body) = prompt(Wire::OpenAiResponses, false);
    body.as_object_mut().unwrap().remove("include");
    let (_, reply) = post(&server, &path, "secret", &body).await;
    assert!(!String::from_utf8_lossy(&reply).contains("encrypted_content"));
}

#[tokio::test]
async fn a_prompt_can_request_errors() {
    let server = Server::start(Script::tool_loop()).await.unwrap();
    let ask = |text: &str| json!({"model": "gpt-4o", "stream": true, "messages": [{"role": "user", "content": text}]});
    for (order, expected) in [
        ("!status 429", "rate_limit_exceeded"),
        ("!overflow", "context_length_exceeded"),
        ("!stream-error", "broke off in the middle"),
        ("!stop length", r#""finish_reason":"length""#),
    ] {
        let (_, reply) = post(&server, "/chat/v1/chat/completions", "secret", &ask(order)).await;
        let text = String::from_utf8_lossy(&reply).into_owned();
        assert!(text.contains(expected), "{order}: {text}");
    }
}

#[tokio::test]
async fn rejected_requests_are_recorded_with_their_problems_and_consume_no_response() {
    let server = Server::start(Script::queue([Turn::new().text("kept")])).await.unwrap();
    let (path, good) = prompt(Wire::AnthropicMessages, false);
    let mut bad = good.clone();
    bad["messages"] = json!([]);
    let (head, _) = post(&server, &path, "secret", &bad).await;
    assert!(head.starts_with("HTTP/1.1 400"), "{head}");
    let (head, _) = post(&server, &path, "wrong", &good).await;
    assert!(head.starts_with("HTTP/1.1 401"), "{head}");
    let (_, reply) = post(&server, &path, "secret", &good).await;
    assert!(String::from_utf8_lossy(&reply).contains("kept"));
    let (head, _) = post(&server, &path, "secret", &good).await;
    assert!(head.starts_with("HTTP/1.1 500"), "an empty script must say so: {head}");
    let requests = server.requests();
    assert_eq!(requests.len(), 4);
    assert_eq!(requests[0].problems, ["messages: at least one message is required"]);
    assert!(requests[2].problems.is_empty());
}

#[tokio::test]
async fn an_unchecked_script_sees_everything() {
    let server = Server::start(Script::queue([Turn::new().text("fine")]).unchecked()).await.unwrap();
    let (head, _) = post(&server, "/anthropic/v1/messages", "wrong", &json!({})).await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
}

#[tokio::test]
async fn a_reset_aborts_the_body() {
    let frames =
        vec![Frame::Bytes(b"data: 1\n\n".to_vec()), Frame::Pause(std::time::Duration::ZERO), Frame::Reset];
    let raw = RawResponse { status: 200, headers: Vec::new(), frames };
    let server = Server::start(Script::queue([Answer::Raw(raw)])).await.unwrap();
    let (path, body) = prompt(Wire::OpenAiChat, true);
    let (_, reply) = post(&server, &path, "secret", &body).await;
    assert!(!reply.ends_with(b"0\r\n\r\n"), "the body must not end cleanly: {reply:?}");
}

#[tokio::test]
async fn http_2_with_prior_knowledge_works_on_the_same_port() {
    let server = Server::start(Script::tool_loop()).await.unwrap();
    let socket = TcpStream::connect(server.address()).await.unwrap();
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(socket)).await.unwrap();
    let driver = tokio::spawn(connection);
    for wire in [Wire::Vertex, Wire::BedrockConverse] {
        let (path, body) = prompt(wire, true);
        let request = http::Request::post(format!("http://{}{path}", server.address()))
            .header("authorization", "Bearer secret")
            .body(Full::<bytes::Bytes>::from(body.to_string()))
            .unwrap();
        let response = sender.send_request(request).await.unwrap();
        assert_eq!((response.status().as_u16(), response.version()), (200, http::Version::HTTP_2));
        let body = response.into_body().collect().await.unwrap().to_bytes();
        assert!(String::from_utf8_lossy(&body).contains("read"), "{wire}");
        assert_eq!(server.requests().last().unwrap().headers["host"], server.address().to_string());
    }
    drop(sender);
    driver.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_dropped_server_closes_its_connections() {
    let raw = RawResponse {
        status: 200,
        headers: Vec::new(),
        frames: vec![Frame::Bytes(b"x".to_vec()), Frame::Stall],
    };
    let server = Server::start(Script::queue([Answer::Raw(raw)])).await.unwrap();
    let (path, body) = prompt(Wire::OpenAiChat, true);
    let body = body.to_string();
    let mut socket = TcpStream::connect(server.address()).await.unwrap();
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer k\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut first = [0; 1];
    socket.read_exact(&mut first).await.unwrap();
    drop(server);
    let mut rest = Vec::new();
    // The connection must end, with or without an error.
    let _ = socket.read_to_end(&mut rest).await;
}
