//! Which call a piece of a stream belongs to.
//!
//! Services disagree: Ollama numbers every call 0, some repeat the id with every piece, some give neither id nor
//! number. Owns the decision; the calls themselves are the reply's.
//! Invariant: two pieces with different ids, or with the same id and different numbers, are never one call.

/// The calls that have begun.
#[derive(Debug, Default)]
pub(super) struct Calls(Vec<Known>);

#[derive(Debug)]
struct Known {
    id: String,
    number: Option<u64>,
    name: String,
    /// Its arguments came complete with its name: a further piece with a name begins another call.
    whole: bool,
}

/// What a piece says about its call. Empty text says nothing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece<'a> {
    pub(super) id: &'a str,
    pub(super) number: Option<u64>,
    pub(super) name: &'a str,
    /// Whether the piece brings arguments that are complete by themselves.
    pub(super) whole: bool,
}

impl Calls {
    /// The position of the call that a piece belongs to; a new one when it begins a call.
    pub(super) fn position(&mut self, piece: Piece<'_>) -> usize {
        match self.known(piece) {
            Some(at) => {
                if let Some(known) = self.0.get_mut(at) {
                    if known.id.is_empty() {
                        piece.id.clone_into(&mut known.id);
                    }
                    if known.name.is_empty() {
                        piece.name.clone_into(&mut known.name);
                    }
                    known.whole |= piece.whole;
                }
                at
            }
            None => {
                let Piece { id, number, name, whole } = piece;
                self.0.push(Known { id: id.to_owned(), number, name: name.to_owned(), whole });
                self.0.len() - 1
            }
        }
    }

    fn known(&self, piece: Piece<'_>) -> Option<usize> {
        let same_number = |known: &Known| known.number.zip(piece.number).is_none_or(|(a, b)| a == b);
        if !piece.id.is_empty() {
            let same_id =
                |known: &Known| known.id == piece.id || (known.id.is_empty() && !begins(known, piece));
            return self.0.iter().rposition(|known| same_id(known) && same_number(known));
        }
        let at = match piece.number {
            Some(_) => self.0.iter().rposition(same_number)?,
            None => self.0.len().checked_sub(1)?,
        };
        self.0.get(at).filter(|known| !begins(known, piece)).map(|_| at)
    }
}

/// Whether a piece without an id to go by begins another call: it names another tool, or the call was complete.
fn begins(known: &Known, piece: Piece<'_>) -> bool {
    let named = !piece.name.is_empty() && !known.name.is_empty();
    named && (piece.name != known.name || (known.whole && piece.whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece<'a>(id: &'a str, number: impl Into<Option<u64>>, name: &'a str) -> Piece<'a> {
        Piece { id, number: number.into(), name, whole: false }
    }

    fn positions(pieces: &[Piece<'_>]) -> Vec<usize> {
        let mut calls = Calls::default();
        pieces.iter().map(|piece| calls.position(*piece)).collect()
    }

    #[test]
    fn pieces_follow_their_number() {
        let pieces =
            [piece("a", 0, "x"), piece("", 0, ""), piece("b", 1, "x"), piece("", 1, ""), piece("", 0, "")];
        assert_eq!(positions(&pieces), [0, 0, 1, 1, 0]);
    }

    #[test]
    fn another_id_under_the_same_number_is_another_call() {
        let pieces = [piece("a", 0, "x"), piece("b", 0, "x"), piece("", 0, ""), piece("a", 0, "")];
        assert_eq!(positions(&pieces), [0, 1, 1, 0]);
    }

    #[test]
    fn the_same_id_under_another_number_is_another_call() {
        assert_eq!(positions(&[piece("a", 0, "x"), piece("a", 1, "x"), piece("a", 1, "")]), [0, 1, 1]);
    }

    #[test]
    fn without_a_number_the_id_decides_and_without_both_the_last_call_is_meant() {
        let pieces =
            [piece("a", None, "x"), piece("b", None, "y"), piece("a", None, ""), piece("", None, "")];
        assert_eq!(positions(&pieces), [0, 1, 0, 1]);
    }

    #[test]
    fn an_id_that_comes_late_belongs_to_the_call_that_began() {
        assert_eq!(positions(&[piece("", 0, "x"), piece("a", 0, ""), piece("", 0, "")]), [0, 0, 0]);
    }

    #[test]
    fn without_any_id_another_name_or_another_whole_call_begins_one() {
        assert_eq!(positions(&[piece("", 0, "x"), piece("", 0, "x"), piece("", 0, "y")]), [0, 0, 1]);
        let whole = Piece { whole: true, ..piece("", None, "x") };
        assert_eq!(positions(&[whole, whole, whole]), [0, 1, 2]);
    }
}
