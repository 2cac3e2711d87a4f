//! Computes the edit distance between two words (Levenshtein).

/// The least number of characters to insert, delete or replace to turn `from` into `to`. Only one row of the
/// table is stored at a time.
pub(super) fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (at, letter) in from.chars().enumerate() {
        let mut diagonal = at;
        let mut left = at + 1;
        let mut next = Vec::with_capacity(row.len());
        next.push(left);
        for (other, above) in to.iter().zip(row.iter().skip(1)) {
            let exchanged = diagonal + usize::from(letter != *other);
            left = exchanged.min(left + 1).min(above + 1);
            next.push(left);
            diagonal = *above;
        }
        row = next;
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::distance;

    #[test]
    fn distance_is_the_least_number_of_edits() {
        let rows = [
            ("", "", 0),
            ("", "abc", 3),
            ("abc", "", 3),
            ("kitten", "sitting", 3),
            ("é", "e", 1),
            ("ab", "ba", 2),
        ];
        for (from, to, changes) in rows {
            assert_eq!(distance(from, to), changes, "{from} {to}");
            assert_eq!(distance(to, from), changes, "{to} {from}");
        }
    }
}
