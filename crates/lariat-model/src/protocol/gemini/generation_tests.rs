//! Tests the thinking parameters of each generation.

use lariat_core::model::ThinkingLevel::{self, High, Low, Max, Medium, Minimal, Off};
use serde_json::{Value, json};

use super::{Era, Sampling, of};

const LEVELS: [ThinkingLevel; 6] = [Off, Minimal, Low, Medium, High, Max];

fn thinking_fields(id: &str, field: &str) -> Vec<Value> {
    let thinking = |level| of(id).thinking(level).unwrap();
    LEVELS.into_iter().map(|level| thinking(level)[field].clone()).collect()
}

#[test]
fn gemini_2_5_gets_a_budget_within_its_range() {
    assert_eq!(thinking_fields("gemini-2.5-flash", "thinkingBudget"), [0, 512, 2048, 8192, 24_576, 24_576]);
    assert_eq!(
        thinking_fields("gemini-2.5-flash-lite-preview-09-2025", "thinkingBudget"),
        [0, 512, 2048, 8192, 24_576, 24_576]
    );
    assert_eq!(
        thinking_fields("models/gemini-2.5-pro", "thinkingBudget"),
        [128, 512, 2048, 8192, 24_576, 32_768]
    );
}

#[test]
fn models_since_gemini_3_get_the_nearest_supported_level() {
    let rows = [
        ("gemini-3-pro-preview", ["LOW", "LOW", "LOW", "HIGH", "HIGH", "HIGH"]),
        ("gemini-3.1-pro-preview", ["LOW", "LOW", "LOW", "MEDIUM", "HIGH", "HIGH"]),
        ("gemini-3-flash-preview", ["MINIMAL", "MINIMAL", "LOW", "MEDIUM", "HIGH", "HIGH"]),
        ("gemini-3.8-flash", ["LOW", "LOW", "LOW", "MEDIUM", "HIGH", "HIGH"]),
        ("gemini-4-argon", ["LOW", "LOW", "LOW", "MEDIUM", "HIGH", "HIGH"]),
        ("gemini-flash-latest", ["LOW", "LOW", "LOW", "MEDIUM", "HIGH", "HIGH"]),
        ("gemma-4-31b-it", ["MINIMAL", "MINIMAL", "HIGH", "HIGH", "HIGH", "HIGH"]),
    ];
    for (id, levels) in rows {
        assert_eq!(thinking_fields(id, "thinkingLevel"), levels, "{id}");
    }
}

#[test]
fn requests_thoughts_unless_thinking_is_off() {
    for id in ["gemini-2.5-pro", "gemini-3-pro-preview"] {
        assert_eq!(of(id).thinking(Off).unwrap().get("includeThoughts"), None, "{id}");
        assert_eq!(of(id).thinking(Minimal).unwrap()["includeThoughts"], json!(true), "{id}");
    }
}

#[test]
fn never_sends_both_budget_and_level() {
    for id in ["gemini-2.5-pro", "gemini-2.5-flash", "gemini-3-pro-preview", "gemma-4-31b-it", "x"] {
        for level in LEVELS {
            let config = of(id).thinking(level).unwrap();
            assert_ne!(config.get("thinkingBudget").is_some(), config.get("thinkingLevel").is_some(), "{id}");
        }
    }
}

#[test]
fn models_that_cannot_think_get_no_thinking_config() {
    for id in ["gemini-2.0-flash", "gemini-1.5-pro", "gemma-3-27b-it"] {
        assert!(LEVELS.into_iter().all(|level| of(id).thinking(level).is_none()), "{id}");
    }
}

#[test]
fn era_and_sampling_follow_the_model_id() {
    assert_eq!((of("gemini-2.5-pro").era, of("GEMINI-3-PRO").era), (Era::Early, Era::Modern));
    assert_eq!(of("gemini-3.8-flash").sampling, Sampling::Fixed);
    assert_eq!(of("gemini-3.5-flash").sampling, Sampling::Free);
}
