//! Runs the tests of `lariat acp` through the client of the official crate, and prints what they measure. Also runs `acpx`
//! from npm, a client that others wrote.
//!
//! The client is outside the workspace, because the official crate changes a feature of `serde_json` for everything that is
//! built with it.

use anyhow::Result;

use crate::build;
use crate::command_line::CommandLine;
use crate::node;
use crate::workspace::Workspace;

/// The package of the client.
const CLIENT: &str = "crates/lariat-acp/official-client";
/// Directory of the pinned version of `acpx`.
const CLIENTS: &str = "crates/lariat-acp/clients";

/// Builds the client and runs all tests.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    CommandLine::cargo(&format!("build --locked --manifest-path {CLIENT}/Cargo.toml"))
        .with_arguments(["--target-dir", workspace.target()])
        .run(workspace)?;
    let client = workspace.absolute(&format!("{}/debug/official-client", workspace.target()));
    tests(&client).run(workspace)?;
    let list = node::environment(workspace, "acpx", CLIENTS, "package.json")?;
    acpx(list.trim_end_matches("/package.json")).run(workspace)?;
    figures(&client).run(workspace)
}

fn tests(client: &str) -> CommandLine {
    build::tests("test --test cli")
        .with_arguments(["--", "acp::", "--test-threads=2"])
        .with_environment("ACP_CLIENT", client)
}

/// The tests that need `acpx`.
fn acpx(directory: &str) -> CommandLine {
    build::tests("test --test cli")
        .with_arguments(["--", "acp::acpx", "--ignored", "--test-threads=1"])
        .with_environment("ACPX_NODE", directory)
}

/// The tests whose size the environment chooses, at full size.
fn figures(client: &str) -> CommandLine {
    build::tests("test --test cli")
        .with_arguments(["--", "--nocapture", "acp_load_of_a_long_session", "acp_editor_passes_the_scripts"])
        .with_environment("ACP_CLIENT", client)
        .with_environment("LARIAT_EVENTS", "100000")
        .with_environment("LARIAT_KILLS", "1")
}

#[cfg(test)]
mod tests {
    use super::tests;

    #[test]
    fn tests_go_through_the_official_client() {
        let line = tests("/out/official-client").to_string();
        assert!(line.contains("ACP_CLIENT=/out/official-client ") && line.contains("acp::"), "{line}");
    }
}
