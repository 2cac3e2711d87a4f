use std::num::NonZeroU16;

use proptest::prelude::*;

use super::{Reflow, Screen, row};
use crate::frame::{Caret, Frame, Size};

/// Enough for every row of a test.
const SCROLLBACK: usize = 20_000;

/// A screen whose terminal is vt100.
struct Shown {
    screen: Screen<Vec<u8>>,
    terminal: vt100::Parser,
    size: Size,
    /// What the terminal showed before the program started.
    written: usize,
}

fn cells(number: usize) -> NonZeroU16 {
    NonZeroU16::new(u16::try_from(number).unwrap()).unwrap()
}

impl Shown {
    fn new(size: Size) -> Self {
        let terminal = vt100::Parser::new(cells(size.rows), cells(size.columns), SCROLLBACK);
        Self { screen: Screen::new(Vec::new(), size).with_reflow(Reflow::Cuts), terminal, size, written: 0 }
    }

    /// Draws a frame and returns the number of bytes.
    fn draw(&mut self, frame: &Frame) -> usize {
        self.screen.draw(frame).unwrap();
        self.flush()
    }

    fn flush(&mut self) -> usize {
        let bytes = std::mem::take(self.screen.out_mut());
        let text = String::from_utf8(bytes).unwrap();
        assert!(!text.contains("\u{1b}[3J") && !text.contains("\u{1b}[2J"), "{text:?}");
        self.terminal.process(text.as_bytes());
        self.written += text.len();
        text.len()
    }

    fn resize(&mut self, size: Size) {
        self.resize_terminal(size);
        self.screen.resize(size);
    }

    /// The terminal has another size, and the program does not know yet.
    fn resize_terminal(&mut self, size: Size) {
        self.terminal.screen_mut().set_size(cells(size.rows), cells(size.columns));
        self.size = size;
    }

    /// The rows on the screen.
    fn rows(&self) -> Vec<String> {
        let columns = u16::try_from(self.size.columns).unwrap();
        self.terminal.screen().rows(0, columns).map(|row| row.trim_end().to_owned()).collect()
    }

    /// The rows in the scrollback and on the screen.
    fn all(&mut self) -> Vec<String> {
        let length = self.terminal.screen().scrollback_len();
        let mut all = Vec::new();
        for offset in (1..=length).rev() {
            self.terminal.screen_mut().set_scrollback(offset);
            let columns = u16::try_from(self.size.columns).unwrap();
            let first = self.terminal.screen().rows(0, columns).next().unwrap_or_default();
            all.push(first.trim_end().to_owned());
        }
        self.terminal.screen_mut().set_scrollback(0);
        all.extend(self.rows());
        all
    }
}

fn rows<const N: usize>(rows: [&str; N]) -> Vec<String> {
    rows.map(str::to_owned).to_vec()
}

fn frame(finished: Vec<String>, live: Vec<String>) -> Frame {
    let row = live.len().saturating_sub(1);
    Frame { finished, live, caret: Some(Caret { row, column: 2 }), is_full_screen: false }
}

const SIZE: Size = Size { columns: 20, rows: 5 };

#[test]
fn finished_rows_scroll_and_the_live_region_stays() {
    let mut shown = Shown::new(SIZE);
    shown.draw(&frame(Vec::new(), rows(["> hi", "status"])));
    assert_eq!(shown.rows(), ["> hi", "status", "", "", ""]);
    shown.draw(&frame(rows(["one", "two"]), rows(["tail", "> hi", "status"])));
    assert_eq!(shown.rows(), ["one", "two", "tail", "> hi", "status"]);
    shown.draw(&frame(rows(["three"]), rows(["> hi", "status"])));
    assert_eq!(shown.rows(), ["one", "two", "three", "> hi", "status"]);
    shown.draw(&frame(rows(["four"]), rows(["> hi", "status"])));
    assert_eq!(shown.all(), ["one", "two", "three", "four", "> hi", "status"]);
    assert_eq!(shown.terminal.screen().cursor_position(), (4, 2));
}

#[test]
fn an_equal_frame_writes_nothing_and_a_changed_row_only_itself() {
    let mut shown = Shown::new(SIZE);
    let first = frame(Vec::new(), rows(["a long first row", "> hi", "status"]));
    shown.draw(&first);
    assert_eq!(shown.draw(&first), 0);
    let changed = frame(Vec::new(), rows(["a long first row", "> hit", "status"]));
    shown.screen.draw(&changed).unwrap();
    let text = String::from_utf8(shown.screen.out().clone()).unwrap();
    assert!(text.contains("> hit") && !text.contains("a long") && !text.contains("status"), "{text:?}");
    assert!(text.starts_with("\u{1b}[?2026h") && text.ends_with("\u{1b}[?2026l"), "{text:?}");
}

