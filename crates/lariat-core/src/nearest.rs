//! The word somebody probably meant.
//!
//! Owns the measure: case and separators do not count, then few edits do. Says nothing rather than something wild.

/// The known word closest to what was written, when it is close enough to be a slip.
///
/// ```
/// use lariat_core::nearest::nearest;
///
/// assert_eq!(nearest("Old-String", ["old_string", "new_string"]), Some("old_string"));
/// assert_eq!(nearest("colour", ["path", "limit"]), None);
/// ```
pub fn nearest<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |text: &str| text.to_lowercase().replace(['_', '-', ' '], "");
    let written = plain(written);
    let allowed = written.chars().count().div_ceil(3);
    known
        .into_iter()
        .map(|known| (distance(&written, &plain(known)), known))
        .filter(|(distance, _)| *distance <= allowed)
        .min()
        .map(|(_, known)| known)
}

/// Edits (insert, remove, replace) from one word to the other.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (index, left) in left.chars().enumerate() {
        let (mut diagonal, mut before) = (index, index + 1);
        for (cell, right) in row.iter_mut().skip(1).zip(&right) {
            let replaced = diagonal + usize::from(left != *right);
            diagonal = *cell;
            before = replaced.min(before + 1).min(*cell + 1);
            *cell = before;
        }
        if let Some(first) = row.first_mut() {
            *first = index + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}
