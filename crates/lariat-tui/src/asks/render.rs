//! How a question looks: what is asked, exactly; why; which keys answer.

use lariat_api::{Ask, AskSubject};
use lariat_terminal::theme::{Style, Theme};
use lariat_terminal::{approval, text};
use serde_json::Value;

use super::{Asks, Focus, Purpose};

impl Asks {
    /// Renders the selected question, at most `most` rows, with the row and the column of the caret in a field.
    pub fn rows(
        &mut self,
        theme: &Theme,
        key: &str,
        most: usize,
    ) -> (Vec<String>, Option<crate::frame::Caret>) {
        let Some(ask) = self.current() else { return (Vec::new(), None) };
        if most == 0 {
            return (Vec::new(), None);
        }
        let body = self.body(ask, theme);
        let mut rows = Vec::new();
        if self.list.len() > 1 && most > 3 {
            let place = format!("question {} of {}", self.selected + 1, self.list.len());
            rows.push(theme.paint(Style::Dim, &text::cut(&place, theme.width, theme)));
        }
        let (last, caret) = self.last_row(ask, key, theme);
        // The last row always is there: it says how to answer.
        let room = most.saturating_sub(rows.len() + 1);
        if body.len() <= room {
            rows.extend(body);
        } else if room > 0 {
            let room = room.saturating_sub(1);
            let start = self.scroll.min(body.len().saturating_sub(room));
            let left = body.len() - start.saturating_add(room).min(body.len());
            rows.extend(body.into_iter().skip(start).take(room));
            let words = match left {
                0 => "up: scroll back".to_owned(),
                left => format!("{left} more rows; down scrolls once you answer"),
            };
            rows.push(theme.paint(Style::Dim, &text::cut(&words, theme.width, theme)));
            // What is scrolled too far would have to be scrolled back.
            self.scroll = start;
        }
        let caret = caret.map(|column| crate::frame::Caret { row: rows.len(), column });
        rows.push(last);
        (rows, caret)
    }

    fn last_row(&self, ask: &Ask, key: &str, theme: &Theme) -> (String, Option<usize>) {
        match &self.focus {
            Focus::Draft => {
                let words = format!("{key} to answer; what you type goes to the draft");
                (theme.paint(Style::Warning, &text::cut(&words, theme.width, theme)), None)
            }
            Focus::Keys => {
                let prompt = match &ask.subject {
                    AskSubject::Approval { request } => {
                        let is_confined = self.is_confined;
                        approval::ApprovalDialog { request, arguments: None, is_confined }.prompt()
                    }
                    _ => "answer> ".to_owned(),
                };
                let prompt = text::cut(&prompt, theme.width.saturating_sub(1), theme);
                (theme.paint(Style::Strong, &prompt), Some(text::width(&prompt)))
            }
            Focus::Field { purpose, text: typed } => {
                let label = match purpose {
                    Purpose::Reason => "reason: ",
                    Purpose::Value => "answer: ",
                };
                let typed = text::line(typed);
                let room = theme.width.saturating_sub(label.len() + 1);
                // The end is what the user types.
                let skip = text::width(&typed).saturating_sub(room);
                let (_, end) = text::split(&typed, skip);
                let column = label.len() + text::width(end);
                (format!("{}{end}", theme.paint(Style::Strong, label)), Some(column))
            }
        }
    }

