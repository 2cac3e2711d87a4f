//! The draft of ACP version 2, written from the types of version 1.
//!
//! Invariant: a function here changes the form of a message and never decides what Lariat reports. Version 2 differs in
//! three ways: a prompt is answered when its message is in the session, and a state says how the work goes; a tool call
//! is created by its first update; modes are options.

use serde_json::{Map, Value, json};

use super::{
    AvailableCommand, ConfigOption, PermissionOption, RpcError, StopReason, ToolCall, ToolContent, Update,
};

/// The task list of the model has one id for its whole life.
const PLAN: &str = "tasks";

/// What a session does in the foreground.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Activity {
    Running,
    /// A question waits for the user.
    RequiresAction,
    /// The work ended, or failed.
    Idle(Result<StopReason, RpcError>),
}

/// What the agent can do, for the response to `initialize`.
pub(crate) fn capabilities() -> Value {
    json!({
        "session": {
            "prompt": { "image": {}, "embeddedContext": {} },
            "mcp": { "stdio": {}, "http": {} },
            "delete": {},
        },
    })
}

/// An update of a session. `None` if version 2 reports it in another way.
pub(crate) fn update(update: &Update) -> Option<Value> {
    Some(match update {
        Update::AgentMessageChunk { content, message_id: None } => {
            let message_id = uuid::Uuid::new_v4().to_string();
            json!({ "sessionUpdate": "agent_message_chunk", "messageId": message_id, "content": content })
        }
        Update::ToolCall(call) | Update::ToolCallUpdate(call) => {
            let mut fields = tool_call(call);
            fields.insert("sessionUpdate".to_owned(), "tool_call_update".into());
            Value::Object(fields)
        }
        Update::Plan { entries } => json!({
            "sessionUpdate": "plan_update",
            "plan": { "type": "items", "planId": PLAN, "entries": entries },
        }),
        Update::AvailableCommandsUpdate { available_commands } => json!({
            "sessionUpdate": "available_commands_update",
            "availableCommands": commands(available_commands),
        }),
        // The options have the mode.
        Update::CurrentModeUpdate { .. } => return None,
        Update::ConfigOptionUpdate { config_options } => json!({
            "sessionUpdate": "config_option_update",
            "configOptions": options(config_options),
        }),
        same => serde_json::to_value(same).unwrap_or_default(),
    })
}

/// The update that says what a session does.
pub(crate) fn state(activity: &Activity) -> Value {
    let idle =
        |reason: Value| json!({ "sessionUpdate": "state_update", "state": "idle", "stopReason": reason });
    match activity {
        Activity::Running => json!({ "sessionUpdate": "state_update", "state": "running" }),
        Activity::RequiresAction => json!({ "sessionUpdate": "state_update", "state": "requires_action" }),
        Activity::Idle(Ok(reason)) => idle(json!(reason)),
        Activity::Idle(Err(error)) => {
            let mut update = object(idle("error".into()));
            update.insert("error".to_owned(), json!(error));
            Value::Object(update)
        }
    }
}

/// The commands of a session.
pub(crate) fn commands(commands: &[AvailableCommand]) -> Vec<Value> {
    let command = |command: &AvailableCommand| {
        let mut written = object(json!({
            "type": "command", "name": command.name, "description": command.description
        }));
        if let Some(input) = &command.input {
            written.insert("input".to_owned(), json!({ "type": "text", "hint": input.hint }));
        }
        Value::Object(written)
    };
    commands.iter().map(command).collect()
}

/// The options of a session.
pub(crate) fn options(options: &[ConfigOption]) -> Vec<Value> {
    let renamed = |option: &ConfigOption| {
        let mut fields = object(serde_json::to_value(option).unwrap_or_default());
        if let Some(id) = fields.remove("id") {
            fields.insert("configId".to_owned(), id);
        }
        Value::Object(fields)
    };
    options.iter().map(renamed).collect()
}

/// The parameters of a request for approval.
pub(crate) fn permission(session_id: &str, call: &ToolCall, options: &[PermissionOption]) -> Value {
    json!({
        "sessionId": session_id,
        "title": call.title.as_deref().unwrap_or("Approval"),
        "subject": { "type": "tool_call", "toolCall": tool_call(call) },
        "options": options,
    })
}

