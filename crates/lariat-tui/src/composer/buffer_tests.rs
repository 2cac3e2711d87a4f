use super::*;

fn of(text: &str) -> Buffer {
    let mut buffer = Buffer::default();
    buffer.insert(units(text), Cause::Other);
    buffer
}

fn type_text(buffer: &mut Buffer, text: &str) {
    for letter in text.chars() {
        buffer.insert(units(letter.encode_utf8(&mut [0; 4])), Cause::Typed);
    }
}

#[test]
fn an_accent_joins_the_letter_before_it() {
    let mut buffer = Buffer::default();
    type_text(&mut buffer, "e\u{301}a");
    assert_eq!((buffer.len(), buffer.caret()), (2, 2));
    buffer.undo();
    assert_eq!(buffer.text(), "");
}

#[test]
fn letters_of_a_flag_pair_up_after_a_deletion() {
    // Two flags, then the first letter is deleted: the pairs change.
    let mut buffer = of("🇩🇪🇫🇷x");
    assert_eq!(buffer.len(), 3);
    buffer.replace(0..1, Vec::new(), Cause::Other);
    assert_eq!((buffer.len(), buffer.text().as_str()), (2, "🇫🇷x"));
    let mut buffer = of("👩");
    type_text(&mut buffer, "\u{200d}💻");
    assert_eq!((buffer.len(), buffer.caret()), (1, 1));
}

#[test]
fn what_is_inserted_before_an_accent_takes_it() {
    let mut buffer = of("\u{301}");
    buffer.move_to(0);
    type_text(&mut buffer, "e");
    assert_eq!((buffer.len(), buffer.caret(), buffer.text().as_str()), (1, 1, "e\u{301}"));
}

#[test]
fn a_deleted_line_break_joins_what_it_separated() {
    let mut buffer = of("a\n\u{301}b");
    buffer.replace(1..2, Vec::new(), Cause::Other);
    assert_eq!((buffer.len(), buffer.caret()), (2, 1));
}

#[test]
fn a_pasted_block_joins_nothing() {
    let mut buffer = of("é");
    buffer.insert(vec![Unit::Paste("\u{301}x".into())], Cause::Other);
    buffer.insert(units("\u{301}"), Cause::Typed);
    assert_eq!((buffer.len(), buffer.caret()), (3, 3));
}

#[test]
fn typing_is_undone_by_words() {
    let mut buffer = Buffer::default();
    type_text(&mut buffer, "one two three");
    buffer.undo();
    assert_eq!(buffer.text(), "one two ");
    buffer.undo();
    assert_eq!(buffer.text(), "one ");
    buffer.redo();
    buffer.redo();
    assert_eq!(buffer.text(), "one two three");
    assert!(!buffer.redo());
}

#[test]
fn what_was_undone_stays_reachable_after_a_new_change() {
    let mut buffer = Buffer::default();
    type_text(&mut buffer, "one two");
    buffer.undo();
    type_text(&mut buffer, "2");
    assert_eq!(buffer.text(), "one 2");
    let mut seen = Vec::new();
    while buffer.undo() {
        seen.push(buffer.text());
    }
    assert_eq!(seen, ["one ", "one two", "one ", ""]);
}

#[test]
fn recalled_messages_are_undone_in_one_step() {
    let mut buffer = of("draft");
    for text in ["three", "two", "one"] {
        buffer.replace(0..buffer.len(), units(text), Cause::Recalled);
    }
    buffer.undo();
    assert_eq!(buffer.text(), "draft");
}
