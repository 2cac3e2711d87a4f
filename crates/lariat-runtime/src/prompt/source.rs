//! Sources of sections for the system prompt, and their assembly.
//!
//! Each source is asked once, its sections are limited in size, and of two sections with the same name the
//! later one wins. A source that panics contributes nothing.

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use lariat_core::BoxFuture;
use lariat_core::model::{PromptSection, SectionStability};
use lariat_core::tool::ToolDefinition;

use super::Section;

/// Provides sections of the system prompt: from files, a repository, earlier sessions.
pub trait SectionSource: Send + Sync {
    /// Returns the current sections. Called before the first request of a session, and once whenever a
    /// process resumes it; the run waits for it. Dynamic sections are ignored: they belong in notes.
    fn sections(&self, query: SectionQuery) -> BoxFuture<'_, Vec<Section>>;
}

/// The input of a section source.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct SectionQuery {
    /// The first prompt; empty if there is none yet.
    pub prompt: String,
    /// The tools of the agent.
    pub tools: Arc<[ToolDefinition]>,
    /// The sections already in the system prompt, when a process resumes a session.
    pub sent: Vec<PromptSection>,
}

impl SectionQuery {
    /// Creates a query for a new session.
    pub const fn new(prompt: String, tools: Arc<[ToolDefinition]>) -> Self {
        Self { prompt, tools, sent: Vec::new() }
    }

    /// Adds the sections already sent, for a resumed session.
    #[must_use]
    pub fn with_sent_sections(mut self, sent: Vec<PromptSection>) -> Self {
        self.sent = sent;
        self
    }

    /// Returns the section with this name that is already in the system prompt.
    pub fn sent_section(&self, name: &str) -> Option<&PromptSection> {
        self.sent.iter().find(|section| section.name == name)
    }
}

/// All sources of an agent's system prompt, in order.
#[derive(Clone, Default)]
pub struct Sections(Vec<Arc<dyn SectionSource>>);

impl Sections {
    /// Adds a source.
    pub fn add(&mut self, source: impl SectionSource + 'static) {
        self.0.push(Arc::new(source));
    }

    /// Appends the sources of another list.
    pub(crate) fn add_all(&mut self, more: Self) {
        self.0.extend(more.0);
    }

    /// Whether there are no sources.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Assembles the current sections of the system prompt: static ones before semi-static ones.
    pub async fn assemble(&self, query: SectionQuery) -> Vec<PromptSection> {
        let mut sections: Vec<PromptSection> = Vec::new();
        for source in &self.0 {
            let asking = AssertUnwindSafe(async { source.sections(query.clone()).await });
            for section in asking.catch_unwind().await.unwrap_or_default() {
                let once = query.sent_section(&section.name).filter(|_| section.once).cloned();
                let section = once.unwrap_or_else(|| section.to_prompt_section());
                sections.retain(|known| known.name != section.name);
                if section.place != SectionStability::Dynamic && !section.text.trim().is_empty() {
                    sections.push(section);
                }
            }
        }
        sections.sort_by_key(|section| section.place);
        sections
    }
}

impl fmt::Debug for Sections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sections").field("sources", &self.0.len()).finish()
    }
}

impl<S: SectionSource + ?Sized> SectionSource for Arc<S> {
    fn sections(&self, query: SectionQuery) -> BoxFuture<'_, Vec<Section>> {
        (**self).sections(query)
    }
}

/// A section that is the same for every session.
impl SectionSource for Section {
    fn sections(&self, _query: SectionQuery) -> BoxFuture<'_, Vec<Section>> {
        Box::pin(std::future::ready(vec![self.clone()]))
    }
}
