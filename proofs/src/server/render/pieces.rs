//! Splits a text into deltas.
//!
//! Invariant: the concatenated chunks are the text; each has whole characters and none is empty.

/// Sizes in characters, used in a cycle if a turn does not set one, because tokens vary in length, too.
const SIZES: [usize; 5] = [4, 9, 2, 13, 1];

/// Splits `text` into chunks of `size` characters, or of varying sizes.
pub(super) fn pieces(text: &str, size: Option<usize>) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    for &step in SIZES.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let end = rest.char_indices().nth(size.unwrap_or(step)).map_or(rest.len(), |(place, _)| place);
        let (piece, tail) = rest.split_at(end);
        found.push(piece);
        rest = tail;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::pieces;

    #[test]
    fn chunks_join_to_the_text_and_none_is_empty() {
        let text = "größer als 🦀🦀 und noch ein längerer Satz hinterher";
        for size in [None, Some(1), Some(3), Some(1000)] {
            let cut = pieces(text, size);
            assert_eq!(cut.concat(), text);
            assert!(cut.iter().all(|piece| !piece.is_empty()));
        }
        assert!(pieces(text, None).len() > 5);
        assert!(pieces("", None).is_empty());
    }
}
