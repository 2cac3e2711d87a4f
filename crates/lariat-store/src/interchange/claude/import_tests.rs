use std::collections::HashSet;

use super::super::testing::{
    LINE_KINDS, all_ids, assert_same, expected, fold_conversation, generate, shown_conversation,
};
use super::super::{export, read_conversation};
use super::*;
use lariat_core::content::Content;
use lariat_core::message::{SharedMessage, StopReason};
use lariat_core::session::SessionFold;
use lariat_core::usage::Usage;
use serde_json::json;

/// Number of seeds for the round trip.
const SESSIONS: u64 = 300;

fn round_trip(name: &str, file: &[u8]) -> ImportedSession {
    let first = import(file).unwrap_or_else(|error| panic!("{name}: {error}"));
    let records = first.records(0);
    let (said, ids, repairs) = fold_conversation(&records);
    assert_same(&said, &expected(file), &format!("{name}: the import matches the rule"));

    let exported = export(&first.session_id, &records);
    assert_same(
        &shown_conversation(&exported),
        &said,
        &format!("{name}: Claude Code shows the folded conversation"),
    );

    let second = import(&exported).unwrap_or_else(|error| panic!("{name}, again: {error}"));
    let (again, ids_again, _) = fold_conversation(&second.records(0));
    assert_same(&again, &said, &format!("{name}: import, export, import"));
    let ids_again: HashSet<_> = ids_again.into_iter().collect();
    let lost = ids.iter().filter(|id| !id.is_nil() && !ids_again.contains(id));
    assert_eq!(lost.count(), 0, "{name}: messages keep their ids");

    let kept: HashSet<_> = all_ids(&second).into_iter().collect();
    let all = all_ids(&first);
    assert_eq!(all.iter().collect::<HashSet<_>>().len(), all.len(), "{name}: no id twice");
    let lost = all.iter().filter(|id| !kept.contains(id)).count();
    assert!(lost <= repairs, "{name}: {lost} messages lost, {repairs} repairs");
    let about = |imported: &ImportedSession| imported.events[0].event.clone();
    assert_eq!(about(&second), about(&first), "{name}: description");
    first
}

#[test]
fn generated_sessions_survive_import_export_import() {
    let mut kinds = HashSet::new();
    for seed in 0..SESSIONS {
        let (file, held) = generate(seed);
        kinds.extend(held);
        round_trip(&format!("seed {seed}"), &file);
    }
    let missing: Vec<_> = LINE_KINDS.iter().filter(|kind| !kinds.contains(*kind)).collect();
    assert!(missing.is_empty(), "never generated: {missing:?}");
    assert!(read_conversation(b"").is_empty());
}

/// Builds a file of these lines and adds the fields that every chain line has.
fn file(lines: &[Value]) -> Vec<u8> {
    let mut file = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        let mut line = line.clone();
        if line.get("uuid").is_some() {
            line["sessionId"] = json!("0190b5e6-7b2a-7c3d-8e4f-123456789abc");
            line["timestamp"] = json!(format!("2026-03-01T10:00:{number:02}.000Z"));
            line["cwd"] = json!("/srv/me/project");
            line["gitBranch"] = json!("main");
        }
        file.extend_from_slice(line.to_string().as_bytes());
        file.push(b'\n');
    }
    file
}

fn user(uuid: &str, parent: Option<&str>, content: Value) -> Value {
    json!({"type": "user", "uuid": uuid, "parentUuid": parent, "message": {"role": "user", "content": content}})
}

fn reply(uuid: &str, parent: &str, id: &str, content: Value) -> Value {
    json!({"type": "assistant", "uuid": uuid, "parentUuid": parent, "message": {"id": id, "role": "assistant",
        "model": "m", "content": content, "stop_reason": null}})
}

fn call(id: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "Bash", "input": {"command": id}})
}

fn result(id: &str, output: &str) -> Value {
    json!({"type": "tool_result", "tool_use_id": id, "content": output})
}

fn text(words: &str) -> Value {
    json!([{"type": "text", "text": words}])
}

fn with(mut line: Value, name: &str, value: Value) -> Value {
    line[name] = value;
    line
}

/// Returns the newest conversation, with extensions.
fn conversation(imported: &ImportedSession) -> Vec<SharedMessage> {
    let fold = SessionFold::of(&imported.records(0));
    fold.conversation(fold.tip()).0.window().iter().cloned().collect()
}

