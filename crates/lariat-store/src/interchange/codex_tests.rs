use lariat_core::session::SessionFold;
use lariat_core::transcript::RepairKind;

use super::*;

fn rollout(lines: &[(&str, Value)]) -> Vec<u8> {
    let meta =
        json!({"id": "0190b5e6-7b2a-7c3d-8e4f-123456789abc", "cwd": "/old", "git": {"branch": "main"}});
    let turn = json!({"cwd": "/srv/me", "model": "gpt-5-codex"});
    let all = [("session_meta", meta), ("turn_context", turn)].into_iter().chain(lines.iter().cloned());
    let line = |(number, (kind, payload)): (usize, (&str, Value))| {
        let at = format!("2026-03-01T10:{:02}:{:02}.000Z", number / 60, number % 60);
        format!("{}\n", json!({"timestamp": at, "type": kind, "payload": payload}))
    };
    all.enumerate().map(line).collect::<String>().into_bytes()
}

fn item(payload: Value) -> (&'static str, Value) {
    ("response_item", payload)
}

fn said(role: &str, text: &str) -> (&'static str, Value) {
    let kind = if role == "assistant" { "output_text" } else { "input_text" };
    item(json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]}))
}

fn call(id: &str) -> (&'static str, Value) {
    item(
        json!({"type": "function_call", "name": "shell", "arguments": "{\"command\":[\"ls\"]}", "call_id": id}),
    )
}

fn output(id: &str, output: Value) -> (&'static str, Value) {
    item(json!({"type": "function_call_output", "call_id": id, "output": output}))
}

/// A short form of the newest conversation, and the repairs it needed.
fn short_form(bytes: &[u8]) -> (Vec<String>, Vec<RepairKind>) {
    let imported = import(bytes).unwrap();
    let fold = SessionFold::of(&imported.records(0));
    let (transcript, repairs) = fold.conversation(fold.tip());
    let short = |message: &lariat_core::message::SharedMessage| match message.as_llm() {
        None => "x".to_owned(),
        Some(Message::User(_)) => format!("u:{}", message.as_llm().unwrap().text()),
        Some(Message::Assistant(reply)) => {
            format!("a:{} {}", message.as_llm().unwrap().text(), reply.tool_calls().count())
        }
        Some(Message::ToolResult(result)) => {
            format!("r:{}={}", result.tool_call_id, message.as_llm().unwrap().text())
        }
    };
    (transcript.window().iter().map(short).collect(), repairs.iter().map(|repair| repair.kind).collect())
}

#[test]
fn joins_items_between_two_inputs_into_one_reply_with_usage_and_model() {
    let reasoning = json!({"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}],
        "encrypted_content": "gAAA"});
    let count = json!({"type": "token_count", "info": {"last_token_usage": {"input_tokens": 10,
        "cached_input_tokens": 4, "output_tokens": 3, "reasoning_output_tokens": 2, "total_tokens": 13}}});
    let bytes = rollout(&[
        said("developer", "rules"),
        said("user", "<environment_context>x</environment_context>"),
        said("user", "list the files"),
        item(reasoning.clone()),
        said("assistant", "I look"),
        call("c1"),
        item(
            json!({"type": "custom_tool_call", "name": "apply_patch", "input": "*** Begin", "call_id": "c2"}),
        ),
        ("event_msg", count),
        item(json!({"type": "ghost_snapshot", "ghost_commit": {"id": "x"}})),
        output("c1", json!("a.txt")),
        item(json!({"type": "custom_tool_call_output", "call_id": "c2", "output": "ok"})),
        item(
            json!({"type": "web_search_call", "status": "completed", "action": {"type": "search", "query": "q"}}),
        ),
        said("assistant", "done"),
    ]);
    let (conversation, repairs) = short_form(&bytes);
    let wanted = [
        "x",
        "u:<environment_context>x</environment_context>",
        "u:list the files",
        "a:I look 2",
        "r:c1=a.txt",
        "r:c2=ok",
        "x",
        "a:done 0",
    ];
    assert_eq!((conversation, repairs), (wanted.map(str::to_owned).to_vec(), vec![]));

    let imported = import(&bytes).unwrap();
    assert!(imported.notes.is_empty());
    let AgentEvent::SessionDescribed(about) = &imported.events[0].event else { panic!() };
    assert_eq!(about.title.as_deref(), Some("list the files"), "not the context that Codex adds");
    assert_eq!((about.cwd.as_deref(), about.git_branch.as_deref()), (Some("/srv/me"), Some("main")));
    let AgentEvent::MessagesImported { messages, .. } = &imported.events[1].event else { panic!() };
    let reply = messages[3].as_assistant().unwrap();
    assert_eq!((reply.model.as_str(), reply.stop_reason), ("gpt-5-codex", StopReason::ToolUse));
    assert_eq!((reply.usage.input, reply.usage.cache_read, reply.usage.reasoning), (6, 4, 2));
    let Content::Thinking { thinking, signature: Some(signature) } = &reply.content[0] else { panic!() };
    assert_eq!((thinking.as_str(), serde_json::from_str::<Value>(signature).unwrap()), ("hm", reasoning));
    assert_eq!(reply.content[2].as_tool_call().unwrap().arguments, json!({"command": ["ls"]}));
    assert_eq!(messages[4].as_tool_result().unwrap().tool_name, "shell");
}

