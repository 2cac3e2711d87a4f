//! Formats the result of a command for the model: its output within a limit, then how it ended.
//!
//! A nonzero exit code is a result, not an error of the tool.

use lariat_core::opening::{BlockedAction, SandboxOpening};
use lariat_core::tool::ToolResult;
use lariat_host::process::{CapturedOutput, End, Exit, ProcessResult};
use lariat_host::sandbox::Denial;
use serde_json::{Value, json};

use crate::output;
use crate::outputs::Outputs;

/// The result of a command that ended. `seconds` is its time limit.
pub(super) fn finished(outputs: &Outputs, finished: &ProcessResult, seconds: u64) -> ToolResult {
    let (mut text, id) = cut_output(outputs, &finished.output);
    end_line(&mut text);
    if text.is_empty() {
        text.push_str("[No output.]\n");
    }
    if finished.end == End::TimedOut {
        text.push_str(&format!(
            "[Timed out after {seconds} s. The command and everything it started were ended. Raise `timeout_seconds`, or set `background`.]\n"
        ));
    } else {
        text.push_str(&exit_note(finished));
    }
    text.push_str(&denials(finished));
    ToolResult::text(text).with_details(details(finished, id))
}

/// The new output and state of a background command.
pub(super) fn new_output(
    outputs: &Outputs,
    new: &str,
    gap: bool,
    finished: Option<&ProcessResult>,
) -> ToolResult {
    let mut text = String::new();
    if gap {
        text.push_str("[Some output before this was lost. Call `bash_output` more often.]\n");
    }
    let mut id = None;
    if new.len() > output::LIMIT {
        let kept = outputs.add_output(new.as_bytes());
        text.push_str(&output::cut(new, output::LIMIT, &how(&kept)));
        id = Some(kept);
    } else {
        text.push_str(new);
    }
    end_line(&mut text);
    if new.is_empty() {
        text.push_str("[No new output.]\n");
    }
    let Some(finished) = finished else {
        text.push_str("[Still running.]\n");
        return ToolResult::text(text).with_details(json!({ "running": true, "output_id": id }));
    };
    text.push_str(&match exit_note(finished) {
        exit_note if exit_note.is_empty() => "[Exit code 0.]\n".to_owned(),
        exit_note => exit_note,
    });
    text.push_str(&denials(finished));
    ToolResult::text(text).with_details(details(finished, id))
}

fn end_line(text: &mut String) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
}

fn how(id: &str) -> String {
    format!("Use `recall` with `id` `{id}` to read it")
}

/// The output within its limit, and the id of the whole output if it was cut.
fn cut_output(outputs: &Outputs, captured: &CapturedOutput) -> (String, Option<String>) {
    if captured.missing_bytes() == 0 {
        let bytes = [captured.head.as_slice(), captured.tail.as_slice()].concat();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if text.len() <= output::LIMIT {
            return (text, None);
        }
        let id = outputs.add_output(bytes);
        return (output::cut(&text, output::LIMIT, &how(&id)), Some(id));
    }
    // Head and tail together exceed the limit, so the one note about the cut covers everything that is missing.
    let text = captured.text();
    let id = captured.spill.as_deref().and_then(|path| outputs.add_output_file(path));
    let (how, id) = match id {
        Some(id) if captured.spilled < captured.total => (
            format!("{}; the first {} of {} bytes were kept", how(&id), captured.spilled, captured.total),
            id,
        ),
        Some(id) => (format!("{}; it has {} bytes in total", how(&id), captured.total), id),
        None => {
            let id = outputs.add_output(text.as_bytes());
            let missing = captured.missing_bytes();
            (format!("{}; {missing} bytes in the middle were lost", how(&id)), id)
        }
    };
    (output::cut(&text, output::LIMIT, &how), Some(id))
}

