//! Redacts secrets in everything that comes from outside, before the state machine sees it. It can neither
//! record nor show nor send what it does not know.
//!
//! Covers prompts, sections of the system prompt, notes, tool results, answers of hooks, and provider errors.

use std::borrow::Cow;
use std::sync::Arc;

use crate::redact::Redactor;
use lariat_core::content::Content;
use lariat_core::event::AgentEvent;
use lariat_core::message::AgentMessage;
use lariat_core::model::{PromptSection, ProviderError};
use lariat_core::permission::PermissionDecision;
use lariat_core::run::{FilterOutcome, Input, ModelSignal};
use lariat_core::tool::{ToolError, ToolResult};

/// Redacts an input of the state machine.
pub(super) fn input(redactor: &Redactor, input: &mut Input) {
    match input {
        Input::ToolFinished { result, .. } => outcome(redactor, result),
        Input::Queued { message: queued, .. } => message(redactor, queued),
        Input::PermissionAnswered { decision: PermissionDecision::Answered { text: answer }, .. } => {
            text(redactor, answer);
        }
        Input::ToolAsked { request, .. } => {
            text(redactor, &mut request.summary);
            if let Some(question) = &mut request.question {
                let words = std::iter::once(&mut question.text).chain(&mut question.options);
                words.for_each(|words| text(redactor, words));
            }
        }
        Input::Note { event } => note(redactor, event),
        Input::HooksAnswered { answer, .. } => answer.texts_mut().for_each(|words| text(redactor, words)),
        Input::Halt { reason } | Input::Filtered(FilterOutcome::Reject { reason }) => text(redactor, reason),
        Input::Filtered(FilterOutcome::Pass { context, warnings }) => {
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

/// Redacts an event that a client's command causes, as far as it has text of programs or of the user.
pub(crate) fn note(redactor: &Redactor, event: &mut AgentEvent) {
    match event {
        AgentEvent::UserCommandStarted { command: words, .. }
        | AgentEvent::InputWarned { warning: words }
        | AgentEvent::HookMessage { message: words } => {
            text(redactor, words);
        }
        AgentEvent::FindingShared(finding) => {
            std::iter::once(&mut finding.text)
                .chain(&mut finding.files)
                .for_each(|words| text(redactor, words));
        }
        AgentEvent::MessagesImported { messages, .. } => {
            messages.iter_mut().for_each(|shared| message(redactor, Arc::make_mut(shared)));
        }
        _ => {}
    }
}

/// Redacts a user message.
pub(crate) fn message(redactor: &Redactor, message: &mut AgentMessage) {
    match message {
        AgentMessage::Llm(message) => content(redactor, message.message.content_mut()),
        AgentMessage::Extension(message) => redactor.value(&mut message.data),
    }
}

/// Redacts a section of a system prompt.
pub(crate) fn section(redactor: &Redactor, section: &mut PromptSection) {
    if let Cow::Owned(clean) = redactor.text(&section.text) {
        section.text = clean.into();
    }
}

/// Redacts the outcome of a tool call.
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

/// Redacts a tool result.
pub(super) fn result(redactor: &Redactor, result: &mut ToolResult) {
    content(redactor, &mut result.content);
    redactor.value(&mut result.details);
}

/// Redacts one text.
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
