//! Combines the answers of hooks with the permission rules.
//!
//! The table: a hook's `deny`, `defer` and `ask` win over an allow rule. Its `allow` wins over no rule that
//! denies or requires approval; it replaces the user's approval only where approval is required because no
//! rule matches.

use lariat_core::display;
use lariat_core::permission::{DangerLevel, PermissionRequest, PolicyQuery, UserQuestion, Verdict};
use lariat_guard::hooks::{HookDecision, Outcome};
use lariat_guard::{Cause, GuardDecision, Judgement, Mode};
use serde_json::Value;

/// The combined decision of hooks and rules.
pub(super) enum CombinedDecision {
    /// Run the tool call.
    Run,
    /// Ask the user for approval, for this reason.
    Ask(String),
    /// Do not run it, for this reason.
    Deny(String),
}

/// Decides about a tool call in plan mode: one that would change something is queued, unless a rule denies
/// it.
pub(super) fn plan_mode_verdict(query: &PolicyQuery<'_>, judgement: &Judgement) -> Option<Verdict> {
    if judgement.verdict != GuardDecision::Deny {
        return None;
    }
    let only_plan = judgement.because.iter().all(|reason| reason.cause == Cause::Mode(Mode::Plan));
    Some(if only_plan {
        Verdict::Queue { summary: summary(query, &query.call.arguments) }
    } else {
        Verdict::Deny(judgement.why())
    })
}

/// Returns the denial if a hook denied the tool call.
pub(super) fn hook_denial(hook_outcome: &Outcome) -> Option<Verdict> {
    let reason = || hook_outcome.reason().unwrap_or_else(|| "a hook denied it".to_owned());
    match hook_outcome.decision {
        Some(HookDecision::Deny) => Some(Verdict::Deny(reason())),
        Some(HookDecision::Defer) => Some(Verdict::Deny(format!("deferred by a hook: {}", reason()))),
        _ if hook_outcome.stops => Some(Verdict::Deny(reason())),
        _ => None,
    }
}

/// Combines the answer of hooks that did not deny with the rules.
pub(super) fn combine(hook_outcome: &Outcome, judgement: &Judgement) -> CombinedDecision {
    match (judgement.verdict, hook_outcome.decision) {
        (GuardDecision::Deny, _) => CombinedDecision::Deny(judgement.why()),
        (_, Some(HookDecision::Ask)) => CombinedDecision::Ask(
            hook_outcome.reason().unwrap_or_else(|| "a hook requires approval".to_owned()),
        ),
        (GuardDecision::Allow, _) => CombinedDecision::Run,
        (GuardDecision::Ask, Some(HookDecision::Allow)) if only_lacks_a_rule(judgement) => {
            CombinedDecision::Run
        }
        (GuardDecision::Ask, _) => CombinedDecision::Ask(judgement.explain()),
    }
}

/// Whether approval is required only because no rule allows the tool call.
pub(super) fn only_lacks_a_rule(judgement: &Judgement) -> bool {
    judgement.because.iter().all(|reason| matches!(reason.cause, Cause::NoRule | Cause::Mode(_)))
}

/// Asks the user a question of the model, unless the mode asks nothing.
pub(super) fn question(query: &PolicyQuery<'_>, mode: Mode, question: UserQuestion) -> Verdict {
    if mode == Mode::DontAsk {
        return Verdict::Deny("no user is available to answer; decide yourself".to_owned());
    }
    let request = PermissionRequest::new(query.call, display::block(&question.text))
        .with_danger(DangerLevel::Safe)
        .with_question(question);
    Verdict::Ask(request)
}

/// Creates the approval request: exactly what would run, why approval is required, and exactly which rules
/// would be remembered.
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

/// Describes exactly what would run: the command, or each argument on its own line. Never raw JSON.
pub(super) fn summary(query: &PolicyQuery<'_>, arguments: &Value) -> String {
    let mut text = display::line(&query.call.name).into_owned();
    let Value::Object(fields) = arguments else {
        return format!("{text} {}", display::line(&arguments.to_string()));
    };
    let command = fields.get("command").and_then(Value::as_str);
    if let Some(command) = command {
        text.push_str(&format!(": {}", display::block(command)));
    }
    // The path is the most informative argument, so it comes first.
    let path = fields.get("path").and_then(Value::as_str);
    if let (None, Some(path)) = (command, path) {
        text.push_str(&format!(" {}", display::line(path)));
    }
    for (name, value) in fields {
        let is_shown = (name == "command" && command.is_some())
            || (name == "path" && path.is_some() && command.is_none());
        if is_shown {
            continue;
        }
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        text.push_str(&format!("\n{}: {}", display::line(name), display::block(&value)));
    }
    text
}
