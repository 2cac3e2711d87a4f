use lariat_core::time::Timestamp;
use lariat_terminal::theme::Theme;

use super::*;

fn text(text: &str) -> Segment {
    Segment::Text(text.to_owned())
}

fn thinking(text: &str) -> Segment {
    Segment::Thinking(vec![text.to_owned()])
}

#[test]
fn table_is_held_back_until_it_is_complete() {
    let mut renderer = ReplyRenderer::new(&Theme::plain(40), Detail::Folded);
    let mut segments = vec![text("Look:\n\n| a | b |\n|---|---|\n| 1 | 2 |\n")];
    renderer.advance(&segments);
    assert_eq!(renderer.rows().rows, ["Look:"]);
    assert!(renderer.preview(&segments, None).rows.concat().contains('1'));
    segments = vec![text("Look:\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nDone.")];
    renderer.advance(&segments);
    assert!(renderer.rows().rows.concat().contains('1'));
    assert_eq!(renderer.preview(&segments, None).rows, ["", "Done."]);
}

#[test]
fn thinking_is_finished_when_text_follows() {
    let mut renderer = ReplyRenderer::new(&Theme::plain(40), Detail::Folded);
    let mut segments = vec![thinking("One.\nTwo.")];
    renderer.advance(&segments);
    assert!(renderer.rows().rows.is_empty());
    let times = Some((Timestamp::from_millis(0), Timestamp::from_millis(4_200)));
    assert_eq!(renderer.preview(&segments, times).rows, ["∴ thinking 4s  Two."]);
    segments.push(text("It"));
    renderer.advance(&segments);
    assert_eq!(renderer.rows().rows, ["∴ thought  One."]);
    assert_eq!(renderer.preview(&segments, times).rows, ["", "It"]);
}

#[test]
fn text_without_words_leaves_no_gap() {
    let rows = render(&[thinking("One."), text("\n\n"), thinking("Two.")], &Theme::plain(40), Detail::Folded);
    assert_eq!(rows.rows, ["∴ thought  One.", "∴ thought  Two."]);
}
