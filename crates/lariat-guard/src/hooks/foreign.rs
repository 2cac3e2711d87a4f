//! Our tools by the names that hook scripts know.
//!
//! Owns one table: the name and the fields that Claude Code uses for what a tool of ours does. A script that reads
//! `tool_input.file_path` works unchanged, and so does one that answers with it.

use serde_json::{Map, Value};

/// A tool by both names, and the fields whose names differ.
struct Pair {
    ours: &'static str,
    theirs: &'static str,
    fields: &'static [(&'static str, &'static str)],
}

const PATH: &[(&str, &str)] = &[("path", "file_path")];

const PAIRS: &[Pair] = &[
    Pair { ours: "bash", theirs: "Bash", fields: &[] },
    Pair { ours: "bash_output", theirs: "BashOutput", fields: &[("id", "bash_id")] },
    Pair { ours: "bash_stop", theirs: "KillShell", fields: &[("id", "shell_id")] },
    Pair { ours: "read_file", theirs: "Read", fields: PATH },
    Pair { ours: "write_file", theirs: "Write", fields: PATH },
    Pair { ours: "edit_file", theirs: "Edit", fields: PATH },
    Pair { ours: "multi_edit", theirs: "MultiEdit", fields: PATH },
    Pair { ours: "list_files", theirs: "LS", fields: &[] },
    Pair { ours: "glob", theirs: "Glob", fields: &[] },
    Pair { ours: "search", theirs: "Grep", fields: &[] },
    Pair { ours: "fetch", theirs: "WebFetch", fields: &[] },
    Pair { ours: "todo", theirs: "TodoWrite", fields: &[] },
    Pair { ours: "ask_user", theirs: "AskUserQuestion", fields: &[] },
];

fn pair(tool: &str) -> Option<&'static Pair> {
    PAIRS.iter().find(|pair| pair.ours == tool)
}

/// The name that scripts know a tool by; its own where there is no other.
pub fn foreign_name(tool: &str) -> &str {
    pair(tool).map_or(tool, |pair| pair.theirs)
}

/// Arguments by the names that scripts know.
pub fn foreign_input(tool: &str, arguments: &Value) -> Value {
    renamed(arguments, pair(tool).map_or(&[], |pair| pair.fields), |(ours, theirs)| (ours, theirs))
}

/// Arguments of a script's answer by our names.
pub fn own_input(tool: &str, input: &Value) -> Value {
    renamed(input, pair(tool).map_or(&[], |pair| pair.fields), |(ours, theirs)| (theirs, ours))
}

fn renamed(
    value: &Value,
    fields: &[(&'static str, &'static str)],
    direction: impl Fn((&'static str, &'static str)) -> (&'static str, &'static str),
) -> Value {
    let Value::Object(all) = value else { return value.clone() };
    let rename = |name: &String| {
        fields
            .iter()
            .map(|field| direction(*field))
            .find(|(from, _)| from == name)
            .map(|(_, to)| to.to_owned())
    };
    let renamed =
        |(name, value): (&String, &Value)| (rename(name).unwrap_or_else(|| name.clone()), value.clone());
    Value::Object(all.iter().map(renamed).collect::<Map<_, _>>())
}
