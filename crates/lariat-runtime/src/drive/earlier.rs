//! Reads earlier messages and outputs of a session from its journal, for tools that recall them.
//!
//! Reads page by page and keeps only what was requested, however long the session is.

use std::sync::Arc;

use lariat_core::BoxFuture;
use lariat_core::context::Recall;
use lariat_core::store::{BlobHash, StoreError};
use lariat_core::tool::{Earlier, ToolError};

use super::journal::Journal;

/// Gives tools read access to a session's journal.
pub(crate) struct Journaled {
    journal: Arc<Journal>,
}

impl Journaled {
    pub(crate) const fn new(journal: Arc<Journal>) -> Self {
        Self { journal }
    }
}

/// Longer lines are split: output is often a single line, and `recall` returns whole lines.
const LINE_BYTES: usize = 2_000;

impl Journaled {
    /// Reads a stored output by its address.
    async fn tell_kept(&self, name: &str, take: &mut (dyn FnMut(&str) + Send)) -> Result<bool, ToolError> {
        let bytes = match self.journal.kept(&BlobHash(name.to_owned())).await {
            Ok(bytes) => bytes,
            Err(StoreError::NotFound(_)) => return Ok(false),
            Err(error) => return Err(ToolError::Failed(format!("cannot read the output: {error}"))),
        };
        for line in String::from_utf8_lossy(&bytes).lines() {
            let mut rest = line;
            loop {
                let (piece, more) = rest.split_at(rest.floor_char_boundary(LINE_BYTES));
                take(&format!("{piece}\n"));
                rest = more;
                if rest.is_empty() {
                    break;
                }
            }
        }
        Ok(true)
    }
}

impl Earlier for Journaled {
    fn text<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<String>, ToolError>> {
        Box::pin(async move {
            let mut text = String::new();
            let found = self.tell(name, &mut |piece| text.push_str(piece)).await?;
            Ok(found.then_some(text))
        })
    }

    fn tell<'a>(
        &'a self,
        name: &'a str,
        take: &'a mut (dyn FnMut(&str) + Send),
    ) -> BoxFuture<'a, Result<bool, ToolError>> {
        Box::pin(async move {
            if name.contains(':') {
                return self.tell_kept(name, take).await;
            }
            let Some(mut recall) = Recall::new(name) else { return Ok(false) };
            let read = self.journal.each(|event| {
                recall.take(&event.event);
                let piece = recall.drain();
                if !piece.is_empty() {
                    take(&piece);
                }
            });
            read.await
                .map_err(|error| ToolError::Failed(format!("cannot read the session's journal: {error}")))?;
            let rest = recall.text().map_err(ToolError::Failed)?;
            Ok(rest.map(|rest| take(&rest)).is_some())
        })
    }
}
