//! Tests questions of MCP servers to the user, and tools that changed, as questions of the session.

use lariat_core::event::AgentEvent;
use lariat_core::permission::PermissionDecision;
use lariat_proofs::server::{Script, Turn};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::background::HostGuard;
use crate::fixture::{Fixture, last_result, wait_for};

const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../lariat-connect/tests/mcp/server.py");

/// A user's server with a behaviour, and a model that calls one of its tools and repeats the result.
async fn fixture(behaviour: &str, tool: &'static str, arguments: Value) -> Fixture {
    let script = Script::answer(move |request| match last_result(&request.body) {
        None => Turn::new().call("toolu_1", tool, &arguments).into(),
        Some((_, text, _)) => Turn::new().text(format!("result: {text}")).into(),
    });
    let fixture = Fixture::new(script).await;
    let marker = fixture.workspace().join("marker").display().to_string();
    fixture.run(&["mcp", "add", "shop", "--", "python3", SERVER, behaviour, &marker]).expect(0);
    fixture
}

fn form() -> Value {
    let size = json!({ "type": "string", "enum": ["small", "large"] });
    let count = json!({ "type": "integer", "minimum": 1, "title": "How many" });
    json!({ "mode": "form", "message": "Your \u{1b}[31morder?",
        "requestedSchema": { "type": "object", "properties": { "a_size": size, "b_count": count },
            "required": ["a_size", "b_count"] } })
}

fn view(fixture: &Fixture) -> Value {
    fixture.run(&["ps", "--all", "--json"]).expect(0).json()[0].clone()
}

fn wait_for_question(fixture: &Fixture) {
    wait_for("the question", || view(fixture)["status"] == "requires_action");
}

/// The questions and answers in the journal.
async fn asked(fixture: &Fixture) -> (Vec<String>, Vec<PermissionDecision>) {
    let (mut texts, mut decisions) = (Vec::new(), Vec::new());
    for event in fixture.journal().await {
        match &event.event {
            AgentEvent::PermissionRequired { request } => {
                texts.push(request.question.as_ref().unwrap().text.clone());
            }
            AgentEvent::PermissionDecided { decision, .. } => decisions.push(decision.clone()),
            _ => {}
        }
    }
    (texts, decisions)
}

fn result(fixture: &Fixture) -> String {
    last_result(&fixture.requests().pop().unwrap().body).unwrap().1
}

