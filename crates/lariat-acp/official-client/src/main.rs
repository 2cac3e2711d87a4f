//! Stands between a test and an agent: speaks plain JSON-RPC with the test, and with the agent through the client of the
//! official crate `agent-client-protocol`.
//!
//! `official-client PROGRAM [ARGUMENT]...` starts the agent. Every message of the agent is read into the types of the
//! official crate and written from them again. If something was lost on the way, the agent sent what the protocol does
//! not have, and the test receives a `violation`. `official-client --draft PROGRAM [ARGUMENT]...` does the same for the
//! draft of version 2.

mod draft;

use std::collections::HashMap;
use std::io::Write as _;
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use agent_client_protocol::v1::{ConnectionTo, schema as acp};
use agent_client_protocol::{Agent, Client, Error, Lines};
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::sync::oneshot;

/// The test.
#[derive(Default)]
struct Test {
    /// What the agent sent and the official crate has not delivered yet.
    raw: Mutex<Vec<Value>>,
    waiting: Mutex<HashMap<u64, oneshot::Sender<Value>>>,
    next_id: AtomicU64,
}

impl Test {
    fn send(&self, message: &Value) {
        let mut out = std::io::stdout().lock();
        writeln!(out, "{message}").and_then(|()| out.flush()).expect("the test reads");
    }

    /// Checks that the official crate understood all of a message.
    fn check(&self, what: &str, understood: &Value) {
        let mut raw = self.raw.lock().expect("no thread panics");
        match raw.iter().position(|sent| covers(understood, sent) && covers(sent, understood)) {
            Some(at) => drop(raw.remove(at)),
            None => {
                let params = json!({ "what": what, "understood": understood, "sent": *raw });
                self.send(&json!({ "jsonrpc": "2.0", "method": "violation", "params": params }));
            }
        }
    }

    fn notify(&self, method: &str, params: Value) {
        self.check(method, &params);
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    fn ask(&self, method: &str, params: Value) -> (u64, oneshot::Receiver<Value>) {
        self.check(method, &params);
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let (sender, receiver) = oneshot::channel();
        self.waiting.lock().expect("no thread panics").insert(id, sender);
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        (id, receiver)
    }
}

/// Whether a value has everything that another one has. The official types leave out defaults.
fn covers(understood: &Value, sent: &Value) -> bool {
    let is_default = |value: &Value| {
        value.is_null()
            || *value == json!(false)
            || *value == json!([])
            || *value == json!({})
            || *value == json!("pending")
            || *value == json!("other")
    };
    match (understood, sent) {
        (Value::Object(understood), Value::Object(sent)) => {
            sent.iter().all(|(name, value)| match understood.get(name) {
                Some(known) => covers(known, value),
                None => is_default(value),
            })
        }
        (Value::Array(understood), Value::Array(sent)) => {
            understood.len() == sent.len()
                && understood.iter().zip(sent).all(|(known, value)| covers(known, value))
        }
        _ => understood == sent,
    }
}

fn to_value(value: impl serde::Serialize) -> Value {
    serde_json::to_value(value).expect("types of the protocol are JSON")
}

/// Sends a request through the official crate.
macro_rules! call {
    ($connection:expr, $test:expr, $params:expr, $request:ty) => {
        match serde_json::from_value::<$request>($params) {
            Err(error) => {
                let error = Error::invalid_params().data(Value::from(error.to_string()));
                Box::pin(std::future::ready(Err(error)))
            }
            Ok(request) => {
                let sent = $connection.send_request(request);
                Box::pin(async move {
                    let response = to_value(sent.block_task().await?);
                    $test.check(stringify!($request), &response);
                    Ok(response)
                })
            }
        }
    };
}

/// What the test answered to a request of the agent.
fn answered<T: serde::de::DeserializeOwned>(
    message: Result<Value, oneshot::error::RecvError>,
) -> Result<T, Error> {
    let mut message = message.unwrap_or_default();
    if let Some(error) = message.get("error") {
        return Err(serde_json::from_value(error.clone()).expect("an error of JSON-RPC"));
    }
    serde_json::from_value(message["result"].take())
        .map_err(|error| Error::internal_error().data(Value::from(error.to_string())))
}

/// Handles a request of the agent: the test answers it.
macro_rules! forward {
    ($test:expr, $method:literal, $request:ty) => {{
        let test = Arc::clone(&$test);
        async move |request: $request, responder, connection| {
            let (_, answer) = test.ask($method, to_value(request));
            connection.spawn(async move { responder.respond_with_result(answered(answer.await)) })
        }
    }};
}

/// Sends a request at once, so that requests and notifications keep their order. Returns its response.
fn request(
    connection: &ConnectionTo<Agent>,
    test: Arc<Test>,
    method: &str,
    params: Value,
) -> BoxFuture<'static, Result<Value, Error>> {
    match method {
        "initialize" => call!(connection, test, params, acp::InitializeRequest),
        "authenticate" => call!(connection, test, params, acp::AuthenticateRequest),
        "session/new" => call!(connection, test, params, acp::NewSessionRequest),
        "session/load" => call!(connection, test, params, acp::LoadSessionRequest),
        "session/resume" => call!(connection, test, params, acp::ResumeSessionRequest),
        "session/list" => call!(connection, test, params, acp::ListSessionsRequest),
        "session/delete" => call!(connection, test, params, acp::DeleteSessionRequest),
        "session/close" => call!(connection, test, params, acp::CloseSessionRequest),
        "session/prompt" => call!(connection, test, params, acp::PromptRequest),
        "session/set_mode" => call!(connection, test, params, acp::SetSessionModeRequest),
        "session/set_config_option" => call!(connection, test, params, acp::SetSessionConfigOptionRequest),
        _ => Box::pin(std::future::ready(Err(Error::method_not_found()))),
    }
}

