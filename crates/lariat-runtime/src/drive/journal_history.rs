//! Reads earlier messages and outputs of a session from its journal, for tools that recall them.
//!
//! Reads page by page and keeps only what was requested, however long the session is.

use std::sync::Arc;

use lariat_core::BoxFuture;
use lariat_core::context::Recall;
use lariat_core::store::{BlobHash, StoreError};
use lariat_core::tool::{EarlierMessages, ToolError};

use super::journal::Journal;

/// Gives tools read access to a session's journal.
pub(crate) struct JournalHistory {
    journal: Arc<Journal>,
}

impl JournalHistory {
    pub(crate) const fn new(journal: Arc<Journal>) -> Self {
        Self { journal }
    }
}

/// Longer lines are split: output is often a single line, and `recall` returns whole lines.
const LINE_BYTES: usize = 2_000;

impl JournalHistory {
    /// Reads a stored output by its address.
    async fn read_blob_lines(
        &self,
        name: &str,
        take: &mut (dyn FnMut(&str) + Send),
    ) -> Result<bool, ToolError> {
        let bytes = match self.journal.read_blob(&BlobHash(name.to_owned())).await {
            Ok(bytes) => bytes,
            Err(StoreError::NotFound(_)) => return Ok(false),
            Err(error) => return Err(ToolError::Failed(format!("cannot read the output: {error}"))),
        };
        for line in String::from_utf8_lossy(&bytes).lines() {
            let mut rest = line;
            loop {
                let (chunk, more) = rest.split_at(rest.floor_char_boundary(LINE_BYTES));
                take(&format!("{chunk}\n"));
                rest = more;
                if rest.is_empty() {
                    break;
                }
            }
        }
        Ok(true)
    }
}

impl EarlierMessages for JournalHistory {
    fn text<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<String>, ToolError>> {
        Box::pin(async move {
            let mut text = String::new();
            let found = self.stream_text(name, &mut |chunk| text.push_str(chunk)).await?;
            Ok(found.then_some(text))
        })
    }

    fn stream_text<'a>(
        &'a self,
        name: &'a str,
        take: &'a mut (dyn FnMut(&str) + Send),
    ) -> BoxFuture<'a, Result<bool, ToolError>> {
        Box::pin(async move {
            if name.contains(':') {
                return self.read_blob_lines(name, take).await;
            }
            let Some(mut recall) = Recall::new(name) else { return Ok(false) };
            let read = self.journal.for_each_event(|event| {
                recall.take(&event.event);
                let chunk = recall.drain();
                if !chunk.is_empty() {
                    take(&chunk);
                }
            });
            read.await
                .map_err(|error| ToolError::Failed(format!("cannot read the session's journal: {error}")))?;
            let rest = recall.text().map_err(ToolError::Failed)?;
            Ok(rest.map(|rest| take(&rest)).is_some())
        })
    }
}
