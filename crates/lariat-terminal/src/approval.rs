//! Shows an approval request and interprets the key that answers it.
//!
//! The command or change is shown exactly and in full, behind a bar at the left, so that nothing in it can pass as part of the
//! dialog. A line that does not fit continues behind a broken bar.
//! Only a key that unambiguously approves is an approval, and only offered choices can be chosen.

use crate::theme::{Style, Theme};
use crate::{diff, text};
use lariat_core::display;
use lariat_core::opening::SandboxOpening;
use lariat_core::permission::{ApprovalScope, DangerLevel, PermissionDecision, PermissionRequest};
use serde_json::Value;

/// Lines of a diff in the dialog; a key shows the rest.
const PREVIEW_LINES: usize = 40;

/// Label of the sub-agent that asks.
const ASKER: &str = "  asked by the sub-agent ";
/// Label of the reason.
const REASON: &str = "  reason: ";
/// Label of the extra sandbox access that an approval grants.
const GRANTS: &str = "  if approved, it may: ";
/// Label of the model's own description.
const DESCRIPTION: &str = "  the model says: ";

/// The meaning of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApprovalAnswer {
    /// The user decided.
    Decided(PermissionDecision),
    /// Deny; the next line gives the reason (see [`reason`]).
    WantsReason,
    /// Show the full diff.
    WantsDiff,
    /// Not one of the choices: ask again.
    Unclear,
}

/// An approval request for a tool call.
#[derive(Clone, Copy, Debug)]
pub struct ApprovalDialog<'a> {
    /// The request.
    pub request: &'a PermissionRequest,
    /// The arguments of the tool call, if known.
    pub arguments: Option<&'a Value>,
    /// Whether commands run in a sandbox.
    pub is_confined: bool,
}

impl ApprovalDialog<'_> {
    /// The dialog with its choices, without the prompt.
    pub fn lines(&self, theme: &Theme) -> String {
        let mut shown = question(self.request, self.arguments, theme);
        shown.push_str(&self.choices(theme));
        shown
    }

    /// The prompt. Keys answer the request only after it is shown.
    pub fn prompt(&self) -> String {
        let letters: Vec<String> =
            "ysawocned".chars().filter(|key| self.offers(*key)).map(String::from).collect();
        format!("{}> ", letters.join("/"))
    }

    /// Whether the dialog offers this key.
    fn offers(&self, key: char) -> bool {
        let open = &self.request.openings;
        let is_command = self.is_confined && self.request.tool_name == "bash";
        match key {
            'y' | 'n' | 'e' => true,
            's' | 'a' => self.request.remember.is_some(),
            'd' => has_more(self.request),
            'c' => is_command && !open.is_empty(),
            'w' => {
                is_command
                    && !open.contains(&SandboxOpening::Network)
                    && !open.contains(&SandboxOpening::Outside)
            }
            'o' => is_command && !open.contains(&SandboxOpening::Outside),
            _ => false,
        }
    }

    /// Interprets a key.
    pub fn answer(&self, key: char) -> ApprovalAnswer {
        let key = key.to_ascii_lowercase();
        if !self.offers(key) {
            return ApprovalAnswer::Unclear;
        }
        let with = |openings: Vec<SandboxOpening>| {
            ApprovalAnswer::Decided(PermissionDecision::AllowWith { scope: ApprovalScope::Once, openings })
        };
        match key {
            'y' => ApprovalAnswer::Decided(PermissionDecision::Allow),
            's' => ApprovalAnswer::Decided(PermissionDecision::AllowSession),
            'a' => ApprovalAnswer::Decided(PermissionDecision::AllowAlways),
            'w' => with(self.request.openings.iter().cloned().chain([SandboxOpening::Network]).collect()),
            'o' => with(vec![SandboxOpening::Outside]),
            'c' => with(Vec::new()),
            'n' => ApprovalAnswer::Decided(PermissionDecision::Deny { reason: None }),
            'e' => ApprovalAnswer::WantsReason,
            'd' => ApprovalAnswer::WantsDiff,
            _ => ApprovalAnswer::Unclear,
        }
    }

    /// The lines with the choices.
    pub fn choices(&self, theme: &Theme) -> String {
        let key = |key: char| theme.paint(Style::Strong, &format!("[{key}]"));
        let mut shown = format!("  {} allow once\n", key('y'));
        if let Some(rules) = &self.request.remember {
            let scopes = [('s', "allow for this session"), ('a', "always allow in this project")];
            let rule = display::line(rules);
            // A single rule follows each choice; several are listed once, because both choices remember the same rules.
            let is_short = !rules.contains('\n') && text::width(&rule) + 36 <= theme.width;
            for (letter, scope) in scopes {
                let rule = if is_short { format!(": {rule}") } else { String::new() };
                shown.push_str(&format!("  {} {scope}{rule}\n", key(letter)));
            }
            if !is_short {
                shown.push_str("  s and a remember these rules:\n");
                shown.push_str(&exactly(rules, theme));
            }
        }
        let others = [
            [
                ('w', "once, with network access"),
                ('o', "once, outside the sandbox"),
                ('c', "once, without extra access"),
            ],
            [('n', "deny"), ('e', "deny and say why"), ('d', "show the full diff")],
        ];
        for row in others {
            let offered = row.iter().filter(|(letter, _)| self.offers(*letter));
            let row: Vec<String> =
                offered.map(|(letter, words)| format!("{} {words}", key(*letter))).collect();
            if !row.is_empty() {
                shown.push_str(&format!("  {}\n", row.join("   ")));
            }
        }
        shown
    }

    /// The full diff.
    pub fn full_diff(&self, theme: &Theme) -> String {
        let preview = self.request.preview.as_deref().unwrap_or_default();
        behind_bar(&diff::exact(preview, usize::MAX, &inner(theme)), theme)
    }
}