/// Reads what the test sends, until its end.
async fn serve_test(connection: ConnectionTo<Agent>, test: Arc<Test>) -> Result<(), Error> {
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let mut message: Value = serde_json::from_str(&line).expect("the test sends JSON");
        let params = message["params"].take();
        match (message["method"].as_str().map(str::to_owned), message["id"].clone()) {
            (Some(method), Value::Null) if method == "session/cancel" => {
                let cancel: acp::CancelNotification = serde_json::from_value(params).expect("a cancellation");
                connection.send_notification(cancel)?;
            }
            (Some(method), id) => {
                let response = request(&connection, Arc::clone(&test), &method, params);
                let test = Arc::clone(&test);
                tokio::spawn(async move {
                    let response = match response.await {
                        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
                        Err(error) => json!({ "jsonrpc": "2.0", "id": id, "error": error }),
                    };
                    test.send(&response);
                });
            }
            (None, id) => {
                let waiting =
                    id.as_u64().and_then(|id| test.waiting.lock().expect("no thread panics").remove(&id));
                if let Some(waiting) = waiting {
                    let _ = waiting.send(message);
                }
            }
        }
    }
    Ok(())
}

/// The agent, which ends with this process.
fn agent_command(mut arguments: impl Iterator<Item = std::ffi::OsString>) -> tokio::process::Command {
    let program = arguments.next().expect("usage: official-client [--draft] PROGRAM [ARGUMENT]...");
    let mut command = tokio::process::Command::new(program);
    command.args(arguments).kill_on_drop(true);
    command
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let arguments = std::env::args_os().skip(1);
    if std::env::args_os().nth(1).is_some_and(|first| first == "--draft") {
        draft::run(arguments.skip(1)).await;
        return Ok(());
    }
    let mut agent = agent_command(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the agent starts");
    let test = Arc::new(Test::default());
    let input = agent.stdin.take().expect("it has an input");
    let outgoing = futures::sink::unfold(input, async move |mut input, line: String| {
        input.write_all(format!("{line}\n").as_bytes()).await?;
        Ok::<_, std::io::Error>(input)
    });
    let lines = BufReader::new(agent.stdout.take().expect("it has an output")).lines();
    let tapped = Arc::clone(&test);
    let incoming = futures::stream::unfold((lines, tapped), async move |(mut lines, test)| {
        let line = lines.next_line().await.transpose()?;
        if let Ok(line) = &line {
            let mut message: Value = serde_json::from_str(line).expect("the agent sends JSON");
            let sent =
                ["params", "result"].into_iter().find_map(|name| message.get_mut(name).map(Value::take));
            let is_cancellation = message["method"] == "$/cancel_request";
            test.raw.lock().expect("no thread panics").extend(sent.filter(|_| !is_cancellation));
        }
        Some((line, (lines, test)))
    });
    let (updates, permissions) = (Arc::clone(&test), Arc::clone(&test));
    Client
        .v1()
        .name("official-client")
        .on_receive_notification(
            async move |update: acp::SessionNotification, _connection| {
                updates.notify("session/update", to_value(update));
                Ok(())
            },
            agent_client_protocol::on_receive_notification!(),
        )
        .on_receive_request(
            async move |request: acp::RequestPermissionRequest, responder, connection| {
                let test = Arc::clone(&permissions);
                let (id, answer) = test.ask("session/request_permission", to_value(request));
                let cancellation = responder.cancellation();
                connection.spawn(async move {
                    tokio::select! {
                        answer = answer => responder.respond_with_result(answered(answer)),
                        () = cancellation.cancelled() => {
                            let params = json!({ "requestId": id });
                            test.send(&json!({ "jsonrpc": "2.0", "method": "$/cancel_request", "params": params }));
                            responder.respond_with_error(Error::request_cancelled())
                        }
                    }
                })
            },
            agent_client_protocol::on_receive_request!(),
        )
        .on_receive_request(
            forward!(test, "elicitation/create", acp::CreateElicitationRequest),
            agent_client_protocol::on_receive_request!(),
        )
        .on_receive_request(
            forward!(test, "fs/read_text_file", acp::ReadTextFileRequest),
            agent_client_protocol::on_receive_request!(),
        )
        .on_receive_request(
            forward!(test, "fs/write_text_file", acp::WriteTextFileRequest),
            agent_client_protocol::on_receive_request!(),
        )
        .connect_with(Lines::new(outgoing, incoming), async move |connection: ConnectionTo<Agent>| {
            serve_test(connection, test).await
        })
        .await
}
