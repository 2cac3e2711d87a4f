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
            let Some(mut recall) = Recall::new(name) else { return Ok(None) };
            let read = self.journal.each(|event| recall.take(&event.event)).await;
            read.map_err(|error| {
                ToolError::Failed(format!("The session's journal cannot be read: {error}."))
            })?;
            recall.text().map_err(ToolError::Failed)
        })
    }
}
