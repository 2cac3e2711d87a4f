//! Builds the tree of chain lines and finds Claude Code's path through it.
//!
//! Handles parents that are missing, duplicated or cyclic. Splits the tree into paths: the newest conversation first, then
//! every branch. Invariant: each imported line is on exactly one path.

use std::collections::{HashMap, HashSet};

use super::line::{ChainLine, LineKind};
use crate::interchange::Note;

/// Chain lines in file order, with valid links.
pub(super) struct Tree {
    lines: Vec<ChainLine>,
    /// The parents as the file names them.
    parents: Vec<Option<usize>>,
    /// Lines with results, by tool call id.
    results: HashMap<String, Vec<usize>>,
}

/// Consecutive lines, and the line they follow.
pub(super) struct Path {
    pub(super) base: Option<usize>,
    pub(super) lines: Vec<usize>,
}

impl Tree {
    pub(super) fn of(lines: Vec<ChainLine>, notes: &mut Vec<Note>) -> Self {
        let mut last: HashMap<&str, usize> = HashMap::new();
        for (at, line) in lines.iter().enumerate() {
            if let Some(earlier) = last.insert(&line.uuid, at).and_then(|earlier| lines.get(earlier)) {
                let text = format!("replaced by line {}, which has the same uuid", line.number);
                notes.push(Note { line: earlier.number, text });
            }
        }
        let kept: HashSet<usize> = last.into_values().collect();
        let lines: Vec<ChainLine> = lines
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
                notes.push(Note { line: line.number, text: format!("parent {named} is not in the file") });
            }
            parents.push(parent);
            for call in super::message_builder::answered_calls(line) {
                results.entry(call.to_owned()).or_default().push(at);
            }
        }
        Self { lines, parents, results }
    }

    pub(super) fn lines(&self) -> &[ChainLine] {
        &self.lines
    }

    pub(super) fn line(&self, at: usize) -> Option<&ChainLine> {
        self.lines.get(at)
    }

    fn parent(&self, at: usize) -> Option<usize> {
        self.parents.get(at).copied().flatten()
    }

    /// Returns the lines that contain a result of a tool call.
    pub(super) fn results_of(&self, call: &str) -> &[usize] {
        self.results.get(call).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the nearest reply above a line.
    pub(super) fn reply_before(&self, at: usize) -> Option<usize> {
        let mut seen = HashSet::new();
        let mut next = self.parent(at);
        while let Some(at) = next.filter(|at| seen.insert(*at)) {
            if self.line(at).is_some_and(|line| line.message().is_some() && line.kind == LineKind::Assistant)
            {
                return Some(at);
            }
            next = self.parent(at);
        }
        None
    }

    /// Returns the last line of the newest conversation.
    pub(super) fn leaf(&self) -> Option<usize> {
        let mut named = vec![false; self.lines.len()];
        for parent in self.parents.iter().flatten() {
            if let Some(named) = named.get_mut(*parent) {
                *named = true;
            }
        }
        // A line that was visited for one terminal gives every other terminal the same candidate.
        let mut seen = vec![false; self.lines.len()];
        let mut best = None;
        for terminal in (0..self.lines.len()).filter(|at| named.get(*at) == Some(&false)) {
            let mut next = Some(terminal);
            while let Some(at) = next
                && let (Some(line), Some(seen)) = (self.lines.get(at), seen.get_mut(at))
                && !std::mem::replace(seen, true)
            {
                if line.is_message() {
                    best = best.max(Some((!line.hidden, at)));
                    break;
                }
                next = self.parent(at);
            }
        }
        best.map(|(_, at)| at)
    }

    /// Returns the path to the leaf, then the branches, each as long as possible.
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

    /// Climbs from a line to the first line that is already on a path. Skips lines that are not imported.
    fn climb(&self, end: usize, placed: &mut [bool], notes: &mut Vec<Note>) -> Path {
        let mut lines = Vec::new();
        let mut own = HashSet::new();
        let mut next = Some(end);
        let mut base = None;
        while let (Some(at), Some(line)) = (next, next.and_then(|at| self.line(at))) {
            if !own.insert(at) {
                let first = lines.last().and_then(|first| self.line(*first)).unwrap_or(line);
                notes.push(Note {
                    line: first.number,
                    text: "the parents of this line form a cycle".to_owned(),
                });
                break;
            }
            if line.kind != LineKind::Dropped {
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
