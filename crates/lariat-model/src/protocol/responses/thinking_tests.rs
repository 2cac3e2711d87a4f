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
