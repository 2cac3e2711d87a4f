//! Presents a tool call to hook scripts under Claude Code's tool names and fields.
//!
//! Builds the input that a handler receives, by the name that its matcher matched, and translates its answer back to
//! Lariat's own tool. A script that reads `tool_input.file_path` works unchanged, whichever tool writes the file. A handler
//! runs once for each file that a tool call changes.
//! An answer that cannot be translated back is an error and is never dropped.

use lariat_core::tool::ToolEffects;
use serde_json::{Map, Value, json};

use crate::Guard;
use crate::analyzed_call::AnalyzedCall;
use crate::part::PartKind;
use crate::tool_name::claude_names;

use super::wire_arguments::{own_arguments, wire_arguments};

/// Maximum files of a tool call that handlers can receive one by one.
const MAX_FILES: usize = 64;

/// A tool call that hooks receive.
#[derive(Clone, Debug)]
pub struct Subject<'a> {
    tool: &'a str,
    arguments: &'a Value,
    names: Vec<&'a str>,
    /// The absolute paths of the files it names.
    files: Vec<String>,
}

impl<'a> Subject<'a> {
    /// Describes a call of a tool with these effects.
    pub fn new(guard: &Guard, tool: &'a str, arguments: &'a Value, effects: ToolEffects) -> Self {
        let call = AnalyzedCall::new(tool, arguments, effects, guard.context());
        let parts =
            call.parts.iter().filter(|part| call.text.is_empty() && matches!(part.kind, PartKind::File));
        let touched_files = parts.flat_map(|part| &part.touched_files);
        let mut files: Vec<String> = Vec::new();
        for file in touched_files.map(|touch| touch.target.named.display().to_string()) {
            if !files.contains(&file) {
                files.push(file);
            }
        }
        Self { tool, arguments, names: names(tool, effects), files }
    }

    /// Every name that a matcher may match; the first one is the `tool_name` for matchers that match all.
    pub fn names(&self) -> &[&'a str] {
        &self.names
    }

    /// Returns the `tool_input` of a handler that matched by `name`: one for each file.
    ///
    /// # Errors
    /// The tool call changes too many files.
    pub fn inputs(&self, name: &str) -> Result<Vec<Value>, String> {
        if name == self.tool {
            return Ok(vec![self.arguments.clone()]);
        }
        match self.files.as_slice() {
            [] => Ok(vec![self.input(name, None)]),
            files if files.len() > MAX_FILES => Err(format!(
                "the tool call changes {} files, but hooks can check at most {MAX_FILES}; split it into several calls",
                files.len()
            )),
            files => Ok(files.iter().map(|file| self.input(name, Some(file))).collect()),
        }
    }

    /// Translates the `tool_input` that a handler that matched by `name` wants to the arguments of the tool; `None` if the
    /// handler changed nothing.
    ///
    /// # Errors
    /// The tool has no such arguments.
    pub fn tool_arguments(&self, name: &str, wanted: &Value) -> Result<Option<Value>, String> {
        if name == self.tool {
            return Ok((wanted != self.arguments).then(|| wanted.clone()));
        }
        let given = self.inputs(name)?;
        if given.contains(wanted) {
            return Ok(None);
        }
        let ([given], true) = (given.as_slice(), self.names.first() == Some(&name)) else {
            return Err(format!(
                "it rewrote the input of `{name}`, which cannot be translated to `{}`",
                self.tool
            ));
        };
        own_arguments(self.tool, self.arguments, given, wanted).map(Some)
    }

    fn input(&self, name: &str, file: Option<&String>) -> Value {
        let Value::Object(arguments) = self.arguments else { return self.arguments.clone() };
        let mut input: Map<String, Value> = wire_arguments(self.tool, arguments);
        let mut add = |field: &str, value: Value| {
            input.entry(field).or_insert(value);
        };
        match name {
            "Bash" => add("command", self.text(&["command", "text", "script"]).unwrap_or_default().into()),
            "Write" => add("content", self.added_text().into()),
            "Edit" => {
                add("old_string", self.removed_text().into());
                add("new_string", self.added_text().into());
            }
            "MultiEdit" => {
                add("edits", json!([{ "old_string": self.removed_text(), "new_string": self.added_text() }]));
            }
            _ => {}
        }
        let has_file =
            matches!(name, "Read" | "Write" | "Edit" | "MultiEdit" | "NotebookEdit" | "NotebookRead");
        if let Some(file) = file.filter(|_| has_file) {
            input.insert("file_path".to_owned(), Value::from(file.as_str()));
        }
        Value::Object(input)
    }

    fn text(&self, fields: &[&str]) -> Option<&str> {
        fields.iter().find_map(|field| self.arguments.get(field)?.as_str())
    }

    /// The text that the tool call adds to files, all of them together.
    fn added_text(&self) -> String {
        self.changed_text(&["content", "new_string"], "new_string", '+')
    }

    /// The text that it removes from them.
    fn removed_text(&self) -> String {
        self.changed_text(&["old_string"], "old_string", '-')
    }

    fn changed_text(&self, fields: &[&str], of_edit: &str, mark: char) -> String {
        if let Some(text) = self.text(fields) {
            return text.to_owned();
        }
        let edits = self.arguments.get("edits").and_then(Value::as_array).into_iter().flatten();
        let edits = edits.filter_map(|edit| edit.get(of_edit)?.as_str());
        let patch = self.text(&["patch"]).unwrap_or_default().lines();
        let patch = patch.filter_map(|line| line.strip_prefix(mark));
        edits.chain(patch).collect::<Vec<_>>().join("\n")
    }
}

/// Tools whose arguments do not have the form of Claude Code's tool. A hook receives their calls once for each file; where a
/// call is shown once, a program that expects `Edit` would not find `file_path`.
const OWN_NAME: &[&str] = &["apply_patch"];

/// Returns the name by which programs made for Claude Code know a tool, or its own name.
pub fn claude_name(tool: &str) -> &str {
    if OWN_NAME.contains(&tool) {
        return tool;
    }
    let (names, is_known) = claude_names(tool, ToolEffects::NONE);
    names.first().copied().filter(|_| is_known).unwrap_or(tool)
}

/// Returns the names of a tool. If it corresponds to a tool of Claude Code, that name comes first.
fn names(tool: &str, effects: ToolEffects) -> Vec<&str> {
    let (theirs, is_known) = claude_names(tool, effects);
    let own = std::iter::once(tool);
    if is_known { theirs.into_iter().chain(own).collect() } else { own.chain(theirs).collect() }
}
