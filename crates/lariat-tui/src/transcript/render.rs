//! Renders blocks as rows. All untrusted text is neutralised here or in `lariat-terminal`.

use lariat_core::content::Content;
use lariat_core::event::RunOutcome;
use lariat_core::time::Timestamp;
use lariat_terminal::finished_call::{self, FinishedCall, Verbosity};
use lariat_terminal::theme::{Style, Theme};
use lariat_terminal::{activity, human, notes, outcome, painted, text};

use super::Detail;
use super::block::{Block, EndedCall, RunEnd};
use super::fold::{CallState, OpenCall};
use super::reply;
use super::rows::{Kind, Rows};

/// Rows of a user's message that is folded.
const USER_ROWS: usize = 24;
/// Rows of a divider.
const DIVIDER_ROWS: usize = 3;
/// Rows of an error that ended a run.
const ERROR_ROWS: usize = 12;

/// Renders a block.
pub(super) fn block(block: &Block, theme: &Theme, detail: Detail) -> Rows {
    let mut rows = Rows::default();
    match block {
        Block::User { text, .. } => rows.add(Kind::Text, user(text, theme, detail)),
        Block::Reply { segments, .. } => rows = reply::render(segments, theme, detail),
        Block::Call(call) => rows.add(Kind::Work, ended_call(call, theme, detail)),
        Block::Note { style, words } => rows.add(Kind::Work, note(*style, words, theme)),
        Block::Divider { words } => rows.add(Kind::Text, divider(words, theme)),
        Block::End(end) => rows.add(Kind::Text, run_end(end, theme)),
    }
    fit(&mut rows.rows, theme);
    if let Some(pictures) = &theme.pictures {
        rows.extend(images(block).flat_map(|data| pictures.rows(data, theme.width)));
    }
    rows
}

/// The images of a block, in base64.
fn images(block: &Block) -> impl Iterator<Item = &str> {
    let content = match block {
        Block::User { images, .. } => {
            images.as_ref().and_then(|message| message.as_user()).map(|user| &user.content)
        }
        Block::Call(call) => {
            call.result.as_ref().and_then(|message| message.as_tool_result()).map(|result| &result.content)
        }
        _ => None,
    };
    content.into_iter().flatten().filter_map(|block| match block {
        Content::Image { data, .. } => Some(data.as_str()),
        _ => None,
    })
}

/// Splits rows that are wider than the terminal, such as lines of code.
pub(super) fn fit(rows: &mut Vec<String>, theme: &Theme) {
    if rows.iter().any(|row| painted::width(row) > theme.width) {
        *rows = rows.iter().flat_map(|row| painted::wrap(row, theme.width)).collect();
    }
}

/// A note as rows after a mark.
pub(super) fn note(style: Style, words: &str, theme: &Theme) -> Vec<String> {
    split(&notes::lines(&(style, words.to_owned()), theme))
}

fn split(lines: &str) -> Vec<String> {
    lines.lines().map(str::to_owned).collect()
}

/// A row of dots and a count, in place of rows that are left out.
fn more(count: usize, theme: &Theme) -> String {
    let words = human::counted(count, "more line", "more lines");
    let words = format!("  {} {words}", theme.mark("…", "..."));
    theme.paint(Style::Dim, &text::cut(&words, theme.width, theme))
}

fn user(message: &str, theme: &Theme, detail: Detail) -> Vec<String> {
    let mark = theme.mark("› ", "> ");
    let room = theme.width.saturating_sub(text::width(mark));
    let lines: Vec<String> = text::lines(message.trim()).flat_map(|line| text::wrap(&line, room)).collect();
    let most = if detail == Detail::Folded { USER_ROWS } else { usize::MAX };
    // One row in place of one row would hide text for nothing.
    let most = if lines.len() == most.saturating_add(1) { lines.len() } else { most };
    let mut rows: Vec<String> = Vec::new();
    for (at, line) in lines.iter().take(most).enumerate() {
        let start = if at == 0 { mark } else { "  " };
        rows.push(theme.paint(Style::Strong, format!("{start}{line}").trim_end()));
    }
    if lines.len() > most {
        rows.push(more(lines.len() - most, theme));
    }
    rows
}

