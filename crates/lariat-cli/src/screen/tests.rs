//! Random bytes in every field that reaches a screen have no effect but to be shown; a terminal emulator judges.
//!
//! `cargo xtask terminal-bytes` runs it with 10,000,000 bytes.

use std::num::NonZero;
use std::sync::Arc;
use std::time::Duration;

use lariat_api::{Ask, AskDigest, AskId, AskSubject};
use lariat_core::content::Content;
use lariat_core::event::{AgentEvent, Event, Finding, RunOutcome, StreamDelta};
use lariat_core::permission::PermissionRequest;
use lariat_proofs::terminal::assert_harmless;
use lariat_terminal::activity::{CallOutcome, finished_line, running_line};
use lariat_terminal::approval::{ApprovalDialog, plan_question};
use lariat_terminal::finished_call::{FinishedCall, Verbosity};
use lariat_terminal::markdown::Markdown;
use lariat_terminal::table::{Column, table};
use lariat_terminal::theme::{Style, Theme};
use lariat_terminal::{diff, notes};
use lariat_test::SeededRandom;
use lariat_tui::asks::Asks;
use lariat_tui::frame::Size;
use lariat_tui::keymap::Keymap;
use lariat_tui::overlay::{Confirm, Item, Pager, Picker};
use lariat_tui::screen::row;
use lariat_tui::transcript::{Detail, Transcript};
use serde_json::json;

use super::printer::Printer;
use super::test_data::*;
use crate::exit::Exit;
use crate::problem::Problem;

/// Bytes of a short run.
const BYTES: usize = 20_000;
/// Most bytes of one text.
const LONGEST: u64 = 300;

/// Three random texts, for all fields of one thing that is shown.
struct Words([String; 3]);

/// Random bytes, mostly of the kinds that terminals react to.
fn random_text(dice: &mut SeededRandom) -> (usize, String) {
    let count = dice.below(LONGEST) as usize;
    let mut bytes = Vec::with_capacity(count);
    while bytes.len() < count {
        match dice.below(10) {
            0 => bytes.push(dice.bits() as u8),
            1 => bytes.extend_from_slice(&[0xc2, 0x80 + dice.below(0x20) as u8]),
            2 => bytes.push(dice.below(0x20) as u8),
            3 => bytes.push(0x1b),
            4 => bytes.extend_from_slice(b"\x1b["),
            5 => bytes.extend_from_slice(b"\x1b]8;;"),
            6 => bytes.push(b"\x07\\;:?>m0123456789HJKhlctPX^_"[dice.index(28)]),
            7 => bytes.extend_from_slice("\u{202e}\u{200b}漢👩\u{200d}💻".as_bytes()),
            _ => bytes.push(b' ' + dice.below(95) as u8),
        }
    }
    (bytes.len(), String::from_utf8_lossy(&bytes).into_owned())
}

