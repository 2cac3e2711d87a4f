//! Reports what is in the context window: sections and kinds of messages, their size, and how much of them is
//! cached.
//!
//! Tokens are estimates. The fill level and the number of cached tokens come from the usage that the provider
//! reported for the last request, if it did.

use lariat_core::context::{estimate_tokens, message_tokens};
use lariat_core::message::{AgentMessage, Message, Origin};
use lariat_core::model::{PromptSection, SectionStability};
use lariat_core::tool::ToolDefinition;
use lariat_core::transcript::Window;
use serde::Serialize;

/// What is in the context window of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ContextReport {
    /// Size of the model's context window in tokens, if known.
    pub window: Option<u64>,
    /// Tokens of the next request: the reported usage of the last one, plus an estimate for new messages.
    pub used: u64,
    /// How full the window is in percent, if known.
    pub used_percent: Option<u64>,
    /// Tokens that the last request read from or wrote to the provider's cache.
    pub cached: u64,
    /// The parts, in the order in which they are first sent.
    pub parts: Vec<ContextPart>,
}

/// A part of the context window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ContextPart {
    /// The kind of the part.
    pub kind: PartKind,
    /// The name of the section or of the tool.
    pub name: String,
    /// Number of items in the part.
    pub count: usize,
    /// Estimated tokens.
    pub tokens: u64,
    /// How many of these tokens were cached in the last request.
    pub cached: u64,
}

/// The kind of a part of the context window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum PartKind {
    /// Definitions of tools.
    Tools,
    /// A static section of the system prompt.
    Static,
    /// A semi-static section of the system prompt.
    SemiStatic,
    /// Messages of the user.
    Person,
    /// Notes of a section.
    Note,
    /// Replies of the model.
    Reply,
    /// Results of a tool.
    ToolResult,
    /// Summaries that replace compacted parts of the conversation.
    Summary,
}

impl ContextReport {
    /// Creates a report for a request.
    pub(crate) fn of(
        tools: &[ToolDefinition],
        sections: &[PromptSection],
        messages: &Window,
        window: Option<u64>,
    ) -> Self {
        let mut items: Vec<(PartKind, String, u64)> = Vec::new();
        for tool in tools {
            let schema = estimate_tokens(&tool.parameters.to_string());
            let tokens = schema + estimate_tokens(&tool.description) + estimate_tokens(&tool.name);
            items.push((PartKind::Tools, "tools".to_owned(), tokens));
        }
        for section in sections {
            let kind = if section.place == SectionStability::Static {
                PartKind::Static
            } else {
                PartKind::SemiStatic
            };
            items.push((kind, section.name.clone(), estimate_tokens(&section.text)));
        }
        let last = messages.iter_back().position(|message| usage(message).is_some());
        let last = last.map(|back| messages.len() - 1 - back);
        let head: usize = items.len();
        for message in messages.iter() {
            let (kind, name) = kind_and_name(message);
            items.push((kind, name, message_tokens(message)));
        }
        let sum = |items: &[(PartKind, String, u64)]| items.iter().map(|(_, _, tokens)| tokens).sum::<u64>();
        let sent = head + last.unwrap_or(0);
        let reported = last.and_then(|at| usage(messages.iter_from(at).next()?));
        let (before, after) = items.split_at_checked(sent).unwrap_or((&items, &[]));
        let estimated = sum(before);
        let used = reported.as_ref().map_or(estimated, |usage| usage.0) + sum(after);
        let cached = reported.as_ref().map_or(0, |usage| usage.1);
        // Scale the reported cached tokens to the estimates.
        let mut left = match reported {
            Some((context, cached)) if context > 0 => cached * estimated / context,
            _ => 0,
        };
        let mut parts: Vec<ContextPart> = Vec::new();
        for (kind, name, tokens) in items {
            let cached_part = tokens.min(left);
            left -= cached_part;
            let known = parts.iter_mut().find(|part| part.kind == kind && part.name == name);
            match known {
                Some(part) => {
                    part.count += 1;
                    part.tokens += tokens;
                    part.cached += cached_part;
                }
                None => parts.push(ContextPart { kind, name, count: 1, tokens, cached: cached_part }),
            }
        }
        let used_percent = window.filter(|window| *window > 0).map(|window| used * 100 / window);
        Self { window, used, used_percent, cached, parts }
    }
}

/// Returns the tokens of a reply's request and how many were cached; `None` if the provider did not report
/// them.
fn usage(message: &AgentMessage) -> Option<(u64, u64)> {
    let usage = &message.as_assistant()?.usage;
    (usage.context() > 0).then(|| (usage.context(), usage.cache_read + usage.cache_write))
}

fn kind_and_name(message: &AgentMessage) -> (PartKind, String) {
    match message.as_llm() {
        Some(Message::User(user)) => match &user.origin {
            Origin::Note { section } => (PartKind::Note, section.clone()),
            Origin::Summary => (PartKind::Summary, "summary".to_owned()),
            _ => (PartKind::Person, "person".to_owned()),
        },
        Some(Message::Assistant(_)) => (PartKind::Reply, "replies".to_owned()),
        Some(Message::ToolResult(result)) => (PartKind::ToolResult, result.tool_name.clone()),
        // Extension messages are never sent.
        None => (PartKind::Person, "application".to_owned()),
    }
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
