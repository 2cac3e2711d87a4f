//! Finds where the hunks of a patch belong and applies them to a text.
//!
//! Searches for exact lines first, then ignores trailing white space, then indentation. Context lines stay as the file
//! has them. A unified diff names the line, and the nearest match to it is used; otherwise the first match after the
//! previous hunk.

use lariat_core::patch::{Hunk, Line};
use lariat_core::tool::ToolError;
use lariat_host::files::text::Text;

use crate::document::{numbered, shorten};

type SameLine = fn(&str, &str) -> bool;

const MEASURES: [SameLine; 3] = [
    |file, patch| file == patch,
    |file, patch| file.trim_end() == patch.trim_end(),
    |file, patch| file.trim() == patch.trim(),
];

/// Returns the text with all hunks applied.
pub(super) fn apply(path: &str, text: &Text, hunks: &[Hunk]) -> Result<Text, ToolError> {
    let whole = text.as_str();
    let lines: Vec<&str> = whole.lines().collect();
    let mut cursor = 0;
    let mut drift = 0_isize;
    let mut splices: Vec<Splice> = Vec::new();
    for (index, hunk) in hunks.iter().enumerate() {
        let missing = |what: &str, wanted: &[&str]| {
            let shown = numbered(wanted.iter().take(12).map(|line| shorten(line)), 1);
            let place = nearby(&lines, wanted);
            ToolError::Failed(format!(
                "`{path}`, hunk {}: {what} is not in the file:\n{shown}{place}",
                index + 1
            ))
        };
        for anchor in &hunk.anchors {
            let found = search(&lines, &[anchor.as_str()], cursor, SearchOrder::Forwards);
            cursor = found.ok_or_else(|| missing("the line after `@@`", &[anchor]))? + 1;
        }
        let old: Vec<&str> = hunk.lines.iter().filter_map(Line::old).collect();
        let at = if old.is_empty() {
            match hunk.at {
                _ if hunk.at_end => Some(lines.len()),
                Some(at) => Some(at.saturating_add_signed(drift).clamp(cursor, lines.len())),
                None if hunk.anchors.is_empty() => Some(lines.len()),
                None => Some(cursor),
            }
        } else if hunk.at_end {
            let last = lines.len().checked_sub(old.len());
            last.filter(|last| *last >= cursor && fits(&lines, &old, *last))
                .or_else(|| search(&lines, &old, cursor, SearchOrder::Forwards))
        } else {
            let order = hunk
                .at
                .map_or(SearchOrder::Forwards, |at| SearchOrder::Around(at.saturating_add_signed(drift)));
            search(&lines, &old, cursor, order)
        };
        let at = at.ok_or_else(|| missing("this", &old))?;
        if let Some(wanted) = hunk.at {
            drift = at.cast_signed() - wanted.cast_signed();
        }
        splices.extend(splices_of(hunk, at));
        cursor = at + old.len();
    }
    let final_newline = hunks.iter().rev().find_map(|hunk| hunk.final_newline);
    Ok(splice(text, &lines, &splices, final_newline))
}

/// Replaces the lines from `start` to `end` with new ones.
struct Splice {
    start: usize,
    end: usize,
    new: Vec<String>,
}

fn splices_of(hunk: &Hunk, at: usize) -> Vec<Splice> {
    let mut splices: Vec<Splice> = Vec::new();
    let mut here = at;
    let mut open = false;
    for line in &hunk.lines {
        if matches!(line, Line::Keep(_)) {
            here += 1;
            open = false;
            continue;
        }
        if !open {
            splices.push(Splice { start: here, end: here, new: Vec::new() });
            open = true;
        }
        if let Some(splice) = splices.last_mut() {
            match line {
                Line::Add(new) => splice.new.push(new.clone()),
                _ => {
                    here += 1;
                    splice.end = here;
                }
            }
        }
    }
    splices
}

/// Replaces lines. Keeps whether the last line ends in a newline, unless the patch changes that.
fn splice(text: &Text, lines: &[&str], splices: &[Splice], final_newline: Option<bool>) -> Text {
    let whole = text.as_str();
    let ended = whole.is_empty() || whole.ends_with('\n');
    let start_of = |line: usize| match lines.get(line) {
        Some(line) => line.as_ptr().addr() - whole.as_ptr().addr(),
        None => whole.len(),
    };
    let mut changes = Vec::new();
    for splice in splices {
        let mut new: String = splice.new.iter().flat_map(|line| [line.as_str(), "\n"]).collect();
        let mut range = start_of(splice.start)..start_of(splice.end);
        if splice.end >= lines.len() && !ended {
            new = splice.new.join("\n");
            if splice.start >= lines.len() && !splice.new.is_empty() {
                new.insert(0, '\n');
            } else if splice.new.is_empty() && range.start > 0 {
                // The previous line becomes the last one, and the last line of this file has no newline.
                range.start -= 1;
            }
        }
        changes.push((range, new));
    }
    let borrowed: Vec<_> = changes.iter().map(|(range, new)| (range.clone(), new.as_str())).collect();
    let changed = text.replace_ranges(&borrowed);
    let length = changed.as_str().len();
    match final_newline {
        Some(true) if length > 0 && !changed.as_str().ends_with('\n') => {
            changed.replace_ranges(&[(length..length, "\n")])
        }
        Some(false) if changed.as_str().ends_with('\n') => {
            changed.replace_ranges(&[(length - 1..length, "")])
        }
        _ => changed,
    }
}

enum SearchOrder {
    Forwards,
    Around(usize),
}

fn fits(lines: &[&str], old: &[&str], at: usize) -> bool {
    MEASURES.iter().any(|same| fits_by(lines, old, at, *same))
}

fn fits_by(lines: &[&str], old: &[&str], at: usize, same: SameLine) -> bool {
    let window = lines.get(at..at + old.len());
    window.is_some_and(|window| window.iter().zip(old).all(|(file, patch)| same(file, patch)))
}

fn search(lines: &[&str], old: &[&str], from: usize, order: SearchOrder) -> Option<usize> {
    let last = lines.len().checked_sub(old.len())?;
    MEASURES.into_iter().find_map(|same| {
        let mut places = (from..=last).filter(|at| fits_by(lines, old, *at, same));
        match order {
            SearchOrder::Forwards => places.next(),
            SearchOrder::Around(at) => places.min_by_key(|place| place.abs_diff(at)),
        }
    })
}

/// Shows the surroundings of the first wanted line that is in the file, as a hint.
fn nearby(lines: &[&str], wanted: &[&str]) -> String {
    let found = wanted
        .iter()
        .filter(|line| line.trim().len() > 3)
        .find_map(|wanted| lines.iter().position(|line| line.trim() == wanted.trim()));
    match found {
        Some(at) => {
            let first = at.saturating_sub(2);
            let around = lines.iter().skip(first).take(wanted.len().min(12) + 4).map(|line| shorten(line));
            format!("The file has, from line {}:\n{}", first + 1, numbered(around, first + 1))
        }
        None => "None of these lines is in the file. Read it again.".to_owned(),
    }
}
