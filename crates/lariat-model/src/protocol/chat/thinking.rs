//! Requests thinking from a compatible provider.
//!
//! Translates a thinking level into the request fields of the provider's dialect. A model that does not
//! reason gets none, because providers reject the field for it.

use lariat_core::model::{ModelConfig, ThinkingLevel};
use serde_json::{Map, Value, json};

use super::dialect::{Dialect, ThinkingStyle};
use crate::protocol::responses::thinking;

/// Whether a model reasons.
pub(super) fn reasons(dialect: &Dialect, model: &ModelConfig) -> bool {
    match dialect.efforts {
        Some(_) => model.reasoning,
        None => thinking::of(model).reasons,
    }
}

/// Adds the fields that request a level.
pub(super) fn ask(
    dialect: &Dialect,
    model: &ModelConfig,
    level: ThinkingLevel,
    head: &mut Map<String, Value>,
) {
    if !reasons(dialect, model) {
        return;
    }
    let efforts = dialect.efforts.unwrap_or_else(|| thinking::of(model).efforts);
    let effort = efforts.of(level).map(super::dialect::Effort::as_str);
    let on = level != ThinkingLevel::Off;
    let mut set = |name: &str, value: Value| {
        head.insert(name.to_owned(), value);
    };
    match dialect.thinking {
        ThinkingStyle::None => {}
        ThinkingStyle::ReasoningEffort => {
            if let Some(effort) = effort {
                set("reasoning_effort", json!(effort));
            }
        }
        ThinkingStyle::EnableThinking => set("enable_thinking", json!(on)),
        ThinkingStyle::ChatTemplate => set("chat_template_kwargs", json!({"enable_thinking": on})),
        ThinkingStyle::ThinkingType => {
            set("thinking", json!({"type": if on { "enabled" } else { "disabled" }}));
            if let Some(effort) = effort {
                set("reasoning_effort", json!(effort));
            }
        }
        ThinkingStyle::Reasoning => match effort {
            Some(effort) => set("reasoning", json!({"effort": effort})),
            None => set("reasoning", json!({"enabled": on})),
        },
    }
}
