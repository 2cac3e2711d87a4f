//! Tests the snapshot, and reading, merging and searching catalogues.

use lariat_core::model::{ModelCost, UsdPerMillion};
use lariat_core::usage::Usage;

use super::*;
use crate::protocol::ApiProtocol;

const SAMPLE: &str = r#"{
    "_source": {"from": "a test", "date": "2026-01-01"},
    "anthropic": {"models": {
        "claude-x-4-5-20250929": {
            "name": "Claude X 4.5", "reasoning": true, "tool_call": true, "release_date": "2025-09-29",
            "limit": {"context": 200000, "output": 64000},
            "modalities": {"input": ["text", "image"], "output": ["text"]},
            "cost": {"input": 3, "output": 15, "cache_read": 0.3, "cache_write": 3.75,
                     "context_over_200k": {"input": 6, "output": 22.5}}
        },
        "claude-x-4-5-20250101": {},
        "broken": 7
    }},
    "amazon-bedrock": {"models": {"anthropic.claude-x-v1:0": {"limit": {"context": 1e6, "output": "many"}}}},
    "mine": {"api": "http://localhost:8080/v1", "models": {"llama": {}}},
    "theirs": {"api": "http://host", "protocol": "anthropic-messages", "models": {"m": {}}},
    "nothing": {"models": []},
    "odd": 3
}"#;

fn sample() -> Catalogue {
    Catalogue::from_json(SAMPLE).unwrap()
}

fn usd(price: f64) -> UsdPerMillion {
    UsdPerMillion::from_usd(price)
}

#[test]
fn converts_catalogue_entry_to_model_config() {
    let catalogue = sample();
    let model = catalogue.get("anthropic", "claude-x-4-5-20250929").unwrap();
    let config = model.config();
    assert_eq!((config.api.as_str(), config.provider.as_str()), ("anthropic-messages", "anthropic"));
    assert_eq!((config.context_window, config.max_tokens), (200_000, Some(64_000)));
    assert!(config.reasoning && model.sees_images());
    assert_eq!((config.name.as_str(), config.base_url.as_str()), ("Claude X 4.5", ""));
    let cost = config.cost.unwrap();
    assert_eq!((cost.input, cost.output, cost.cache_read), (usd(3.0), usd(15.0), Some(usd(0.3))));
    // Above the threshold, a price that the tier does not state stays the same.
    let tier = cost.tier.clone().unwrap();
    assert_eq!((tier.above, tier.cost.input, tier.cost.cache_write), (200_000, usd(6.0), Some(usd(3.75))));
    assert_eq!(cost.of(&Usage::new(1_000_000, 0)).as_usd(), 6.0);
}

#[test]
fn skips_only_the_entries_that_do_not_parse() {
    let catalogue = sample();
    let ids: Vec<&str> = catalogue.models().map(|model| model.id.as_str()).collect();
    assert_eq!(
        ids,
        ["anthropic.claude-x-v1:0", "claude-x-4-5-20250101", "claude-x-4-5-20250929", "llama", "m"]
    );
    let model = catalogue.get("amazon-bedrock", "anthropic.claude-x-v1:0").unwrap();
    assert_eq!((model.context, model.output), (Some(1_000_000), None));
    for text in ["", "[]", "{", "null"] {
        assert!(Catalogue::from_json(text).is_err(), "{text:?}");
    }
}

#[test]
fn unknown_provider_uses_chat_protocol_unless_the_entry_names_another() {
    let catalogue = sample();
    let mine = catalogue.find("mine/llama").unwrap();
    assert_eq!((mine.api, mine.base_url.as_str()), (ApiProtocol::OpenAiChat, "http://localhost:8080/v1"));
    assert_eq!(catalogue.find("theirs/m").unwrap().api, ApiProtocol::AnthropicMessages);
}

#[test]
fn override_wins_field_by_field() {
    let over = r#"{
        "anthropic": {"api": "http://proxy", "models": {
            "claude-x-4-5-20250929": {
                "limit": {"context": 1000000}, "cost": {"output": 1, "context_over_200k": {"output": 2}}
            },
            "claude-new": {"reasoning": true}
        }}
    }"#;
    let catalogue = sample().with_override(over).unwrap();
    let model = catalogue.find("claude-x-4-5-20250929").unwrap();
    assert_eq!((model.context, model.output), (Some(1_000_000), Some(64_000)));
    assert_eq!((model.name.as_str(), model.base_url.as_str()), ("Claude X 4.5", "http://proxy"));
    let cost = model.cost.clone().unwrap();
    assert_eq!((cost.input, cost.output, cost.cache_read), (usd(3.0), usd(1.0), Some(usd(0.3))));
    let tier = cost.tier.unwrap();
    assert_eq!((tier.cost.input, tier.cost.output), (usd(6.0), usd(2.0)));
    assert!(catalogue.find("anthropic/claude-new").unwrap().reasoning);
    assert_eq!(catalogue.models_of("mine").count(), 1);
}

