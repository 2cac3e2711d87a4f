//! Tests of what agents send, with lines that real agents wrote.

use serde_json::{Value, json};

use super::{
    AgentLine, AgentRequest, CallStatus, CallStep, Client, ExternalCall, ModelChoice, PermissionChoice,
    SessionUpdate, ToolCallChange, ToolCalls, judged_calls,
};

fn client() -> Client {
    let mut client = Client::default();
    client.open(&json!({ "sessionId": "s" })).unwrap();
    client
}

fn update(update: Value) -> AgentLine {
    let line = json!({ "jsonrpc": "2.0", "method": "session/update", "params": { "sessionId": "s", "update": update } });
    client().receive(line.to_string().as_bytes())
}

fn change(value: Value) -> ToolCallChange {
    match update(value) {
        AgentLine::Update(SessionUpdate::ToolCall(change)) => change,
        other => panic!("{other:?}"),
    }
}

/// What the permission check sees of a call that these updates describe.
fn judged(updates: &[Value]) -> Vec<(&'static str, Value)> {
    let mut calls = ToolCalls::default();
    let mut known = ExternalCall::default();
    for update in updates {
        known = calls.asked(change(update.clone())).unwrap();
    }
    judged_calls(&known).into_iter().map(|call| (call.tool, call.arguments)).collect()
}

#[test]
fn calls_of_known_agents_become_calls_that_rules_match() {
    let bash = |command: &str| vec![("bash", json!({ "command": command }))];
    // Claude Code: the kind comes first, the request for permission has only the arguments.
    let claude = [
        json!({"sessionUpdate": "tool_call", "toolCallId": "1", "rawInput": {}, "title": "Terminal", "kind": "execute"}),
        json!({"sessionUpdate": "tool_call_update", "toolCallId": "1", "rawInput": {"command": "rm -r x"}, "title": "`rm -r x`"}),
    ];
    assert_eq!(judged(&claude), bash("rm -r x"));
    // Gemini CLI: the command is only in the title.
    let gemini = json!({"sessionUpdate": "tool_call", "toolCallId": "1", "title": "touch b", "kind": "execute", "locations": []});
    assert_eq!(judged(&[gemini]), bash("touch b"));
    // goose: the kind is unknown.
    let goose = json!({"sessionUpdate": "tool_call", "toolCallId": "1", "title": "shell", "kind": "other", "rawInput": {"command": "ls"}});
    assert_eq!(judged(&[goose]), bash("ls"));
    let codex = json!({"sessionUpdate": "tool_call", "toolCallId": "1", "kind": "execute", "rawInput": {"command": ["/bin/bash", "-lc", "ls"]}});
    assert_eq!(judged(&[codex]), bash("ls"));
    let edit = json!({"sessionUpdate": "tool_call", "toolCallId": "1", "kind": "edit", "title": "Edit", "content": [
        {"type": "diff", "path": "/w/a", "oldText": "x", "newText": "y"}, {"type": "diff", "path": "/w/b", "newText": "z"}]});
    assert_eq!(
        judged(&[edit]),
        [
            ("write_file", json!({"path": "/w/a", "content": "y"})),
            ("write_file", json!({"path": "/w/b", "content": "z"}))
        ]
    );
    let read = json!({"sessionUpdate": "tool_call", "toolCallId": "1", "kind": "read", "locations": [{"path": "/w/a"}]});
    assert_eq!(judged(&[read]), [("read_file", json!({"path": "/w/a"}))]);
}

#[test]
fn call_that_cannot_be_read_has_every_effect() {
    let long = format!("ls {}", "x".repeat(20_000));
    for call in [
        json!({"sessionUpdate": "tool_call", "toolCallId": "1", "title": "do it"}),
        json!({"sessionUpdate": "tool_call", "toolCallId": "1", "title": "move", "kind": "move"}),
        json!({"sessionUpdate": "tool_call", "toolCallId": "1", "title": "a page", "kind": "fetch"}),
        // The visible part of a long command must not stand for all of it.
        json!({"sessionUpdate": "tool_call", "toolCallId": "1", "title": long, "kind": "execute"}),
        json!({"sessionUpdate": "tool_call", "toolCallId": "1", "title": "ls", "kind": "execute", "rawInput": {"command": long}}),
        json!({"sessionUpdate": "tool_call", "toolCallId": "1", "title": "a", "kind": "read", "locations": [{"path": "a"}], "rawInput": {"path": long}}),
    ] {
        let mut calls = ToolCalls::default();
        let known = calls.asked(change(call.clone())).unwrap();
        let judged = judged_calls(&known);
        assert_eq!(judged.len(), 1, "{call}");
        assert_eq!(judged[0].tool, "external_tool", "{call}");
        assert_eq!(judged[0].effects, lariat_core::tool::ToolEffects::ALL);
    }
}

#[test]
fn call_ends_once_and_keeps_what_every_update_said() {
    let mut calls = ToolCalls::default();
    let first = json!({"sessionUpdate": "tool_call", "toolCallId": "1", "title": "bash", "kind": "execute", "status": "pending"});
    assert!(matches!(calls.apply(change(first.clone())).unwrap(), Some(CallStep::Began(_))));
    assert_eq!(calls.apply(change(first)).unwrap(), None, "nothing new");
    let end = json!({"sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "completed",
        "content": [{"type": "content", "content": {"type": "text", "text": "out"}}]});
    let Some(CallStep::Ended(call)) = calls.apply(change(end.clone())).unwrap() else { panic!("it ended") };
    assert_eq!((call.title.as_str(), call.kind.as_str(), call.output.as_str()), ("bash", "execute", "out"));
    assert_eq!(call.status, CallStatus::Completed);
    assert_eq!(calls.apply(change(end)).unwrap(), None, "a call ends once");
    assert_eq!(calls.count(), 1);
}

