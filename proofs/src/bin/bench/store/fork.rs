//! Forks a long session at its end and in its middle.

use std::time::Instant;

use lariat_core::id::SessionId;
use lariat_core::store::Durability;

use super::resume::LongSession;
use super::{Outcome, Size, limit, runtime, text};
use crate::measure::{figure, goal, median};

const GOAL_MS: f64 = 50.0;

pub(super) fn measure(size: Size, long: &LongSession) -> Outcome<bool> {
    let samples = if size == Size::Full { 5 } else { 2 };
    let name = long.place.kind.name();
    runtime()?.block_on(async {
        let store = long.place.open(Durability::Durable).await?;
        // The resume benchmark has appended to the session.
        let head = store.head(&long.session).await.map_err(text)?;
        let mut met = true;
        // Not a round number, so that the position does not coincide with a snapshot or another periodic
        // record.
        for (what, at, step) in [("at its end", head, 0), ("in its middle", head / 2 + 333, 1)] {
            let (mut forked, mut summed) = (Vec::new(), Vec::new());
            for sample in 0..samples {
                let fork = SessionId::from(format!("fork-{at}-{sample}"));
                let started = Instant::now();
                store.fork(&long.session, at + sample * step, &fork).await.map_err(text)?;
                forked.push(started.elapsed().as_secs_f64() * 1e3);
                let started = Instant::now();
                let summary = store.summary(&fork).await.map_err(text)?;
                summed.push(started.elapsed().as_secs_f64() * 1e3);
                if summary.events != at + sample * step {
                    return Err(format!("a fork at {} has {} events", at + sample * step, summary.events));
                }
            }
            met &= goal(&format!("{name}: fork {what} (median)"), median(forked), "ms", limit(size, GOAL_MS));
            figure(
                &format!("{name}: the summary of that fork (median)"),
                format!("{:.1} ms", median(summed)),
            );
        }
        Ok(met)
    })
}