fn question(request: &PermissionRequest, arguments: Option<&Value>, theme: &Theme) -> String {
    let (style, danger) = match request.danger {
        DangerLevel::Safe => (Style::Good, "read-only"),
        DangerLevel::Moderate => (Style::Warning, "changes files in the workspace"),
        DangerLevel::Dangerous => (Style::Warning, "runs commands or uses the network"),
        DangerLevel::Critical => (Style::Bad, "may do irreversible damage"),
    };
    let title = format!("{} Allow {}?", theme.mark("◆", "?"), text::line(&request.tool_name));
    let mut shown = String::new();
    if text::width(&title) + text::width(danger) + 2 <= theme.width {
        shown = format!("{}  {}\n", theme.paint(Style::Strong, &title), theme.paint(style, danger));
    } else {
        for (style, words) in [(Style::Strong, title.as_str()), (style, danger)] {
            for line in text::wrap(words, theme.width) {
                shown.push_str(&theme.paint(style, &line));
                shown.push('\n');
            }
        }
    }
    match request.agent_path() {
        Some(path) => shown.push_str(&labelled_line(ASKER, &path, theme)),
        None if request.args.is_some() => {
            shown.push_str("  A hook replaced the arguments. The tool runs with these:\n");
        }
        None => {}
    }
    let preview = request.preview.as_deref().filter(|preview| !preview.is_empty());
    let arguments = request.args.as_deref().or(arguments);
    shown.push_str(&match (preview, arguments) {
        // The diff names the file and shows the whole change.
        (Some(preview), _) => behind_bar(&diff::exact(preview, PREVIEW_LINES, &inner(theme)), theme),
        (None, Some(Value::Object(fields))) if !fields.is_empty() => exact_arguments(fields, theme),
        (None, _) => exactly(&request.summary, theme),
    });
    if let Some(reason) = &request.reason {
        shown.push_str(&labelled_line(REASON, &plain_reason(reason), theme));
    }
    if !request.openings.is_empty() {
        let openings: Vec<String> = request.openings.iter().map(ToString::to_string).collect();
        shown.push_str(&labelled_line(GRANTS, &openings.join("; "), theme));
    }
    shown
}

/// Shows a planned change in full, with its effect on the current files.
pub fn plan_question(
    number: usize,
    tool: &str,
    arguments: &Value,
    preview: Option<&str>,
    problem: Option<&str>,
    theme: &Theme,
) -> String {
    let mut shown = format!("{}\n", theme.paint(Style::Strong, &format!("  {number}. {}", text::line(tool))));
    shown.push_str(&match (preview, arguments) {
        (Some(preview), _) => behind_bar(&diff::exact(preview, usize::MAX, &inner(theme)), theme),
        (None, Value::Object(fields)) => exact_arguments(fields, theme),
        (None, other) => exactly(&other.to_string(), theme),
    });
    if let Some(problem) = problem {
        shown.push_str(&labelled_line("  with the current files: ", problem, theme));
    }
    shown
}

