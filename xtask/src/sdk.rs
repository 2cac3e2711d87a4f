//! The official SDKs against the scripted model server: proof that the server speaks as the real APIs do.
//!
//! Owns the order of the scripts and the table of results. What is checked is in the scripts.

use std::process::Command;

use anyhow::{Result, bail};

use crate::command_line::CommandLine;
use crate::python;
use crate::service::Service;
use crate::workspace::Workspace;

/// Where the scripts and the pinned versions live.
const SCRIPTS: &str = "crates/lariat-testkit/sdk";

/// Every script, without its extension.
const NAMES: [&str; 5] =
    ["anthropic_messages", "openai_chat", "openai_responses", "google_genai", "bedrock_converse"];

/// Builds the server and drives it.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    CommandLine::cargo(BUILD).run(workspace)?;
    prove(workspace)
}

/// Drives the server that is built.
pub(crate) fn prove(workspace: &Workspace) -> Result<()> {
    let python = python::environment(workspace, "sdk", &format!("{SCRIPTS}/requirements.txt"))?;
    let program = format!("{}/debug/scripted_server", workspace.target());
    let server = Service::announced(&mut Command::new(workspace.root().join(program)))?;
    let mut results = Vec::new();
    for name in NAMES {
        println!("\n== {name}");
        let line = script(&python, name, &server.address);
        let passed = line.run(workspace).is_ok();
        results.push((name, passed));
    }
    println!();
    let width = NAMES.iter().map(|name| name.len()).max().unwrap_or_default();
    for (name, passed) in &results {
        println!("{name:width$}  {}", if *passed { "passed" } else { "FAILED" });
    }
    match results.iter().filter(|(_, passed)| !passed).count() {
        0 => Ok(()),
        failed => bail!("{failed} of {} scripts failed", results.len()),
    }
}

const BUILD: &str = "build --locked -p lariat-testkit --bin scripted_server";

fn script(python: &str, name: &str, address: &str) -> CommandLine {
    CommandLine::of(python, "")
        .with_arguments([&format!("{SCRIPTS}/{name}.py"), address])
        .with_environment("PYTHONDONTWRITEBYTECODE", "1")
}

#[cfg(test)]
mod tests {
    use super::{NAMES, SCRIPTS, script};

    #[test]
    fn a_script_gets_the_address_of_the_server() {
        assert_eq!(
            script("venv/bin/python", "openai_chat", "127.0.0.1:9").to_string(),
            "PYTHONDONTWRITEBYTECODE=1 venv/bin/python crates/lariat-testkit/sdk/openai_chat.py 127.0.0.1:9"
        );
    }

    #[test]
    fn every_script_of_the_folder_is_run() {
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
