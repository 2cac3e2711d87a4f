//! Tests our clients against third-party servers: llama.cpp, and LiteLLM's proxy in front of the scripted
//! server.
//!
//! Starts and stops the servers and prints a table of results. The conversation is `wire talk` of
//! `lariat-proofs`.

use std::process::{Command, Stdio};

use anyhow::{Result, bail};

use crate::command_line::CommandLine;
use crate::python;
use crate::server_process::{ServerProcess, free_port};
use crate::workspace::Workspace;

/// Directory of the servers' scripts and pinned versions.
const SCRIPTS: &str = "proofs/servers";
const BUILD: &str = "build --locked -p lariat-proofs --bin wire --bin scripted_server";
/// Names in LiteLLM's configuration for the routes to the scripted server, and our protocols that each
/// serves. Behind OpenAI's name, LiteLLM forwards chat to chat and everything else to Responses.
const LITELLM_MODELS: [(&str, &[&str]); 4] = [
    ("through-chat", &["openai-chat"]),
    ("through-responses", &["openai-responses", "anthropic-messages"]),
    ("through-messages", &["openai-chat", "openai-responses", "anthropic-messages"]),
    // Without `anthropic-messages`: LiteLLM sends two tool calls of one Gemini chunk as one block with both arguments
    // (`{…}{…}`), which our client refuses.
    ("through-gemini", &["openai-chat", "openai-responses"]),
];

/// Protocols that both servers speak, and the path of each below the server's address.
const PROTOCOLS: [(&str, &str); 3] =
    [("openai-chat", "/v1"), ("openai-responses", "/v1"), ("anthropic-messages", "")];

/// Builds our programs and runs the conversations.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    CommandLine::cargo(BUILD).run(workspace)?;
    prove(workspace)
}

/// Runs the conversations with what is already built.
fn prove(workspace: &Workspace) -> Result<()> {
    let mut results = Vec::new();
    llama(workspace, &mut results)?;
    litellm(workspace, &mut results)?;
    println!();
    for (name, passed) in &results {
        println!("{name:44}  {}", if *passed { "passed" } else { "FAILED" });
    }
    match results.iter().filter(|(_, passed)| !passed).count() {
        0 => Ok(()),
        failed => bail!("{failed} of {} conversations failed", results.len()),
    }
}

type Results = Vec<(String, bool)>;

fn llama(workspace: &Workspace, results: &mut Results) -> Result<()> {
    let python = python::environment(workspace, "llama", &format!("{SCRIPTS}/llama_requirements.txt"))?;
    let model = format!("{}/python/llama/coin.gguf", workspace.target());
    CommandLine::of(&python, "")
        .with_arguments([format!("{SCRIPTS}/llama_model.py"), model.clone()])
        .run(workspace)?;
    let port = free_port()?;
    let mut command = Command::new(&python);
    command.current_dir(workspace.root()).arg(format!("{SCRIPTS}/llama_server.py")).arg(model);
    let server = ServerProcess::start_announced(command.arg(port.to_string()).stderr(Stdio::null()))?;
    for (api, path) in PROTOCOLS {
        let passed = talk(workspace, api, &format!("http://{}{path}", server.address), "coin", "llama.cpp");
        results.push((format!("llama.cpp, {api}"), passed));
    }
    Ok(())
}

fn litellm(workspace: &Workspace, results: &mut Results) -> Result<()> {
    let python = python::environment(workspace, "litellm", &format!("{SCRIPTS}/litellm_requirements.txt"))?;
    let program = format!("{}/debug/scripted_server", workspace.target());
    let scripted = ServerProcess::start_announced(&mut Command::new(workspace.root().join(program)))?;
    let (port, base) = (free_port()?, format!("http://{}", scripted.address));
    let mut command = Command::new(&python);
    command
        .current_dir(workspace.root())
        .args(["-m", "litellm.proxy.proxy_cli", "--host", "127.0.0.1", "--port", &port.to_string()])
        .args(["--config", &format!("{SCRIPTS}/litellm_config.yaml")])
        .env("SCRIPTED_OPENAI", format!("{base}/chat/v1"))
        .env("SCRIPTED_RESPONSES", format!("{base}/responses/v1"))
        .env("SCRIPTED_ANTHROPIC", format!("{base}/anthropic"))
        .env("SCRIPTED_GEMINI", format!("{base}/gemini/v1beta"))
        // Loopback only: prices from its own copy, no telemetry, no update check.
        .env("LITELLM_LOCAL_MODEL_COST_MAP", "True")
        .env("LITELLM_MODE", "PRODUCTION")
        .stderr(Stdio::null());
    let proxy = ServerProcess::start_on_port(&mut command, port)?;
    for (model, served) in LITELLM_MODELS {
        for (api, path) in PROTOCOLS.into_iter().filter(|(api, _)| served.contains(api)) {
            let passed = talk(workspace, api, &format!("http://{}{path}", proxy.address), model, "litellm");
            results.push((format!("LiteLLM {model}, {api}"), passed));
        }
    }
    Ok(())
}

fn talk(workspace: &Workspace, api: &str, url: &str, model: &str, service: &str) -> bool {
    let program = workspace.root().join(format!("{}/debug/wire", workspace.target()));
    let line = CommandLine::of(&program.to_string_lossy(), "");
    line.with_arguments(["talk", api, url, model, service]).run(workspace).is_ok()
}