/// How a command ended; empty for exit code 0.
fn exit_note(finished: &ProcessResult) -> String {
    match (finished.end, finished.exit) {
        (End::TimedOut, _) => "[Timed out. The command and everything it started were ended.]\n".to_owned(),
        (End::Cancelled, _) => "[Cancelled. The command and everything it started were ended.]\n".to_owned(),
        (End::Stopped, _) => "[Stopped, with everything it started.]\n".to_owned(),
        (_, Exit::Code(0)) => String::new(),
        (_, Exit::Code(code)) => format!("[Exit code {code}.]\n"),
        (_, Exit::Signal(signal)) => format!("[Ended by signal {signal}{}.]\n", signal_name(signal)),
        _ => "[It is unknown how the command ended.]\n".to_owned(),
    }
}

fn signal_name(signal: i32) -> &'static str {
    match signal {
        2 => " (interrupted)",
        6 => " (aborted)",
        9 => " (killed; possibly out of memory)",
        11 => " (segmentation fault)",
        15 => " (terminated)",
        _ => "",
    }
}

fn denials(finished: &ProcessResult) -> String {
    let mut text: String = finished.denials.iter().map(|denial| format!("[Blocked: {denial}.]\n")).collect();
    let mut openings: Vec<SandboxOpening> =
        finished.denials.iter().filter_map(|denial| denial.blocked_action().opening).collect();
    openings.sort();
    openings.dedup();
    // A command that succeeded needs no further access.
    if finished.exit != Exit::Code(0) && !openings.is_empty() {
        openings.truncate(MAX_SUGGESTED);
        text.push_str(&super::suggest_openings(&openings));
    }
    text
}

/// Maximum number of openings to suggest.
const MAX_SUGGESTED: usize = 4;

fn details(finished: &ProcessResult, id: Option<String>) -> Value {
    let (code, signal) = match finished.exit {
        Exit::Code(code) => (Some(code), None),
        Exit::Signal(signal) => (None, Some(signal)),
        _ => (None, None),
    };
    let end = match finished.end {
        End::TimedOut => "timed_out",
        End::Cancelled => "cancelled",
        End::Stopped => "stopped",
        _ => "by_itself",
    };
    let denials: Vec<_> = finished.denials.iter().map(ToString::to_string).collect();
    let blocked: Vec<_> = finished.denials.iter().map(Denial::blocked_action).collect();
    json!({
        "exit_code": code,
        "signal": signal,
        "end": end,
        "elapsed_ms": u64::try_from(finished.elapsed.as_millis()).unwrap_or(u64::MAX),
        "output_bytes": finished.output.total,
        "output_id": id,
        "denials": denials,
        (BlockedAction::DETAIL): blocked,
    })
}

/// Removes escape sequences that move the cursor or set colours from terminal output.
pub(super) fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(char) = rest.next() {
        match char {
            '\u{1b}' => match rest.next() {
                Some('[') => while rest.next().is_some_and(|part| !('@'..='~').contains(&part)) {},
                Some(']') => {
                    // Ends with BEL, or with ESC and a backslash.
                    while let Some(part) = rest.next() {
                        if part == '\u{7}' || (part == '\u{1b}' && rest.next_if_eq(&'\\').is_some()) {
                            break;
                        }
                    }
                }
                Some('(' | ')') => drop(rest.next()),
                _ => {}
            },
            '\r' if rest.peek() == Some(&'\n') => {}
            '\u{8}' => drop(plain.pop()),
            '\u{7}' => {}
            other => plain.push(other),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    //! Tests the text about commands.

    use super::plain;

    #[test]
    fn removes_terminal_escape_sequences() {
        assert_eq!(plain("\u{1b}[1;31mred\u{1b}[0m\r\nnext"), "red\nnext");
        assert_eq!(plain("\u{1b}]0;title\u{7}text\u{1b}]8;;x\u{1b}\\link"), "textlink");
        assert_eq!(plain("abc\u{8}d\u{1b}(B"), "abd");
        assert_eq!(plain("10%\r20%"), "10%\r20%");
        assert_eq!(plain("\u{1b}["), "");
    }
}