/// Shows the arguments of a tool call exactly, the command first.
pub fn exact_arguments(fields: &serde_json::Map<String, Value>, theme: &Theme) -> String {
    let mut shown = String::new();
    let description = fields
        .get("description")
        .and_then(Value::as_str)
        .filter(|description| !description.trim().is_empty());
    let command = fields.get("command").and_then(Value::as_str);
    if let Some(command) = command {
        shown.push_str(&exactly(command, theme));
    }
    for (name, value) in fields {
        if (name == "command" && command.is_some()) || (name == "description" && description.is_some()) {
            continue;
        }
        let value = match value {
            Value::String(text) => text.clone(),
            Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
            other => serde_json::to_string_pretty(other).unwrap_or_else(|_| other.to_string()),
        };
        if value.contains('\n') {
            shown.push_str(&exactly(&format!("{name}:"), theme));
            shown.push_str(&exactly(&value, theme));
        } else {
            shown.push_str(&exactly(&format!("{name}: {value}"), theme));
        }
    }
    if let Some(description) = description {
        shown.push_str(&labelled_line(DESCRIPTION, description, theme));
    }
    shown
}

/// The reasons without the heading and bullets of the permission check.
fn plain_reason(reason: &str) -> String {
    let lines = reason.lines().map(|line| line.strip_prefix("- ").unwrap_or(line));
    let is_reason = |line: &&str| !matches!(*line, "Asked:" | "") && !line.starts_with("Approving lets it:");
    lines.filter(is_reason).collect::<Vec<_>>().join("\n")
}

/// Text after a label, wrapped with a hanging indent.
fn labelled_line(label: &str, words: &str, theme: &Theme) -> String {
    let indent = text::width(label);
    let room = theme.width.saturating_sub(indent).max(8);
    let mut shown = String::new();
    for (at, line) in text::lines(words).flat_map(|line| text::wrap(&line, room)).enumerate() {
        let start = if at == 0 { label.to_owned() } else { " ".repeat(indent) };
        shown.push_str(&theme.paint(Style::Dim, &format!("{start}{line}")));
        shown.push('\n');
    }
    shown
}

/// Whether the dialog shows only part of the diff.
fn has_more(request: &PermissionRequest) -> bool {
    request.preview.as_deref().is_some_and(|preview| preview.lines().count() > PREVIEW_LINES)
}

fn inner(theme: &Theme) -> Theme {
    Theme { width: theme.width.saturating_sub(3), ..*theme }
}

/// Puts a bar before lines that are already neutralised.
fn behind_bar(lines: &str, theme: &Theme) -> String {
    let bar = theme.paint(Style::Dim, theme.mark("  │", "  |"));
    lines.lines().map(|line| format!("{bar}{line}\n")).collect()
}

/// Shows a text exactly, behind a bar.
fn exactly(exact: &str, theme: &Theme) -> String {
    let (bar, broken) = (theme.mark("  │ ", "  | "), theme.mark("  ┆ ", "  : "));
    let room = theme.width.saturating_sub(text::width(bar)).max(8);
    let mut shown = String::new();
    for line in display::block(exact).split('\n') {
        let line = line.replace('\t', "    ");
        for (at, chunk) in text::chunks(&line, room).into_iter().enumerate() {
            shown.push_str(&theme.paint(Style::Dim, if at == 0 { bar } else { broken }));
            shown.push_str(chunk);
            shown.push('\n');
        }
    }
    shown
}

/// The decision, to print after the prompt.
pub fn decision_text(decision: &PermissionDecision) -> &'static str {
    match decision {
        PermissionDecision::Allow => "allowed once",
        PermissionDecision::AllowSession => "allowed for this session",
        PermissionDecision::AllowAlways => "always allowed in this project",
        PermissionDecision::AllowWith { openings, .. } => match openings.last() {
            None => "allowed once, without extra access",
            Some(SandboxOpening::Outside) => "allowed once, outside the sandbox",
            Some(_) => "allowed once, with network access",
        },
        PermissionDecision::AllowChanged { .. } => "allowed once, with other arguments",
        _ => "denied",
    }
}

/// The denial with the typed reason. An empty line or the end of input denies without a reason.
pub fn reason(input: Option<&str>) -> PermissionDecision {
    let reason = input.map(str::trim).filter(|why| !why.is_empty()).map(str::to_owned);
    PermissionDecision::Deny { reason }
}

#[cfg(test)]
#[path = "approval_tests.rs"]
mod tests;
