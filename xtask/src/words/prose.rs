//! The text of a file that people read.
//!
//! Of Markdown everything but code; of Rust the comments, the string literals and the names of functions.

/// Line numbers and texts; a text is a paragraph, a run of comment lines, a string or a name.
pub(super) fn of(file: &str, source: &str) -> Vec<(usize, String)> {
    let texts = if file.ends_with(".md") { markdown(source) } else { rust(source) };
    texts.into_iter().map(|(line, text)| (line, without_code(&text))).collect()
}

fn markdown(source: &str) -> Vec<(usize, String)> {
    let mut paragraphs: Vec<(usize, String)> = Vec::new();
    let (mut is_code, mut is_open) = (false, false);
    for (number, line) in (1..).zip(source.lines()) {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
            is_open = false;
        } else if is_code || line.starts_with("    ") || line.trim().is_empty() {
            is_open = false;
        } else {
            join(&mut paragraphs, is_open, number, line);
            is_open = true;
        }
    }
    paragraphs
}

/// Continues the last text or begins a new one.
fn join(texts: &mut Vec<(usize, String)>, continues: bool, number: usize, line: &str) {
    match texts.last_mut() {
        Some((_, text)) if continues => {
            text.push(' ');
            text.push_str(line.trim());
        }
        _ => texts.push((number, line.trim().to_owned())),
    }
}

/// Takes out what stands in backticks.
fn without_code(text: &str) -> String {
    text.split('`').enumerate().map(|(index, part)| if index % 2 == 0 { part } else { "_" }).collect()
}

/// What a Rust source is made of, as far as its words matter.
fn rust(source: &str) -> Vec<(usize, String)> {
    let mut reader = Reader { rest: source, line: 1, texts: Vec::new(), last_comment: None };
    while reader.step() {}
    reader.texts
}

struct Reader<'a> {
    rest: &'a str,
    line: usize,
    texts: Vec<(usize, String)>,
    /// The line of the last comment, which the next one continues if it is on the next line.
    last_comment: Option<usize>,
}

impl<'a> Reader<'a> {
    /// Reads one token; false at the end.
    fn step(&mut self) -> bool {
        let Some(first) = self.rest.chars().next() else { return false };
        if self.rest.starts_with("//") {
            let end = self.rest.find('\n').unwrap_or(self.rest.len());
            let comment = self.take(end).trim_start_matches(['/', '!']);
            let continues =
                self.last_comment.is_some_and(|last| last + 1 == self.line) && !comment.trim().is_empty();
            join(&mut self.texts, continues, self.line, comment);
            self.last_comment = Some(self.line);
        } else if self.rest.starts_with("/*") {
            let end = self.rest.find("*/").map_or(self.rest.len(), |at| at + 2);
            self.text(end);
        } else if first == '"' {
            let end = string_end(self.rest);
            self.text(end);
        } else if let Some(hashes) = raw_string_hashes(self.rest) {
            let close = format!("\"{}", "#".repeat(hashes));
            let open = hashes + 2;
            let end = self.rest.get(open..).and_then(|inside| inside.find(&close));
            self.text(end.map_or(self.rest.len(), |end| open + end + close.len()));
        } else if first == '\'' {
            let end = character_end(self.rest);
            self.take(end);
        } else if first.is_alphabetic() || first == '_' {
            self.identifier();
        } else {
            self.take(first.len_utf8());
        }
        true
    }

    /// An identifier; the one after `fn` is a name that people read.
    fn identifier(&mut self) {
        let length = |text: &str| text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
        let word = self.take(length(self.rest));
        if word == "fn" && self.rest.starts_with(' ') {
            self.take(1);
            let line = self.line;
            let name = self.take(length(self.rest)).replace('_', " ");
            self.texts.push((line, name));
        }
    }

    fn text(&mut self, end: usize) {
        let line = self.line;
        let text = self.take(end).replace("\\n", " ");
        self.texts.push((line, text));
    }

    fn take(&mut self, end: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(end.min(self.rest.len()));
        let lines = taken.bytes().filter(|byte| *byte == b'\n').count();
        self.line += lines;
        self.rest = rest;
        taken
    }
}

/// The end of the string literal that begins here.
fn string_end(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// The number of `#` of a raw string that begins here.
fn raw_string_hashes(text: &str) -> Option<usize> {
    let after = text.strip_prefix('r')?;
    let inside = after.trim_start_matches('#');
    inside.starts_with('"').then(|| after.len() - inside.len())
}

/// The end of a character literal, or of the tick of a lifetime.
fn character_end(text: &str) -> usize {
    let mut characters = text.char_indices().skip(1);
    match characters.next() {
        Some((_, '\\')) => {
            let closing = text.get(3..).and_then(|rest| rest.find('\''));
            closing.map_or(1, |at| at + 4)
        }
        Some(_) => match characters.next() {
            Some((at, '\'')) => at + 1,
            _ => 1,
        },
        None => 1,
    }
}
