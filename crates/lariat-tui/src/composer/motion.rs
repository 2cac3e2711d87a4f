//! Where the caret goes: words and lines of the draft.

use super::buffer::{Buffer, Unit};

/// The start of the word to the left, over spaces and punctuation.
pub(super) fn word_left(buffer: &Buffer, from: usize) -> usize {
    let at = back_while(buffer, from, |unit| !is_part(unit));
    match buffer.before(at) {
        Some(Unit::Paste(_)) => at - 1,
        _ => back_while(buffer, at, Unit::is_word),
    }
}

/// The end of the word to the right, over spaces and punctuation.
pub(super) fn word_right(buffer: &Buffer, from: usize) -> usize {
    let at = ahead_while(buffer, from, |unit| !is_part(unit));
    match buffer.get(at) {
        Some(Unit::Paste(_)) => at + 1,
        _ => ahead_while(buffer, at, Unit::is_word),
    }
}

/// The start of the line, which ends at a line break and not at the edge of the screen.
pub(super) fn line_start(buffer: &Buffer, from: usize) -> usize {
    back_while(buffer, from, |unit| !unit.is_break())
}

/// The end of the line.
pub(super) fn line_end(buffer: &Buffer, from: usize) -> usize {
    ahead_while(buffer, from, |unit| !unit.is_break())
}

/// The start of the text after spaces to the left, as a shell cuts words: whatever is not a space.
pub(super) fn big_word_left(buffer: &Buffer, from: usize) -> usize {
    let at = back_while(buffer, from, Unit::is_space);
    match buffer.before(at) {
        Some(Unit::Paste(_)) => at - 1,
        _ => back_while(buffer, at, |unit| !unit.is_space() && !matches!(unit, Unit::Paste(_))),
    }
}

/// vim's `w`: the start of the next word or run of punctuation.
pub(super) fn next_word(buffer: &Buffer, from: usize) -> usize {
    let at = match buffer.get(from).map(class) {
        Some(class_here) if class_here != Class::Space => {
            ahead_while(buffer, from, |unit| class(unit) == class_here)
        }
        _ => from,
    };
    ahead_while(buffer, at, Unit::is_space)
}

/// vim's `b`: the start of this word or run, or of the one before it.
pub(super) fn previous_word(buffer: &Buffer, from: usize) -> usize {
    let at = back_while(buffer, from, Unit::is_space);
    buffer
        .before(at)
        .map(class)
        .map_or(at, |class_here| back_while(buffer, at, |unit| class(unit) == class_here))
}

/// vim's `e`: on the last unit of this word or run, or of the next one.
pub(super) fn word_end(buffer: &Buffer, from: usize) -> usize {
    let at = ahead_while(buffer, from + 1, Unit::is_space);
    let end = buffer
        .get(at)
        .map(class)
        .map_or(at, |class_here| ahead_while(buffer, at, |unit| class(unit) == class_here));
    end.saturating_sub(1).max(from).min(buffer.len())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Space,
    Word,
    Other,
}

fn class(unit: &Unit) -> Class {
    match unit {
        unit if unit.is_space() => Class::Space,
        unit if unit.is_word() => Class::Word,
        _ => Class::Other,
    }
}

fn is_part(unit: &Unit) -> bool {
    unit.is_word() || matches!(unit, Unit::Paste(_))
}

fn back_while(buffer: &Buffer, from: usize, is_over: impl Fn(&Unit) -> bool) -> usize {
    let mut at = from.min(buffer.len());
    while buffer.before(at).is_some_and(&is_over) {
        at -= 1;
    }
    at
}

fn ahead_while(buffer: &Buffer, from: usize, is_over: impl Fn(&Unit) -> bool) -> usize {
    let mut at = from.min(buffer.len());
    while buffer.get(at).is_some_and(&is_over) {
        at += 1;
    }
    at
}
