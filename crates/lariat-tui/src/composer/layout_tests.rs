use proptest::prelude::*;

use super::super::buffer::units;
use super::*;

fn rows(text: &str, width: usize) -> Vec<String> {
    let units = units(text);
    let layout = Layout::new(&units, width);
    layout.rows.iter().map(|row| units[row.start..row.end].iter().map(Unit::text).collect()).collect()
}

#[test]
fn breaks_after_a_space_if_it_can() {
    assert_eq!(rows("one two three", 8), ["one two ", "three"]);
    assert_eq!(rows("abcdefghij", 4), ["abcd", "efgh", "ij"]);
    assert_eq!(rows("a abcdefgh", 4), ["a ", "abcd", "efgh"]);
    assert_eq!(rows("a\n\nb\n", 4), ["a\n", "\n", "b\n", ""]);
    assert_eq!(rows("", 4), [""]);
}

#[test]
fn a_space_hangs_over_the_edge() {
    assert_eq!(rows("abcd ef", 4), ["abcd ", "ef"]);
    let layout = Layout::new(&units("abcd "), 4);
    assert_eq!(layout.place(5), (0, 4));
    assert_eq!(rows("abcd      e", 4), ["abcd ", "     ", "e"]);
}

#[test]
fn wide_characters_and_tabs_count_by_columns() {
    assert_eq!(rows("日本語", 4), ["日本", "語"]);
    assert_eq!(rows("日本語", 5), ["日本", "語"]);
    let layout = Layout::new(&units("日\tx"), 20);
    assert_eq!((layout.place(1), layout.place(2), layout.place(3)), ((0, 2), (0, 6), (0, 7)));
    // A control character is written out.
    assert_eq!(Layout::new(&units("\u{1b}x"), 20).place(1), (0, "⟨U+001B⟩".chars().count()));
}

#[test]
fn a_caret_between_two_rows_is_in_the_second() {
    let layout = Layout::new(&units("abcdef"), 3);
    assert_eq!((layout.place(2), layout.place(3), layout.place(6)), ((0, 2), (1, 0), (1, 3)));
    assert_eq!(layout.caret(0, 99), 2);
    assert_eq!(layout.caret(1, 99), 6);
}

#[test]
fn a_block_is_cut_to_a_narrow_row() {
    let paste = Unit::Paste("x\n".repeat(240).into());
    assert_eq!(shown(&paste, 40), "[pasted 240 lines]");
    assert_eq!(shown(&paste, 8), "[pasted~");
    assert_eq!(shown(&Unit::Paste("x".repeat(1_500).into()), 40), "[pasted 1.5k characters]");
}

proptest! {
    #[test]
    fn every_unit_is_in_one_row_and_the_caret_inside(text in "[a-c 日\u{301}\t\n\u{1b}👩]{0,40}", width in 1_usize..12) {
        let units = units(&text);
        let layout = Layout::new(&units, width);
        let mut next = 0;
        for row in &layout.rows {
            prop_assert_eq!(row.start, next);
            next = row.end;
        }
        prop_assert_eq!(next, units.len());
        for caret in 0..=units.len() {
            let (row, column) = layout.place(caret);
            prop_assert!(row < layout.rows.len() && column <= width);
            let back = layout.caret(row, column);
            prop_assert_eq!(layout.place(back).0, row);
        }
    }
}
