//! What was said and done earlier in a session, read from its journal for tools that recall it.
//!
//! Reads page by page: what is not asked for is not kept, however long the session is.

use std::sync::Arc;

use lariat_core::BoxFuture;
use lariat_core::context::Recall;
use lariat_core::tool::{Earlier, ToolError};

use super::journal::Journal;

/// A session's journal, as tools see it.
pub(crate) struct Journaled {
    journal: Arc<Journal>,
}

impl Journaled {
    pub(crate) const fn new(journal: Arc<Journal>) -> Self {
        Self { journal }
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
            let Some(mut recall) = Recall::new(name) else { return Ok(false) };
            let read = self.journal.each(|event| {
                recall.take(&event.event);
                let piece = recall.drain();
                if !piece.is_empty() {
                    take(&piece);
                }
            });
            read.await.map_err(|error| {
                ToolError::Failed(format!("The session's journal cannot be read: {error}."))
            })?;
            let rest = recall.text().map_err(ToolError::Failed)?;
            Ok(rest.map(|rest| take(&rest)).is_some())
        })
    }
}
