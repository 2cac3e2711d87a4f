//! Converts a server's response to text.
//!
//! HTML is converted only up to certain depths and sizes: the converter is recursive, and the parser checks every open
//! element for each new one. Beyond these limits, only the tags are removed.

use std::rc::Rc;

use htmd::{HtmlToMarkdown, Node};

/// Maximum depth of a tree to convert.
const MAX_LEVELS: usize = 1_000;
/// Stack size for the conversion, in bytes; virtual memory until it is used.
const STACK: usize = 64 * 1024 * 1024;
/// Maximum size of HTML to parse, in bytes.
const MAX_HTML: usize = 2 * 1024 * 1024;
/// Maximum number of elements that seem to be open at a time. Many pages never close theirs.
const MAX_OPEN: usize = 20_000;
/// Elements without readable content.
const SKIPPED: &[&str] =
    &["script", "style", "noscript", "iframe", "svg", "template", "head", "nav", "footer"];
/// Elements that have no end tag.
const VOID: &[&str] =
    &["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"];

/// Returns the text of a body; `None` if it is not text.
pub(super) fn text(body: &[u8], kind: &str, raw: bool) -> Option<String> {
    let plain = kind.split(';').next().unwrap_or_default().trim();
    let is_text = plain.starts_with("text/")
        || ["json", "xml", "javascript", "yaml", "toml", "x-sh", "graphql"]
            .iter()
            .any(|part| plain.contains(part));
    if !is_text || body.contains(&0) {
        return None;
    }
    let text = decoded(body, kind);
    let is_html = plain == "text/html" || plain == "application/xhtml+xml";
    if !is_html || raw {
        return Some(text);
    }
    if text.len() > MAX_HTML || seemingly_open(&text) > MAX_OPEN {
        return Some(stripped(&text));
    }
    let html = text.clone();
    let converted = std::thread::Builder::new().stack_size(STACK).spawn(move || markdown(&html)).ok();
    let converted = converted.and_then(|thread| thread.join().ok()?);
    Some(converted.unwrap_or_else(|| stripped(&text)))
}

fn markdown(html: &str) -> Option<String> {
    let converter = HtmlToMarkdown::builder().skip_tags(SKIPPED.to_vec()).build();
    let tree = converter.html_to_tree(html).ok()?;
    (levels(&tree) <= MAX_LEVELS).then(|| converter.tree_to_markdown(&tree))
}

/// The depth of a tree, computed without recursion.
fn levels(tree: &Rc<Node>) -> usize {
    let (mut most, mut ahead) = (0, vec![(Rc::clone(tree), 1)]);
    while let Some((node, level)) = ahead.pop() {
        most = most.max(level);
        ahead.extend(node.children.borrow().iter().map(|child| (Rc::clone(child), level + 1)));
    }
    most
}

fn decoded(body: &[u8], kind: &str) -> String {
    let is_latin = kind.contains("iso-8859-1") || kind.contains("windows-1252");
    if is_latin && std::str::from_utf8(body).is_err() {
        return body.iter().map(|byte| char::from(*byte)).collect();
    }
    String::from_utf8_lossy(body).into_owned()
}

/// The maximum number of elements that are open at a time, estimated from the tags alone.
fn seemingly_open(html: &str) -> usize {
    let (mut open, mut most) = (0_usize, 0);
    for tag in html.split('<').skip(1) {
        if tag.starts_with('/') {
            open = open.saturating_sub(1);
        } else if tag.starts_with(|first: char| first.is_ascii_alphabetic()) {
            let name = tag.split(|part: char| !part.is_ascii_alphanumeric()).next().unwrap_or_default();
            if !VOID.iter().any(|void| name.eq_ignore_ascii_case(void)) {
                open += 1;
                most = most.max(open);
            }
        }
    }
    most
}

/// Removes the tags from HTML.
fn stripped(html: &str) -> String {
    let mut text = String::new();
    for part in html.split('<') {
        let words = part.split_once('>').map_or(part, |(_, words)| words).trim();
        if !words.is_empty() {
            text.push_str(words);
            text.push('\n');
        }
    }
    text
}

#[cfg(test)]
#[path = "../readable_tests.rs"]
mod tests;
