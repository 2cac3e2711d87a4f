//! Proves with official SDKs that our servers and programs speak the real protocols.
//!
//! The providers' SDKs talk to the scripted model server, which shows that it behaves like the real APIs. The
//! official agent SDKs drive our program in place of their own, which shows that the program is compatible. The
//! scripts contain the checks.

use std::process::Command;

use anyhow::{Result, bail};

use crate::command_line::CommandLine;
use crate::node;
use crate::python;
use crate::server_process::ServerProcess;
use crate::workspace::Workspace;

/// Directory of the scripts and pinned versions.
const SCRIPTS: &str = "proofs/sdk";

/// All scripts, without extension.
const NAMES: [&str; 5] =
    ["anthropic_messages", "openai_chat", "openai_responses", "google_genai", "bedrock_converse"];

/// Directory of the scripts and pinned versions of the agent SDKs.
const AGENT: &str = "crates/lariat-cli/sdk";

/// Name of the scripts of the agent SDKs, without extension.
const AGENT_NAME: &str = "claude_agent";

/// Builds the server and the program, then runs all scripts.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    CommandLine::cargo(BUILD).run(workspace)?;
    prove(workspace)
}

/// Runs all scripts with what is already built.
fn prove(workspace: &Workspace) -> Result<()> {
    let python = python::environment(workspace, "sdk", &format!("{SCRIPTS}/requirements.txt"))?;
    let program = format!("{}/debug/scripted_server", workspace.target());
    let server = ServerProcess::start_announced(&mut Command::new(workspace.root().join(program)))?;
    let mut results = Vec::new();
    for name in NAMES {
        println!("\n== {name}");
        let line = script(&python, name, &server.address);
        let passed = line.run(workspace).is_ok();
        results.push((name, passed));
    }
    println!("\n== {AGENT_NAME}");
    let python = python::environment(workspace, "agent-sdk", &format!("{AGENT}/requirements.txt"))?;
    let lariat = workspace.absolute(&format!("{}/debug/lariat", workspace.target()));
    results.push((AGENT_NAME, agent(&python, &server.address, &lariat).run(workspace).is_ok()));
    println!("\n== {AGENT_NAME} (TypeScript)");
    let script = node::environment(workspace, "agent-sdk", AGENT, &format!("{AGENT_NAME}.mjs"))?;
    let line = CommandLine::of("node", "").with_arguments([&script, &server.address, &lariat]);
    results.push(("claude_agent (TypeScript)", line.run(workspace).is_ok()));
    println!();
    let width = results.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    for (name, passed) in &results {
        println!("{name:width$}  {}", if *passed { "passed" } else { "FAILED" });
    }
    match results.iter().filter(|(_, passed)| !passed).count() {
        0 => Ok(()),
        failed => bail!("{failed} of {} scripts failed", results.len()),
    }
}

const BUILD: &str = "build --locked -p lariat-proofs --bin scripted_server -p lariat-cli --bin lariat";

fn script(python: &str, name: &str, address: &str) -> CommandLine {
    CommandLine::of(python, "")
        .with_arguments([&format!("{SCRIPTS}/{name}.py"), address])
        .with_environment("PYTHONDONTWRITEBYTECODE", "1")
}

fn agent(python: &str, address: &str, lariat: &str) -> CommandLine {
    CommandLine::of(python, "")
        .with_arguments([&format!("{AGENT}/{AGENT_NAME}.py"), address, lariat])
        .with_environment("PYTHONDONTWRITEBYTECODE", "1")
}

#[cfg(test)]
mod tests {
    use super::{NAMES, SCRIPTS, agent, script};

    #[test]
    fn script_gets_the_address_of_the_server() {
        assert_eq!(
            script("venv/bin/python", "openai_chat", "127.0.0.1:9").to_string(),
            "PYTHONDONTWRITEBYTECODE=1 venv/bin/python proofs/sdk/openai_chat.py 127.0.0.1:9"
        );
    }

    #[test]
    fn agent_sdk_gets_the_program_to_start() {
        assert_eq!(
            agent("venv/bin/python", "127.0.0.1:9", "/out/debug/lariat").to_string(),
            "PYTHONDONTWRITEBYTECODE=1 venv/bin/python crates/lariat-cli/sdk/claude_agent.py 127.0.0.1:9 /out/debug/lariat"
        );
    }

    #[test]
    fn runs_every_script_in_the_directory() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(SCRIPTS);
        let mut found: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .filter_map(|entry| entry.unwrap().file_name().to_str()?.strip_suffix(".py").map(str::to_owned))
            .filter(|name| name != "checks")
            .collect();
        found.sort();
        let mut known = NAMES.to_vec();
        known.sort_unstable();
        assert_eq!(found, known);
    }
}
