//! Defines a frame: everything that the screen shows at one moment.

/// What to show, for a terminal of a known size.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// Rows that are finished: printed once, above the live region, and never again.
    pub finished: Vec<String>,
    /// The rows of the live region, top to bottom. The screen shows the last ones that fit.
    pub live: Vec<String>,
    /// Where the caret is, as a row of `live` and a column; `None` hides it.
    pub caret: Option<Caret>,
    /// Whether `live` fills the alternate screen. Finished rows then wait until the inline screen returns.
    pub is_full_screen: bool,
}

/// A position in the live region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caret {
    /// The row, counted from the first of the live region.
    pub row: usize,
    /// The column, counted from 0.
    pub column: usize,
}

/// The size of the terminal in cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Columns.
    pub columns: usize,
    /// Rows.
    pub rows: usize,
}
