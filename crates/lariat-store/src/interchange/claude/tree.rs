//! The tree that chain lines form, and the way through it that their reader takes.
//!
//! Owns parents that are missing, doubled or go in circles, and the cut of the tree into paths: the newest conversation
//! first, then every branch beside it. Invariant: each line that is kept is on exactly one path.

use std::collections::{HashMap, HashSet};

use super::line::{Kind, Line};
use crate::interchange::Note;

/// Chain lines in the order of the file, with links that are sound.
pub(super) struct Tree {
    lines: Vec<Line>,
    /// As the file says.
    parents: Vec<Option<usize>>,
    /// Results of tool calls by the id of the call.
    results: HashMap<String, Vec<usize>>,
}

/// Lines that follow one another, and the line they follow.
pub(super) struct Path {
    pub(super) base: Option<usize>,
    pub(super) lines: Vec<usize>,
}

impl Tree {
    pub(super) fn of(lines: Vec<Line>, notes: &mut Vec<Note>) -> Self {
        let mut last: HashMap<&str, usize> = HashMap::new();
        for (at, line) in lines.iter().enumerate() {
            if let Some(earlier) = last.insert(&line.uuid, at).and_then(|earlier| lines.get(earlier)) {
                let text = format!("replaced by line {}, which has the same uuid", line.number);
                notes.push(Note { line: earlier.number, text });
            }
        }
        let kept: HashSet<usize> = last.into_values().collect();
        let lines: Vec<Line> = lines
            .into_iter()
            .enumerate()
            .filter_map(|(at, line)| kept.contains(&at).then_some(line))
            .collect();
        let places: HashMap<&str, usize> =
            lines.iter().enumerate().map(|(at, line)| (line.uuid.as_str(), at)).collect();
        let mut parents = Vec::with_capacity(lines.len());
        let mut results: HashMap<String, Vec<usize>> = HashMap::new();
        for (at, line) in lines.iter().enumerate() {
            let parent = line.parent.as_deref().and_then(|parent| places.get(parent)).copied();
            if let (Some(named), None) = (&line.parent, parent) {
                notes
                    .push(Note { line: line.number, text: format!("its parent {named} is not in the file") });
            }
            parents.push(parent);
            for call in super::writer::answered(line) {
                results.entry(call.to_owned()).or_default().push(at);
            }
        }
        Self { lines, parents, results }
    }

    pub(super) fn lines(&self) -> &[Line] {
        &self.lines
    }

    pub(super) fn line(&self, at: usize) -> Option<&Line> {
        self.lines.get(at)
    }

    fn parent(&self, at: usize) -> Option<usize> {
        self.parents.get(at).copied().flatten()
    }

    /// The lines that hold a result of a call.
    pub(super) fn results_of(&self, call: &str) -> &[usize] {
        self.results.get(call).map(Vec::as_slice).unwrap_or_default()
    }

    /// The nearest reply that a line follows.
    pub(super) fn reply_before(&self, at: usize) -> Option<usize> {
        let mut seen = HashSet::new();
        let mut next = self.parent(at);
        while let Some(at) = next.filter(|at| seen.insert(*at)) {
            if self.line(at).is_some_and(|line| line.message().is_some() && line.kind == Kind::Assistant) {
                return Some(at);
            }
            next = self.parent(at);
        }
        None
    }

    /// Where the newest conversation ends.
    pub(super) fn leaf(&self) -> Option<usize> {
        let mut named = vec![false; self.lines.len()];
        for parent in self.parents.iter().flatten() {
            if let Some(named) = named.get_mut(*parent) {
                *named = true;
            }
        }
        // A line that was looked at for one terminal gives every other terminal the same candidate.
        let mut seen = vec![false; self.lines.len()];
        let mut best = None;
        for terminal in (0..self.lines.len()).filter(|at| named.get(*at) == Some(&false)) {
            let mut next = Some(terminal);
            while let Some(at) = next
                && let (Some(line), Some(seen)) = (self.lines.get(at), seen.get_mut(at))
                && !std::mem::replace(seen, true)
            {
                if line.is_spoken() {
                    best = best.max(Some((!line.hidden, at)));
                    break;
                }
                next = self.parent(at);
            }
        }
        best.map(|(_, at)| at)
    }

    /// The way to the leaf, then the branches, each as long as it can be.
    pub(super) fn paths(&self, leaf: Option<usize>, notes: &mut Vec<Note>) -> Vec<Path> {
        let mut placed = vec![false; self.lines.len()];
        let ends = leaf.into_iter().chain((0..self.lines.len()).rev());
        let mut paths = Vec::new();
        for end in ends {
            if placed.get(end) != Some(&false) {
                continue;
            }
            let path = self.climb(end, &mut placed, notes);
            if !path.lines.is_empty() {
                paths.push(path);
            }
        }
        paths
    }

    /// From a line up to the first that has its place already. Lines that nobody keeps are passed over.
    fn climb(&self, end: usize, placed: &mut [bool], notes: &mut Vec<Note>) -> Path {
        let mut lines = Vec::new();
        let mut own = HashSet::new();
        let mut next = Some(end);
        let mut base = None;
        while let (Some(at), Some(line)) = (next, next.and_then(|at| self.line(at))) {
            if !own.insert(at) {
                let first = lines.last().and_then(|first| self.line(*first)).unwrap_or(line);
                notes.push(Note { line: first.number, text: "its parents go in a circle".to_owned() });
                break;
            }
            if line.kind != Kind::Dropped {
                match placed.get_mut(at) {
                    Some(place) if !*place => *place = true,
                    _ => {
                        base = Some(at);
                        break;
                    }
                }
                lines.push(at);
            }
            next = self.parent(at);
        }
        lines.reverse();
        Path { base, lines }
    }
}
