//! Who knows sections of the system prompt, and how they become one.
//!
//! Owns the assembly: every source is asked once, what it gives is bounded, and of two sections of one name the later
//! counts. A source that panics has nothing to say.

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use lariat_core::BoxFuture;
use lariat_core::model::{Place, PromptSection};
use lariat_core::tool::ToolDefinition;

use super::Section;

/// Knows sections of the system prompt: of files, of a repository, of earlier sessions.
pub trait SectionSource: Send + Sync {
    /// The sections as they are now. Asked before the first request of a session, and once whenever a process goes on
    /// with one; a run waits for it. Dynamic sections are left out: they belong into notes.
    fn sections(&self, query: SectionQuery) -> BoxFuture<'_, Vec<Section>>;
}

/// What a source has to work with.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct SectionQuery {
    /// What was said first; empty when nothing was.
    pub prompt: String,
    /// The tools of the agent.
    pub tools: Arc<[ToolDefinition]>,
    /// What the system prompt says already, when a process goes on with a session.
    pub sent: Vec<PromptSection>,
}

impl SectionQuery {
    /// A query.
    pub const fn new(prompt: String, tools: Arc<[ToolDefinition]>) -> Self {
        Self { prompt, tools, sent: Vec::new() }
    }

    /// The same for a session that goes on.
    #[must_use]
    pub fn with_sent(mut self, sent: Vec<PromptSection>) -> Self {
        self.sent = sent;
        self
    }

    /// What the system prompt says already about a section.
    pub fn sent_as(&self, name: &str) -> Option<&PromptSection> {
        self.sent.iter().find(|section| section.name == name)
    }
}

/// Every source of an agent's system prompt, in order.
#[derive(Clone, Default)]
pub struct Sections(Vec<Arc<dyn SectionSource>>);

impl Sections {
    /// Adds a source.
    pub fn add(&mut self, source: impl SectionSource + 'static) {
        self.0.push(Arc::new(source));
    }

    /// Adds the sources of another, after its own.
    pub(crate) fn add_all(&mut self, more: Self) {
        self.0.extend(more.0);
    }

    /// Whether nobody knows anything.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The sections of the system prompt as they are now: static ones before semi-static ones.
    pub async fn assemble(&self, query: SectionQuery) -> Vec<PromptSection> {
        let mut sections: Vec<PromptSection> = Vec::new();
        for source in &self.0 {
            let asking = AssertUnwindSafe(async { source.sections(query.clone()).await });
            for section in asking.catch_unwind().await.unwrap_or_default() {
                let once = query.sent_as(&section.name).filter(|_| section.once).cloned();
                let section = once.unwrap_or_else(|| section.sent());
                sections.retain(|known| known.name != section.name);
                if section.place != Place::Dynamic && !section.text.trim().is_empty() {
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
