//! Tests the conversion of responses to text.

use super::{MAX_HTML, text};

#[test]
fn converts_html_to_markdown_without_scripts() {
    let page = "<html><head><title>T</title><style>p{}</style></head><body><h1>Title</h1><script>bad()</script>\
        <p>Some <b>bold</b> <a href=\"/x\">link</a></p><ul><li>one<li>two</ul></body></html>";
    let read = text(page.as_bytes(), "text/html; charset=utf-8", false).unwrap();
    assert!(read.contains("# Title") && read.contains("**bold**") && read.contains("[link](/x)"), "{read}");
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
