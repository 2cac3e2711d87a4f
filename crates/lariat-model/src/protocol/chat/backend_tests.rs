use std::collections::HashSet;

use serde_json::json;

use super::super::fixtures::model;
use super::*;

#[test]
fn every_supported_provider_has_a_row() {
    for name in [
        "openai",
        "xai",
        "groq",
        "cerebras",
        "mistral",
        "deepseek",
        "openrouter",
        "together",
        "fireworks",
        "moonshot",
        "zai",
        "minimax",
        "qwen",
        "ollama",
        "lmstudio",
        "vllm",
        "llamacpp",
    ] {
        let found = backend(&model(name, "m"));
        assert!(found.names.contains(&name), "{name}");
        let local = found.dialect.key == KeyNeed::Optional;
        assert_eq!(found.base_url.starts_with("http://localhost"), local, "{name}");
        assert_eq!(found.key_variable.is_empty(), local, "{name}");
    }
}

#[test]
fn rows_of_a_provider_share_its_address_and_the_last_matches_all_models() {
    let names: HashSet<&str> = BACKENDS.iter().map(|backend| backend.names[0]).collect();
    for name in names {
        let rows: Vec<_> = BACKENDS.iter().filter(|backend| backend.names[0] == name).collect();
        assert!(
            rows.iter().all(|row| row.base_url == rows[0].base_url && row.names == rows[0].names),
            "{name}"
        );
        assert_eq!(rows.iter().filter(|row| row.models.is_empty()).count(), 1, "{name}");
        assert!(rows.last().unwrap().models.is_empty(), "{name}");
    }
}

#[test]
fn no_name_belongs_to_two_providers() {
    let mut owners = std::collections::HashMap::new();
    for backend in BACKENDS {
        for name in backend.names {
            assert_eq!(*owners.entry(name).or_insert(backend.names[0]), backend.names[0], "{name}");
        }
    }
}

#[test]
fn unknown_provider_is_generic_and_missing_provider_is_openai() {
    let mut own = model("my-server", "m");
    own.base_url = "http://h".into();
    assert_eq!(backend(&own).dialect, GENERIC);
    assert_eq!(backend(&model("openai-chat", "m")).names[0], "openai");
}

#[test]
fn compat_can_override_every_column_by_name() {
    let mut model = model("openai", "m");
    for backend in BACKENDS {
        model.compat = serde_json::to_value(backend.dialect).unwrap();
        assert_eq!(dialect(&model).unwrap(), backend.dialect, "all columns at once");
    }
    model.compat = json!({"efforts": {"high": "xhigh"}, "of another protocol": 1, "images": false});
    let changed = dialect(&model).unwrap();
    assert_eq!((changed.efforts.unwrap().high, changed.images), (Some(Effort::XHigh), false));
}
