//! Decides which tool call a delta belongs to.
//!
//! Providers disagree: Ollama numbers every tool call 0, some providers repeat the id with every delta, and
//! some send neither id nor number. The tool calls themselves are stored in the reply. Invariant: two deltas
//! with different ids, or with the same id and different numbers, never belong to the same tool call.

/// The tool calls that have started.
#[derive(Debug, Default)]
pub(super) struct Calls(Vec<Known>);

#[derive(Debug)]
struct Known {
    id: String,
    number: Option<u64>,
    name: String,
    /// Whether the arguments came complete with the name, so that a further delta with a name starts another
    /// tool call.
    whole: bool,
}

/// What a delta says about its tool call. An empty text says nothing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece<'a> {
    pub(super) id: &'a str,
    pub(super) number: Option<u64>,
    pub(super) name: &'a str,
    /// Whether the delta's arguments are complete by themselves.
    pub(super) whole: bool,
}

impl Calls {
    /// Returns the position of the tool call that a delta belongs to; a new position if the delta starts a
    /// tool call.
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

/// Whether a delta without an id starts another tool call: it names another tool, or the previous tool call
/// was complete.
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
    fn deltas_follow_their_number() {
        let pieces =
            [piece("a", 0, "x"), piece("", 0, ""), piece("b", 1, "x"), piece("", 1, ""), piece("", 0, "")];
        assert_eq!(positions(&pieces), [0, 0, 1, 1, 0]);
    }

    #[test]
    fn different_id_with_same_number_is_another_tool_call() {
        let pieces = [piece("a", 0, "x"), piece("b", 0, "x"), piece("", 0, ""), piece("a", 0, "")];
        assert_eq!(positions(&pieces), [0, 1, 1, 0]);
    }

    #[test]
    fn same_id_with_different_number_is_another_tool_call() {
        assert_eq!(positions(&[piece("a", 0, "x"), piece("a", 1, "x"), piece("a", 1, "")]), [0, 1, 1]);
    }

    #[test]
    fn id_decides_without_number_and_last_tool_call_is_used_without_both() {
        let pieces =
            [piece("a", None, "x"), piece("b", None, "y"), piece("a", None, ""), piece("", None, "")];
        assert_eq!(positions(&pieces), [0, 1, 0, 1]);
    }

    #[test]
    fn late_id_belongs_to_the_started_tool_call() {
        assert_eq!(positions(&[piece("", 0, "x"), piece("a", 0, ""), piece("", 0, "")]), [0, 0, 0]);
    }

    #[test]
    fn without_id_another_name_or_complete_tool_call_starts_a_new_one() {
        assert_eq!(positions(&[piece("", 0, "x"), piece("", 0, "x"), piece("", 0, "y")]), [0, 0, 1]);
        let whole = Piece { whole: true, ..piece("", None, "x") };
        assert_eq!(positions(&[whole, whole, whole]), [0, 1, 2]);
    }
}
