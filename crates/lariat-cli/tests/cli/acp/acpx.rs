//! Uses `lariat acp` through `acpx`, a client for terminals that others wrote.
//!
//! `cargo xtask editors` installs it and names its directory in `ACPX_NODE`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use lariat_proofs::server::{Script, Turn};
use serde_json::json;

use super::asking;
use crate::fixture::Fixture;

/// The exit code of `acpx` after it denied everything that it was asked.
const DENIED: i32 = 5;

fn acpx(fixture: &Fixture, arguments: &[&str]) -> String {
    acpx_ends_with(0, fixture, arguments)
}

/// Runs `acpx` in the workspace with the program as its agent, and checks how it ends.
fn acpx_ends_with(code: i32, fixture: &Fixture, arguments: &[&str]) -> String {
    let program =
        PathBuf::from(std::env::var_os("ACPX_NODE").expect("ACPX_NODE names the directory of acpx"))
            .join("node_modules/.bin/acpx");
    let agent = fixture.command(&["acp"]);
    let words: Vec<&str> = std::iter::once(agent.get_program())
        .chain(agent.get_args())
        .map(|word| word.to_str().expect("paths of tests are text"))
        .collect();
    let mut command = Command::new(program);
    command.args(["--agent", &words.join(" "), "--timeout", "60", "--ttl", "1"]).args(arguments).env_clear();
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.envs(agent.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let Output { status, stdout, stderr } = command.current_dir(fixture.workspace()).output().unwrap();
    let (shown, noted) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert_eq!(status.code(), Some(code), "acpx {arguments:?}:\n{shown}\n{noted}");
    shown.into_owned()
}

/// A model that writes a file in every run.
async fn writing() -> Fixture {
    let write = || Turn::new().call("call_1", "write_file", &json!({ "path": "note.txt", "content": "x\n" }));
    let turns = (0..4).flat_map(|_| [write(), Turn::new().text("That is all.")]);
    asking(Script::queue(turns)).await
}

fn note(workspace: &Path) -> Option<String> {
    std::fs::read_to_string(workspace.join("note.txt")).ok()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "`cargo xtask editors` installs acpx"]
async fn acp_client_acpx_decides_about_a_write() {
    let fixture = writing().await;
    let denied = acpx_ends_with(DENIED, &fixture, &["--deny-all", "exec", "write a note"]);
    assert!(denied.contains("(failed)") && denied.contains("[done] end_turn"), "{denied}");
    assert_eq!(note(&fixture.workspace()), None);
    let approved = acpx(&fixture, &["--approve-all", "exec", "write a note"]);
    assert!(approved.contains("That is all.") && approved.contains("[done] end_turn"), "{approved}");
    assert_eq!(note(&fixture.workspace()).as_deref(), Some("x\n"));
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "`cargo xtask editors` installs acpx"]
async fn acp_client_acpx_continues_a_session_and_changes_its_mode() {
    let fixture = writing().await;
    let session = acpx(&fixture, &["sessions", "new"]).trim().lines().last().unwrap_or_default().to_owned();
    let first = acpx(&fixture, &["--approve-all", "prompt", "write a note"]);
    assert!(first.contains("[done] end_turn"), "{first}");
    assert_eq!(acpx(&fixture, &["set-mode", "plan"]).trim(), "mode set: plan");
    let cost = acpx(&fixture, &["prompt", "/cost"]);
    assert!(cost.contains("Tokens:"), "{cost}");
    let listed = acpx(&fixture, &["sessions", "list"]);
    assert!(listed.contains(&session), "{session}: {listed}");
    acpx(&fixture, &["sessions", "close"]);
}
