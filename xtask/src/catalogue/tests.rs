use serde_json::{Value, json};

use super::{snapshot, source_files};

fn made(sources: &[Value]) -> Value {
    let texts: Vec<String> = sources.iter().map(Value::to_string).collect();
    serde_json::from_str(&snapshot(&texts, "2026-11-01").unwrap()).unwrap()
}

fn price(provider: &str, mut more: Value) -> Value {
    let mut entry = json!({
        "litellm_provider": provider, "mode": "chat", "supports_function_calling": true, "max_input_tokens": 1000,
        "max_output_tokens": 100, "input_cost_per_token": 1.25e-06, "output_cost_per_token": 1e-05,
    });
    entry.as_object_mut().unwrap().append(more.as_object_mut().unwrap());
    entry
}

#[test]
fn converts_prices_per_token_to_prices_per_million_with_tiers() {
    let more = json!({
        "cache_read_input_token_cost": 1.25e-07, "input_cost_per_token_above_200k_tokens": 2.5e-06,
        "output_cost_per_token_above_200k_tokens": 1.5e-05, "supports_vision": true, "supports_reasoning": true,
        "input_cost_per_token_above_200k_tokens_batches": 9,
    });
    let made = made(&[json!({"gemini/pro": price("gemini", more)})]);
    assert_eq!(
        made["google"]["models"]["pro"],
        json!({
            "reasoning": true, "tool_call": true, "limit": {"context": 1000, "output": 100},
            "modalities": {"input": ["text", "image"], "output": ["text"]},
            "cost": {
                "input": 1.25, "output": 10.0, "cache_read": 0.125,
                "context_over_200k": {"input": 2.5, "output": 15.0},
            },
        })
    );
    assert_eq!(made["_source"]["date"], "2026-11-01");
}

#[test]
fn keeps_only_current_chat_models_that_call_tools() {
    let file = json!({
        "claude": price("anthropic", json!({})),
        "embed": price("anthropic", json!({"mode": "embedding"})),
        "deaf": price("anthropic", json!({"supports_function_calling": false})),
        "dead": price("anthropic", json!({"deprecation_date": "2026-10-31"})),
        "claude-tts": price("anthropic", json!({})),
        "elsewhere": price("unknown", json!({})),
        "azure/gpt": price("azure", json!({})),
        "azure/eu/gpt": price("azure", json!({})),
        "a.m": price("bedrock_converse", json!({})),
        "us.a.m": price("bedrock_converse", json!({})),
        "eu.a.m": price("bedrock_converse", json!({"input_cost_per_token": 1})),
    });
    let made = made(&[file]);
    let ids = |provider: &str| -> Vec<String> {
        made[provider]["models"].as_object().unwrap().keys().cloned().collect()
    };
    assert_eq!(ids("anthropic"), ["claude"]);
    assert_eq!(ids("azure"), ["gpt"]);
    assert_eq!(ids("amazon-bedrock"), ["a.m", "eu.a.m"]);
}

#[test]
fn later_source_adds_missing_fields_and_providers() {
    let model = json!({"name": "Claude", "tool_call": true, "reasoning": true, "limit": {"context": 5}, "knowledge": "2024"});
    let second = json!({
        "anthropic": {"models": {"claude": model, "other": model}},
        "openrouter": {"models": {"a/claude": model, "a/claude:free": model, "a/deaf": {"tool_call": false}}},
        "unwanted": {"models": {"m": model}},
    });
    let made = made(&[json!({"claude": price("anthropic", json!({}))}), second]);
    let claude = &made["anthropic"]["models"]["claude"];
    assert_eq!(
        (&claude["name"], &claude["limit"]["context"], claude.get("knowledge")),
        (&json!("Claude"), &json!(1000), None)
    );
    assert_eq!(made["anthropic"]["models"].get("other"), None);
    assert_eq!(made["openrouter"]["models"].as_object().unwrap().len(), 1);
    assert_eq!(made.get("unwanted"), None);
}

#[test]
fn parses_files_after_from() {
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(source_files(&words("--from a --from b")).unwrap(), ["a", "b"]);
    assert!(source_files(&[]).unwrap().is_empty());
    for line in ["a", "--from", "--to x"] {
        assert!(source_files(&words(line)).is_err(), "{line}");
    }
    assert!(snapshot(&["{}".to_owned()], "2026").is_err());
}
