//! Renders what is not finished: the rest of a reply, tool calls without a result, retries.

use lariat_core::time::Timestamp;
use lariat_terminal::theme::{Style, Theme};

use super::Detail;
use super::fold::Fold;
use super::live::{Live, LiveReply};
use super::render;
use super::reply::ReplyRenderer;
use super::rows::{Kind, Rows};

/// Rows of a running tool's output, by the number of tool calls that are shown.
const fn output_rows(calls: usize) -> usize {
    match calls {
        0..=2 => 3,
        3..=4 => 1,
        _ => 0,
    }
}

/// Adds rows that are already separated from each other.
pub(super) fn add_reply(out: &mut Rows, rows: Rows) {
    let Some(first) = rows.first else { return };
    out.add(first, rows.rows);
    out.last = rows.last;
}

/// Adds the rest of a reply, after the rows of its renderer.
pub(super) fn add_preview(
    out: &mut Rows,
    renderer: &ReplyRenderer,
    live: &LiveReply,
    now: Option<Timestamp>,
    theme: &Theme,
) {
    let times = now.map(|now| (live.since, now));
    if live.is_whole {
        let preview = renderer.preview(&live.segments, times);
        if renderer.rows().rows.is_empty() {
            add_reply(out, preview);
        } else {
            // The preview begins with its own empty row where one is due.
            out.extend(preview.rows);
            out.last = preview.last;
        }
        return;
    }
    if live.after_gap.is_empty() {
        return;
    }
    let gap = theme.mark("…", "...").to_owned();
    out.add(Kind::Text, [theme.paint(Style::Dim, &gap)]);
    let rest = ReplyRenderer::new(theme, Detail::Folded).preview(&live.after_gap, times);
    out.extend(rest.rows);
    out.last = rest.last;
}

/// Adds tool calls without a result, and why the run waits.
pub(super) fn add_calls(out: &mut Rows, fold: &Fold, live: &Live, now: Option<Timestamp>, theme: &Theme) {
    let most = output_rows(fold.open_calls.len());
    for call in &fold.open_calls {
        let (progress, lines) = live.output(&call.id, most);
        let progress = progress.filter(|_| most > 0);
        out.add(Kind::Work, render::open_call(call, progress, lines, now, theme));
    }
    for (style, words) in [&live.waiting, &live.unsaved].into_iter().flatten() {
        out.add(Kind::Work, render::note(*style, words, theme));
    }
}