fn tool_call(call: &ToolCall) -> Map<String, Value> {
    let mut fields = object(serde_json::to_value(call).unwrap_or_default());
    if let Some(content) = &call.content {
        fields.insert("content".to_owned(), content.iter().map(tool_content).collect());
    }
    fields
}

fn tool_content(content: &ToolContent) -> Value {
    let ToolContent::Diff { path, old_text, hunk, .. } = content else {
        return serde_json::to_value(content).unwrap_or_default();
    };
    let operation = if old_text.is_some() { "modify" } else { "add" };
    json!({
        "type": "diff",
        "changes": [{ "operation": operation, "path": path, "fileType": "text" }],
        "patch": { "format": "git_patch", "text": patch(path, old_text.is_some(), hunk) },
    })
}

/// A hunk as a patch of git with absolute paths.
fn patch(path: &str, is_modified: bool, hunk: &str) -> String {
    let path = quoted(path);
    match is_modified {
        true => format!("diff --git {path} {path}\n--- {path}\n+++ {path}\n{hunk}"),
        false => {
            format!("diff --git {path} {path}\nnew file mode 100644\n--- /dev/null\n+++ {path}\n{hunk}")
        }
    }
}

/// A path as git writes it: in quotes if it has characters that would end it.
fn quoted(path: &str) -> String {
    let needs_quotes = |byte: u8| byte.is_ascii_control() || !byte.is_ascii() || matches!(byte, b'"' | b'\\');
    if !path.bytes().any(needs_quotes) {
        return path.to_owned();
    }
    let escaped = path.bytes().map(|byte| match byte {
        b'"' => "\\\"".to_owned(),
        b'\\' => "\\\\".to_owned(),
        b'\n' => "\\n".to_owned(),
        b'\t' => "\\t".to_owned(),
        byte if needs_quotes(byte) => format!("\\{byte:03o}"),
        byte => char::from(byte).to_string(),
    });
    format!("\"{}\"", escaped.collect::<String>())
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use super::{Activity, quoted, state, update};
    use crate::wire::{ContentBlock, RpcError, StopReason, ToolCall, Update};

    #[test]
    fn a_change_becomes_a_patch_with_absolute_paths() {
        let diff = "--- a/src/a.rs\n+++ b/src/a.rs\n@@ -3,2 +3,2 @@\n one\n-two\n+three\n";
        let content = crate::diff::changes(diff, Path::new("/p")).into_iter().map(|(change, _)| change);
        let call = ToolCall {
            tool_call_id: "1".to_owned(),
            content: Some(content.collect()),
            ..ToolCall::default()
        };
        let written = update(&Update::ToolCall(Box::new(call))).unwrap();
        assert_eq!(
            written,
            json!({ "sessionUpdate": "tool_call_update", "toolCallId": "1", "content": [{
                "type": "diff",
                "changes": [{ "operation": "modify", "path": "/p/src/a.rs", "fileType": "text" }],
                "patch": { "format": "git_patch", "text": "diff --git /p/src/a.rs /p/src/a.rs\n\
                    --- /p/src/a.rs\n+++ /p/src/a.rs\n@@ -3,2 +3,2 @@\n one\n-two\n+three\n" },
            }] })
        );
    }

    #[test]
    fn a_path_with_unusual_characters_is_quoted() {
        assert_eq!(quoted("/a b"), "/a b");
        assert_eq!(quoted("/a\"\\\n\u{1b}ä"), r#""/a\"\\\n\033\303\244""#);
    }

    #[test]
    fn every_message_has_an_id_and_a_mode_is_an_option() {
        let said = Update::AgentMessageChunk { content: ContentBlock::text("a"), message_id: None };
        assert!(update(&said).unwrap()["messageId"].is_string());
        assert_eq!(update(&Update::CurrentModeUpdate { current_mode_id: "plan".to_owned() }), None);
    }

    #[test]
    fn a_failure_is_a_reason_to_stop() {
        let failed = state(&Activity::Idle(Err(RpcError::internal("HTTP 500"))));
        assert_eq!(
            (&failed["stopReason"], &failed["error"]["message"]),
            (&json!("error"), &json!("HTTP 500"))
        );
        let ended = state(&Activity::Idle(Ok(StopReason::EndTurn)));
        assert_eq!((&ended["state"], &ended["stopReason"]), (&json!("idle"), &json!("end_turn")));
    }
}
