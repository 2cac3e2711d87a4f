//! Collects rows, with an empty row between different kinds.

/// What a row is about. An empty row separates rows unless both are work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Text of the user or the model, or a divider.
    Text,
    /// Tool calls, thinking and notes.
    Work,
}

/// Whether an empty row separates these kinds.
pub(super) fn has_gap(before: Option<Kind>, next: Kind) -> bool {
    before.is_some_and(|before| (before, next) != (Kind::Work, Kind::Work))
}

/// Rows with the kinds at their edges.
#[derive(Clone, Debug, Default)]
pub(super) struct Rows {
    pub(super) rows: Vec<String>,
    pub(super) first: Option<Kind>,
    pub(super) last: Option<Kind>,
}

impl Rows {
    /// Adds rows of one kind, after an empty row where one is due. No rows add nothing.
    pub(super) fn add(&mut self, kind: Kind, rows: impl IntoIterator<Item = String>) {
        let mut rows = rows.into_iter().peekable();
        if rows.peek().is_none() {
            return;
        }
        if has_gap(self.last, kind) {
            self.rows.push(String::new());
        }
        self.rows.extend(rows);
        self.first.get_or_insert(kind);
        self.last = Some(kind);
    }

    /// Adds rows that continue the last ones.
    pub(super) fn extend(&mut self, rows: impl IntoIterator<Item = String>) {
        self.rows.extend(rows);
    }
}
