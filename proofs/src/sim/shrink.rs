//! Shrinks a seed that fails: leaves out as many disturbances as possible while the run still fails in the same way.
//!
//! First whole kinds, then halves, quarters and single choices of what is left. A shorter run makes other choices than a longer
//! one, so every candidate is run; nothing is assumed about it.

use std::mem::discriminant;

use super::choice::{ChoiceKind, LeftOut, Telling};
use super::report::Failure;

/// Maximum number of runs of one seed: about ten seconds.
const MOST_RUNS: usize = 2_000;

/// Returns the shortest run that fails like this one, with its story.
pub(super) fn shrink(failure: &Failure, run: impl Fn(&LeftOut, Telling) -> Option<Box<Failure>>) -> Failure {
    let mut search = Search { run: &run, runs: 0, left_out: LeftOut::default(), best: failure.clone() };
    for kind in ChoiceKind::ALL {
        let mut candidate = search.left_out.clone();
        candidate.kinds.insert(kind);
        search.accept(candidate);
    }
    let mut size = search.best.choices.len().div_ceil(2).max(1);
    loop {
        let is_shorter = search.leave_out_parts(size);
        if search.runs >= MOST_RUNS || (size == 1 && !is_shorter) {
            break;
        }
        size = (size / 2).max(1);
    }
    // Told once, at the end.
    run(&search.left_out, Telling::Story).map_or(search.best, |told| *told)
}

struct Search<'a, F> {
    run: &'a F,
    runs: usize,
    left_out: LeftOut,
    best: Failure,
}

impl<F: Fn(&LeftOut, Telling) -> Option<Box<Failure>>> Search<'_, F> {
    /// Leaves out parts of this size, one after the other. Returns whether one of them was not needed.
    fn leave_out_parts(&mut self, size: usize) -> bool {
        let mut is_shorter = false;
        let mut at = 0;
        while self.runs < MOST_RUNS && at < self.best.choices.len() {
            let part = self.best.choices.iter().skip(at).take(size).copied();
            let mut candidate = self.left_out.clone();
            candidate.choices.extend(part);
            if self.accept(candidate) {
                is_shorter = true;
            } else {
                at += size;
            }
        }
        is_shorter
    }

    /// Runs the seed without these choices, and continues from there if it still fails.
    fn accept(&mut self, candidate: LeftOut) -> bool {
        self.runs += 1;
        let Some(failure) = (self.run)(&candidate, Telling::Silent) else { return false };
        let is_same = discriminant(&failure.violation) == discriminant(&self.best.violation);
        if is_same {
            (self.left_out, self.best) = (candidate, *failure);
        }
        is_same
    }
}
