//! The question whether something may run, in line mode, and the meaning of the key that answers it.
//!
//! Owns the words. What runs is shown whole and exactly, by the guard's renderer, behind a bar at the left: nothing that
//! is asked about can look like a part of the question. A line that does not fit goes on behind a broken bar.
//! Invariant: only a key that certainly says yes is a yes; what is not offered cannot be chosen.

use lariat_core::permission::{DangerLevel, PermissionDecision, PermissionRequest};
use lariat_guard::display;
use serde_json::Value;

use super::look::{Look, Style};
use super::{diff, text};

/// Lines of a diff that are shown with a question; a key shows the rest.
const PREVIEW_LINES: usize = 40;

/// What stands before the reason.
const WHY: &str = "  why asked: ";
/// What stands before the model's own description.
const SAID: &str = "  the model says: ";

/// What a key means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// This.
    Decided(PermissionDecision),
    /// No, and the next line says why: see [`reason`].
    WantsReason,
    /// Show the whole diff.
    WantsDiff,
    /// Nothing: ask again.
    Unclear,
}

/// The question with its choices, without the prompt. `arguments` are those of the call, where they are known.
pub(crate) fn question(request: &PermissionRequest, arguments: Option<&Value>, look: &Look) -> String {
    let (style, danger) = match request.danger {
        DangerLevel::Safe => (Style::Good, "only reads"),
        DangerLevel::Moderate => (Style::Warning, "changes things in the workspace"),
        DangerLevel::Dangerous => (Style::Warning, "runs commands or reaches the network"),
        DangerLevel::Critical => (Style::Bad, "could destroy what cannot be restored"),
    };
    let title = format!("{} Allow {}?", look.mark("◆", "?"), text::line(&request.tool_name));
    let mut shown = String::new();
    if text::width(&title) + text::width(danger) + 2 <= look.width {
        shown = format!("{}  {}\n", look.paint(Style::Strong, &title), look.paint(style, danger));
    } else {
        for (style, words) in [(Style::Strong, title.as_str()), (style, danger)] {
            for line in text::wrap(words, look.width) {
                shown.push_str(&look.paint(style, &line));
                shown.push('\n');
            }
        }
    }
    if request.args.is_some() {
        shown.push_str("  A hook replaced the arguments. It runs with these:\n");
    }
    let preview = request.preview.as_deref().filter(|preview| !preview.is_empty());
    let arguments = request.args.as_deref().or(arguments);
    shown.push_str(&match (preview, arguments) {
        // The diff names the file and says all that changes.
        (Some(preview), _) => behind_bar(&diff::exact(preview, PREVIEW_LINES, &inner(look)), look),
        (None, Some(Value::Object(fields))) if !fields.is_empty() => call(fields, look),
        (None, _) => exactly(&request.summary, look),
    });
    if let Some(reason) = &request.reason {
        shown.push_str(&labelled(WHY, &plain_reason(reason), look));
    }
    shown.push_str(&choices(request, look));
    shown
}

/// The whole diff of a question.
pub(crate) fn whole_diff(request: &PermissionRequest, look: &Look) -> String {
    let preview = request.preview.as_deref().unwrap_or_default();
    behind_bar(&diff::exact(preview, usize::MAX, &inner(look)), look)
}

/// A change of a plan: what it is and what it would come to, whole.
pub(crate) fn planned(
    number: usize,
    tool: &str,
    arguments: &Value,
    preview: Option<&str>,
    problem: Option<&str>,
    look: &Look,
) -> String {
    let mut shown = format!("{}\n", look.paint(Style::Strong, &format!("  {number}. {}", text::line(tool))));
    shown.push_str(&match (preview, arguments) {
        (Some(preview), _) => behind_bar(&diff::exact(preview, usize::MAX, &inner(look)), look),
        (None, Value::Object(fields)) => call(fields, look),
        (None, other) => exactly(&other.to_string(), look),
    });
    if let Some(problem) = problem {
        shown.push_str(&labelled("  as things are now: ", problem, look));
    }
    shown
}

/// A call by its arguments: the command or the content exactly, the rest in words.
fn call(fields: &serde_json::Map<String, Value>, look: &Look) -> String {
    let mut shown = String::new();
    let said = fields.get("description").and_then(Value::as_str).filter(|said| !said.trim().is_empty());
    let command = fields.get("command").and_then(Value::as_str);
    if let Some(command) = command {
        shown.push_str(&exactly(command, look));
    }
    for (name, value) in fields {
        if (name == "command" && command.is_some()) || (name == "description" && said.is_some()) {
            continue;
        }
        let value = match value {
            Value::String(text) => text.clone(),
            Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
            other => serde_json::to_string_pretty(other).unwrap_or_else(|_| other.to_string()),
        };
        if value.contains('\n') {
            shown.push_str(&exactly(&format!("{name}:"), look));
            shown.push_str(&exactly(&value, look));
        } else {
            shown.push_str(&exactly(&format!("{name}: {value}"), look));
        }
    }
    if let Some(said) = said {
        shown.push_str(&labelled(SAID, said, look));
    }
    shown
}

