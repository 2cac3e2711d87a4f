//! Finds the text to replace in a file, or explains why it is missing or ambiguous.
//!
//! Matches exactly. `near_miss` guesses what a text that does not match was meant to be.

mod near_miss;

use std::ops::Range;

use lariat_core::tool::ToolError;
use lariat_host::files::text::Text;
use serde::Deserialize;

use crate::arguments::{ArgumentKind, Field};
use crate::document::counted;

/// One replacement, as a model requests it.
#[derive(Clone, Deserialize)]
pub(crate) struct TextEdit {
    pub(crate) old_string: String,
    pub(crate) new_string: String,
    replace_all: Option<bool>,
}

pub(crate) const OLD: Field = Field::required(
    "old_string",
    ArgumentKind::Text,
    "The exact text to replace (without line numbers), with enough lines around it to occur only once.",
);
pub(crate) const NEW: Field =
    Field::required("new_string", ArgumentKind::Text, "The replacement text. May be empty.");
pub(crate) const ALL: Field = Field::optional(
    "replace_all",
    ArgumentKind::Switch,
    "Replace every occurrence. Otherwise there must be exactly one.",
);

/// A text after a replacement, and where the new parts are.
#[derive(Debug)]
pub(crate) struct Replacement {
    pub(crate) text: Text,
    pub(crate) places: Vec<Range<usize>>,
}

/// Maximum number of lines to name in a message.
const MAX_NAMED: usize = 10;

impl TextEdit {
    /// Applies the replacement to a text.
    pub(crate) fn apply(&self, path: &str, text: &Text) -> Result<Replacement, ToolError> {
        let refuse = |words: String| Err(ToolError::Failed(words));
        let (old, new) = (plain(&self.old_string), plain(&self.new_string));
        if old.is_empty() {
            return refuse(format!(
                "`old_string` is empty. Set it to the text to replace in `{path}`, or write the whole file with `write_file`."
            ));
        }
        if old == new {
            return refuse(format!(
                "`old_string` and `new_string` are equal: there is nothing to change in `{path}`."
            ));
        }
        let found: Vec<_> = text.as_str().match_indices(&old).map(|(at, _)| at..at + old.len()).collect();
        match found.len() {
            0 => refuse(near_miss::explain(path, text.as_str(), &old)),
            count if count > 1 && self.replace_all != Some(true) => {
                let lines: Vec<_> = found
                    .iter()
                    .take(MAX_NAMED)
                    .map(|range| line_of(text.as_str(), range.start).to_string())
                    .collect();
                let more = if count > MAX_NAMED { " and more" } else { "" };
                refuse(format!(
                    "`old_string` occurs {count} times in `{path}`, at lines {}{more}. Nothing was changed. Add surrounding lines until it \
                     occurs once, or set `replace_all`.",
                    lines.join(", ")
                ))
            }
            _ => {
                let mut shift = 0_isize;
                let places = found.iter().map(|range| {
                    let start = range.start.saturating_add_signed(shift);
                    shift += new.len().cast_signed() - old.len().cast_signed();
                    start..start + new.len()
                });
                let places = places.collect();
                let changes: Vec<_> = found.into_iter().map(|range| (range, new.as_str())).collect();
                Ok(Replacement { text: text.replace_ranges(&changes), places })
            }
        }
    }
}

/// "2 replacements".
pub(crate) fn replacements(count: usize) -> String {
    counted(count, "replacement")
}

fn plain(text: &str) -> String {
    text.replace("\r\n", "\n")
}

/// The line number of an offset, starting at 1.
fn line_of(text: &str, at: usize) -> usize {
    text.get(..at).unwrap_or(text).matches('\n').count() + 1
}
