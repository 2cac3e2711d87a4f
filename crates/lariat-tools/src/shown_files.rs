//! Remembers what a model was shown of files, so that requesting the same content again costs only one line.
//!
//! For each session, or branch of a session, and path, it keeps the parts that were shown and the file's state at that time. Whether the agent
//! knows a file well enough to overwrite it is a different question, which the host's `FileMemory` answers: an edit
//! records content there that the model was never shown.
//!
//! Invariant: a part is treated as shown only while the content is the same. The stamp proves that if the last change
//! was old enough that a later one would have a different timestamp; otherwise the hash of the content does.
//!
//! Bounded: when it is full, it is cleared. The only cost is that files are shown again.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lariat_core::id::SessionId;
use lariat_core::tool::{ToolContext, ToolResult};
use lariat_host::files::{FileVersion, Stamp};
use serde_json::json;

/// Maximum number of files of all sessions to remember.
const MAX_FILES: usize = 20_000;
/// Maximum number of parts of one file to remember.
const MAX_PARTS: usize = 64;

/// The unit in which a part of a file is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShownUnit {
    Line,
    #[cfg_attr(not(feature = "pdf"), expect(dead_code, reason = "only PDFs have pages"))]
    Page,
    /// The whole image, as one unit.
    Image,
}

/// A part of a file, from `first` to `last`, starting at 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ShownPart {
    pub(crate) unit: ShownUnit,
    pub(crate) first: u64,
    pub(crate) last: u64,
}

/// What was shown of files. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct ShownFiles {
    files: Arc<Mutex<HashMap<(SessionId, String), ShownFile>>>,
    /// Whether nothing is remembered.
    forgets: bool,
}

#[derive(Debug)]
struct ShownFile {
    known: FileVersion,
    /// Whether the stamp alone proves that nothing changed.
    settled: bool,
    /// Number of units of the whole file, if its end was seen.
    total: Option<u64>,
    parts: VecDeque<(ShownPart, String)>,
}

impl ShownFile {
    /// Returns the part that contains the requested one, and the tool call that showed it.
    fn covers(&self, requested: ShownPart) -> Option<(ShownPart, String)> {
        let last = self.total.map_or(requested.last, |total| requested.last.min(total));
        let fits = |part: &ShownPart| {
            part.unit == requested.unit && part.first <= requested.first && last <= part.last
        };
        let found = self.parts.iter().find(|(part, _)| requested.first <= last && fits(part));
        found.map(|(part, call)| (ShownPart { first: requested.first, last, ..*part }, call.clone()))
    }
}

impl ShownFiles {
    /// Remembers nothing, so that every request shows the content.
    pub(crate) fn forgetful() -> Self {
        Self { forgets: true, ..Self::default() }
    }

    /// Returns the result for a file with this stamp, if the requested part was shown with the same stamp.
    pub(crate) fn by_stamp(
        &self,
        context: &ToolContext,
        path: &str,
        stamp: &Stamp,
        requested: ShownPart,
    ) -> Option<(ToolResult, FileVersion)> {
        let files = self.lock();
        let shown = files.get(&key(context, path))?;
        let covered = (shown.settled && shown.known.stamp == *stamp).then(|| shown.covers(requested))??;
        Some((unchanged(path, &covered, stamp.size()), shown.known.clone()))
    }

    /// Returns the result for a file with this content, if the requested part was shown with the same content.
    pub(crate) fn by_content(
        &self,
        context: &ToolContext,
        path: &str,
        known: &FileVersion,
        requested: ShownPart,
    ) -> Option<ToolResult> {
        let mut files = self.lock();
        let shown = files.get_mut(&key(context, path))?;
        if known.hash.is_none() || shown.known.hash != known.hash {
            return None;
        }
        let covered = shown.covers(requested)?;
        shown.settled = known.stamp.is_settled();
        shown.known = known.clone();
        Some(unchanged(path, &covered, known.stamp.size()))
    }

    /// Remembers a part that was shown. `total` is the number of units of the file, if known.
    pub(crate) fn remember(
        &self,
        context: &ToolContext,
        path: &str,
        known: &FileVersion,
        part: ShownPart,
        total: Option<u64>,
    ) {
        if self.forgets {
            return;
        }
        let mut files = self.lock();
        if files.len() >= MAX_FILES {
            files.clear();
        }
        let call = context.tool_call_id.to_string();
        let settled = known.stamp.is_settled();
        let shown = files.entry(key(context, path)).or_insert_with(|| ShownFile {
            known: known.clone(),
            settled,
            total,
            parts: VecDeque::new(),
        });
        let same = match (shown.known.hash, known.hash) {
            (Some(before), Some(now)) => before == now,
            _ => shown.settled && shown.known.stamp == known.stamp,
        };
        if !same {
            shown.parts.clear();
            shown.total = None;
        }
        (shown.settled, shown.known) = (settled, known.clone());
        shown.total = total.or(shown.total);
        shown.parts.push_front((part, call));
        shown.parts.truncate(MAX_PARTS);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(SessionId, String), ShownFile>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key(context: &ToolContext, path: &str) -> (SessionId, String) {
    (context.conversation_id(), path.to_owned())
}

fn unchanged(path: &str, (part, call): &(ShownPart, String), size: u64) -> ToolResult {
    let (first, last) = (part.first, part.last);
    let what = match part.unit {
        ShownUnit::Image => "it was".to_owned(),
        ShownUnit::Line if first == last => format!("line {first} was"),
        ShownUnit::Line => format!("lines {first}-{last} were"),
        ShownUnit::Page if first == last => format!("page {first} was"),
        ShownUnit::Page => format!("pages {first}-{last} were"),
    };
    let text = format!(
        "`{path}` has not changed since {what} shown by the tool call `{call}`. If you can no longer see that, read it with `again` set.\n"
    );
    ToolResult::text(text).with_details(json!({ "path": path, "bytes": size, "unchanged_since": call }))
}

#[cfg(test)]
#[path = "shown_files_tests.rs"]
mod tests;