/// A part of a screen: its name, and its rows for some words.
type Part = (&'static str, fn(&Words, &Theme) -> Vec<String>);

fn rows(lines: &str) -> Vec<String> {
    lines.lines().map(str::to_owned).collect()
}

/// The last part: it knows sequences and controls, not characters.
const WRITER: &str = "a row";

const PARTS: &[Part] = &[
    ("a reply", |Words([a, b, _]), theme| {
        let mut markdown = Markdown::new(*theme);
        rows(&format!("{}{}{}", markdown.push(a), markdown.push(b), markdown.finish()))
    }),
    ("a table", |Words([a, b, c]), theme| {
        let columns = [Column::text("a"), Column::whole("b"), Column::number("c")];
        rows(&table(&columns, &[vec![a.clone(), b.clone(), c.clone()]], theme))
    }),
    ("a tool call", |Words([a, b, c]), theme| {
        let (arguments, details) = (json!({"command": b, "path": c}), json!({"diff": c, "lines": 3}));
        let failed = CallOutcome::Failed(c.clone());
        let call = FinishedCall {
            tool: a,
            arguments: Some(&arguments),
            output: b,
            details: &details,
            is_error: b.len().is_multiple_of(2),
            took: Some(Duration::from_secs(3)),
        };
        let mut shown =
            vec![running_line(a, Some(&arguments), theme), running_line("bash", Some(&arguments), theme)];
        shown.push(finished_line(a, Some(&arguments), &failed, None, b, theme));
        shown.extend(rows(&call.lines(Verbosity::Verbose, theme)));
        shown
    }),
    ("an approval", |words, theme| {
        let request = request(words);
        let arguments = json!({"command": words.0[1]});
        let question = ApprovalDialog { request: &request, arguments: Some(&arguments), is_confined: true };
        let plan = plan_question(1, &words.0[0], &arguments, Some(&words.0[2]), Some(&words.0[1]), theme);
        rows(&format!("{}{}{plan}", question.lines(theme), question.full_diff(theme)))
    }),
    ("a diff", |Words([a, b, _]), theme| {
        let change = format!("--- {a}\n+++ {b}\n@@ -1 +1 @@\n-{a}\n+{b}\n");
        rows(&format!(
            "{}{}{}",
            diff::unified(&change, 50, theme),
            diff::exact(&change, 50, theme),
            diff::exact(a, 9, theme)
        ))
    }),
    ("a note", |Words([a, b, _]), theme| {
        let notes_of = |event: AgentEvent| notes::note(&event).map(|note| notes::lines(&note, theme));
        let mut shown = notes::lines(&(Style::Warning, a.clone()), theme);
        shown.extend(notes_of(AgentEvent::HookStopped { reason: b.clone() }));
        shown.extend(notes_of(AgentEvent::ModelRetry { attempt: 1, delay_ms: 9, error: a.clone() }));
        rows(&shown)
    }),
    ("an error", |Words([a, b, c]), _| {
        let problem = Problem::new(Exit::Failed, a).at(b).with("key", c).hint(a);
        rows(&problem.to_string())
    }),
    ("the transcript", |words, theme| {
        let mut transcript = Transcript::new();
        let mut shown = Vec::new();
        for event in events(words) {
            transcript.apply(&event);
            shown.extend(transcript.take_finished(theme));
            shown.extend(transcript.live_rows(theme, at(0), 50));
        }
        shown.extend_from_slice(transcript.rows(theme, Detail::Full));
        shown
    }),
    ("a question", |words, theme| {
        let Words([a, b, c]) = words;
        let subjects = [
            AskSubject::Approval { request: Arc::new(request(words)) },
            AskSubject::Question { text: a.clone(), schema: None },
            AskSubject::Elicitation {
                server: a.clone(),
                text: b.clone(),
                schema: json!({"type": "object", "properties": {c: {"type": "string", "description": a}}}),
            },
            AskSubject::Login { service: a.clone(), address: b.clone() },
        ];
        let mut shown = Vec::new();
        for subject in subjects {
            let mut asks = Asks::new(true);
            asks.set(vec![Ask::new(AskId::new("a"), subject, AskDigest::new("d"), at(0))], Vec::new(), at(0));
            shown.extend(asks.rows(theme, "ctrl+y", 40).0);
        }
        shown
    }),
    ("a list", |Words([a, b, c]), theme| {
        let size = Size { columns: theme.width, rows: 20 };
        let item = Item {
            id: "i".to_owned(),
            label: a.clone(),
            detail: b.clone(),
            preview: Some(c.clone()),
            depth: 1,
        };
        let mut shown =
            Picker::new(a.clone(), vec![item], Keymap::default()).with_hint(b.clone()).rows(theme, size).0;
        shown.extend(Confirm::new(a.clone(), b.clone(), "keep", c.clone()).rows(theme, size).0);
        shown.extend(Pager::new(a.clone(), vec!["row".to_owned()], Keymap::default()).rows(theme, size).0);
        shown
    }),
    // Whatever a part forgets, the writer of rows leaves out.
    (WRITER, |Words([a, b, c]), theme| {
        [a, b, c].map(|text| row::fit(text, theme.width).into_owned()).to_vec()
    }),
];

fn request(Words([a, b, c]): &Words) -> PermissionRequest {
    let call = Content::tool_call("call", a.as_str(), json!({"command": b, "path": c}));
    let mut request = PermissionRequest::new(call.as_tool_call().unwrap(), b.as_str());
    request.reason = Some(a.clone());
    request.remember = Some(c.clone());
    request.preview = Some(c.clone());
    request
}

/// A run with the words in every event.
fn events(Words([a, b, c]): &Words) -> Vec<Event> {
    vec![
        loop_start(0),
        reply_start(10),
        delta(20, StreamDelta::Thinking { delta: a.clone() }),
        text_delta(30, b),
        reply_end(40, c),
        tool_start(50, "c1", a, json!({"command": b, "path": c})),
        tool_end(60, "c1", a, Ok((b, json!({"diff": c, "path": a})))),
        tool_start(70, "c2", "bash", json!({"command": a})),
        tool_end(80, "c2", "bash", Err(c)),
        event(90, AgentEvent::ModelRetry { attempt: 1, delay_ms: 1, error: a.clone() }),
        event(91, AgentEvent::HookMessage { message: b.clone() }),
        event(92, AgentEvent::InputWarned { warning: c.clone() }),
        event(93, AgentEvent::EventLost { note: a.clone() }),
        event(
            93,
            AgentEvent::FindingShared(Box::new(Finding::new("f", "s".into(), a.as_str()).by([b.as_str()]))),
        ),
        event(
            94,
            AgentEvent::ProgressMessage { tool_call_id: "c2".into(), tool_name: a.clone(), text: b.clone() },
        ),
        loop_end(100, RunOutcome::Failed { error: c.clone() }),
    ]
}

/// What a terminal was asked for besides showing text, links and styles.
#[derive(Default)]
struct Requests(Vec<String>);

impl vt100::Callbacks for Requests {
    fn audible_bell(&mut self, _: &mut vt100::Screen) {
        self.0.push("rang the bell".to_owned());
    }
    fn visual_bell(&mut self, _: &mut vt100::Screen) {
        self.0.push("flashed".to_owned());
    }
    fn resize(&mut self, _: &mut vt100::Screen, size: (u16, u16)) {
        self.0.push(format!("resized to {size:?}"));
    }
    fn set_window_icon_name(&mut self, _: &mut vt100::Screen, name: &[u8]) {
        self.0.push(format!("named its icon {}", name.escape_ascii()));
    }
    fn set_window_title(&mut self, _: &mut vt100::Screen, title: &[u8]) {
        self.0.push(format!("was titled {}", title.escape_ascii()));
    }
    fn copy_to_clipboard(&mut self, _: &mut vt100::Screen, _: &[u8], data: &[u8]) {
        self.0.push(format!("copied {}", data.escape_ascii()));
    }
    fn paste_from_clipboard(&mut self, _: &mut vt100::Screen, _: &[u8]) {
        self.0.push("pasted".to_owned());
    }
    fn unhandled_control(&mut self, _: &mut vt100::Screen, byte: u8) {
        self.0.push(format!("got control {byte}"));
    }
    fn unhandled_escape(&mut self, _: &mut vt100::Screen, _: Option<u8>, _: Option<u8>, byte: u8) {
        // The end of a link. By itself it has no effect.
        if byte != b'\\' {
            self.0.push(format!("got escape {byte}"));
        }
    }
    fn unhandled_csi(
        &mut self,
        _: &mut vt100::Screen,
        a: Option<u8>,
        b: Option<u8>,
        _: &[&[u16]],
        last: char,
    ) {
        // A style that this emulator does not know.
        if (a, b, last) != (None, None, 'm') {
            self.0.push(format!("got sequence {a:?} {b:?} {last}"));
        }
    }
    fn unhandled_osc(&mut self, _: &mut vt100::Screen, parts: &[&[u8]]) {
        // A link.
        if parts.first() != Some(&&b"8"[..]) {
            self.0
                .push(format!("got command {:?}", parts.first().map(|part| part.escape_ascii().to_string())));
        }
    }
}

/// Judges rows: each is shown on its own line and leaves the terminal as it was.
struct Judge {
    /// Terminals of growing width. Clearing a wide one takes long.
    terminals: Vec<vt100::Parser<Requests>>,
}

/// Their columns. No row has more bytes than the last.
const WIDTHS: [u16; 4] = [250, 1_000, 5_000, 20_000];

impl Judge {
    fn new() -> Self {
        let size = |number| NonZero::new(number).unwrap();
        let terminal =
            |columns| vt100::Parser::new_with_callbacks(size(4), size(columns), 0, Requests::default());
        Self { terminals: WIDTHS.map(terminal).into() }
    }

    /// What a row does besides being shown.
    fn effect(&mut self, row: &str) -> Option<String> {
        let fits =
            WIDTHS.iter().position(|&columns| row.len() < usize::from(columns)).expect("a wide terminal");
        let terminal = &mut self.terminals[fits];
        terminal.process(b"\x1bc\r\n");
        terminal.process(row.as_bytes());
        if let Some(request) = terminal.callbacks_mut().0.pop() {
            return Some(format!("the terminal {request}"));
        }
        let screen = terminal.screen();
        let is_plain =
            !screen.bold() && !screen.dim() && !screen.italic() && !screen.underline() && !screen.inverse();
        let has_colour =
            screen.fgcolor() != vt100::Color::Default || screen.bgcolor() != vt100::Color::Default;
        let (_, columns) = screen.size();
        let is_elsewhere = |(at, text): (usize, String)| at != 1 && !text.trim().is_empty();
        match () {
            () if screen.cursor_position().0 != 1 => Some("the cursor moved to another line".to_owned()),
            () if screen.rows(0, columns.get()).enumerate().any(is_elsewhere) => {
                Some("another line changed".to_owned())
            }
            () if !is_plain || has_colour => Some("a style stays on".to_owned()),
            () if screen.hide_cursor() || screen.alternate_screen() => {
                Some("the cursor or the screen changed".to_owned())
            }
            () if !screen.input_mode_formatted().is_empty() && screen.bracketed_paste() => {
                Some("a mode is on".to_owned())
            }
            () if link_is_open(row) => Some("a link stays on".to_owned()),
            () => None,
        }
    }
}

fn link_is_open(row: &str) -> bool {
    let last = row.rsplit("\u{1b}]8;").next().filter(|rest| rest.len() < row.len());
    last.is_some_and(|rest| !rest.starts_with(";\u{1b}\\") && !rest.starts_with(";\u{7}"))
}

/// Characters that hide or reorder others.
fn is_invisible(letter: char) -> bool {
    matches!(letter, '\u{200b}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e0fff}')
}

/// A sequence with a control character inside, an unfinished link and an open style once reached the terminal.
#[test]
fn random_bytes_in_any_field_have_no_effect_on_the_terminal() {
    #[expect(clippy::disallowed_methods, reason = "`cargo xtask terminal-bytes` says how many")]
    let bytes =
        std::env::var("LARIAT_TERMINAL_BYTES").ok().and_then(|count| count.parse().ok()).unwrap_or(BYTES);
    let mut judge = Judge::new();
    let (mut sent, mut seed, mut count) = (0, 0, 0_usize);
    while sent < bytes {
        let mut dice = SeededRandom::new(seed);
        let texts = [random_text(&mut dice), random_text(&mut dice), random_text(&mut dice)];
        sent += texts.iter().map(|(count, _)| count).sum::<usize>();
        let words = Words(texts.map(|(_, text)| text));
        let theme = Theme::full(1 + dice.index(120));
        for (name, part) in PARTS {
            for row in part(&words, &theme) {
                count += 1;
                let effect = judge.effect(&row);
                assert_eq!(effect, None, "seed {seed}, width {}, {name}: {row:?}", theme.width);
                assert!(*name == WRITER || !row.contains(is_invisible), "seed {seed}, {name}: {row:?}");
            }
        }
        let mut printer = Printer::new(theme, Verbosity::Verbose);
        let mut shown: String =
            events(&words).iter().map(|event| printer.event(event, event.timestamp)).collect();
        shown.push_str(&printer.finish());
        assert_harmless(&shown, &format!("seed {seed}"));
        let size = |number| NonZero::new(number).unwrap();
        let mut terminal = vt100::Parser::new_with_callbacks(size(50), size(200), 0, Requests::default());
        terminal.process(shown.replace('\n', "\r\n").as_bytes());
        assert_eq!(terminal.callbacks().0, Vec::<String>::new(), "seed {seed}, a run");
        assert!(!terminal.screen().hide_cursor() && !terminal.screen().bold(), "seed {seed}, a run");
        seed += 1;
    }
    println!("{sent} random bytes in {} parts of a screen, {count} rows: no effect", PARTS.len() + 1);
}