#[test]
fn reads_all_historical_forms_of_tool_output() {
    let image = json!([{"type": "input_text", "text": "see"}, {"type": "input_image", "image_url": "data:image/png;base64,iVBO"}]);
    let bytes = rollout(&[
        said("user", "go"),
        call("c1"),
        output("c1", json!({"content": "no such file", "success": false})),
        call("c2"),
        output("c2", image),
        item(
            json!({"type": "local_shell_call", "call_id": "c3", "status": "completed", "action": {"type": "exec", "command": ["pwd"]}}),
        ),
        output("c3", json!("")),
    ]);
    let imported = import(&bytes).unwrap();
    let AgentEvent::MessagesImported { messages, .. } = &imported.events[1].event else { panic!() };
    assert!(messages[2].as_tool_result().unwrap().is_error);
    let image = Content::Image { data: "iVBO".into(), mime_type: "image/png".into() };
    assert_eq!(messages[4].as_tool_result().unwrap().content, [Content::text("see"), image]);
    assert_eq!(messages[5].as_assistant().unwrap().tool_calls().next().unwrap().name, "local_shell");
}

#[test]
fn compaction_restarts_the_conversation() {
    let history = json!([{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "kept"}]},
        {"type": "compaction", "encrypted_content": "x"}]);
    let before = [said("user", "old"), said("assistant", "older")];
    let with_history = ("compacted", json!({"message": "", "replacement_history": history}));
    let with_summary = ("compacted", json!({"message": "in short"}));
    let after = [said("assistant", "new")];
    let file = |compacted| rollout(&[&before[..], &[compacted], &after].concat());
    assert_eq!(short_form(&file(with_history)).0, ["u:kept", "x", "a:new 0"]);
    let file = file(with_summary);
    assert_eq!(short_form(&file).0, ["u:old", "u:in short", "a:new 0"]);
    assert!(
        format!("{:?}", import(&file).unwrap().events).contains("older"),
        "the journal keeps the old messages"
    );
}

#[test]
fn rollback_removes_whole_turns() {
    let rolled = |turns: u64| ("event_msg", json!({"type": "thread_rolled_back", "num_turns": turns}));
    let turns = [said("user", "one"), said("assistant", "1"), said("user", "two"), said("assistant", "2")];
    let back = |turns_back: u64, after: &[(&str, Value)]| {
        short_form(&rollout(&[&turns[..], &[rolled(turns_back)], after].concat())).0
    };
    assert_eq!(back(1, &[]), ["u:one", "a:1 0"]);
    assert_eq!(back(1, &[said("user", "three")]), ["u:one", "a:1 0", "u:three"]);
    assert_eq!(back(2, &[said("user", "three")]), ["u:three"]);
    assert_eq!(back(9, &[]), [""; 0]);
}

#[test]
fn reads_bare_items_of_older_rollouts() {
    let lines = [
        json!({"id": "old", "timestamp": "2025-05-01T00:00:00Z", "instructions": null}),
        json!({"record_type": "state"}),
        json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}),
        json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hello"}]}),
    ];
    let bytes: String = lines.iter().map(|line| format!("{line}\n")).collect();
    assert_eq!(import(bytes.as_bytes()).unwrap().session_id.as_str(), "old");
    assert_eq!(short_form(bytes.as_bytes()).0, ["u:hi", "a:hello 0"]);
}

#[test]
fn notes_damaged_lines_and_repairs_missing_outputs() {
    let mut bytes =
        rollout(&[said("user", "go"), call("c1"), said("user", "well?"), output("gone", json!("x"))]);
    bytes.extend_from_slice(
        b"{\"timestamp\":\"2026\n{\"type\":\"hologram\",\"payload\":{}}\n[]\n{\"payload\":1}\n",
    );
    let (conversation, repairs) = short_form(&bytes);
    assert_eq!(conversation.len(), 4);
    assert_eq!(repairs, [RepairKind::MissingResult, RepairKind::OrphanResult]);
    let notes: Vec<usize> = import(&bytes).unwrap().notes.iter().map(|note| note.line).collect();
    assert_eq!(notes, [7, 8, 9, 10]);
    assert!(matches!(import(b"{\"a\":1}"), Err(InterchangeError::NoMessages { format: "Codex", .. })));
}

#[test]
fn reads_a_rollout_cut_at_any_byte() {
    let bytes =
        rollout(&[said("user", "go"), call("c1"), output("c1", json!("x")), said("assistant", "done")]);
    for end in 0..bytes.len() {
        if let Ok(imported) = import(&bytes[..end]) {
            let fold = SessionFold::of(&imported.records(0));
            assert!(!fold.conversation(fold.tip()).0.is_empty());
        }
    }
}
