use lariat_core::content::ToolCall;
use lariat_core::permission::{PermissionDecision, PermissionRequest};
use lariat_service::callbacks::HandlerResult;
use serde_json::{Value, json};

use super::{ControlLine, ControlRequest, can_use_tool, decision, hook_result, read};

fn request() -> PermissionRequest {
    let call = ToolCall {
        id: "call_1".into(),
        name: "bash".to_owned(),
        arguments: json!({ "command": "cargo test" }),
        signature: None,
    };
    PermissionRequest::new(&call, "cargo test").with_remember("Bash(cargo test *)")
}

fn decided(answer: &Value) -> (PermissionDecision, bool) {
    decision(&Ok(answer.clone()), &request(), &json!({ "command": "cargo test" }))
}

#[test]
fn prompt_is_text_or_blocks_with_images() {
    let ControlLine::Prompt(prompt) = read(r#"{"type":"user","message":{"role":"user","content":"hi"}}"#)
    else {
        panic!("no prompt");
    };
    assert_eq!(prompt.text, "hi");
    let line = json!({ "type": "user", "message": { "role": "user", "content": [
        { "type": "text", "text": "look" },
        { "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "aGk=" } },
        { "type": "text", "text": "closely" },
    ] } });
    let ControlLine::Prompt(prompt) = read(&line.to_string()) else { panic!("no prompt") };
    assert_eq!(prompt.text, "look\nclosely");
    assert_eq!(prompt.images, [("aGk=".to_owned(), "image/png".to_owned())]);
}

#[test]
fn reports_lines_that_are_not_understood() {
    assert!(matches!(read("{"), ControlLine::Broken(_)));
    assert!(matches!(read(r#"{"type":"user"}"#), ControlLine::Broken(_)));
    assert!(matches!(
        read(r#"{"type":"user","message":{"content":[{"type":"document"}]}}"#),
        ControlLine::Broken(_)
    ));
    assert!(matches!(read(r#"{"type":"keep_alive"}"#), ControlLine::Other));
}

#[test]
fn parses_requests_by_subtype() {
    let asked = |request: Value| {
        let line = json!({ "type": "control_request", "request_id": "r1", "request": request });
        match read(&line.to_string()) {
            ControlLine::Request { id, request } if id == "r1" => request,
            other => panic!("{other:?}"),
        }
    };
    let begin =
        json!({ "subtype": "initialize", "hooks": { "PreToolUse": [] }, "agents": {}, "skills": null });
    let hooks = json!({ "PreToolUse": [] });
    assert_eq!(
        asked(begin),
        ControlRequest::Initialize { hooks, system_prompt: String::new(), unsupported: vec![] }
    );
    let agents = json!({ "subtype": "initialize", "hooks": {}, "agents": { "a": {} },
        "systemPrompt": ["One.", ""], "appendSystemPrompt": "Two." });
    assert_eq!(
        asked(agents),
        ControlRequest::Initialize {
            hooks: Value::Null,
            system_prompt: "One.\n\nTwo.".into(),
            unsupported: vec!["agents"]
        }
    );
    assert_eq!(asked(json!({ "subtype": "interrupt" })), ControlRequest::Interrupt);
    assert_eq!(asked(json!({ "subtype": "set_model", "model": null })), ControlRequest::SetModel(None));
    assert_eq!(
        asked(json!({ "subtype": "rewind_files" })),
        ControlRequest::Unknown("rewind_files".to_owned())
    );
}

#[test]
fn only_clear_approval_lets_a_call_run() {
    use PermissionDecision::{Allow, Deny};
    assert_eq!(decided(&json!({ "behavior": "allow" })), (Allow, false));
    let same = json!({ "behavior": "allow", "updatedInput": { "command": "cargo test" } });
    assert_eq!(decided(&same), (Allow, false));
    let other = json!({ "behavior": "allow", "updatedInput": { "command": "ls", "timeout": 2000 } });
    let changed = PermissionDecision::allow_changed(json!({ "command": "ls", "timeout_seconds": 2 }));
    assert_eq!(decided(&other), (changed, false), "with the names of our arguments");
    let broken = json!({ "behavior": "allow", "updatedInput": { "command": "ls", "timeout": "long" } });
    assert!(matches!(decided(&broken), (Deny { reason: Some(_) }, false)));
    for unclear in [json!(null), json!({}), json!({ "behavior": "maybe" }), json!("allow")] {
        assert!(matches!(decided(&unclear), (Deny { .. }, false)), "{unclear}");
    }
    let no = json!({ "behavior": "deny", "message": "not now", "interrupt": true });
    assert_eq!(decided(&no), (PermissionDecision::deny("not now"), true));
    let failed = decision(&Err("no callback".to_owned()), &request(), &json!({}));
    assert_eq!(failed, (PermissionDecision::deny("no callback"), false));
}

#[test]
fn hook_callback_that_does_not_answer_with_an_object_fails() {
    let exited = |answer| matches!(hook_result(answer), HandlerResult::Exited { code: 0, .. });
    assert!(exited(Ok(json!({ "continue": true }))) && exited(Ok(Value::Null)));
    assert!(!exited(Ok(json!("yes"))) && !exited(Err("no such callback".to_owned())));
}

#[test]
fn approval_is_remembered_only_for_suggested_rules() {
    let question = can_use_tool("q1", &request(), &json!({ "command": "cargo test" }));
    let suggestion = &question["request"]["permission_suggestions"][0];
    assert_eq!(suggestion["rules"], json!([{ "toolName": "Bash", "ruleContent": "cargo test *" }]));
    let yes = |update: &Value| decided(&json!({ "behavior": "allow", "updatedPermissions": [update] })).0;
    assert_eq!(yes(suggestion), PermissionDecision::AllowSession);
    let mut kept = suggestion.clone();
    kept["destination"] = json!("localSettings");
    assert_eq!(yes(&kept), PermissionDecision::AllowAlways);
    let mut wider = suggestion.clone();
    wider["rules"] = json!([{ "toolName": "Bash" }]);
    assert_eq!(yes(&wider), PermissionDecision::Allow, "a rule that was not suggested is not remembered");
}