#[test]
fn full_screen_keeps_finished_rows_for_the_scrollback() {
    let mut shown = Shown::new(SIZE);
    shown.draw(&frame(rows(["one"]), rows(["> hi"])));
    let full = |finished, live| Frame { is_full_screen: true, ..frame(finished, live) };
    shown.draw(&full(Vec::new(), rows(["one", "", "> hi"])));
    assert!(shown.terminal.screen().alternate_screen());
    shown.draw(&full(rows(["two"]), rows(["one", "two", "> hi"])));
    assert_eq!(shown.draw(&full(Vec::new(), rows(["one", "two", "> hi"]))), 0);
    shown.resize(Size { columns: 30, rows: 8 });
    shown.draw(&full(rows(["three"]), rows(["two", "three", "> hi"])));
    assert_eq!(shown.rows()[..3], ["two", "three", "> hi"]);
    shown.draw(&frame(rows(["four"]), rows(["> hi"])));
    assert!(!shown.terminal.screen().alternate_screen());
    assert_eq!(shown.rows()[..5], ["one", "two", "three", "four", "> hi"]);
}

#[test]
fn release_leaves_the_finished_rows_alone() {
    let mut shown = Shown::new(SIZE);
    shown.draw(&frame(rows(["one"]), rows(["tail", "> hi", "status"])));
    shown.screen.release().unwrap();
    shown.flush();
    assert_eq!(shown.rows(), ["one", "", "", "", ""]);
    assert_eq!(shown.terminal.screen().cursor_position(), (1, 0));
    shown.draw(&frame(rows(["two"]), rows(["> again"])));
    assert_eq!(shown.rows()[..3], ["one", "two", "> again"]);
}

#[test]
fn a_narrower_terminal_that_wraps_is_erased_from_the_highest_row() {
    let mut screen = Screen::new(Vec::new(), SIZE);
    screen.draw(&frame(Vec::new(), rows(["seventeen columns", "> hi"]))).unwrap();
    screen.out_mut().clear();
    screen.resize(Size { columns: 6, rows: 5 });
    screen.draw(&frame(Vec::new(), rows(["> hi"]))).unwrap();
    let text = String::from_utf8(screen.out().clone()).unwrap();
    // 17 columns wrap to three rows of 6; the cursor is in the row after them.
    assert!(text.contains("\u{1b}[3A"), "{text:?}");
}

/// A terminal that gets lower drops the rows below the cursor. The program moved down to them, the terminal stopped at
/// its last row, and the next finished rows replaced as many that were printed before.
#[test]
fn a_lower_terminal_that_is_not_known_yet_loses_no_finished_row() {
    let size = Size { columns: 20, rows: 8 };
    let live = |status| Frame {
        caret: Some(Caret { row: 0, column: 2 }),
        ..frame(Vec::new(), rows(["> hi", "hint", status]))
    };
    let mut shown = Shown::new(size);
    shown.draw(&Frame { finished: rows(["one", "two", "three"]), ..live("status") });
    shown.resize_terminal(Size { rows: 4, ..size });
    assert_eq!(shown.rows(), ["one", "two", "three", "> hi"]);
    shown.draw(&live("changed"));
    shown.resize(Size { rows: 9, ..size });
    shown.draw(&Frame { finished: rows(["four"]), ..live("changed") });
    let all = shown.all();
    assert_eq!(all[..7], ["one", "two", "three", "four", "> hi", "hint", "changed"], "{all:?}");
}

/// One step of a random story.
#[derive(Clone, Debug)]
enum Step {
    Draw { finished: usize, live: Vec<usize>, caret: (usize, usize) },
    Again,
    Resize(Size),
}

