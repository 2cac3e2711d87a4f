//! Tests what is remembered of the content that a model was shown.
#![expect(clippy::disallowed_methods, reason = "the test creates its own files")]

use lariat_core::cancel::CancellationToken;
use lariat_core::id::LoopId;
use lariat_host::files::Workspace;
use proptest::prelude::*;

use super::*;

const fn lines(first: u64, last: u64) -> ShownPart {
    ShownPart { unit: ShownUnit::Line, first, last }
}

fn context(session: &str) -> ToolContext {
    let (session, running) = (SessionId::from(session), LoopId::from("l"));
    ToolContext::new("call".into(), "read_file", session, running, CancellationToken::new())
}

/// Creates a file and returns its state.
fn file(name: &str, content: &[u8]) -> FileVersion {
    let folder = std::env::temp_dir().join(format!("lariat-shown-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("a"), content).unwrap();
    let stamp = Workspace::open(&folder).unwrap().stamp("a").unwrap();
    std::fs::remove_dir_all(folder).unwrap();
    FileVersion::of(stamp, content)
}

#[test]
fn fresh_file_is_not_recognised_by_its_stamp() {
    let (shown, known) = (ShownFiles::default(), file("fresh", b"one\n"));
    shown.remember(&context("s"), "a", &known, lines(1, 1), Some(1));
    assert!(shown.by_stamp(&context("s"), "a", &known.stamp, lines(1, 1)).is_none());
    assert!(shown.by_content(&context("s"), "a", &known, lines(1, 1)).is_some());
}

#[test]
fn shown_content_is_per_session() {
    let (shown, known) = (ShownFiles::default(), file("session", b"one\n"));
    shown.remember(&context("s"), "a", &known, lines(1, 1), Some(1));
    assert!(shown.by_content(&context("t"), "a", &known, lines(1, 1)).is_none());
    assert!(shown.by_content(&context("s"), "b", &known, lines(1, 1)).is_none());
}

#[test]
fn forgets_parts_of_older_content() {
    let shown = ShownFiles::default();
    let (old, new) = (file("old", b"one\ntwo\n"), file("new", b"one\n2\n"));
    shown.remember(&context("s"), "a", &old, lines(1, 1), Some(2));
    shown.remember(&context("s"), "a", &new, lines(2, 2), Some(2));
    assert!(shown.by_content(&context("s"), "a", &new, lines(1, 1)).is_none());
    assert!(shown.by_content(&context("s"), "a", &new, lines(2, 2)).is_some());
}

proptest! {
    /// Content is reported as shown only if one tool call showed all of it.
    #[test]
    fn reports_lines_as_shown_only_if_one_call_showed_them(
        total in 1_u64..30,
        seen in prop::collection::vec((1_u64..30, 0_u64..30), 0..5),
        first in 1_u64..40,
        more in 0_u64..40,
    ) {
        let (shown, known) = (ShownFiles::default(), file("random", b"x"));
        let mut calls = Vec::new();
        for (first, more) in seen {
            let last = (first + more).min(total);
            if first <= last {
                shown.remember(&context("s"), "a", &known, lines(first, last), Some(total));
                calls.push(first..=last);
            }
        }
        let last = (first + more).min(total);
        let expected = first <= total && calls.iter().any(|call| call.contains(&first) && call.contains(&last));
        let is_shown = shown.by_content(&context("s"), "a", &known, lines(first, first + more)).is_some();
        prop_assert_eq!(is_shown, expected);
    }
}

#[test]
fn settled_file_is_recognised_by_its_stamp() {
    let here = Workspace::open(env!("CARGO_MANIFEST_DIR")).unwrap();
    let (stamp, other) = (here.stamp("Cargo.toml").unwrap(), here.stamp("src/lib.rs").unwrap());
    let shown = ShownFiles::default();
    shown.remember(&context("s"), "a", &FileVersion::partly_read(stamp), lines(3, 9), None);
    let is_shown =
        |stamp, first, last| shown.by_stamp(&context("s"), "a", stamp, lines(first, last)).is_some();
    assert!(is_shown(&stamp, 3, 9) && is_shown(&stamp, 4, 4));
    assert!(!is_shown(&stamp, 3, 10) && !is_shown(&stamp, 2, 9) && !is_shown(&other, 3, 9));
}
