//! A long session costs only what is new.

use std::time::Instant;

use lariat_core::content::Content;
use lariat_terminal::theme::Theme;

use super::sample::*;
use crate::transcript::{Detail, Transcript};

/// Blocks of the long session.
const BLOCKS: u64 = 10_000;
/// How much faster an update must be than rendering everything. It is about a thousand times as fast; the bound is
/// generous because test machines are busy.
const FASTER: u32 = 20;

#[test]
#[expect(clippy::disallowed_methods, reason = "a test may measure time")]
fn long_session_renders_only_what_is_new() {
    let theme = Theme::full(80);
    let mut script = Script::default();
    for number in 0..BLOCKS / 2 {
        script.user(2 * number + 1, "what is this?");
        script.reply(2 * number + 2, vec![Content::text("It is **a list** of `items`:\n\n- one\n- two")]);
    }
    let mut transcript = Transcript::new();
    script.events.iter().for_each(|event| transcript.apply(event));
    let started = Instant::now();
    let rows = transcript.rows(&theme, Detail::Folded).len();
    let all = started.elapsed();
    assert_eq!(transcript.take_finished(&theme).len(), rows);

    let mut script = Script::default();
    script.user(BLOCKS + 1, "and now?");
    let started = Instant::now();
    transcript.apply(&script.events[0]);
    assert_eq!(transcript.take_finished(&theme).len(), 2);
    assert_eq!(transcript.rows(&theme, Detail::Folded).len(), rows + 2);
    let live = transcript.live_rows(&theme, at(0), 10);
    let update = started.elapsed();
    assert!(live.is_empty());
    assert!(update * FASTER < all, "{update:?} for one block, {all:?} for all");
}
