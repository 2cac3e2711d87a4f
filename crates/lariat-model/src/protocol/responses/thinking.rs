//! Maps thinking levels to the effort names of OpenAI's models, by generation.
//!
//! A generation rejects unknown names with status 400 ("Unsupported value: 'reasoning_effort' does not
//! support 'minimal' with this model"), so each level uses the nearest existing name. Invariant: for a model
//! that is not in the table, its configuration decides.

use lariat_core::model::ModelConfig;

use crate::protocol::chat::dialect::{Effort, Efforts};

/// Models whose ids share a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Generation {
    prefix: &'static str,
    /// Whether the models reason. If so, they accept no temperature.
    pub(crate) reasons: bool,
    /// Names of the thinking levels.
    pub(crate) efforts: Efforts,
}

const fn generation(prefix: &'static str, efforts: Efforts) -> Generation {
    Generation { prefix, reasons: true, efforts }
}

const fn plain(prefix: &'static str) -> Generation {
    Generation { prefix, reasons: false, efforts: Efforts::NONE }
}

use Effort::{High, Low, Max, Medium, Minimal, XHigh};

const LOW_TO_HIGH: Efforts = Efforts::new(Some(Low), [Low, Low, Medium, High, High]);
const LOW_TO_XHIGH: Efforts = Efforts::new(Some(Low), [Low, Low, Medium, High, XHigh]);
const NONE_TO_HIGH: Efforts = Efforts::new(Some(Effort::None), [Low, Low, Medium, High, High]);
const NONE_TO_XHIGH: Efforts = Efforts::new(Some(Effort::None), [Low, Low, Medium, High, XHigh]);
const NONE_TO_MAX: Efforts = Efforts::new(Some(Effort::None), [Low, Low, Medium, High, Max]);
const MINIMAL_TO_HIGH: Efforts = Efforts::new(Some(Minimal), [Minimal, Low, Medium, High, High]);
const MEDIUM_TO_XHIGH: Efforts = Efforts::new(Some(Medium), [Medium, Medium, Medium, High, XHigh]);
const HIGH_ONLY: Efforts = Efforts::new(Some(High), [High; 5]);

/// The first row with a matching prefix wins.
const GENERATIONS: &[Generation] = &[
    generation("gpt-6", NONE_TO_MAX),
    generation("gpt-5.6", NONE_TO_MAX),
    // "Pro" models always think at least at a medium level.
    generation("gpt-5.5-pro", MEDIUM_TO_XHIGH),
    generation("gpt-5.4-pro", MEDIUM_TO_XHIGH),
    generation("gpt-5.2-pro", MEDIUM_TO_XHIGH),
    generation("gpt-5-pro", HIGH_ONLY),
    // The models behind the chat product choose the effort themselves.
    generation("gpt-5.3-chat", Efforts::NONE),
    generation("gpt-5.2-chat", Efforts::NONE),
    generation("gpt-5.1-chat", Efforts::NONE),
    plain("gpt-5-chat"),
    // Thinking cannot be turned off for Codex models.
    generation("gpt-5.3-codex", LOW_TO_XHIGH),
    generation("gpt-5.2-codex", LOW_TO_XHIGH),
    generation("gpt-5.1-codex-max", LOW_TO_XHIGH),
    generation("gpt-5.1-codex", LOW_TO_HIGH),
    generation("gpt-5-codex", LOW_TO_HIGH),
    generation("gpt-5.1", NONE_TO_HIGH),
    generation("gpt-5.", NONE_TO_XHIGH),
    generation("gpt-5", MINIMAL_TO_HIGH),
    generation("gpt-oss", LOW_TO_HIGH),
    generation("codex-mini", LOW_TO_HIGH),
    generation("o1-mini", Efforts::NONE),
    generation("o1-preview", Efforts::NONE),
    generation("o1", LOW_TO_HIGH),
    generation("o3", LOW_TO_HIGH),
    generation("o4", LOW_TO_HIGH),
    plain("gpt-4"),
    plain("gpt-3"),
    plain("chatgpt-4"),
];

/// Returns the generation of a model: by its id, else from its configuration.
pub(crate) fn of(model: &ModelConfig) -> Generation {
    let id = model.id.rsplit('/').next().unwrap_or_default();
    let known = GENERATIONS.iter().find(|generation| id.starts_with(generation.prefix)).copied();
    known.unwrap_or(Generation { prefix: "", reasons: model.reasoning, efforts: LOW_TO_HIGH })
}

#[cfg(test)]
mod tests {
    use lariat_core::model::ThinkingLevel::{self, High, Low, Max, Medium, Minimal, Off};

    use super::*;

    fn effort(id: &str, level: ThinkingLevel) -> Option<&'static str> {
        of(&ModelConfig::new("openai-responses", id)).efforts.of(level).map(Effort::as_str)
    }

    #[test]
    fn every_generation_gets_a_supported_effort() {
        for (id, expected) in [
            ("o3-mini-2025-01-31", ["low", "low", "low", "medium", "high", "high"]),
            ("gpt-5-nano", ["minimal", "minimal", "low", "medium", "high", "high"]),
            ("gpt-5-codex", ["low", "low", "low", "medium", "high", "high"]),
            ("gpt-5-pro", ["high"; 6]),
            ("gpt-5.1-2025-11-13", ["none", "low", "low", "medium", "high", "high"]),
            ("gpt-5.1-codex-max", ["low", "low", "low", "medium", "high", "xhigh"]),
            ("gpt-5.2-pro", ["medium", "medium", "medium", "medium", "high", "xhigh"]),
            ("gpt-5.5", ["none", "low", "low", "medium", "high", "xhigh"]),
            ("gpt-5.6-sol", ["none", "low", "low", "medium", "high", "max"]),
            ("openai/gpt-6-astra", ["none", "low", "low", "medium", "high", "max"]),
        ] {
            let levels = [Off, Minimal, Low, Medium, High, Max].map(|level| effort(id, level).unwrap());
            assert_eq!(levels, expected, "{id}");
        }
        assert_eq!(effort("gpt-4.1", High), None);
        assert_eq!(effort("gpt-5-chat-latest", High), None);
    }

    #[test]
    fn unknown_model_follows_its_configuration() {
        let mut model = ModelConfig::new("azure-responses", "my-deployment");
        assert!(!of(&model).reasons);
        model.reasoning = true;
        assert!(of(&model).reasons);
    }
}
