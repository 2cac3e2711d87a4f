//! Guesses what a text that is not in a file was meant to be.
//!
//! First compares lines while ignoring common mistakes, then finds the most similar lines. The guess is only used in
//! the error message; nothing is ever replaced based on it.

use similar::{Algorithm, capture_diff_slices, diff_ratio};

use crate::document::{numbered, shorten};

/// A common mistake, and a function that removes it from a line.
type Normalisation = (&'static str, fn(&str) -> String);

const NORMALISATIONS: &[Normalisation] = &[
    ("it includes the line numbers of `read_file`, which are not part of the file", without_number),
    ("white space at line ends differs", |line| line.trim_end().to_owned()),
    ("indentation differs", |line| line.trim().to_owned()),
    ("white space differs", |line| line.split_whitespace().collect::<Vec<_>>().join(" ")),
    ("upper and lower case differ", |line| line.trim().to_lowercase()),
    ("quotation marks, dashes or special spaces differ", |line| with_ascii_punctuation(line.trim())),
    ("characters are escaped (`\\n`, `\\\"`) that are not escaped in the file", |line| {
        unescaped(line.trim())
    }),
];

/// Maximum number of lines to show.
const MAX_SHOWN: usize = 30;
/// Maximum number of lines to compare for similarity.
const MAX_COMPARED: usize = 20_000;
/// Minimum share of equal characters for a line to be similar.
const SIMILAR: f32 = 0.6;

/// Explains why `old` is not in a text.
pub(super) fn explain(path: &str, text: &str, old: &str) -> String {
    let start = format!("`old_string` was not found in `{path}`. Nothing was changed.");
    let lines: Vec<&str> = text.lines().collect();
    let wanted: Vec<&str> = old.trim_matches('\n').lines().collect();
    if text.is_empty() {
        return format!("{start} The file is empty.");
    }
    for (words, normalise) in NORMALISATIONS {
        let normalised: Vec<String> = wanted.iter().map(|line| normalise(line)).collect();
        if normalised.iter().all(String::is_empty) {
            continue;
        }
        let inside = |line: &String, wanted: &String| line.contains(wanted.as_str());
        let file: Vec<String> = lines
            .iter()
            .map(|line| if wants_number(words) { (*line).to_owned() } else { normalise(line) })
            .collect();
        let at =
            file.windows(normalised.len()).position(|window| window == normalised.as_slice()).or_else(|| {
                (normalised.len() == 1)
                    .then(|| {
                        file.iter().position(|line| normalised.iter().all(|wanted| inside(line, wanted)))
                    })
                    .flatten()
            });
        if let Some(at) = at {
            return format!(
                "{start} {} the closest match, but {words}. The file has:\n{}",
                span(at, normalised.len()),
                show(&lines, at, normalised.len())
            );
        }
    }
    match most_similar(&lines, &wanted) {
        Some(at) => format!(
            "{start} {} the most similar:\n{}",
            span(at, wanted.len().min(lines.len() - at)),
            show(&lines, at, wanted.len())
        ),
        None => format!("{start} The file has no similar text. Read the file again before you retry."),
    }
}

fn wants_number(words: &str) -> bool {
    words.contains("line numbers")
}

/// "Line 3 is", "Lines 3-5 are".
fn span(at: usize, count: usize) -> String {
    if count <= 1 { format!("Line {} is", at + 1) } else { format!("Lines {}-{} are", at + 1, at + count) }
}

fn show(lines: &[&str], at: usize, count: usize) -> String {
    let mut shown =
        numbered(lines.iter().skip(at).take(count.min(MAX_SHOWN)).map(|line| shorten(line)), at + 1);
    if count > MAX_SHOWN {
        shown.push_str(&format!("[… {} more lines]\n", count - MAX_SHOWN));
    }
    shown
}

/// Returns where the most similar lines begin: those with the most equal lines, otherwise the line most similar to the
/// longest wanted one.
fn most_similar(lines: &[&str], wanted: &[&str]) -> Option<usize> {
    let (offset, longest) = wanted.iter().enumerate().max_by_key(|(_, line)| line.trim().len())?;
    let longest: Vec<char> = longest.trim().chars().take(200).collect();
    if longest.len() < 4 {
        return None;
    }
    let equal = |at: usize| {
        let window = lines.iter().skip(at).take(wanted.len());
        window
            .zip(wanted)
            .filter(|(line, wanted)| !line.trim().is_empty() && line.trim() == wanted.trim())
            .count()
    };
    let few = lines.len().saturating_mul(wanted.len()) < 4_000_000;
    let best = few.then(|| (0..lines.len()).map(|at| (equal(at), std::cmp::Reverse(at))).max()).flatten();
    if let Some((count, std::cmp::Reverse(at))) = best
        && count * 2 >= wanted.len()
        && count > 0
    {
        return Some(at);
    }
    let mut best: Option<(f32, usize)> = None;
    for (at, line) in lines.iter().enumerate().take(MAX_COMPARED) {
        let line: Vec<char> = line.trim().chars().take(200).collect();
        let (short, long) = (line.len().min(longest.len()), line.len().max(longest.len()));
        // The similarity is at most twice the shorter length divided by the sum.
        if (short * 2) as f32 / ((short + long) as f32) < SIMILAR {
            continue;
        }
        let ratio =
            diff_ratio(&capture_diff_slices(Algorithm::Myers, &line, &longest), line.len(), longest.len());
        if ratio >= SIMILAR && best.is_none_or(|(most, _)| ratio > most) {
            best = Some((ratio, at));
        }
    }
    best.map(|(_, at)| at.saturating_sub(offset))
}

/// Removes the line number that `read_file` adds; a line without a number gets a text that matches nothing.
fn without_number(line: &str) -> String {
    match line.trim_start().split_once('\t') {
        Some((number, rest)) if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) => {
            rest.to_owned()
        }
        _ => "\u{0}".to_owned(),
    }
}

fn with_ascii_punctuation(line: &str) -> String {
    let plain = |character| match character {
        '‘' | '’' | '‚' | '′' => '\'',
        '“' | '”' | '„' | '″' => '"',
        '–' | '—' | '−' | '‑' => '-',
        '\u{a0}' | '\u{202f}' | '\u{2009}' | '\u{3000}' => ' ',
        other => other,
    };
    line.chars().map(plain).collect::<String>().replace('…', "...")
}

fn unescaped(line: &str) -> String {
    line.replace("\\n", "")
        .replace("\\t", "\t")
        .replace("\\\"", "\"")
        .replace("\\'", "'")
        .replace("\\\\", "\\")
}
