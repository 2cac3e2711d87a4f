//! The text of a file that people read.
//!
//! Of Markdown everything but code; of Rust the comments, the string literals and the names of functions.

use crate::rust_tokens::{TokenKind, tokens};

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
    let mut texts = Vec::new();
    // The line of the last comment, which the next one continues if it is on the next line.
    let mut last_comment = None;
    let mut follows_fn = false;
    for token in tokens(source) {
        let is_name = std::mem::replace(&mut follows_fn, token.text == "fn");
        match token.kind {
            TokenKind::Comment if token.text.starts_with("//") => {
                let comment = token.text.trim_start_matches(['/', '!']);
                let continues =
                    last_comment.is_some_and(|last| last + 1 == token.line) && !comment.trim().is_empty();
                join(&mut texts, continues, token.line, comment);
                last_comment = Some(token.line);
            }
            TokenKind::Comment | TokenKind::Text => {
                texts.push((token.line, token.text.replace("\\n", " ")));
            }
            // The word after `fn` is a name that people read.
            TokenKind::Word if is_name => texts.push((token.line, token.text.replace('_', " "))),
            TokenKind::Word | TokenKind::Character | TokenKind::Mark => {}
        }
    }
    texts
}