/// The reasons without the head and the bullets that the judgement gives them.
fn plain_reason(reason: &str) -> String {
    let lines = reason.lines().map(|line| line.strip_prefix("- ").unwrap_or(line));
    lines.filter(|line| !matches!(*line, "Asked:" | "")).collect::<Vec<_>>().join("\n")
}

/// Words behind a label, wrapped below themselves.
fn labelled(label: &str, words: &str, look: &Look) -> String {
    let indent = text::width(label);
    let room = look.width.saturating_sub(indent).max(8);
    let mut shown = String::new();
    for (at, line) in text::lines(words).flat_map(|line| text::wrap(&line, room)).enumerate() {
        let start = if at == 0 { label.to_owned() } else { " ".repeat(indent) };
        shown.push_str(&look.paint(Style::Dim, &format!("{start}{line}")));
        shown.push('\n');
    }
    shown
}

/// The choices, also to ask again.
pub(crate) fn choices(request: &PermissionRequest, look: &Look) -> String {
    let key = |key: &str| look.paint(Style::Strong, &format!("[{key}]"));
    let mut shown = format!("  {} yes, once\n", key("y"));
    if let Some(rules) = &request.remember {
        let scopes = [("s", "yes, for this session"), ("a", "yes, always in this project")];
        let rule = display::line(rules);
        // One rule stands behind both; several are listed once, because both remember the same.
        let is_short = !rules.contains('\n') && text::width(&rule) + 34 <= look.width;
        for (letter, scope) in scopes {
            let rule = if is_short { format!(": {rule}") } else { String::new() };
            shown.push_str(&format!("  {} {scope}{rule}\n", key(letter)));
        }
        if !is_short {
            shown.push_str("  What s and a remember:\n");
            shown.push_str(&exactly(rules, look));
        }
    }
    shown.push_str(&format!("  {} no   {} no, and say why", key("n"), key("e")));
    if has_more(request) {
        shown.push_str(&format!("   {} show the whole diff", key("d")));
    }
    shown.push('\n');
    shown
}

/// The prompt. A key counts from when it is there.
pub(crate) fn prompt(request: &PermissionRequest) -> String {
    let letters: Vec<&str> = [
        ("y", true),
        ("s", request.remember.is_some()),
        ("a", request.remember.is_some()),
        ("n", true),
        ("e", true),
        ("d", has_more(request)),
    ]
    .iter()
    .filter(|(_, offered)| *offered)
    .map(|(letter, _)| *letter)
    .collect();
    format!("{}> ", letters.join("/"))
}

/// Whether the diff is longer than what the question shows.
fn has_more(request: &PermissionRequest) -> bool {
    request.preview.as_deref().is_some_and(|preview| preview.lines().count() > PREVIEW_LINES)
}

fn inner(look: &Look) -> Look {
    Look { width: look.width.saturating_sub(3), ..*look }
}

/// Lines of ours behind a bar.
fn behind_bar(lines: &str, look: &Look) -> String {
    let bar = look.paint(Style::Dim, look.mark("  │", "  |"));
    lines.lines().map(|line| format!("{bar}{line}\n")).collect()
}

/// A text exactly, behind a bar.
fn exactly(exact: &str, look: &Look) -> String {
    let (bar, broken) = (look.mark("  │ ", "  | "), look.mark("  ┆ ", "  : "));
    let room = look.width.saturating_sub(text::width(bar)).max(8);
    let mut shown = String::new();
    for line in display::block(exact).split('\n') {
        let line = line.replace('\t', "    ");
        for (at, chunk) in text::chunks(&line, room).into_iter().enumerate() {
            shown.push_str(&look.paint(Style::Dim, if at == 0 { bar } else { broken }));
            shown.push_str(chunk);
            shown.push('\n');
        }
    }
    shown
}

/// What a letter means.
pub(crate) fn answer(letter: char, request: &PermissionRequest) -> Answer {
    let offers = request.remember.is_some();
    match letter.to_ascii_lowercase() {
        'y' => Answer::Decided(PermissionDecision::Allow),
        's' if offers => Answer::Decided(PermissionDecision::AllowSession),
        'a' if offers => Answer::Decided(PermissionDecision::AllowAlways),
        'n' => Answer::Decided(PermissionDecision::Deny { reason: None }),
        'e' => Answer::WantsReason,
        'd' if has_more(request) => Answer::WantsDiff,
        _ => Answer::Unclear,
    }
}

/// What was decided, for the line of the prompt.
pub(crate) fn decided(decision: &PermissionDecision) -> &'static str {
    match decision {
        PermissionDecision::Allow => "yes, once",
        PermissionDecision::AllowSession => "yes, for this session",
        PermissionDecision::AllowAlways => "yes, always in this project",
        _ => "no",
    }
}

/// The refusal, when a line says why; an empty line or the end of the input is a no all the same.
pub(crate) fn reason(input: Option<&str>) -> PermissionDecision {
    let reason = input.map(str::trim).filter(|why| !why.is_empty()).map(str::to_owned);
    PermissionDecision::Deny { reason }
}

#[cfg(test)]
#[path = "approval_tests.rs"]
mod tests;