#[tokio::test(flavor = "multi_thread")]
async fn the_user_fills_in_the_form_of_a_server_in_both_eras() {
    for behaviour in ["plain", "stateless"] {
        let fixture = fixture(behaviour, "mcp__shop__ask", json!({ "elicit": form() })).await;
        let _host = HostGuard(&fixture);
        let id = fixture.run(&["run", "--detach", "go"]).expect(0).stdout.trim().to_owned();
        for answer in ["large", "none", "3"] {
            wait_for_question(&fixture);
            fixture.run(&["sessions", "approve", &id, "--answer", answer]).expect(0);
        }
        wait_for("the end", || view(&fixture)["status"] == "idle");
        let (texts, decisions) = asked(&fixture).await;
        assert_eq!(texts.len(), 3, "{texts:?}");
        assert!(
            texts[0].contains("The MCP server `shop` asks: Your") && !texts[0].contains('\u{1b}'),
            "{texts:?}"
        );
        assert!(texts[2].contains("That answer does not fit"), "{texts:?}");
        assert_eq!(decisions.len(), 3, "{decisions:?}");
        let given: Value = serde_json::from_str(&result(&fixture)).unwrap();
        assert_eq!(given["action"], "accept", "{behaviour}");
        assert_eq!(given["content"], json!({ "a_size": "large", "b_count": 3 }));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_user_declines_a_question_of_a_server() {
    let fixture = fixture("plain", "mcp__shop__ask", json!({ "elicit": form() })).await;
    let _host = HostGuard(&fixture);
    let id = fixture.run(&["run", "--detach", "go"]).expect(0).stdout.trim().to_owned();
    wait_for_question(&fixture);
    fixture.run(&["sessions", "approve", &id, "--deny", "--reason", "too dear"]).expect(0);
    wait_for("the end", || view(&fixture)["status"] == "idle");
    let text = result(&fixture);
    assert!(text.contains("\"decline\"") && text.contains("declined a question of the server"), "{text}");
    assert!(text.contains("too dear"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_without_a_user_declines_at_once() {
    let address =
        json!({ "mode": "url", "message": "Pay.", "url": "https://pay.example.com/x", "elicitationId": "1" });
    for elicit in [form(), address] {
        let fixture = fixture("plain", "mcp__shop__ask", json!({ "elicit": elicit })).await;
        let ran = fixture.run(&["run", "go"]).expect(0);
        assert!(ran.stdout.contains("\"decline\""), "{ran:?}");
        assert!(ran.stdout.contains("no user is available to answer"), "{ran:?}");
        assert_eq!(asked(&fixture).await.0.len(), 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_is_shown_whole_and_the_user_says_when_it_was_opened() {
    let url = "https://pay.example.com/order?id=7";
    let elicit = json!({ "mode": "url", "message": "Pay.", "url": url, "elicitationId": "1" });
    let fixture = fixture("plain", "mcp__shop__ask", json!({ "elicit": elicit })).await;
    let _host = HostGuard(&fixture);
    let id = fixture.run(&["run", "--detach", "go"]).expect(0).stdout.trim().to_owned();
    wait_for_question(&fixture);
    let texts = asked(&fixture).await.0;
    assert!(texts[0].contains("host: pay.example.com") && texts[0].contains(url), "{texts:?}");
    fixture.run(&["sessions", "approve", &id, "--answer", "I opened it"]).expect(0);
    wait_for("the end", || view(&fixture)["status"] == "idle");
    assert!(result(&fixture).contains("\"accept\""));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_host_withdraws_the_question_of_its_server() {
    let fixture = fixture("plain", "mcp__shop__ask", json!({ "elicit": form() })).await;
    let _host = HostGuard(&fixture);
    let id = fixture.run(&["run", "--detach", "go"]).expect(0).stdout.trim().to_owned();
    wait_for_question(&fixture);
    let pid = fixture.run(&["host", "status", "--json"]).expect(0).json()["pid"].as_i64().unwrap();
    kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), Signal::KILL).unwrap();
    wait_for("the end of the host", || fixture.run(&["host", "status", "--json"]).stdout.trim() == "null");
    let late = fixture.run(&["sessions", "approve", &id, "--answer", "large"]);
    assert_ne!(late.code, Some(0), "{late:?}");
    wait_for("the end", || view(&fixture)["status"] == "idle");
    assert_eq!(asked(&fixture).await.1, [PermissionDecision::Withdrawn]);
    assert!(result(&fixture).starts_with("Interrupted: "), "{}", result(&fixture));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_tool_is_a_question_with_the_difference() {
    let fixture = fixture("changing", "mcp__shop__echo", json!({ "text": "hello" })).await;
    let _host = HostGuard(&fixture);
    assert!(fixture.run(&["run", "go"]).expect(0).stdout.contains("result: hello"));
    fixture.write("marker", "");
    let detach =
        |fixture: &Fixture| fixture.run(&["run", "--detach", "go"]).expect(0).stdout.trim().to_owned();
    let of = |fixture: &Fixture, id: &str| {
        let all = fixture.run(&["ps", "--all", "--json"]).expect(0).json();
        all.as_array().unwrap().iter().find(|one| one["session_id"] == id).cloned().unwrap_or_default()
    };
    let refused = detach(&fixture);
    wait_for("the question", || of(&fixture, &refused)["status"] == "requires_action");
    fixture.run(&["sessions", "approve", &refused, "--answer", "do not call it"]).expect(0);
    wait_for("the end", || of(&fixture, &refused)["status"] == "idle");
    assert!(result(&fixture).contains("changed the description"), "{}", result(&fixture));

    let accepted = detach(&fixture);
    wait_for("the question", || of(&fixture, &accepted)["status"] == "requires_action");
    let shown = fixture.run(&["sessions", "show", &accepted, "--json"]).stdout;
    fixture.run(&["sessions", "approve", &accepted, "--answer", "accept the change and call it"]).expect(0);
    wait_for("the end", || of(&fixture, &accepted)["status"] == "idle");
    assert_eq!(result(&fixture), "hello", "{shown}");
    // The acceptance is recorded: the user is not asked again.
    assert!(fixture.run(&["run", "go"]).expect(0).stdout.contains("result: hello"));
}