#[test]
fn finds_names_with_and_without_date_region_and_provider() {
    let catalogue = sample();
    let rows = [
        ("claude-x-4-5-20250101", Some("claude-x-4-5-20250101")),
        ("anthropic/claude-x-4-5", Some("claude-x-4-5-20250929")),
        ("Claude-X-4.5", Some("claude-x-4-5-20250929")),
        ("claude-x-4-5-latest", Some("claude-x-4-5-20250929")),
        ("claude-x-4-5-2031-01-31", Some("claude-x-4-5-20250929")),
        ("claude-x-4-5@20250929", Some("claude-x-4-5-20250929")),
        ("us.anthropic.claude-x-v2:0", Some("anthropic.claude-x-v1:0")),
        ("llama", Some("llama")),
        ("nowhere/llama", None),
        ("claude", None),
        ("", None),
    ];
    for (name, id) in rows {
        assert_eq!(catalogue.find(name).map(|model| model.id.as_str()), id, "{name}");
    }
}

#[test]
fn suggests_similar_names_most_similar_first() {
    let catalogue = sample();
    assert_eq!(catalogue.suggest("lama"), ["mine/llama"]);
    assert_eq!(
        catalogue.suggest("claude-x-4-6-20250929"),
        ["anthropic/claude-x-4-5-20250929", "anthropic/claude-x-4-5-20250101"]
    );
    assert_eq!(catalogue.suggest("x-v1")[0], "amazon-bedrock/anthropic.claude-x-v1:0");
    assert_eq!(catalogue.suggest("a-model-that-does-not-exist"), Vec::<String>::new());
}

#[test]
fn snapshot_has_all_providers() {
    let catalogue = Catalogue::embedded();
    let names: Vec<&str> = catalogue.providers().collect();
    let expected = [
        "alibaba",
        "amazon-bedrock",
        "anthropic",
        "azure",
        "cerebras",
        "deepseek",
        "fireworks-ai",
        "google",
        "google-vertex",
        "groq",
        "minimax",
        "mistral",
        "moonshotai",
        "openai",
        "openrouter",
        "togetherai",
        "xai",
        "zai",
    ];
    assert_eq!(names, expected);
    let written: serde_json::Value = serde_json::from_str(SNAPSHOT).unwrap();
    assert!(written["_source"]["date"].is_string() && written["_source"]["from"].is_array());
    for provider in expected {
        let said = written[provider]["models"].as_object().unwrap().len();
        assert_eq!(catalogue.models_of(provider).count(), said, "{provider}");
        assert!(said > 0, "{provider}");
    }
    for model in catalogue.models() {
        let name = format!("{}/{}", model.provider, model.id);
        assert!(model.tool_call && model.context.is_some_and(|tokens| tokens >= 1000), "{name}");
        assert_eq!(catalogue.find(&name), Some(model), "{name}");
        if let Some(ModelCost { input, output, tier, .. }) = &model.cost {
            assert!(*input <= usd(1000.0) && *output <= usd(2000.0), "{name}: {input} {output}");
            assert!(tier.as_ref().is_none_or(|tier| tier.above >= 1000), "{name}");
        }
    }
}

#[test]
fn snapshot_has_prices_of_well_known_models() {
    let rows = [
        ("anthropic/claude-sonnet-4-5", 3.0, 15.0, Some(0.3)),
        ("google/gemini-2.5-pro", 1.25, 10.0, Some(0.125)),
        ("openai/gpt-5", 1.25, 10.0, Some(0.125)),
    ];
    for (name, input, output, cached) in rows {
        let cost = Catalogue::embedded().find(name).unwrap().cost.clone().unwrap();
        assert_eq!(
            (cost.input, cost.output, cost.cache_read),
            (usd(input), usd(output), cached.map(usd)),
            "{name}"
        );
    }
    let pro = Catalogue::embedded().find("google/gemini-2.5-pro").unwrap();
    assert_eq!(pro.cost.as_ref().unwrap().tier.as_ref().unwrap().above, 200_000);
}

#[test]
fn every_provider_of_the_catalogue_has_a_key_variable() {
    for provider in Catalogue::embedded().providers() {
        assert!(!key_variables(provider).is_empty(), "{provider}");
    }
}
