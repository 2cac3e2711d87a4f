//! Interprets the answers of hook handlers, one by one and combined.

use serde_json::Value;

use super::run::HandlerResult;
use super::{HookEvent, OnFailure};

/// Maximum characters of a text from a handler; the rest is cut off.
const MAX_TEXT_CHARS: usize = 10_000;

/// A handler's decision about a tool call, from weakest to strongest. The strongest of several wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HookDecision {
    /// No objection. Never overrides a permission rule that denies or asks.
    Allow,
    /// Ask the user.
    Ask,
    /// Not now: the run stops and can be resumed later.
    Defer,
    /// Deny the tool call.
    Deny,
}

/// The answer of one handler.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct HandlerAnswer {
    /// Its decision, if it made one. On events without a tool call, `Deny` means block.
    pub decision: Option<HookDecision>,
    /// The reason for the decision.
    pub reason: Option<String>,
    /// Replaces the arguments of the tool call.
    pub updated_input: Option<Value>,
    /// Replaces the output of the tool.
    pub updated_output: Option<Value>,
    /// Additional context for the model.
    pub context: Option<String>,
    /// A message for the user.
    pub message: Option<String>,
    /// Stops the whole run.
    pub stops: bool,
}

/// The combined answer of all handlers of an event.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Outcome {
    /// The strongest decision.
    pub decision: Option<HookDecision>,
    /// The reasons for it.
    pub reasons: Vec<String>,
    /// Replaces the arguments of the tool call; from the last handler that gave some.
    pub updated_input: Option<Value>,
    /// Replaces the output of the tool.
    pub updated_output: Option<Value>,
    /// Additional context for the model.
    pub context: Vec<String>,
    /// Messages for the user.
    pub messages: Vec<String>,
    /// Stops the whole run.
    pub stops: bool,
}

impl HandlerAnswer {
    /// Interprets the exit code and output of a handler.
    pub fn read(event: HookEvent, ended: &HandlerResult, on_failure: OnFailure) -> Self {
        let failed = |why: String| match (event.can_block(), on_failure) {
            (true, OnFailure::Block) => Self::blocks(why),
            _ => Self { message: Some(why), ..Self::default() },
        };
        let (code, output, errors) = match ended {
            HandlerResult::Exited { code, output, errors } => (*code, output.trim(), errors.trim()),
            HandlerResult::TimedOut => return failed("a hook timed out".to_owned()),
            HandlerResult::Failed(why) => return failed(format!("a hook failed: {}", truncate(why))),
            HandlerResult::Refused(why) => {
                return Self::of_refused_handler(event, &format!("a hook was not run: {}", truncate(why)));
            }
        };
        if code == 2 && event.can_block() {
            let reason = if errors.is_empty() { "a hook blocked it without giving a reason" } else { errors };
            return Self::blocks(truncate(reason));
        }
        if output.starts_with('{') {
            return match serde_json::from_str(output) {
                Ok(Value::Object(fields)) => Self::of(event, &Value::Object(fields)),
                _ => failed("a hook's output is not valid JSON".to_owned()),
            };
        }
        if code != 0 {
            let why =
                if errors.is_empty() { format!("a hook exited with code {code}") } else { truncate(errors) };
            return failed(why);
        }
        let context = (event.adds_context() && !output.is_empty()).then(|| truncate(output));
        Self { context, ..Self::default() }
    }

    pub(super) fn blocks(reason: String) -> Self {
        Self { decision: Some(HookDecision::Deny), reason: Some(reason), ..Self::default() }
    }

    /// The answer for a handler that may not run. What it would have blocked is unknown, so it blocks; on an event that
    /// cannot be blocked, the user and the model get the reason as a message.
    fn of_refused_handler(event: HookEvent, why: &str) -> Self {
        if event.can_block() {
            return Self::blocks(why.to_owned());
        }
        Self { message: Some(why.to_owned()), context: Some(why.to_owned()), ..Self::default() }
    }

