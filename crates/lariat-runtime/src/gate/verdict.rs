//! What hooks and rules mean together.
//!
//! Owns the table: a hook's deny, defer and ask beat an allow of the rules; its allow beats no rule that denies or asks, and
//! stands in for the person only where nothing but the lack of a rule would have asked.

use lariat_core::permission::{PermissionRequest, PolicyQuery, Verdict};
use lariat_guard::hooks::{Decision as Hook, Outcome};
use lariat_guard::{Cause, Decision, Judgement, Mode, display};
use serde_json::Value;

/// What hooks and rules say together.
pub(super) enum Weighed {
    /// Run it.
    Run,
    /// Ask a person, for this reason.
    Ask(String),
    /// Do not run it.
    Deny(String),
}

/// What plan mode does with a call that would change something: it is queued. What a rule denies is denied.
pub(super) fn planned(query: &PolicyQuery<'_>, judgement: &Judgement) -> Option<Verdict> {
    if judgement.verdict != Decision::Deny {
        return None;
    }
    let only_plan = judgement.because.iter().all(|reason| reason.cause == Cause::Mode(Mode::Plan));
    Some(if only_plan {
        Verdict::Queue { summary: summary(query, &query.call.arguments) }
    } else {
        Verdict::Deny(judgement.why())
    })
}

/// What hooks refuse by themselves.
pub(super) fn refused(hooked: &Outcome) -> Option<Verdict> {
    let reason = || hooked.reason().unwrap_or_else(|| "a hook refused it".to_owned());
    match hooked.decision {
        Some(Hook::Deny) => Some(Verdict::Deny(reason())),
        Some(Hook::Defer) => Some(Verdict::Deny(format!("Not now: {}", reason()))),
        _ if hooked.stops => Some(Verdict::Deny(reason())),
        _ => None,
    }
}

/// Weighs hooks that did not refuse against the rules.
pub(super) fn weigh(hooked: &Outcome, judgement: &Judgement) -> Weighed {
    match (judgement.verdict, hooked.decision) {
        (Decision::Deny, _) => Weighed::Deny(judgement.why()),
        (_, Some(Hook::Ask)) => {
            Weighed::Ask(hooked.reason().unwrap_or_else(|| "a hook wants it asked".to_owned()))
        }
        (Decision::Allow, _) => Weighed::Run,
        (Decision::Ask, Some(Hook::Allow)) if is_open(judgement) => Weighed::Run,
        (Decision::Ask, _) => Weighed::Ask(judgement.explain()),
    }
}

/// True when it is asked only because nothing allows it.
pub(super) fn is_open(judgement: &Judgement) -> bool {
    judgement.because.iter().all(|reason| matches!(reason.cause, Cause::NoRule | Cause::Mode(_)))
}

/// The question to a person: exactly what would run, why it is asked, exactly what would be remembered.
pub(super) fn request(
    query: &PolicyQuery<'_>,
    arguments: &Value,
    judgement: &Judgement,
    why: &str,
    remember: Vec<String>,
) -> PermissionRequest {
    let request = PermissionRequest::new(query.call, summary(query, arguments))
        .with_danger(judgement.danger)
        .with_reason(display::block(why));
    if remember.is_empty() { request } else { request.with_remember(remember.join("\n")) }
}

/// Exactly what would run, in words: the command, or each argument on a line of its own. Never raw JSON.
pub(super) fn summary(query: &PolicyQuery<'_>, arguments: &Value) -> String {
    let mut text = display::line(&query.call.name).into_owned();
    let Value::Object(fields) = arguments else {
        return format!("{text} {}", display::line(&arguments.to_string()));
    };
    let command = fields.get("command").and_then(Value::as_str);
    if let Some(command) = command {
        text.push_str(&format!(": {}", display::block(command)));
    }
    // The path says most: it stands first.
    let path = fields.get("path").and_then(Value::as_str);
    if let (None, Some(path)) = (command, path) {
        text.push_str(&format!(" {}", display::line(path)));
    }
    for (name, value) in fields {
        let is_said = (name == "command" && command.is_some())
            || (name == "path" && path.is_some() && command.is_none());
        if is_said {
            continue;
        }
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        text.push_str(&format!("\n{}: {}", display::line(name), display::block(&value)));
    }
    text
}
