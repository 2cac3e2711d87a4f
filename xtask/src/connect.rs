//! Tests the MCP client: the misbehaving servers of its own tests, and the official servers from npm and PyPI.
//!
//! Installs the official servers under the target directory, in the versions that `crates/lariat-connect/servers` pins.

use anyhow::Result;

use crate::command_line::CommandLine;
use crate::node;
use crate::python;
use crate::workspace::Workspace;

/// Directory of the pinned versions and of a server written with the official SDK.
const SERVERS: &str = "crates/lariat-connect/servers";
/// The server written with the official SDK.
const SCRIPT: &str = "era_server.py";

/// Installs the servers and runs all tests.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let python = python::environment(workspace, "mcp", &format!("{SERVERS}/requirements.txt"))?;
    let script = node::environment(workspace, "mcp", SERVERS, SCRIPT)?;
    tests(&python, &script).run(workspace)
}

fn tests(python: &str, script: &str) -> CommandLine {
    let node = script.trim_end_matches(SCRIPT).trim_end_matches('/');
    CommandLine::cargo("test --locked -p lariat-connect --test mcp -- --include-ignored --test-threads=2")
        .with_environment("MCP_PYTHON", python)
        .with_environment("MCP_SCRIPT", script)
        .with_environment("MCP_NODE", node)
}

#[cfg(test)]
mod tests {
    use super::tests;

    #[test]
    fn tests_get_the_installed_servers() {
        let line = tests("venv/bin/python", "/out/node/mcp/era_server.py").to_string();
        assert!(line.contains("MCP_NODE=/out/node/mcp ") && line.contains("--include-ignored"), "{line}");
    }
}
