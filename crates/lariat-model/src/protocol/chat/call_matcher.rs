//! Decides which tool call a delta belongs to.
//!
//! Providers disagree: Ollama numbers every tool call 0, some providers repeat the id with every delta, and
//! some send neither id nor number. The tool calls themselves are stored in the reply. Invariant: two deltas
//! with different ids, or with the same id and different numbers, never belong to the same tool call.

/// The tool calls that have started.
#[derive(Debug, Default)]
pub(super) struct CallMatcher(Vec<StartedCall>);

#[derive(Debug)]
struct StartedCall {
    id: String,
    number: Option<u64>,
    name: String,
    /// Whether the arguments came complete with the name, so that a further delta with a name starts another
    /// tool call.
    whole: bool,
}

/// What a delta says about its tool call. An empty text says nothing.
#[derive(Clone, Copy, Debug)]
pub(super) struct CallKey<'a> {
    pub(super) id: &'a str,
    pub(super) number: Option<u64>,
    pub(super) name: &'a str,
    /// Whether the delta's arguments are complete by themselves.
    pub(super) whole: bool,
}

impl CallMatcher {
    /// Returns the position of the tool call that a delta belongs to; a new position if the delta starts a
    /// tool call.
    pub(super) fn position(&mut self, delta: CallKey<'_>) -> usize {
        match self.known(delta) {
            Some(at) => {
                if let Some(known) = self.0.get_mut(at) {
                    if known.id.is_empty() {
                        delta.id.clone_into(&mut known.id);
                    }
                    if known.name.is_empty() {
                        delta.name.clone_into(&mut known.name);
                    }
                    known.whole |= delta.whole;
                }
                at
            }
            None => {
                let CallKey { id, number, name, whole } = delta;
                self.0.push(StartedCall { id: id.to_owned(), number, name: name.to_owned(), whole });
                self.0.len() - 1
            }
        }
    }

    fn known(&self, delta: CallKey<'_>) -> Option<usize> {
        let same_number = |known: &StartedCall| known.number.zip(delta.number).is_none_or(|(a, b)| a == b);
        if !delta.id.is_empty() {
            let same_id = |known: &StartedCall| {
                known.id == delta.id || (known.id.is_empty() && !starts_call(known, delta))
            };
            return self.0.iter().rposition(|known| same_id(known) && same_number(known));
        }
        let at = match delta.number {
            Some(_) => self.0.iter().rposition(same_number)?,
            None => self.0.len().checked_sub(1)?,
        };
        self.0.get(at).filter(|known| !starts_call(known, delta)).map(|_| at)
    }
}

/// Whether a delta without an id starts another tool call: it names another tool, or the previous tool call
/// was complete.
fn starts_call(known: &StartedCall, delta: CallKey<'_>) -> bool {
    let named = !delta.name.is_empty() && !known.name.is_empty();
    named && (delta.name != known.name || (known.whole && delta.whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delta<'a>(id: &'a str, number: impl Into<Option<u64>>, name: &'a str) -> CallKey<'a> {
        CallKey { id, number: number.into(), name, whole: false }
    }

    fn positions(deltas: &[CallKey<'_>]) -> Vec<usize> {
        let mut calls = CallMatcher::default();
        deltas.iter().map(|delta| calls.position(*delta)).collect()
    }

    #[test]
    fn deltas_follow_their_number() {
        let deltas =
            [delta("a", 0, "x"), delta("", 0, ""), delta("b", 1, "x"), delta("", 1, ""), delta("", 0, "")];
        assert_eq!(positions(&deltas), [0, 0, 1, 1, 0]);
    }

    #[test]
    fn different_id_with_same_number_is_another_tool_call() {
        let deltas = [delta("a", 0, "x"), delta("b", 0, "x"), delta("", 0, ""), delta("a", 0, "")];
        assert_eq!(positions(&deltas), [0, 1, 1, 0]);
    }

    #[test]
    fn same_id_with_different_number_is_another_tool_call() {
        assert_eq!(positions(&[delta("a", 0, "x"), delta("a", 1, "x"), delta("a", 1, "")]), [0, 1, 1]);
    }

    #[test]
    fn id_decides_without_number_and_last_tool_call_is_used_without_both() {
        let deltas =
            [delta("a", None, "x"), delta("b", None, "y"), delta("a", None, ""), delta("", None, "")];
        assert_eq!(positions(&deltas), [0, 1, 0, 1]);
    }

    #[test]
    fn late_id_belongs_to_the_started_tool_call() {
        assert_eq!(positions(&[delta("", 0, "x"), delta("a", 0, ""), delta("", 0, "")]), [0, 0, 0]);
    }

    #[test]
    fn without_id_another_name_or_complete_tool_call_starts_a_new_one() {
        assert_eq!(positions(&[delta("", 0, "x"), delta("", 0, "x"), delta("", 0, "y")]), [0, 0, 1]);
        let whole = CallKey { whole: true, ..delta("", None, "x") };
        assert_eq!(positions(&[whole, whole, whole]), [0, 1, 2]);
    }
}
