//! Where a text to be replaced is in a file, or why it is not clear.
//!
//! Owns exact matching and the words about no match or too many. What the text was probably meant to be is in
//! `near_miss`.

mod near_miss;

use std::ops::Range;

use lariat_core::tool::ToolError;
use lariat_host::files::text::Text;
use serde::Deserialize;

use crate::arguments::{Field, Kind};
use crate::document::counted;

/// One replacement, as a model asks for it.
#[derive(Deserialize)]
pub(crate) struct Edit {
    pub(crate) old_string: String,
    pub(crate) new_string: String,
    replace_all: Option<bool>,
}

pub(crate) const OLD: Field = Field::required(
    "old_string",
    Kind::Text,
    "The text to replace, exactly as in the file (without line numbers), with enough lines around it to be there only once.",
);
pub(crate) const NEW: Field =
    Field::required("new_string", Kind::Text, "What comes in its place. May be empty.");
pub(crate) const ALL: Field = Field::optional(
    "replace_all",
    Kind::Switch,
    "Replace every occurrence. Otherwise there must be exactly one.",
);

/// A text after a replacement, and where the new parts are in it.
#[derive(Debug)]
pub(crate) struct Replaced {
    pub(crate) text: Text,
    pub(crate) places: Vec<Range<usize>>,
}

/// Lines that are named in a message.
const MOST_NAMED: usize = 10;

impl Edit {
    /// Does it to a text.
    pub(crate) fn apply(&self, path: &str, text: &Text) -> Result<Replaced, ToolError> {
        let refuse = |words: String| Err(ToolError::Failed(words));
        let (old, new) = (plain(&self.old_string), plain(&self.new_string));
        if old.is_empty() {
            return refuse(format!(
                "`old_string` is empty. Give the text to replace in `{path}`, or write the whole file with `write_file`."
            ));
        }
        if old == new {
            return refuse(format!(
                "`old_string` and `new_string` are equal: nothing to change in `{path}`."
            ));
        }
        let found: Vec<_> = text.as_str().match_indices(&old).map(|(at, _)| at..at + old.len()).collect();
        match found.len() {
            0 => refuse(near_miss::explain(path, text.as_str(), &old)),
            count if count > 1 && self.replace_all != Some(true) => {
                let lines: Vec<_> = found
                    .iter()
                    .take(MOST_NAMED)
                    .map(|range| line_of(text.as_str(), range.start).to_string())
                    .collect();
                let more = if count > MOST_NAMED { " and further down" } else { "" };
                refuse(format!(
                    "`old_string` is in `{path}` {count} times, at lines {}{more}. Nothing was changed. Add lines around it until it is \
                     there once, or set `replace_all`.",
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
                Ok(Replaced { text: text.replaced(&changes), places })
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

/// The line of a place, counted from 1.
fn line_of(text: &str, at: usize) -> usize {
    text.get(..at).unwrap_or(text).matches('\n').count() + 1
}