fn step() -> impl Strategy<Value = Step> {
    let draw = (0..6_usize, prop::collection::vec(0..90_usize, 1..12), (0..12_usize, 0..80_usize))
        .prop_map(|(finished, live, caret)| Step::Draw { finished, live, caret });
    let resize =
        (20..=200_usize, 5..=60_usize).prop_map(|(columns, rows)| Step::Resize(Size { columns, rows }));
    prop_oneof![8 => draw, 2 => Just(Step::Again), 1 => resize]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    /// Frames that are on their way while the size changes are made for the size before.
    #[test]
    fn frames_for_an_old_size_lose_and_repeat_no_finished_row(steps in prop::collection::vec(step(), 1..60)) {
        let mut shown = Shown::new(Size { columns: 80, rows: 24 });
        let mut count = 0;
        let mut last = Frame::default();
        for step in steps {
            match step {
                Step::Draw { finished, live, caret } => {
                    let finished: Vec<String> = (0..finished).map(|at| format!("#{:05} finished", count + at)).collect();
                    count += finished.len();
                    let live: Vec<String> = live.iter().map(|width| format!("~{}", "漢".repeat(width / 2))).collect();
                    let caret = (caret.0 < live.len()).then_some(Caret { row: caret.0, column: caret.1 });
                    last = Frame { finished, live, caret, is_full_screen: false };
                    shown.draw(&last);
                }
                Step::Again => {
                    shown.screen.resize(shown.size);
                    shown.draw(&Frame { finished: Vec::new(), ..last.clone() });
                }
                Step::Resize(size) => shown.resize_terminal(size),
            }
            let numbers: Vec<String> = shown.all().iter().filter(|row| row.starts_with('#'))
                .map(|row| row.chars().take(6).collect()).collect();
            let wanted: Vec<String> = (0..count).map(|at| format!("#{at:05}")).collect();
            prop_assert_eq!(numbers, wanted);
        }
    }

    #[test]
    fn every_finished_row_is_shown_once_and_in_order(steps in prop::collection::vec(step(), 1..60)) {
        let mut shown = Shown::new(Size { columns: 80, rows: 24 });
        let mut count = 0;
        let mut drawn = 0;
        let mut last = Frame::default();
        let mut is_cut = false;
        for step in steps {
            match step {
                Step::Draw { finished, live, caret } => {
                    let finished: Vec<String> = (0..finished).map(|at| format!("#{:05} finished", count + at)).collect();
                    count += finished.len();
                    drawn += 1;
                    // Each row says in which frame it was drawn, so that a leftover is recognised.
                    let live: Vec<String> = live
                        .iter()
                        .enumerate()
                        .map(|(at, width)| format!("\u{1b}[1m~{drawn}.{at}\u{1b}[0m{}", "漢".repeat(width / 2)))
                        .collect();
                    let caret = (caret.0 < live.len()).then_some(Caret { row: caret.0, column: caret.1 });
                    last = Frame { finished, live, caret, is_full_screen: false };
                    shown.draw(&last);
                }
                Step::Again => {
                    let again = Frame { finished: Vec::new(), ..last.clone() };
                    shown.draw(&again);
                    prop_assert_eq!(shown.draw(&again), 0);
                    continue;
                }
                Step::Resize(size) => {
                    // A terminal that is lower than the live region above the caret moves live rows to its scrollback.
                    is_cut |= size.rows <= last.live.len();
                    shown.resize(size);
                    let again = Frame { finished: Vec::new(), ..last.clone() };
                    shown.draw(&again);
                }
            }
            let size = shown.size;
            let hidden = last.live.len().saturating_sub(size.rows);
            let expected: Vec<String> = last.live.iter().skip(hidden)
                .map(|live| row::plain(&row::fit(live, size.columns))).collect();
            let all = shown.all();
            let numbers: Vec<String> = all.iter().filter(|row| row.starts_with('#'))
                .map(|row| row.chars().take(6).collect()).collect();
            let wanted: Vec<String> = (0..count).map(|at| format!("#{at:05}")).collect();
            prop_assert_eq!(numbers, wanted);
            let live: Vec<String> = all.iter().filter(|row| row.starts_with('~')).cloned().collect();
            let end = live.len().saturating_sub(expected.len());
            prop_assert_eq!(&live[end..], &expected[..]);
            prop_assert!(is_cut || end == 0, "left behind: {:?}", &live[..end]);
            if let Some(caret) = last.caret.filter(|caret| caret.row >= hidden && hidden == 0) {
                let first = shown.rows().iter().position(|row| row.starts_with('~')).unwrap();
                let column = caret.column.min(size.columns - 1);
                let at = shown.terminal.screen().cursor_position();
                if !is_cut {
                    prop_assert_eq!((usize::from(at.0), usize::from(at.1)), (first + caret.row, column));
                }
            }
        }
    }
}