    fn body(&self, ask: &Ask, theme: &Theme) -> Vec<String> {
        let mut rows = Rows { rows: Vec::new(), theme };
        match &ask.subject {
            AskSubject::Approval { request } => {
                let arguments = self.arguments.get(&request.tool_call_id);
                let question = approval::ApprovalDialog { request, arguments, is_confined: self.is_confined };
                let lines = if self.is_whole {
                    format!("{}{}", question.full_diff(theme), question.choices(theme))
                } else {
                    question.lines(theme)
                };
                rows.rows.extend(lines.lines().map(str::to_owned));
                return rows.rows;
            }
            AskSubject::Question { text, schema } => {
                rows.title("The model asks:");
                rows.exact(text);
                if let Some(schema) = schema.as_ref().filter(|_| ask.choices.is_empty()) {
                    rows.wrapped(Style::Dim, &format!("  form of the answer: {schema}"));
                }
            }
            AskSubject::Plan { changes } => {
                rows.title("Make these planned changes?");
                for (at, change) in changes.iter().enumerate() {
                    let words = self.plan.iter().find(|(id, _)| id == change);
                    let words = words.map_or(change.as_str(), |(_, words)| words.as_str());
                    let mark = if self.unmarked.contains(change) { "[ ]" } else { "[x]" };
                    let here = if self.focus == Focus::Keys && at == self.change { ">" } else { " " };
                    rows.exact_after(
                        &format!("{here} {mark} "),
                        theme.mark("    │ ", "    | "),
                        words.trim_end(),
                    );
                }
                rows.keys(&[('y', "make the marked changes; the others stay planned"), ('n', "discard all")]);
                rows.wrapped(Style::Dim, "  up, down and space mark");
            }
            AskSubject::Budget { request } => {
                rows.title("A budget is used up. Raise it?");
                rows.wrapped(Style::Plain, &format!("  {}", request.standing.describe()));
                let more = serde_json::to_value(request.proposed).unwrap_or_default();
                rows.wrapped(Style::Plain, &format!("  proposed increase: {more}"));
                rows.keys(&[('y', "raise it"), ('n', "decline"), ('e', "decline and say why")]);
            }
            AskSubject::Elicitation { server, text, schema } => {
                rows.title(&format!("The tool server {} asks:", text::line(server)));
                rows.exact(text);
                if schema.get("type").and_then(Value::as_str) != Some("string") {
                    rows.wrapped(Style::Dim, "  this form cannot be filled in here");
                    rows.keys(&[('n', "decline"), ('e', "decline and say why")]);
                }
            }
            AskSubject::Login { service, address } => {
                rows.title(&format!("Log in to {}:", text::line(service)));
                rows.exact(address);
                rows.keys(&[('y', "done"), ('n', "decline")]);
            }
            _ => {
                rows.title("A question that this version cannot show");
                rows.keys(&[('n', "decline")]);
            }
        }
        for (at, choice) in ask.choices.iter().enumerate().take(9) {
            if let Some(digit) = char::from_digit(u32::try_from(at + 1).unwrap_or(9), 10)
                && matches!(ask.subject, AskSubject::Question { .. })
            {
                rows.keys(&[(digit, &choice.label)]);
            }
        }
        rows.rows
    }
}

/// Rows of a question.
struct Rows<'a> {
    rows: Vec<String>,
    theme: &'a Theme,
}

impl Rows<'_> {
    fn title(&mut self, words: &str) {
        self.wrapped(Style::Strong, &format!("{} {words}", self.theme.mark("◆", "?")));
    }

    fn wrapped(&mut self, style: Style, words: &str) {
        let lines = text::wrap(&text::line(words), self.theme.width);
        self.rows.extend(lines.iter().map(|line| self.theme.paint(style, line)));
    }

    /// Untrusted text behind a bar.
    fn exact(&mut self, words: &str) {
        let bar = self.theme.mark("  │ ", "  | ");
        self.exact_after(bar, bar, words);
    }

    /// Untrusted text: `first` before its first line, `bar`, which is as wide, before the others.
    fn exact_after(&mut self, first: &str, bar: &str, words: &str) {
        let room = self.theme.width.saturating_sub(text::width(first)).max(8);
        let lines = text::lines(words).flat_map(|line| text::wrap(&line, room)).collect::<Vec<_>>();
        let starts = std::iter::once(first).chain(std::iter::repeat(bar));
        let rows =
            starts.zip(&lines).map(|(start, line)| format!("{}{line}", self.theme.paint(Style::Dim, start)));
        self.rows.extend(rows);
    }

    fn keys(&mut self, keys: &[(char, &str)]) {
        for (key, words) in keys {
            let words = text::line(words);
            let words = text::cut(&words, self.theme.width.saturating_sub(6), self.theme);
            self.rows.push(format!("  {} {words}", self.theme.paint(Style::Strong, &format!("[{key}]"))));
        }
    }
}
