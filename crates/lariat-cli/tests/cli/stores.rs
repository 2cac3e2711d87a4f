//! Tests the setting that chooses the store of sessions.

use lariat_proofs::postgres::Server;
use lariat_proofs::server::{Script, Turn};

use crate::fixture::Fixture;

async fn fixture() -> Fixture {
    Fixture::new(Script::answer(|_| Turn::new().text("Done.").into())).await
}

/// Runs two prompts in one session and checks what other commands see of it.
fn use_a_session(fixture: &Fixture) {
    let first = fixture.run(&["run", "--output", "json", "first prompt"]).expect(0).json();
    let id = first["session_id"].as_str().unwrap();
    fixture.run(&["run", "--continue", "second prompt"]).expect(0);
    let sent = fixture.requests().last().unwrap().body["messages"].to_string();
    assert!(sent.contains("first prompt") && sent.contains("second prompt"), "{sent}");
    let listed = fixture.run(&["sessions", "list", "--json"]).expect(0).json();
    assert_eq!(listed.as_array().map(Vec::len), Some(1), "{listed}");
    assert_eq!(listed[0]["session_id"], id);
    fixture.run(&["checkpoint", "here", "--session", id]).expect(0);
    let shown = fixture.run(&["checkpoint", "--list", "--session", id]).expect(0).stdout;
    assert!(shown.contains("here"), "{shown}");
    fixture.run(&["sessions", "verify", id]).expect(0);
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_are_files_if_the_user_chooses_jsonl() {
    let fixture = fixture().await;
    fixture.run(&["config", "set", "store.kind", "jsonl"]).expect(0);
    use_a_session(&fixture);
    fixture.run(&["config", "set", "store.kind", "sqlite"]).expect(0);
    let listed = fixture.run(&["sessions", "list", "--json"]).expect(0).json();
    assert_eq!(listed.as_array().map(Vec::len), Some(0), "the other store has no sessions: {listed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_are_in_postgresql_if_the_user_chooses_it() {
    let (fixture, server) = (fixture().await, Server::shared());
    fixture.run(&["config", "set", "store.kind", "postgres"]).expect(0);
    let refused = fixture.run(&["sessions", "list"]).expect(3);
    assert!(refused.stderr.contains("store.url"), "{}", refused.stderr);
    fixture.run(&["config", "set", "store.url", &server.database()]).expect(0);
    use_a_session(&fixture);
}

#[tokio::test(flavor = "multi_thread")]
async fn project_cannot_choose_the_store() {
    let fixture = fixture().await;
    fixture.write("lariat.toml", "[store]\nkind = \"jsonl\"\n");
    fixture.run(&["run", "--trust", "go"]).expect(0);
    std::fs::remove_file(fixture.workspace().join("lariat.toml")).unwrap();
    let listed = fixture.run(&["sessions", "list", "--json"]).expect(0).json();
    assert_eq!(listed.as_array().map(Vec::len), Some(1), "{listed}");
}
