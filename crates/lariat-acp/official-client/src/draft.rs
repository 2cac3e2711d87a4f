//! Passes messages on between a test and an agent that speaks the draft of version 2, and checks each message of the agent
//! with the types of the official crate.

use std::collections::HashMap;
use std::io::Write as _;
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use agent_client_protocol::v2::schema as acp;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

use crate::{agent_command, covers};

/// Runs until the agent ends.
pub(crate) async fn run(arguments: impl Iterator<Item = std::ffi::OsString>) {
    let mut agent = agent_command(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the agent starts");
    let mut input = agent.stdin.take().expect("it has an input");
    let requests = Arc::new(Mutex::new(HashMap::new()));
    let sent = Arc::clone(&requests);
    tokio::spawn(async move {
        let mut lines = BufReader::new(tokio::io::stdin()).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let message: Value = serde_json::from_str(&line).expect("the test sends JSON");
            if let Some(method) = message["method"].as_str() {
                let mut sent = sent.lock().expect("no thread panics");
                sent.insert(message["id"].to_string(), method.to_owned());
            }
            input.write_all(format!("{line}\n").as_bytes()).await.expect("the agent reads");
        }
    });
    let mut lines = BufReader::new(agent.stdout.take().expect("it has an output")).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let message: Value = serde_json::from_str(&line).expect("the agent sends JSON");
        if let Err(reason) = check(&message, &requests.lock().expect("no thread panics")) {
            send(&json!({ "jsonrpc": "2.0", "method": "violation", "params": { "reason": reason, "sent": message } }));
        }
        send(&message);
    }
}

fn send(message: &Value) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{message}").and_then(|()| out.flush()).expect("the test reads");
}

/// Checks a message of the agent: a request, a notification, or a response to one of these requests.
fn check(message: &Value, requests: &HashMap<String, String>) -> Result<(), String> {
    if message.get("error").is_some() {
        return is::<acp::Error>(&message["error"]);
    }
    let Some(method) = message["method"].as_str() else {
        let method = requests.get(&message["id"].to_string()).ok_or("a response without a request")?;
        let result = &message["result"];
        return match method.as_str() {
            "initialize" => is::<acp::InitializeResponse>(result),
            "session/new" => is::<acp::NewSessionResponse>(result),
            "session/resume" => is::<acp::ResumeSessionResponse>(result),
            "session/list" => is::<acp::ListSessionsResponse>(result),
            "session/close" => is::<acp::CloseSessionResponse>(result),
            "session/delete" => is::<acp::DeleteSessionResponse>(result),
            "session/prompt" => is::<acp::PromptResponse>(result),
            "session/set_config_option" => is::<acp::SetSessionConfigOptionResponse>(result),
            method => Err(format!("a result for `{method}`")),
        };
    };
    let params = &message["params"];
    match method {
        "session/update" => {
            // The official types take what they do not know as an extension.
            let update: acp::UpdateSessionNotification = read(params)?;
            match update.update {
                acp::SessionUpdate::Other(_) => Err("an unknown update".to_owned()),
                acp::SessionUpdate::StateUpdate(acp::StateUpdate::Other(_)) => Err("an unknown state".to_owned()),
                _ => is::<acp::UpdateSessionNotification>(params),
            }
        }
        "session/request_permission" => is::<acp::RequestPermissionRequest>(params),
        "elicitation/create" => is::<acp::CreateElicitationRequest>(params),
        "$/cancel_request" => Ok(()),
        method => Err(format!("an unknown method `{method}`")),
    }
}

fn read<T: DeserializeOwned>(value: &Value) -> Result<T, String> {
    serde_json::from_value(value.clone()).map_err(|error| error.to_string())
}

/// Whether a type of the official crate has everything that was sent.
fn is<T: DeserializeOwned + Serialize>(sent: &Value) -> Result<(), String> {
    let understood = serde_json::to_value(read::<T>(sent)?).expect("types of the protocol are JSON");
    if covers(&understood, sent) && covers(sent, &understood) {
        return Ok(());
    }
    Err(format!("understood as {understood}"))
}
