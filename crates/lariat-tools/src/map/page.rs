//! Selects what of a map fits into its budget.
//!
//! Shows all definitions of all files if they fit, otherwise the most mentioned ones of each file, otherwise those of
//! the most mentioned files. Within a file they are in the order of lines.

use std::cmp::Ordering;
use std::sync::Arc;

use super::rank::Ranks;
use crate::outline::{FileDefinition, Outline};

/// Approximate number of bytes per token.
const TOKEN: usize = 4;
/// Bytes reserved for notes about the map.
const NOTES: usize = 200;
/// Numbers of definitions per file to try, largest first.
const TRIED: [usize; 4] = [usize::MAX, 40, 15, 6];
/// Number of definitions per file if not all files fit.
const FEW: usize = 10;

/// A map.
#[derive(Debug, Default)]
pub(super) struct MapPage {
    pub(super) text: String,
    /// Number of files in the text.
    pub(super) shown: usize,
}

pub(super) fn page(files: &[(String, Arc<Outline>)], ranks: &Ranks, tokens: u64) -> MapPage {
    let budget = usize::try_from(tokens).unwrap_or(usize::MAX).saturating_mul(TOKEN).saturating_sub(NOTES);
    let mut order: Vec<(f64, &(String, Arc<Outline>))> = ranks.files.iter().copied().zip(files).collect();
    order.sort_by(|(a, (left, _)), (b, (right, _))| descending(*a, *b).then_with(|| left.cmp(right)));
    let block = |limit: usize, file: &(String, Arc<Outline>)| block(&file.0, &file.1, ranks, limit);
    for limit in TRIED {
        let mut text = String::new();
        let fits = order.iter().all(|(_, file)| {
            text.push_str(&block(limit, file));
            text.len() <= budget
        });
        if fits {
            return MapPage { text, shown: files.len() };
        }
    }
    let mut page = MapPage::default();
    for (_, file) in &order {
        let block = block(FEW, file);
        if page.text.len() + block.len() > budget {
            break;
        }
        page.text.push_str(&block);
        page.shown += 1;
    }
    page.text.push_str(&format!(
        "[{} of {} files shown, the most relevant first. Raise `tokens`, or set `path` to a directory.]\n",
        page.shown,
        files.len(),
    ));
    page
}

/// Formats a file with its most mentioned definitions.
fn block(path: &str, outline: &Outline, ranks: &Ranks, limit: usize) -> String {
    let rank = |defined: &FileDefinition| {
        defined.name.and_then(|name| ranks.names.get(&name)).copied().unwrap_or_default()
    };
    let mut chosen: Vec<&FileDefinition> = outline.definitions.iter().collect();
    if chosen.len() > limit {
        chosen.sort_by(|a, b| {
            descending(rank(a), rank(b)).then_with(|| a.level.cmp(&b.level)).then_with(|| a.line.cmp(&b.line))
        });
        chosen.truncate(limit);
        chosen.sort_by_key(|defined| defined.line);
    }
    let mut text = format!("{path}\n");
    for defined in &chosen {
        let indent = "  ".repeat(defined.level.min(4) + 1);
        text.push_str(&format!("{indent}{}: {}\n", defined.line, defined.signature));
    }
    match outline.definitions.len() - chosen.len() {
        0 => {}
        more => text.push_str(&format!("  … {more} more\n")),
    }
    text
}

fn descending(a: f64, b: f64) -> Ordering {
    b.total_cmp(&a)
}
