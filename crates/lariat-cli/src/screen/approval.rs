//! The question whether something may run, in line mode, and the reading of the answer.
//!
//! Owns the words. What runs is shown whole and exactly, by the guard's renderer, behind a bar at the left: nothing that
//! is asked about can look like a part of the question. A line that does not fit goes on behind a broken bar.
//! Invariant: only an answer that is certainly a yes is one. Nothing, the end of the input, or no is no.

use lariat_core::permission::{DangerLevel, PermissionDecision, PermissionRequest};
use lariat_guard::display;

use super::look::{Look, Style};
use super::{diff, text};

/// Lines of a diff that are shown with a question; the rest is counted.
const PREVIEW_LINES: usize = 60;

/// What stands before the reason.
const WHY: &str = "  why: ";

/// What a line of input means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// This.
    Decided(PermissionDecision),
    /// No, and the next line says why: see [`reason`].
    WantsReason,
    /// Nothing: ask again.
    Unclear,
}

/// The question, ready to be written; ends with the prompt, without a line end.
pub(crate) fn question(request: &PermissionRequest, look: &Look) -> String {
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
    shown.push_str(&exactly(&request.summary, look));
    if let Some(args) = &request.args {
        shown.push_str("  A hook replaced its arguments. It runs with these:\n");
        shown.push_str(&exactly(&args.to_string(), look));
    }
    if let Some(reason) = &request.reason {
        let room = look.width.saturating_sub(text::width(WHY));
        for (at, line) in text::lines(reason).flat_map(|line| text::wrap(&line, room)).enumerate() {
            let start = if at == 0 { WHY } else { "       " };
            shown.push_str(&look.paint(Style::Dim, &format!("{start}{line}")));
            shown.push('\n');
        }
    }
    if let Some(preview) = request.preview.as_deref().filter(|preview| !preview.is_empty()) {
        shown.push_str("  What it would change:\n");
        let bar = look.mark("  │", "  |");
        let inner = Look { width: look.width.saturating_sub(text::width(bar)), ..*look };
        for line in diff::exact(preview, PREVIEW_LINES, &inner).lines() {
            shown.push_str(&format!("{}{line}\n", look.paint(Style::Dim, bar)));
        }
    }
    shown.push_str(&choices(request, look));
    shown
}

/// The choices and the prompt, also to ask again.
pub(crate) fn choices(request: &PermissionRequest, look: &Look) -> String {
    let key = |key: &str| look.paint(Style::Strong, &format!("[{key}]"));
    let mut shown = format!("  {} once\n", key("y"));
    if let Some(rules) = &request.remember {
        let scopes = [("s", "this session"), ("a", "always, in this project")];
        let rule = display::line(rules);
        // One rule stands behind both; several are listed once, because both remember the same.
        let is_short = !rules.contains('\n') && text::width(&rule) + 32 <= look.width;
        for (letter, scope) in scopes {
            let rule = if is_short { format!(": {rule}") } else { String::new() };
            shown.push_str(&format!("  {} {scope}{rule}\n", key(letter)));
        }
        if !is_short {
            shown.push_str("  What s and a remember:\n");
            shown.push_str(&exactly(rules, look));
        }
    }
    shown.push_str(&format!("  {} no   {} no, and say why\n", key("n"), key("e")));
    shown.push_str(if request.remember.is_some() { "y/s/a/N/e> " } else { "y/N/e> " });
    shown
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

/// What a line of input means; `None` is the end of the input. `e` may have its reason on the same line.
pub(crate) fn answer(input: Option<&str>, request: &PermissionRequest) -> Answer {
    let no = || Answer::Decided(PermissionDecision::Deny { reason: None });
    let Some(input) = input.map(str::trim).filter(|input| !input.is_empty()) else { return no() };
    let (word, rest) = match input.split_once(char::is_whitespace) {
        Some((word, rest)) => (word, rest.trim()),
        None => (input, ""),
    };
    let offers = request.remember.is_some();
    match (word.to_ascii_lowercase().as_str(), rest) {
        ("y" | "yes", "") => Answer::Decided(PermissionDecision::Allow),
        ("s" | "session", "") if offers => Answer::Decided(PermissionDecision::AllowSession),
        ("a" | "always", "") if offers => Answer::Decided(PermissionDecision::AllowAlways),
        ("n" | "no", "") => no(),
        ("e", "") => Answer::WantsReason,
        ("e" | "n" | "no" | "no,", why) if !why.is_empty() => Answer::Decided(PermissionDecision::deny(why)),
        _ => Answer::Unclear,
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