/// Returns a short form of the newest conversation: `u:` user text, `a:` a reply, `r:` a result, `x:` an extension.
fn short_form(imported: &ImportedSession) -> Vec<String> {
    let short = |message: &SharedMessage| {
        let text = message.as_llm().map(lariat_core::message::Message::text).unwrap_or_default();
        let calls = |message: &SharedMessage| {
            let reply = message.as_assistant().unwrap();
            reply.tool_calls().map(|call| format!(" +{}", call.id)).collect::<String>()
        };
        match &**message {
            lariat_core::message::AgentMessage::Extension(extension) => format!("x:{}", extension.kind),
            _ if message.as_user().is_some() => format!("u:{text}"),
            _ if message.as_assistant().is_some() => format!("a:{text}{}", calls(message)),
            _ => format!("r:{}={text}", message.as_tool_result().unwrap().tool_call_id),
        }
    };
    conversation(imported).iter().map(short).collect()
}

fn notes(imported: &ImportedSession) -> Vec<usize> {
    imported.notes.iter().map(|note| note.line).collect()
}

#[test]
fn joins_a_reply_split_over_lines_with_usage_and_stop_reason() {
    let mut last = reply("c", "b", "m1", json!([call("t1")]));
    last["message"]["stop_reason"] = json!("tool_use");
    last["message"]["usage"] = json!({"input_tokens": 5, "output_tokens": 6, "cache_read_input_tokens": 7,
        "cache_creation_input_tokens": 8});
    let thoughts = json!([{"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "redacted_thinking", "data": "d"}]);
    let first = reply("b", "a", "m1", thoughts);
    let lines =
        [user("a", None, json!("do")), first, last, user("d", Some("c"), json!([result("t1", "done")]))];
    let imported = round_trip("split", &file(&lines));
    assert_eq!(short_form(&imported), ["u:do", "a: +t1", "r:t1=done"]);
    let messages = conversation(&imported);
    let joined = messages[1].as_assistant().unwrap();
    assert_eq!(joined.content[0], Content::Thinking { thinking: "hm".into(), signature: Some("s".into()) });
    assert_eq!(joined.content[1], Content::RedactedThinking { data: "d".into() });
    assert_eq!(joined.stop_reason, StopReason::ToolUse);
    let usage = Usage { input: 5, output: 6, cache_read: 7, cache_write: 8, ..Usage::default() };
    assert_eq!((joined.usage, joined.model.as_str()), (usage, "m"));
    assert_eq!(messages[2].as_tool_result().unwrap().tool_name, "Bash");
}

#[test]
fn includes_results_of_parallel_tool_calls_from_side_branches() {
    let lines = [
        user("a", None, json!("do")),
        reply("b", "a", "m1", json!([call("t1")])),
        user("c", Some("b"), json!([result("t1", "one")])),
        reply("d", "b", "m1", json!([call("t2")])),
        user("e", Some("d"), json!([result("t2", "two")])),
        reply("f", "e", "m2", text("done")),
    ];
    let bytes = file(&lines);
    assert!(
        !read_conversation(&bytes).iter().any(|line| line.uuid == "c"),
        "the rule alone loses this result"
    );
    let imported = round_trip("parallel", &bytes);
    assert_eq!(short_form(&imported), ["u:do", "a: +t1 +t2", "r:t1=one", "r:t2=two", "a:done"]);
}

#[test]
fn other_lines_do_not_separate_a_tool_call_from_its_result() {
    let lines = [
        user("a", None, json!("do")),
        reply("b", "a", "m1", json!([call("t1")])),
        json!({"type": "attachment", "uuid": "c", "parentUuid": "b", "attachment": {"type": "x"}}),
        json!({"type": "progress", "uuid": "d", "parentUuid": "c"}),
        with(user("e", Some("d"), json!("caveat")), "isMeta", json!(true)),
        user("f", Some("e"), json!([result("t1", "done"), {"type": "text", "text": "and go on"}])),
    ];
    let imported = round_trip("between", &file(&lines));
    let wanted =
        ["u:do", "a: +t1", "r:t1=done", "x:claude-code/attachment", "x:claude-code/user", "u:and go on"];
    assert_eq!(short_form(&imported), wanted);
}

#[test]
fn compact_boundary_restarts_the_conversation_and_keeps_earlier_messages() {
    let boundary = json!({"type": "system", "uuid": "c", "parentUuid": null, "subtype": "compact_boundary",
        "logicalParentUuid": "b", "compactMetadata": {"trigger": "manual", "preTokens": 9}});
    let lines = [
        user("a", None, json!("old")),
        reply("b", "a", "m1", text("old too")),
        boundary,
        with(user("d", Some("c"), json!("in short")), "isCompactSummary", json!(true)),
        reply("e", "d", "m2", text("new")),
    ];
    let imported = round_trip("compact", &file(&lines));
    assert_eq!(short_form(&imported), ["x:claude-code/system", "u:in short", "a:new"]);
    let exported = export(&imported.session_id, &imported.records(0));
    let exported = String::from_utf8(exported).unwrap();
    let summary = exported.lines().find(|line| line.contains("in short")).unwrap();
    assert!(summary.contains("\"isCompactSummary\":true"), "{summary}");
    assert!(exported.contains("\"logicalParentUuid\":\"b\"") && exported.contains("old too"));
    assert_eq!(all_ids(&imported).len(), 5);
}

#[test]
fn latest_branch_is_the_conversation_and_other_branches_are_kept() {
    let lines = [
        user("a", None, json!("start")),
        reply("b", "a", "m1", text("first")),
        user("c", Some("b"), json!("this way")),
        user("d", Some("b"), json!("that way")),
        reply("e", "d", "m2", text("taken")),
    ];
    let imported = round_trip("fork", &file(&lines));
    assert_eq!(short_form(&imported), ["u:start", "a:first", "u:that way", "a:taken"]);
    let fold = SessionFold::of(&imported.records(0));
    let (other, _) = fold.conversation(Some(crate::interchange::message_id("c")));
    assert_eq!(other.len(), 3);
}

#[test]
fn keeps_side_chain_team_and_meta_lines_outside_the_conversation() {
    let lines = [
        user("a", None, json!("start")),
        with(user("s1", None, json!("sub task")), "isSidechain", json!(true)),
        with(reply("s2", "s1", "m9", text("sub answer")), "isSidechain", json!(true)),
        with(user("b", Some("a"), json!("from a team")), "teamName", json!("red")),
        with(user("c", Some("b"), json!("caveat")), "isMeta", json!(true)),
        reply("d", "c", "m1", text("hello")),
    ];
    let imported = round_trip("hidden", &file(&lines));
    assert_eq!(short_form(&imported), ["u:start", "x:claude-code/user", "x:claude-code/user", "a:hello"]);
    assert_eq!(all_ids(&imported).len(), 6);
    let exported = String::from_utf8(export(&imported.session_id, &imported.records(0))).unwrap();
    for words in ["\"isSidechain\":true", "sub answer", "\"teamName\":\"red\"", "\"isMeta\":true"] {
        assert!(exported.contains(words), "{words}");
    }
}

#[test]
fn progress_line_after_the_end_does_not_move_the_end() {
    let lines = [
        user("a", None, json!("start")),
        reply("b", "a", "m1", text("end")),
        json!({"type": "progress", "uuid": "p", "parentUuid": "b"}),
        with(user("c", Some("b"), json!("meta")), "isMeta", json!(true)),
    ];
    assert_eq!(short_form(&round_trip("progress", &file(&lines))), ["u:start", "a:end"]);
}

#[test]
fn notes_damaged_lines_and_reads_the_rest() {
    let mut bytes =
        b"\0\0\0\0\nnot json\n{\"type\":\"hologram\",\"uuid\":\"h\"}\n{\"type\":\"user\"}\n".to_vec();
    bytes.extend(file(&[
        user("a", Some("gone"), json!("hello")),
        user("a", Some("gone"), json!("hello again")),
        user("x", Some("y"), json!("round")),
        user("y", Some("x"), json!("and round")),
        json!({"type": "user", "uuid": "b", "parentUuid": "a"}),
        reply("c", "b", "m1", text("hi")),
    ]));
    bytes.extend_from_slice(b"{\"type\":\"assistant\",\"uuid\":\"torn");
    let imported = round_trip("damage", &bytes);
    assert_eq!(short_form(&imported), ["u:hello again", "x:claude-code/user", "a:hi"]);
    assert_eq!(notes(&imported), [1, 2, 3, 4, 5, 6, 7, 9, 11], "{:#?}", imported.notes);
}

#[test]
fn rejects_a_file_without_chain_lines() {
    for nothing in [&b""[..], b"{}", b"{\"type\":\"summary\",\"summary\":\"s\"}\n"] {
        assert!(matches!(import(nothing), Err(InterchangeError::NoMessages { .. })));
    }
}

#[test]
fn chooses_titles_by_priority_and_clears_tags() {
    let described = |more: &[Value]| {
        let mut lines = vec![
            with(user("m", None, json!("<command-name>x</command-name>")), "isMeta", json!(true)),
            user("a", None, json!("the first\nprompt")),
        ];
        lines.extend_from_slice(more);
        let AgentEvent::SessionDescribed(about) = round_trip("title", &file(&lines)).events[0].event.clone()
        else {
            panic!("no description")
        };
        assert_eq!(
            (about.cwd.as_deref(), about.git_branch.as_deref()),
            (Some("/srv/me/project"), Some("main"))
        );
        (about.title.unwrap(), about.tags)
    };
    let summary = json!({"type": "summary", "summary": "by summary", "leafUuid": "a"});
    let last = json!({"type": "last-prompt", "lastPrompt": "by last prompt"});
    let model = json!({"type": "ai-title", "aiTitle": "by a model"});
    let own = |title: &str| json!({"type": "custom-title", "customTitle": title});
    let tag = |tag: &str| json!({"type": "tag", "tag": tag});
    assert_eq!(described(&[]).0, "the first prompt");
    assert_eq!(described(std::slice::from_ref(&summary)).0, "by summary");
    assert_eq!(described(&[last.clone(), summary.clone()]).0, "by last prompt");
    assert_eq!(described(&[model.clone(), last.clone(), summary.clone()]).0, "by a model");
    assert_eq!(described(&[own("one"), own("two"), model, last, summary]).0, "two");
    assert_eq!(
        described(&[tag("old"), tag(""), tag("a"), tag("b"), tag("a")]).1,
        Some(vec!["a".into(), "b".into()])
    );
    assert_eq!(described(&[tag("old"), tag("")]).1, None);
}

#[test]
fn splits_long_imports_into_events_between_exchanges() {
    let mut lines = vec![user("u0", None, json!("start"))];
    for n in 1..600 {
        let before = format!("u{}", n - 1);
        lines.push(reply(&format!("a{n}"), &before, &format!("m{n}"), json!([call(&format!("t{n}"))])));
        lines.push(user(&format!("u{n}"), Some(&format!("a{n}")), json!([result(&format!("t{n}"), "ok")])));
    }
    let file: Vec<u8> = lines.iter().flat_map(|line| format!("{line}\n").into_bytes()).collect();
    let imported = round_trip("long", &file);
    let segments: Vec<_> = imported
        .events
        .iter()
        .filter_map(|event| match &event.event {
            AgentEvent::MessagesImported { messages, .. } => Some(messages),
            _ => None,
        })
        .collect();
    assert!(segments.len() > 4 && segments.iter().all(|messages| messages.len() <= 260));
    assert!(segments.iter().all(|messages| messages[0].as_tool_result().is_none()));
    assert_eq!(conversation(&imported).len(), 1 + 599 * 2);
}

#[test]
fn damaged_files_never_make_the_import_panic_or_loop() {
    for seed in 0..20 {
        let (file, _) = generate(seed);
        let mut dice = lariat_test::SeededRandom::new(seed);
        for _ in 0..40 {
            let mut damaged = file.clone();
            for _ in 0..=dice.below(8) {
                let at = dice.below(damaged.len() as u64) as usize;
                match dice.below(4) {
                    0 => damaged.truncate(at + 1),
                    1 => damaged[at] ^= 1 << dice.below(8),
                    2 => drop(damaged.drain(at..(at + 200).min(file.len()).min(damaged.len()))),
                    _ => damaged.insert(at, b'\n'),
                }
                if damaged.is_empty() {
                    break;
                }
            }
            if let Ok(imported) = import(&damaged) {
                let records = imported.records(0);
                let exported = export(&imported.session_id, &records);
                assert_same(
                    &shown_conversation(&exported),
                    &fold_conversation(&records).0,
                    &format!("seed {seed}"),
                );
            }
        }
    }
}
