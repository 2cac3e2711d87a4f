//! A world of a tree of agents: an `Agent` whose model delegates to sub-agents, in the foreground and in the background, three
//! levels deep.
//!
//! Runs on tokio as in production: every sub-agent is a task of its own. `life` has the lives of the process and `process` what
//! it does; `setting` draws what stays the same, `ports` are the model and the tools, `watch` checks while it runs, `check`
//! afterwards. See [`super::steps`] for how the seed decides the order.

mod check;
mod life;
mod ports;
mod process;
mod setting;
mod watch;

use lariat_test::SeededRandom;

use super::choice::Choices;
use super::report::{Failure, Report};

/// Runs one seed.
pub(super) fn play(seed: u64, choices: Choices) -> Result<Report, Box<Failure>> {
    let mut tree = life::Tree::new(&SeededRandom::new(seed), choices);
    let played = super::guarded(|| tree.play().and_then(|()| check::finished(&tree)));
    match played {
        Ok(prefixes) => Ok(tree.report(prefixes)),
        Err(violation) => Err(Box::new(tree.failure(violation))),
    }
}
