//! Stores the texts that the user cut, the latest first.

use std::collections::VecDeque;

use super::buffer::Unit;

/// How many cut texts are kept, as in Emacs.
const MAX_CUTS: usize = 60;

/// The texts that were cut.
#[derive(Debug, Default)]
pub(super) struct KillRing {
    cuts: VecDeque<Vec<Unit>>,
}

/// Which side of the text cut before a new one belongs to, if both were cut in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Joins {
    /// A new entry.
    Nothing,
    /// Was before it.
    Start,
    /// Was after it.
    End,
}

impl KillRing {
    pub(super) fn push(&mut self, cut: Vec<Unit>, joins: Joins) {
        if cut.is_empty() {
            return;
        }
        match (joins, self.cuts.front_mut()) {
            (Joins::Start, Some(last)) => *last = [cut, std::mem::take(last)].concat(),
            (Joins::End, Some(last)) => last.extend(cut),
            _ => self.cuts.push_front(cut),
        }
        self.cuts.truncate(MAX_CUTS);
    }

    /// Keeps a text without making it the next to yank.
    pub(super) fn push_last(&mut self, cut: Vec<Unit>) {
        if !cut.is_empty() && self.cuts.len() < MAX_CUTS {
            self.cuts.push_back(cut);
        }
    }

    /// The text cut `back` cuts before the latest; begins again after the oldest.
    pub(super) fn get(&self, back: usize) -> Option<&[Unit]> {
        let at = back.checked_rem(self.cuts.len())?;
        self.cuts.get(at).map(Vec::as_slice)
    }

    #[cfg(test)]
    pub(super) fn reachable(&self) -> String {
        self.cuts.iter().map(|cut| super::buffer::text(cut)).collect()
    }
}
