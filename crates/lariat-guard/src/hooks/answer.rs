//! What the answers of handlers mean, one by one and together.

use serde_json::Value;

use super::run::Ended;
use super::{HookEvent, OnFailure};

/// Texts of handlers are cut to this many characters.
const LONGEST: usize = 10_000;

/// What a handler says about a call, from weak to strong: the strongest of several counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Decision {
    /// It has no objection. Beats no rule that denies or asks.
    Allow,
    /// Ask a person.
    Ask,
    /// Not now: the run stops and can go on later.
    Defer,
    /// No.
    Deny,
}

/// What one handler answered.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Answer {
    /// Its decision, if it made one. On events without a call, `Deny` means block.
    pub decision: Option<Decision>,
    /// Why.
    pub reason: Option<String>,
    /// What the call's arguments are replaced by.
    pub updated_input: Option<Value>,
    /// What the tool's output is replaced by.
    pub updated_output: Option<Value>,
    /// What the model is told besides.
    pub context: Option<String>,
    /// What the person is told.
    pub message: Option<String>,
    /// The whole run stops.
    pub stops: bool,
}

/// What all handlers of an event answered together.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Outcome {
    /// The strongest decision.
    pub decision: Option<Decision>,
    /// The reasons for it.
    pub reasons: Vec<String>,
    /// Arguments that replace the call's; the last handler that gave some.
    pub updated_input: Option<Value>,
    /// Output that replaces the tool's.
    pub updated_output: Option<Value>,
    /// For the model.
    pub context: Vec<String>,
    /// For the person.
    pub messages: Vec<String>,
    /// The whole run stops.
    pub stops: bool,
}

impl Answer {
    /// Reads what a handler left behind.
    pub fn read(event: HookEvent, ended: &Ended, on_failure: OnFailure) -> Self {
        let failed = |why: String| match (event.can_block(), on_failure) {
            (true, OnFailure::Block) => Self::blocks(why),
            _ => Self { message: Some(why), ..Self::default() },
        };
        let (code, output, errors) = match ended {
            Ended::Exited { code, output, errors } => (*code, output.trim(), errors.trim()),
            Ended::TimedOut => return failed("a hook took too long".to_owned()),
            Ended::Failed(why) => return failed(format!("a hook failed: {}", cut(why))),
            Ended::Refused(why) => return Self::refused(event, &format!("a hook was not run: {}", cut(why))),
        };
        if code == 2 && event.can_block() {
            let reason = if errors.is_empty() { "a hook blocked it" } else { errors };
            return Self::blocks(cut(reason));
        }
        if output.starts_with('{') {
            return match serde_json::from_str(output) {
                Ok(Value::Object(fields)) => Self::of(event, &Value::Object(fields)),
                _ => failed("a hook's answer is not JSON".to_owned()),
            };
        }
        if code != 0 {
            let why = if errors.is_empty() { format!("a hook ended with code {code}") } else { cut(errors) };
            return failed(why);
        }
        let context = (event.adds_context() && !output.is_empty()).then(|| cut(output));
        Self { context, ..Self::default() }
    }

    pub(super) fn blocks(reason: String) -> Self {
        Self { decision: Some(Decision::Deny), reason: Some(reason), ..Self::default() }
    }

    /// What it means that a handler may not run: nobody knows what it would have blocked. Where nothing can be, it is told.
    fn refused(event: HookEvent, why: &str) -> Self {
        if event.can_block() {
            return Self::blocks(why.to_owned());
        }
        Self { message: Some(why.to_owned()), context: Some(why.to_owned()), ..Self::default() }
    }

    /// What one handler means that was told of several files of one call: it allows the call when it allows every file.
    pub(super) fn together(answers: Vec<Self>) -> Self {
        let every = !answers.is_empty() && answers.iter().all(|answer| answer.decision.is_some());
        let mut together = Self::default();
        let decision = answers.iter().filter_map(|answer| answer.decision).max();
        together.decision = decision.filter(|decision| *decision != Decision::Allow || every);
        let mut reasons: Vec<String> = Vec::new();
        for answer in answers {
            let counts = answer.stops || answer.decision == together.decision;
            for reason in answer.reason.into_iter().filter(|_| counts) {
                if !reasons.contains(&reason) {
                    reasons.push(reason);
                }
            }
            together.updated_input = answer.updated_input.or(together.updated_input);
            together.updated_output = answer.updated_output.or(together.updated_output);
            join(&mut together.context, answer.context);
            join(&mut together.message, answer.message);
            together.stops |= answer.stops;
        }
        together.reason = (!reasons.is_empty()).then(|| reasons.join("; "));
        together
    }

    /// Reads an answer in JSON. What does not belong to the event is passed over.
    fn of(event: HookEvent, answer: &Value) -> Self {
        let text = |place: &Value, name: &str| place.get(name).and_then(Value::as_str).map(cut);
        let special = answer.get("hookSpecificOutput").unwrap_or(&Value::Null);
        let stops = answer.get("continue").and_then(Value::as_bool) == Some(false);
        let mut read = Self {
            context: text(special, "additionalContext"),
            message: text(answer, "systemMessage"),
            stops,
            ..Self::default()
        };
        if answer.get("decision").and_then(Value::as_str) == Some("block") {
            read.decision = Some(Decision::Deny);
            read.reason = text(answer, "reason");
        }
        match event {
            HookEvent::PreToolUse => {
                let decision = special.get("permissionDecision").and_then(Value::as_str);
                if let Some(word) = decision {
                    read.decision = read.decision.max(Some(match word {
                        "allow" => Decision::Allow,
                        "ask" => Decision::Ask,
                        "defer" => Decision::Defer,
                        // A word that is not known is not taken for a yes.
                        _ => Decision::Deny,
                    }));
                    read.reason = read.reason.or_else(|| text(special, "permissionDecisionReason"));
                }
                read.updated_input = special.get("updatedInput").filter(|input| input.is_object()).cloned();
            }
            HookEvent::PermissionRequest => {
                let decision = special.get("decision").unwrap_or(&Value::Null);
                read.decision = match decision.get("behavior").and_then(Value::as_str) {
                    Some("allow") => Some(Decision::Allow),
                    Some(_) => Some(Decision::Deny),
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
    /// What answers mean together: the strongest decision, with its reasons.
    pub fn of(answers: impl IntoIterator<Item = Answer>) -> Self {
        let answers: Vec<Answer> = answers.into_iter().collect();
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

    /// The reasons in one text.
    pub fn reason(&self) -> Option<String> {
        (!self.reasons.is_empty()).then(|| self.reasons.join("; "))
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{} [cut]", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Adds a text that is not there already.
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
