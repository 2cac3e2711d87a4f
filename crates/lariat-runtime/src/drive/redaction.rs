//! Secrets are taken out of what comes from the world before the machine sees it: what the machine does not know it can
//! neither record nor show nor send.
//!
//! Owns where: prompts, sections of the system prompt, notes, what tools say and leave, what hooks say, and what services say about failures.

use std::borrow::Cow;

use lariat_core::content::Content;
use lariat_core::message::AgentMessage;
use lariat_core::model::{PromptSection, ProviderError};
use lariat_core::run::{Filtered, Input, ModelSignal};
use lariat_core::tool::{ToolError, ToolResult};
use lariat_guard::redact::Redactor;

/// Cleans what happened.
pub(super) fn input(redactor: &Redactor, input: &mut Input) {
    match input {
        Input::ToolFinished { result, .. } => outcome(redactor, result),
        Input::Queued { message: said, .. } => message(redactor, said),
        Input::Told { answer, .. } => answer.texts_mut().for_each(|words| text(redactor, words)),
        Input::Halt { reason } | Input::Filtered(Filtered::Reject { reason }) => text(redactor, reason),
        Input::Filtered(Filtered::Pass { context, warnings }) => {
            context.iter_mut().chain(warnings).for_each(|words| text(redactor, words));
        }
        Input::Consulted { notes, .. } => notes.iter_mut().for_each(|note| text(redactor, &mut note.text)),
        Input::Compacted { compacted, .. } => {
            compacted.refused.iter_mut().for_each(|words| text(redactor, words));
        }
        Input::Model { signal: ModelSignal::Failed(error), .. } => failure(redactor, error),
        _ => {}
    }
}

/// Cleans a message of a user.
pub(crate) fn message(redactor: &Redactor, message: &mut AgentMessage) {
    match message {
        AgentMessage::Llm(message) => content(redactor, message.message.content_mut()),
        AgentMessage::Extension(message) => redactor.value(&mut message.data),
    }
}

/// Cleans a section of a system prompt.
pub(crate) fn section(redactor: &Redactor, section: &mut PromptSection) {
    if let Cow::Owned(clean) = redactor.text(&section.text) {
        section.text = clean.into();
    }
}

/// Cleans what came of a call.
pub(super) fn outcome(redactor: &Redactor, outcome: &mut Result<ToolResult, ToolError>) {
    match outcome {
        Ok(done) => result(redactor, done),
        Err(
            ToolError::Failed(why)
            | ToolError::NotFound(why)
            | ToolError::InvalidArgs(why)
            | ToolError::Interrupted(why),
        ) => text(redactor, why),
        Err(_) => {}
    }
}

/// Cleans what a tool gave.
pub(super) fn result(redactor: &Redactor, result: &mut ToolResult) {
    content(redactor, &mut result.content);
    redactor.value(&mut result.details);
}

/// Cleans one text.
pub(crate) fn text(redactor: &Redactor, text: &mut String) {
    if let Cow::Owned(clean) = redactor.text(text) {
        *text = clean;
    }
}

fn content(redactor: &Redactor, blocks: &mut [Content]) {
    for block in blocks {
        if let Content::Text { text: words } = block {
            text(redactor, words);
        }
    }
}

fn failure(redactor: &Redactor, error: &mut ProviderError) {
    if let Some(detail) = error.detail_mut() {
        text(redactor, &mut detail.message);
    }
}
