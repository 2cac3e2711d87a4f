//! Validates thinking: which models accept which form, and which parameters conflict with it.
//!
//! Invariant: an unknown model is treated like the newest generation.

use serde_json::Value;

use super::super::problem::Problems;
use crate::server::json;

/// The form of thinking that a model accepts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Generation {
    /// 4.5 and older: only a budget.
    Budget,
    /// 4.6: a budget or adaptive.
    Both,
    /// 4.7 and the 5 family: only adaptive, and no sampling parameters.
    Adaptive,
}

fn generation(model: &str) -> Generation {
    let is = |names: &[&str]| names.iter().any(|name| model.contains(name));
    if is(&["claude-3", "-4-0", "-4-1", "-4-5", "claude-opus-4-2025", "claude-sonnet-4-2025"]) {
        Generation::Budget
    } else if is(&["-4-6"]) {
        Generation::Both
    } else {
        Generation::Adaptive
    }
}

/// Whether the model accepts `output_config.effort`.
pub(super) fn takes_effort(model: &str) -> bool {
    generation(model) != Generation::Budget || model.contains("opus-4-5")
}

/// Whether the model continues a reply that the client began.
pub(super) fn takes_prefill(model: &str) -> bool {
    generation(model) == Generation::Budget
}

/// Whether the request enables thinking with a budget; then it must contain the earlier thinking.
pub(super) fn is_budgeted(body: &Value) -> bool {
    kind(body) == Some("enabled")
}

/// Whether the request enables thinking in any form.
pub(super) fn is_on(body: &Value) -> bool {
    matches!(kind(body), Some("enabled" | "adaptive"))
}

fn kind(body: &Value) -> Option<&str> {
    json::text(body.get("thinking")?, "type")
}

pub(super) fn check(found: &mut Problems, body: &Value, model: &str) {
    let generation = generation(model);
    sampling(found, body, generation);
    let Some(thinking) = body.get("thinking") else { return };
    let known: &[&str] = match kind(body) {
        Some("enabled") => &["type", "budget_tokens", "display"],
        Some("adaptive") => &["type", "display"],
        Some("disabled" | "between_tools") => &["type"],
        _ => {
            let message = "Input tag should be one of: 'adaptive', 'between_tools', 'disabled', 'enabled'";
            return found.at(format_args!("thinking"), message);
        }
    };
    let kind = kind(body).unwrap_or_default();
    for name in json::unknown(thinking, known) {
        found.at(format_args!("thinking.{kind}.{name}"), super::EXTRA);
    }
    match (kind, generation) {
        ("enabled", Generation::Adaptive) => found.whole(
            "\"thinking.type.enabled\" is not supported for this model. Use \"thinking.type.adaptive\" and \
             \"output_config.effort\" to control thinking behavior.",
        ),
        ("adaptive", Generation::Budget) => found.whole("adaptive thinking is not supported on this model"),
        _ => {}
    }
    if kind == "enabled" {
        let budget = thinking.get("budget_tokens").and_then(Value::as_u64);
        match budget {
            None => found.at(format_args!("thinking.enabled.budget_tokens"), super::REQUIRED),
            Some(..1024) => {
                let message = "Input should be greater than or equal to 1024";
                found.at(format_args!("thinking.enabled.budget_tokens"), message);
            }
            Some(budget)
                if body.get("max_tokens").and_then(Value::as_u64).is_some_and(|max| budget >= max) =>
            {
                found.whole("`max_tokens` must be greater than `thinking.budget_tokens`.");
            }
            Some(_) => {}
        }
    }
    if is_on(body) {
        check_conflicts(found, body);
    }
}

/// Checks parameters that conflict with thinking.
fn check_conflicts(found: &mut Problems, body: &Value) {
    if body.get("temperature").and_then(Value::as_f64).is_some_and(|heat| (heat - 1.0).abs() > f64::EPSILON) {
        found.whole("`temperature` may only be set to 1 when thinking is enabled.");
    }
    if json::has(body, "top_k") {
        found.whole("`top_k` must be unset when thinking is enabled.");
    }
    if body.get("top_p").and_then(Value::as_f64).is_some_and(|top| top < 0.95) {
        found.whole("`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled.");
    }
    let forced = body.get("tool_choice").and_then(|choice| json::text(choice, "type"));
    if matches!(forced, Some("any" | "tool")) {
        found.whole("Thinking may not be enabled when tool_choice forces tool use.");
    }
}

fn sampling(found: &mut Problems, body: &Value, generation: Generation) {
    if body.get("temperature").and_then(Value::as_f64).is_some_and(|heat| !(0.0..=1.0).contains(&heat)) {
        found.at(format_args!("temperature"), "range: 0..1");
    }
    if generation == Generation::Adaptive {
        for name in ["temperature", "top_p", "top_k"] {
            if json::has(body, name) {
                found.whole(format!("`{name}` is deprecated for this model."));
            }
        }
    }
}
