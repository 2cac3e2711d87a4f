//! Runs the tests of `lariat acp` through the client of the official crate.
//!
//! The client is outside the workspace, because the official crate changes a feature of `serde_json` for everything that is
//! built with it.

use anyhow::Result;

use crate::command_line::CommandLine;
use crate::workspace::Workspace;

/// The package of the client.
const CLIENT: &str = "crates/lariat-acp/official-client";

/// Builds the client and runs all tests.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    CommandLine::cargo(&format!("build --locked --manifest-path {CLIENT}/Cargo.toml"))
        .with_arguments(["--target-dir", workspace.target()])
        .run(workspace)?;
    let client = workspace.absolute(&format!("{}/debug/official-client", workspace.target()));
    tests(&client).run(workspace)
}

fn tests(client: &str) -> CommandLine {
    CommandLine::cargo("test --locked -p lariat-cli --test cli -- acp:: --test-threads=2")
        .with_environment("ACP_CLIENT", client)
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
