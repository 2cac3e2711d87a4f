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
    let text = decode(body, kind);
    let is_html = plain == "text/html" || plain == "application/xhtml+xml";
    if !is_html || raw {
        return Some(text);
    }
    if text.len() > MAX_HTML || seemingly_open(&text) > MAX_OPEN {
        return Some(strip_tags(&text));
    }
    let html = text.clone();
    let converted = std::thread::Builder::new().stack_size(STACK).spawn(move || markdown(&html)).ok();
    let converted = converted.and_then(|thread| thread.join().ok()?);
    Some(converted.unwrap_or_else(|| strip_tags(&text)))
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

fn decode(body: &[u8], kind: &str) -> String {
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
fn strip_tags(html: &str) -> String {
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
mod tests {
    //! Tests the conversion of responses to text.

    use super::{MAX_HTML, text};

    #[test]
    fn converts_html_to_markdown_without_scripts() {
        let page = "<html><head><title>T</title><style>p{}</style></head><body><h1>Title</h1><script>bad()</script>\
            <p>Some <b>bold</b> <a href=\"/x\">link</a></p><ul><li>one<li>two</ul></body></html>";
        let read = text(page.as_bytes(), "text/html; charset=utf-8", false).unwrap();
        assert!(
            read.contains("# Title") && read.contains("**bold**") && read.contains("[link](/x)"),
            "{read}"
        );
        assert!(!read.contains("bad()") && !read.contains("p{}"), "{read}");
        assert_eq!(text(page.as_bytes(), "text/html", true).unwrap(), page);
    }

    #[test]
    fn strips_tags_of_too_deep_pages_and_converts_others() {
        let nested =
            |levels: usize, end: &str| format!("{}<b>deep</b>{}", "<div>".repeat(levels), end.repeat(levels));
        let read = |page: &str| text(page.as_bytes(), "text/html", false).unwrap();
        assert_eq!(read(&nested(900, "</div>")), "**deep**");
        assert_eq!(read(&nested(5_000, "</div>")).trim(), "deep");
        assert_eq!(read(&nested(300_000, "</div>")).trim(), "deep");
        // End tags that a parser ignores make the tree deep, although few elements seem to be open.
        let hidden = format!("{}<b>deep</b>", "<div></x>".repeat(5_000));
        assert_eq!(read(&hidden).trim(), "deep");
        assert_eq!(read(&format!("<b>deep</b>{}", " ".repeat(MAX_HTML))).trim(), "deep");
    }

    #[test]
    fn keeps_other_text_and_rejects_binary_content() {
        assert_eq!(text(b"{\"a\":1}", "application/json", false).unwrap(), "{\"a\":1}");
        assert_eq!(text(b"caf\xe9", "text/plain; charset=iso-8859-1", false).unwrap(), "café");
        assert!(text(b"\x89PNG", "image/png", false).is_none());
        assert!(text(b"a\0b", "text/plain", false).is_none());
    }
}