fn ended_call(call: &EndedCall, theme: &Theme, detail: Detail) -> Vec<String> {
    let output = call.output();
    let shown = FinishedCall {
        tool: &call.tool,
        arguments: call.arguments.as_ref().map(super::block::CallArguments::get),
        output: &output,
        details: &call.details,
        is_error: call.is_error,
        took: call.took,
    };
    let verbosity = match detail {
        Detail::Folded => Verbosity::Normal,
        Detail::Full => Verbosity::Complete,
    };
    let mut rows = split(&shown.lines(verbosity, theme));
    if let Some(by) = &call.denied_by {
        rows.extend(split(&finished_call::dim(&format!("denied by {}", text::line(by)), theme)));
    }
    if call.has_new_tasks {
        rows.extend(split(&finished_call::tasks(&call.details, theme).unwrap_or_default()));
    }
    rows
}

/// A line across the screen with words in it. Words that need more rows follow below.
fn divider(words: &str, theme: &Theme) -> Vec<String> {
    let line = theme.mark("─", "-");
    let lines = text::wrap(&text::line(words), theme.width.saturating_sub(6));
    let mut rows = Vec::new();
    for (at, words) in lines.iter().take(DIVIDER_ROWS).enumerate() {
        let start = if at == 0 { line.repeat(2) } else { "  ".to_owned() };
        let rest = if lines.len() == 1 { theme.width.saturating_sub(text::width(words) + 4) } else { 0 };
        let row = format!("{start} {words} {}", line.repeat(rest));
        rows.push(theme.paint(Style::Dim, row.trim_end()));
    }
    rows
}

fn run_end(end: &RunEnd, theme: &Theme) -> Vec<String> {
    let mut rows = Vec::new();
    let ending = match &end.outcome {
        RunOutcome::Aborted => Some((Style::Warning, "interrupted".to_owned())),
        other => outcome::ending(other),
    };
    if let Some((style, mut words)) = ending {
        if let Some(rejection) = end.rejection.as_deref().filter(|words| !words.trim().is_empty()) {
            words = format!("{words}: {rejection}");
        }
        let mark = theme.mark("■ ", "* ");
        let room = theme.width.saturating_sub(text::width(mark));
        let lines: Vec<String> = text::lines(words.trim()).flat_map(|line| text::wrap(&line, room)).collect();
        for (at, line) in lines.iter().take(ERROR_ROWS).enumerate() {
            let start = if at == 0 { mark } else { "  " };
            rows.push(theme.paint(style, format!("{start}{line}").trim_end()));
        }
        if lines.len() > ERROR_ROWS {
            rows.push(more(lines.len() - ERROR_ROWS, theme));
        }
    }
    let figures = outcome::figures(end.turns, &end.usage, end.duration);
    rows.extend(split(&outcome::figure_lines(figures, theme)));
    rows
}

/// A tool call that has no result yet: its state, how long it runs, and the end of its output.
pub(super) fn open_call(
    call: &OpenCall,
    progress: Option<&str>,
    last_lines: Vec<String>,
    now: Option<Timestamp>,
    theme: &Theme,
) -> Vec<String> {
    let state = match (&call.state, now) {
        (CallState::Asked, _) => "waits for approval".to_owned(),
        (CallState::Running { since }, Some(now)) => human::elapsed(now.since(*since)),
        (CallState::Running { .. }, None) => String::new(),
        (CallState::Ended { since, at, .. }, _) => human::duration(at.since(*since)),
    };
    let state = if state.is_empty() { state } else { format!("  {state}") };
    let room = theme.width.saturating_sub(text::width(&state));
    let arguments = call.arguments.as_ref().map(super::block::CallArguments::get);
    let line = activity::running_line(&call.tool, arguments, &Theme { width: room, ..*theme });
    let mut rows = vec![format!("{line}{}", theme.paint(Style::Dim, &state))];
    if let Some(progress) = progress {
        rows.extend(split(&finished_call::dim(&text::first_line(progress), theme)));
    }
    for line in last_lines {
        rows.extend(split(&finished_call::dim(&line, theme)));
    }
    fit(&mut rows, theme);
    rows
}
