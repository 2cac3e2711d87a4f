//! Decides which here-documents are analyzed.
//!
//! Accepts only forms that bash and both parsers read alike; a here-document in any other form is a doubt. Bash joins lines
//! in a body before it searches for the end, and prints a substitution again before it runs it, with its documents in
//! another spelling; neither is visible in the text. So a document must stand outside substitutions, alone on its line, its
//! delimiter must be a name, and a body that is expanded must contain only text and variables.

use std::ops::Range;

use super::names::is_name;

/// A here-document, as a parser found it.
pub(super) struct Document<'a> {
    /// The whole text that contains it.
    pub(super) text: &'a str,
    /// The operator: `<<` or `<<-`.
    pub(super) operator: Range<usize>,
    /// The word that names its delimiter, with its quotes.
    pub(super) start: Range<usize>,
    /// Where the parser found the end.
    pub(super) end: Range<usize>,
}

impl Document<'_> {
    /// Returns why it is not analyzed, if so.
    pub(super) fn doubt(&self) -> Option<&'static str> {
        let Some((name, is_expanded)) = self.delimiter() else {
            return Some("a here-document whose end is not a plain name");
        };
        let Some(line) = self.line() else {
            return Some("a here-document that is not alone on its line");
        };
        let Some(body) = self.body(name, line.end) else {
            return Some("a here-document with an unclear end");
        };
        (is_expanded && !is_plain_text(body)).then_some("a here-document that is expanded")
    }

    /// Returns its delimiter, and whether its body is expanded.
    fn delimiter(&self) -> Option<(&str, bool)> {
        let between = self.text.get(self.operator.end..self.start.start)?;
        let word = self.text.get(self.start.clone())?;
        let follows = self.text.get(self.start.end..)?.chars().next()?;
        let inside = |quote: char| word.strip_prefix(quote).and_then(|word| word.strip_suffix(quote));
        let quoted = inside('\'').or_else(|| inside('"'));
        let name = quoted.unwrap_or(word);
        let is_complete = between.bytes().all(|byte| byte == b' ') && "\n ;|>&".contains(follows);
        (is_name(name) && is_complete).then_some((name, quoted.is_none()))
    }

    /// Returns the line of the operator if the body starts right after it.
    fn line(&self) -> Option<Range<usize>> {
        let begin = self.text.get(..self.operator.start)?.rfind('\n').map_or(0, |at| at + 1);
        let end = self.start.end + self.text.get(self.start.end..)?.find('\n')?;
        let rest = self.text.get(self.start.end..end)?;
        let closes = |quote: char| rest.matches(quote).count() % 2 == 0;
        let is_alone = self.text.get(begin..end)?.matches("<<").count() == 1;
        (is_alone && closes('\'') && closes('"') && !rest.contains(['\\', '`', '#'])).then_some(begin..end)
    }

    /// Returns what lies between the line and the end, if the end is where the parser found it.
    fn body(&self, name: &str, line_end: usize) -> Option<&str> {
        let strips_tabs = self.text.get(self.operator.clone())? == "<<-";
        let begin = line_end + 1;
        let mut at = begin;
        for line in self.text.get(begin..)?.split('\n') {
            let word = if strips_tabs { line.trim_start_matches('\t') } else { line };
            if word == name {
                let whole = at..at + line.len();
                let is_same = whole.start <= self.end.start && self.end.end <= whole.end;
                return if is_same { self.text.get(begin..at) } else { None };
            }
            at += line.len() + 1;
        }
        None
    }
}

/// Whether bash expands at most `$name` and `${name}` in a text, and joins no lines.
fn is_plain_text(body: &str) -> bool {
    let mut rest = body;
    while let Some(at) = rest.find(['$', '`', '\\']) {
        let (found, after) = rest.split_at(at).1.split_at(1);
        rest = after;
        match found {
            "\\" => match rest.chars().next() {
                Some('\n') | None => return false,
                Some(escaped) => rest = rest.get(escaped.len_utf8()..).unwrap_or_default(),
            },
            "$" if !is_variable(rest) => return false,
            "$" => {}
            _ => return false,
        }
    }
    true
}

/// Whether a variable follows a `$`, or nothing that bash would expand.
fn is_variable(rest: &str) -> bool {
    if let Some(braced) = rest.strip_prefix('{') {
        return braced.split_once('}').is_some_and(|(name, _)| is_name(name));
    }
    rest.starts_with(|c: char| {
        c.is_ascii_alphanumeric() || matches!(c, '_' | '?' | '#' | ' ' | '\n' | '.' | ',')
    })
}

#[cfg(test)]
#[path = "heredoc_tests.rs"]
mod tests;