#[test]
fn number_and_size_of_calls_are_limited() {
    let mut calls = ToolCalls::default();
    let call = |id: usize, status: &str, size: usize| {
        change(
            json!({"sessionUpdate": "tool_call", "toolCallId": id.to_string(), "title": "t".repeat(size.min(5000)), "status": status,
            "content": [{"type": "content", "content": {"type": "text", "text": "o".repeat(size)}}]}),
        )
    };
    let Some(CallStep::Ended(ended)) = calls.apply(call(0, "failed", 100_000)).unwrap() else {
        panic!("it ended")
    };
    assert!(ended.title.len() < 400 && ended.output.len() < 20_000);
    let open = (1..1000).take_while(|id| calls.apply(call(*id, "pending", 1)).is_ok()).count();
    assert_eq!(open, 256);
    assert_eq!(calls.take_open().len(), 256);
    let all = (1000..20_000).take_while(|id| calls.apply(call(*id, "completed", 1)).is_ok()).count();
    assert!(all < 10_001, "{all}");
}

#[test]
fn messages_about_other_sessions_and_unknown_requests_change_nothing() {
    let of = |value: Value| client().receive(value.to_string().as_bytes());
    let foreign = json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "other", "update":
        {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "x"}}}});
    assert_eq!(of(foreign), AgentLine::Nothing);
    for (method, params) in [
        ("fs/write_text_file", json!({"sessionId": "other", "path": "/a", "content": "x"})),
        ("fs/write_text_file", json!({"sessionId": "s", "path": 7, "content": "x"})),
        ("terminal/create", json!({"sessionId": "s", "command": "sh"})),
        ("session/request_permission", json!({"sessionId": "s", "options": []})),
        ("no/such", Value::Null),
    ] {
        let line = json!({"jsonrpc": "2.0", "id": "q", "method": method, "params": params});
        let AgentLine::Request { request: AgentRequest::Unsupported(_), .. } = of(line) else {
            panic!("{method}")
        };
    }
    for line in ["", "Loading...", "{", "[]", r#"{"jsonrpc":"1.0","id":1}"#] {
        assert_eq!(client().receive(line.as_bytes()), AgentLine::NoMessage, "{line}");
    }
    assert_eq!(
        update(json!({"sessionUpdate": "usage_update", "cost": {"amount": -1, "currency": "USD"}})),
        AgentLine::Nothing
    );
    assert_eq!(
        update(json!({"sessionUpdate": "usage_update", "cost": {"amount": 1, "currency": "EUR"}})),
        AgentLine::Nothing
    );
}

#[test]
fn answer_is_one_that_the_agent_offers_and_never_silently_an_approval() {
    let offer = |kinds: &[&str]| -> Vec<PermissionChoice> {
        kinds
            .iter()
            .map(|kind| PermissionChoice { id: format!("id-{kind}"), kind: (*kind).to_owned() })
            .collect()
    };
    let chosen = |kinds: &[&str], is_allowed| {
        Client::decision(&offer(kinds), is_allowed)["outcome"]["optionId"].as_str().map(str::to_owned)
    };
    let all = ["allow_always", "reject_always", "allow_once", "reject_once"];
    assert_eq!(chosen(&all, true).as_deref(), Some("id-allow_once"));
    assert_eq!(chosen(&all, false).as_deref(), Some("id-reject_once"));
    assert_eq!(chosen(&["allow_once"], false), None);
    assert_eq!(chosen(&["reject_always"], false).as_deref(), Some("id-reject_always"));
    // The agent would not ask again, so our permission check would not see its later calls.
    assert_eq!(chosen(&["allow_always", "reject_once"], true), None);
    assert_eq!(Client::decision(&offer(&["allow_once"]), false)["outcome"]["outcome"], "cancelled");
}

#[test]
fn model_is_chosen_among_those_that_the_agent_offers() {
    let client = client();
    let options = json!({"configOptions": [{"id": "mode", "category": "mode", "options": []},
        {"id": "m", "category": "model", "options": [{"value": "mock/a"}, {"value": "mock/b"}]}]});
    let request = ModelChoice::Request(
        "session/set_config_option",
        json!({"sessionId": "s", "configId": "m", "value": "mock/b"}),
    );
    assert_eq!(client.choose_model(&options, "b"), request);
    assert_eq!(client.choose_model(&options, "mock/b"), request);
    let models = json!({"models": {"availableModels": [{"modelId": "opus"}]}});
    let request = ModelChoice::Request("session/set_model", json!({"sessionId": "s", "modelId": "opus"}));
    assert_eq!(client.choose_model(&models, "opus"), request);
    assert_eq!(client.choose_model(&models, "haiku"), ModelChoice::Unknown(vec!["opus".to_owned()]));
    assert_eq!(client.choose_model(&json!({}), "opus"), ModelChoice::NoChoice);
}
