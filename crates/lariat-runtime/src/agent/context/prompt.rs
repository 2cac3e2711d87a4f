//! Assembles the system prompt of a session once and journals it; it stays the same from then on.

use std::sync::Arc;

use lariat_core::content::joined_text;
use lariat_core::event::AgentEvent;
use lariat_core::message::AgentMessage;
use lariat_core::model::{PromptSection, SectionStability, SystemPrompt};
use lariat_core::run::RunConfig;
use lariat_core::tool::Access;

use super::AgentContext;
use crate::agent::AgentError;
use crate::agent::loop_config::AgentLoopConfig;
use crate::drive::redaction;
use crate::prompt::{PromptSlot, SectionQuery, SessionPrompt};

impl AgentContext {
    /// The slot with the session's own system prompt, once it is assembled.
    pub(in crate::agent) const fn prompt(&self) -> &PromptSlot {
        &self.prompt
    }

    /// Assembles the system prompt of a new session, to be journaled with its first loop. A journaled prompt
    /// stays as it is, and a prompt that could not be journaled is the same next time.
    pub(in crate::agent) async fn assemble_prompt(
        &mut self,
        config: &AgentLoopConfig,
        prompts: &[AgentMessage],
    ) {
        if self.memory.prompt().is_some() {
            return self.load_prompt(config).await;
        }
        let known = self.prompt.get().map(|prompt| prompt.sections().to_vec());
        let sections = match known {
            Some(sections) => sections,
            None => {
                let words =
                    prompts.iter().filter_map(AgentMessage::as_user).map(|user| joined_text(&user.content));
                let query = query(config, words.collect::<Vec<_>>().join("\n"));
                let Some(sections) = sections(config, query).await else { return };
                self.set_prompt(config, sections.clone().into(), sections.clone());
                sections
            }
        };
        self.record_first(config, AgentEvent::PromptAssembled { sections: sections.into() });
    }

    /// Takes the system prompt of a resumed session from its journal, and assembles the current one to
    /// compare.
    pub(in crate::agent) async fn load_prompt(&mut self, config: &AgentLoopConfig) {
        let Some(sent) = self.memory.prompt().filter(|_| self.prompt.get().is_none()).cloned() else {
            return;
        };
        let first = self.transcript.window();
        let first =
            first.iter().filter_map(|message| message.as_user()).find(|user| user.origin.is_from_user());
        let words = first.map_or_else(String::new, |user| joined_text(&user.content));
        let query = query(config, words).with_sent_sections(sent.to_vec());
        let current = sections(config, query).await.unwrap_or_else(|| sent.to_vec());
        self.set_prompt(config, sent, current);
    }

    fn set_prompt(&self, config: &AgentLoopConfig, sent: Arc<[PromptSection]>, current: Vec<PromptSection>) {
        let mut run = Arc::clone(&config.run);
        if run.context.is_some() {
            let text = SystemPrompt::of_sections(&sent);
            Arc::make_mut(&mut run).count_overhead(text.as_str(), config.ports.tools.definitions());
        }
        let _ = self.prompt.set(Box::new(SessionPrompt::new(sent, current, run)));
    }

    /// Returns the configuration for runs of this session, which includes how much of the window the system
    /// prompt takes.
    pub(in crate::agent) fn run_config(&self, config: &AgentLoopConfig) -> Arc<RunConfig> {
        Arc::clone(self.prompt.get().map_or(&config.run, |prompt| prompt.run_config()))
    }

    /// Returns the sections of the session's system prompt, or those it would have if it started now.
    pub(in crate::agent) async fn report_sections(
        &mut self,
        config: &AgentLoopConfig,
    ) -> Result<Vec<PromptSection>, AgentError> {
        if self.stale && self.unrecorded.is_empty() {
            self.read().await?;
        }
        self.load_prompt(config).await;
        if let Some(prompt) = self.prompt.get() {
            return Ok(prompt.sections().to_vec());
        }
        let plain = &config.ports.request.system_prompt;
        let plain = || vec![PromptSection::new("system", SectionStability::Static, plain.as_str())];
        Ok(sections(config, query(config, String::new())).await.unwrap_or_else(plain))
    }
}

/// Assembles the current sections of the system prompt; `None` without section sources.
async fn sections(config: &AgentLoopConfig, query: SectionQuery) -> Option<Vec<PromptSection>> {
    let ports = &config.ports;
    let mut sections = ports.sections.as_ref()?.assemble(query).await;
    sections.iter_mut().for_each(|section| redaction::section(&ports.redactor, section));
    Some(sections)
}

fn query(config: &AgentLoopConfig, prompt: String) -> SectionQuery {
    SectionQuery::new(prompt, Arc::clone(config.ports.tools.offered_definitions(Access::Full)))
}