    /// Combines the answers of one handler to several files of one tool call. It allows the call only if it allows every
    /// file.
    pub(super) fn combine(answers: Vec<Self>) -> Self {
        let every = !answers.is_empty() && answers.iter().all(|answer| answer.decision.is_some());
        let mut combine = Self::default();
        let decision = answers.iter().filter_map(|answer| answer.decision).max();
        combine.decision = decision.filter(|decision| *decision != HookDecision::Allow || every);
        let mut reasons: Vec<String> = Vec::new();
        for answer in answers {
            let counts = answer.stops || answer.decision == combine.decision;
            for reason in answer.reason.into_iter().filter(|_| counts) {
                if !reasons.contains(&reason) {
                    reasons.push(reason);
                }
            }
            combine.updated_input = answer.updated_input.or(combine.updated_input);
            combine.updated_output = answer.updated_output.or(combine.updated_output);
            join(&mut combine.context, answer.context);
            join(&mut combine.message, answer.message);
            combine.stops |= answer.stops;
        }
        combine.reason = (!reasons.is_empty()).then(|| reasons.join("; "));
        combine
    }

    /// Reads an answer in JSON. Fields that do not belong to the event are ignored.
    fn of(event: HookEvent, answer: &Value) -> Self {
        let text = |place: &Value, name: &str| place.get(name).and_then(Value::as_str).map(truncate);
        let special = answer.get("hookSpecificOutput").unwrap_or(&Value::Null);
        let stops = answer.get("continue").and_then(Value::as_bool) == Some(false);
        let mut read = Self {
            context: text(special, "additionalContext"),
            message: text(answer, "systemMessage"),
            stops,
            ..Self::default()
        };
        if answer.get("decision").and_then(Value::as_str) == Some("block") {
            read.decision = Some(HookDecision::Deny);
            read.reason = text(answer, "reason");
        }
        match event {
            HookEvent::PreToolUse => {
                let decision = special.get("permissionDecision").and_then(Value::as_str);
                if let Some(word) = decision {
                    read.decision = read.decision.max(Some(match word {
                        "allow" => HookDecision::Allow,
                        "ask" => HookDecision::Ask,
                        "defer" => HookDecision::Defer,
                        // An unknown word must not become an approval.
                        _ => HookDecision::Deny,
                    }));
                    read.reason = read.reason.or_else(|| text(special, "permissionDecisionReason"));
                }
                read.updated_input = special.get("updatedInput").filter(|input| input.is_object()).cloned();
            }
            HookEvent::PermissionRequest => {
                let decision = special.get("decision").unwrap_or(&Value::Null);
                read.decision = match decision.get("behavior").and_then(Value::as_str) {
                    Some("allow") => Some(HookDecision::Allow),
                    Some(_) => Some(HookDecision::Deny),
                    None => read.decision,
                };
                read.reason = read.reason.or_else(|| text(decision, "message"));
                read.updated_input = decision.get("updatedInput").filter(|input| input.is_object()).cloned();
            }
            HookEvent::PostToolUse => read.updated_output = special.get("updatedToolOutput").cloned(),
            _ => {}
        }
        if stops {
            read.reason = read.reason.or_else(|| text(answer, "stopReason"));
        }
        read
    }
}

impl Outcome {
    /// Combines answers: the strongest decision wins and brings its reasons.
    pub fn of(answers: impl IntoIterator<Item = HandlerAnswer>) -> Self {
        let answers: Vec<HandlerAnswer> = answers.into_iter().collect();
        let decision = answers.iter().filter_map(|answer| answer.decision).max();
        let mut outcome = Self { decision, ..Self::default() };
        for answer in answers {
            if answer.decision == decision || answer.stops {
                outcome.reasons.extend(answer.reason);
            }
            outcome.updated_input = answer.updated_input.or(outcome.updated_input);
            outcome.updated_output = answer.updated_output.or(outcome.updated_output);
            outcome.context.extend(answer.context);
            outcome.messages.extend(answer.message);
            outcome.stops |= answer.stops;
        }
        outcome
    }

    /// The reasons as one text, separated by `; `.
    pub fn reason(&self) -> Option<String> {
        (!self.reasons.is_empty()).then(|| self.reasons.join("; "))
    }
}

fn truncate(text: &str) -> String {
    match text.char_indices().nth(MAX_TEXT_CHARS) {
        Some((end, _)) => format!("{} [cut]", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Appends a text unless `all` already contains it.
fn join(all: &mut Option<String>, more: Option<String>) {
    let Some(more) = more else { return };
    match all {
        Some(text) if text.contains(&more) => {}
        Some(text) => {
            text.push('\n');
            text.push_str(&more);
        }
        None => *all = Some(more),
    }
}
