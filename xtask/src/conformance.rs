//! Runs the conformance suite of MCP from npm against our client and our tool server, with what each revision requires.
//!
//! `crates/lariat-connect/conformance` pins the suite and lists the scenarios that our server does not pass, each with its
//! reason. The suite fails if another one fails, or if one of the list passes.

use std::process::Command;

use anyhow::Result;

use crate::build;
use crate::command_line::CommandLine;
use crate::node;
use crate::server_process::ServerProcess;
use crate::workspace::Workspace;

/// Directory of the pinned version and of the lists.
const SUITE: &str = "crates/lariat-connect/conformance";
/// The revisions of the protocol whose requirements are run.
const REVISIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];
/// The suite in its environment. It needs a newer Node.js than Debian has, so that is part of the environment.
const PROGRAM: &str = "node_modules/@modelcontextprotocol/conformance/dist/index.js";
const NODE: &str = "node_modules/node/bin/node";

/// Builds the client and the server and runs the suite.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let list = node::environment(workspace, "conformance", SUITE, "package.json")?;
    let directory = list.trim_end_matches("/package.json");
    build::tests("build --example conformance_client --example conformance_server").run(workspace)?;
    let example = |name: &str| workspace.absolute(&format!("{}/debug/examples/{name}", workspace.target()));
    let server = ServerProcess::start_announced(&mut Command::new(example("conformance_server")))?;
    for revision in REVISIONS {
        let client = suite(directory, "client", revision);
        client.with_arguments(["--command", &example("conformance_client")]).run(workspace)?;
        let expected = format!("{SUITE}/server-{revision}.yaml");
        let tools = suite(directory, "server", revision).with_arguments(["--url", &server.address]);
        tools.with_arguments(["--expected-failures", &expected]).run(workspace)?;
    }
    Ok(())
}

/// One half of the suite, for a revision.
fn suite(directory: &str, part: &str, revision: &str) -> CommandLine {
    CommandLine::of(&format!("{directory}/{NODE}"), "").with_arguments([
        &format!("{directory}/{PROGRAM}"),
        part,
        "--requirements",
        revision,
    ])
}

#[cfg(test)]
mod tests {
    use super::suite;

    #[test]
    fn suite_runs_what_a_revision_requires() {
        let line = suite("/out", "client", "2026-07-28").to_string();
        assert!(line.contains("client --requirements 2026-07-28"), "{line}");
    }
}
