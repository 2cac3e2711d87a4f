//! Ranks files by how well they fit a task: by its words, and by the files that the agent has already used.
//!
//! The score of a file is BM25 over its path, the names it defines, its comments and its text (BM25F: a field weighs
//! more where fewer words say more). Then come bonuses: for words of the task in the path, for the best file of the
//! same directory, and for files that were used. Where no word of the task occurs, mentions decide as without a task.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::rank::Ranks;
use crate::outline::{Outline, PARTS, each_term};

/// Weights of the path, the names of definitions, the comments, the text and the comment at the start.
const WEIGHTS: [f64; PARTS + 1] = [3.0, 2.0, 1.0, 0.25, 1.0];
/// How much a long field weighs less than a short one: 0 for not at all, 1 for in proportion.
const LENGTH: [f64; PARTS + 1] = [0.3, 0.5, 0.5, 0.5, 0.5];
/// How fast more occurrences of a term stop adding to the score.
const SATURATION: f64 = 1.2;
/// Share of a term's weight that a file gets for the term in its path.
const PATH_BONUS: f64 = 0.3;
/// Share of the score of the best file of its directory that a file gets.
const DIRECTORY_BONUS: f64 = 0.3;
/// Share of the best score that a file gets if the agent used it.
const USED_BONUS: f64 = 0.5;
/// Share of the best score that the most mentioned file gets.
const MENTION_BONUS: f64 = 0.01;
/// Maximum number of terms of a task; the rest of a long prompt is ignored.
const MAX_TERMS: usize = 400;
/// Number of files, from the best one on, whose definitions are compared with the task.
const COMPARED: usize = 60;
/// What a definition gets for a term of the task, so that it comes before all others of its file.
const MATCH: f64 = 1e6;

/// The fields of a file that are scored: how often a term occurs in each, and how long each is.
struct Fields<'a> {
    outline: &'a Outline,
    path: HashMap<u32, u32>,
    lengths: [f64; PARTS + 1],
}

impl<'a> Fields<'a> {
    fn of(path: &str, outline: &'a Outline) -> Self {
        let mut counts: HashMap<u32, u32> = HashMap::new();
        let mut length: f64 = 0.0;
        each_term(path.rsplit_once('.').map_or(path, |(stem, _)| stem), |term| {
            *counts.entry(term).or_default() += 1;
            length += 1.0;
        });
        let [names, comments, text, head] = outline.terms.lengths.map(f64::from);
        Self { outline, path: counts, lengths: [length, names, comments, text, head] }
    }

    /// How often a term occurs in each field; `None` if it does not occur.
    fn count(&self, term: u32) -> Option<[f64; PARTS + 1]> {
        let (path, inside) = (self.path.get(&term).copied(), self.outline.terms.count(term));
        if path.is_none() && inside.is_none() {
            return None;
        }
        let [names, comments, text, head] = inside.unwrap_or_default().map(f64::from);
        Some([f64::from(path.unwrap_or_default()), names, comments, text, head])
    }
}

/// Returns ranks for a task. `mentions` are the ranks without one, and `used` says whether the agent used a file.
pub(super) fn rank(
    files: &[(String, Arc<Outline>)],
    mentions: Ranks,
    task: &str,
    used: impl Fn(&str) -> bool,
) -> Ranks {
    let mut terms: BTreeMap<u32, f64> = BTreeMap::new();
    each_term(task, |term| {
        if terms.len() < MAX_TERMS {
            terms.insert(term, 0.0);
        }
    });
    let fields: Vec<Fields<'_>> = files.iter().map(|(path, outline)| Fields::of(path, outline)).collect();
    let total = files.len() as f64;
    for (term, weight) in &mut terms {
        let with = fields.iter().filter(|fields| fields.count(*term).is_some()).count() as f64;
        *weight = (1.0 + (total - with + 0.5) / (with + 0.5)).ln();
    }
    let mut scores = text_scores(&fields, &terms);
    if scores.iter().all(|score| *score == 0.0) {
        return mentions;
    }
    add_path_bonus(&mut scores, &fields, &terms);
    add_directory_bonus(&mut scores, files);
    let best = scores.iter().copied().fold(0.0, f64::max);
    let mentioned = mentions.files.iter().copied().fold(1.0, f64::max);
    for ((score, (path, _)), mention) in scores.iter_mut().zip(files).zip(&mentions.files) {
        *score += MENTION_BONUS * best * mention / mentioned;
        if used(path) {
            *score += USED_BONUS * best;
        }
    }
    let names = with_matches(mentions.names, &scores, files, &terms);
    Ranks { files: scores, names }
}

fn text_scores(fields: &[Fields<'_>], terms: &BTreeMap<u32, f64>) -> Vec<f64> {
    let total = fields.len().max(1) as f64;
    let mut means = [0.0; PARTS + 1];
    for fields in fields {
        means.iter_mut().zip(fields.lengths).for_each(|(mean, length)| *mean += length / total);
    }
    let score = |fields: &Fields<'_>| {
        let each = terms.iter().filter_map(|(term, weight)| {
            let counts = fields.count(*term)?;
            let parts = counts.iter().zip(&fields.lengths).zip(&means).zip(WEIGHTS).zip(LENGTH);
            let found: f64 = parts
                .map(|((((count, length), mean), weight), share)| {
                    weight * count / (1.0 - share + share * length / mean.max(1.0))
                })
                .sum();
            Some(weight * found / (SATURATION + found))
        });
        each.sum()
    };
    fields.iter().map(score).collect()
}

fn add_path_bonus(scores: &mut [f64], fields: &[Fields<'_>], terms: &BTreeMap<u32, f64>) {
    let total = fields.len() as f64;
    for term in terms.keys() {
        let with = fields.iter().filter(|fields| fields.path.contains_key(term)).count() as f64;
        let bonus = PATH_BONUS * (1.0 + total / (1.0 + with)).ln();
        for (score, _) in scores.iter_mut().zip(fields).filter(|(_, fields)| fields.path.contains_key(term)) {
            *score += bonus;
        }
    }
}

fn add_directory_bonus(scores: &mut [f64], files: &[(String, Arc<Outline>)]) {
    let mut best: HashMap<&str, f64> = HashMap::new();
    for (score, (path, _)) in scores.iter().zip(files) {
        let known = best.entry(directory(path)).or_default();
        *known = known.max(*score);
    }
    for (score, (path, _)) in scores.iter_mut().zip(files) {
        *score += DIRECTORY_BONUS * best.get(directory(path)).copied().unwrap_or_default();
    }
}

fn directory(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(directory, _)| directory)
}

/// Raises the ranks of the definitions whose signatures have words of the task, in the best files.
fn with_matches(
    mut names: HashMap<u64, f64>,
    scores: &[f64],
    files: &[(String, Arc<Outline>)],
    terms: &BTreeMap<u32, f64>,
) -> HashMap<u64, f64> {
    let mut order: Vec<(f64, &Arc<Outline>)> =
        scores.iter().copied().zip(files.iter().map(|(_, outline)| outline)).collect();
    order.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let mut seen: HashSet<u64> = HashSet::new();
    for definition in order.iter().take(COMPARED).flat_map(|(_, outline)| &outline.definitions) {
        let Some(name) = definition.name.filter(|name| seen.insert(*name)) else { continue };
        let mut matched = 0.0;
        each_term(&definition.signature, |term| matched += terms.get(&term).copied().unwrap_or_default());
        *names.entry(name).or_default() += MATCH * matched;
    }
    names
}
