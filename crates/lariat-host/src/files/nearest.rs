//! The name somebody probably meant.
//!
//! Owns the measure: the same letters in another case first, then few edits. Says nothing rather than something wild.

/// The name closest to what was written, when it is close enough to be a slip.
pub(super) fn nearest<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = wanted.to_lowercase();
    let allowed = wanted.chars().count().div_ceil(3);
    names
        .into_iter()
        .map(|name| (distance(&wanted, &name.to_lowercase()), name))
        .filter(|(distance, _)| *distance <= allowed)
        .min()
        .map(|(_, name)| name)
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
