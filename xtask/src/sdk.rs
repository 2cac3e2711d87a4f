//! The official SDKs against the scripted model server: proof that the server speaks as the real APIs do.
//!
//! Owns the virtual environment, the life of the server and the table of results. What is checked is in the scripts.
//! Invariant: the server that was started is killed, whatever happened in between.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitCode, Stdio};

use anyhow::{Context, Result, bail};

use crate::command_line::CommandLine;
use crate::workspace::Workspace;

/// Where the scripts and the pinned versions live.
const SCRIPTS: &str = "crates/lariat-testkit/sdk";

/// Every script, without its extension.
const NAMES: [&str; 5] =
    ["anthropic_messages", "openai_chat", "openai_responses", "google_genai", "bedrock_converse"];

/// What the server prints before its address.
const READY: &str = "listening ";

pub(crate) fn run(workspace: &Workspace) -> Result<ExitCode> {
    let python = environment(workspace)?;
    CommandLine::cargo(BUILD).run(workspace)?;
    let server = Running::start(workspace)?;
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
    let all = results.iter().all(|(_, passed)| *passed);
    Ok(if all { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

const BUILD: &str = "build --locked -p lariat-testkit --bin scripted_server";

fn script(python: &str, name: &str, address: &str) -> CommandLine {
    CommandLine::of(python, "")
        .with_arguments([&format!("{SCRIPTS}/{name}.py"), address])
        .with_environment("PYTHONDONTWRITEBYTECODE", "1")
}

/// Makes the virtual environment, or brings it to the pinned versions, and returns its interpreter.
fn environment(workspace: &Workspace) -> Result<String> {
    let directory = format!("{}/sdk-venv", workspace.target());
    // Absolute, because a relative program and a working directory do not mix on every system.
    let python = workspace.root().join(&directory).join("bin/python").to_string_lossy().into_owned();
    if !workspace.exists(&python) {
        CommandLine::of("python3", "-m venv").with_arguments([&directory]).run(workspace)?;
    }
    CommandLine::of(&python, "-m pip install --quiet --disable-pip-version-check -r")
        .with_arguments([format!("{SCRIPTS}/requirements.txt")])
        .run(workspace)?;
    Ok(python)
}

/// The server's process; killed when dropped.
struct Running {
    process: Child,
    address: String,
}

impl Running {
    fn start(workspace: &Workspace) -> Result<Self> {
        let program = format!("{}/debug/scripted_server", workspace.target());
        let process = Command::new(workspace.root().join(&program))
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {program}"))?;
        let mut running = Self { process, address: String::new() };
        let output = running.process.stdout.take().context("the server has no output")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        match line.trim().strip_prefix(READY) {
            Some(address) => address.clone_into(&mut running.address),
            None => bail!("the server did not start; it said `{}`", line.trim()),
        }
        Ok(running)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may be gone already; then there is nothing to end.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
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
