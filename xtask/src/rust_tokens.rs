//! Splits Rust source into tokens.
//!
//! Invariant: the tokens and the white space between them are the whole source, in order. Broken source yields odd
//! tokens, never an error: the compiler reports it better.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// A comment with its slashes.
    Comment,
    /// A string literal with its quotes.
    Text,
    /// A character literal, or the tick of a lifetime.
    Character,
    /// An identifier, a keyword or a number.
    Word,
    /// One punctuation character.
    Mark,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Token<'a> {
    pub(crate) kind: TokenKind,
    pub(crate) text: &'a str,
    pub(crate) line: usize,
}

pub(crate) fn tokens(source: &str) -> Vec<Token<'_>> {
    let (mut rest, mut line) = (source, 1);
    let mut tokens = Vec::new();
    while let Some(first) = rest.chars().next() {
        let (kind, length) = if first.is_whitespace() { (None, first.len_utf8()) } else { next(rest, first) };
        let (text, after) = rest.split_at(length.min(rest.len()));
        if let Some(kind) = kind {
            tokens.push(Token { kind, text, line });
        }
        line += text.bytes().filter(|byte| *byte == b'\n').count();
        rest = after;
    }
    tokens
}

/// The kind and the length of the token that begins here.
fn next(rest: &str, first: char) -> (Option<TokenKind>, usize) {
    if rest.starts_with("//") {
        (Some(TokenKind::Comment), rest.find('\n').unwrap_or(rest.len()))
    } else if rest.starts_with("/*") {
        (Some(TokenKind::Comment), block_comment_end(rest))
    } else if let Some(end) = string_end(rest) {
        (Some(TokenKind::Text), end)
    } else if first == '\'' {
        (Some(TokenKind::Character), character_end(rest))
    } else if first.is_alphanumeric() || first == '_' {
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        (Some(TokenKind::Word), end)
    } else {
        (Some(TokenKind::Mark), first.len_utf8())
    }
}

/// Block comments nest.
fn block_comment_end(text: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        if rest.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with("*/") {
            depth = depth.saturating_sub(1);
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

/// The end of the string literal that begins here, with its prefix, raw or not; `None` if none begins here.
fn string_end(text: &str) -> Option<usize> {
    let prefix = usize::from(text.starts_with(['b', 'c']));
    let literal = text.get(prefix..)?;
    if let Some(hashes) = raw_string_hashes(literal) {
        let close = format!("\"{}", "#".repeat(hashes));
        let open = prefix + hashes + 2;
        let end = text.get(open..).and_then(|inside| inside.find(&close));
        return Some(end.map_or(text.len(), |end| open + end + close.len()));
    }
    literal.starts_with('"').then(|| prefix + plain_string_end(literal))
}

fn plain_string_end(text: &str) -> usize {
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
