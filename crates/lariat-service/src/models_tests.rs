use lariat_guard::Origin;
use serde_json::{Value, json};

use super::*;
use crate::config::{SettingSources, SettingsLayer};

/// The variables and stored keys of a test.
struct TestKeys(&'static [(&'static str, &'static str)], &'static [(&'static str, &'static str)]);

impl Keys for TestKeys {
    fn variable(&self, name: &str) -> Option<String> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    }

    fn stored_key(&self, provider: &str) -> Option<String> {
        self.1.iter().find(|(known, _)| *known == provider).map(|(_, value)| (*value).to_owned())
    }
}

const NOTHING: TestKeys = TestKeys(&[], &[]);

fn settings(values: Value) -> Settings {
    let values = values.as_object().cloned().unwrap();
    let sources = SettingSources::merge([SettingsLayer { origin: Origin::flags(), values }]);
    assert_eq!(sources.warnings, []);
    sources.settings().unwrap()
}

#[test]
fn every_default_model_is_in_the_catalogue() {
    for known in KNOWN {
        let found = Catalogue::embedded().get(known.name, known.model);
        assert!(found.is_some_and(|model| model.tool_call), "{}/{}", known.name, known.model);
    }
}

#[test]
fn default_model_is_of_first_provider_with_key() {
    let settings = settings(json!({}));
    let keys = TestKeys(&[("OPENAI_API_KEY", "k"), ("GROQ_API_KEY", "g")], &[]);
    assert_eq!(Models::new(&settings, &keys).selected_model().unwrap().provider, "openai");
    let keys = TestKeys(&[("ANTHROPIC_API_KEY", "")], &[("groq", "g")]);
    assert_eq!(
        Models::new(&settings, &keys).selected_model().unwrap().provider,
        "groq",
        "an empty variable is not a key"
    );
    assert!(matches!(Models::new(&settings, &NOTHING).selected_model(), Err(ServiceError::NoModel)));
}

#[test]
fn configured_variable_wins_over_usual_one_and_stored_key() {
    let settings = settings(json!({ "providers": { "openai": { "key_env": "MINE" } } }));
    let keys = TestKeys(&[("OPENAI_API_KEY", "usual"), ("MINE", "own")], &[("openai", "stored")]);
    assert_eq!(Models::new(&settings, &keys).key("openai").as_deref(), Some("own"));
    let keys = TestKeys(&[("OPENAI_API_KEY", "usual")], &[("openai", "stored")]);
    assert_eq!(Models::new(&settings, &keys).key("openai").as_deref(), Some("usual"));
    let keys = TestKeys(&[], &[("openai", "stored")]);
    assert_eq!(Models::new(&settings, &keys).key("openai").as_deref(), Some("stored"));
}

#[test]
fn configured_provider_needs_no_key_and_no_catalogue() {
    let settings = settings(json!({
        "model": "mine/big-one",
        "providers": { "mine": { "api": "openai-chat", "base_url": "http://127.0.0.1:1/v1", "context": 32000 } },
    }));
    let model = Models::new(&settings, &NOTHING).selected_model().unwrap();
    assert_eq!((model.provider.as_str(), model.id.as_str()), ("mine", "big-one"));
    assert_eq!((model.api.as_str(), model.base_url.as_str()), ("openai-chat", "http://127.0.0.1:1/v1"));
    assert_eq!(model.context_window, 32_000);
    assert_eq!(model.cost, None, "a cost limit is refused");
}

#[test]
fn configured_provider_may_have_a_price() {
    let settings = settings(json!({
        "model": "mine/big-one",
        "providers": { "mine": { "base_url": "http://127.0.0.1:1/v1", "input_price": 0.5, "output_price": 2 } },
    }));
    let cost = Models::new(&settings, &NOTHING).selected_model().unwrap().cost.unwrap();
    assert_eq!((cost.input, cost.output), (UsdPerMillion::from_usd(0.5), UsdPerMillion::from_usd(2.0)));
}

#[test]
fn known_provider_at_another_url_keeps_its_prices() {
    let settings = settings(json!({ "providers": { "anthropic": { "base_url": "http://127.0.0.1:1" } } }));
    let keys = TestKeys(&[("ANTHROPIC_API_KEY", "k")], &[]);
    let model = Models::new(&settings, &keys).find("anthropic/claude-sonnet-4-5").unwrap();
    assert_eq!(model.base_url, "http://127.0.0.1:1");
    assert_eq!(model.api, "anthropic-messages");
    assert!(model.cost.is_some());
}

/// A key of every provider, and one variable with an address.
struct OneAddress(&'static str);

impl Keys for OneAddress {
    fn variable(&self, name: &str) -> Option<String> {
        (name == self.0).then(|| "http://127.0.0.1:1/gateway".to_owned())
    }

    fn stored_key(&self, _: &str) -> Option<String> {
        Some("key".to_owned())
    }
}

#[test]
fn each_address_variable_sets_the_url_of_its_provider() {
    const TABLE: &[(&str, &str)] = &[
        ("anthropic", "ANTHROPIC_BASE_URL"),
        ("openai", "OPENAI_BASE_URL"),
        ("openai", "OPENAI_API_BASE"),
        ("google", "GOOGLE_GEMINI_BASE_URL"),
        ("google", "GEMINI_BASE_URL"),
        ("azure", "AZURE_OPENAI_ENDPOINT"),
        ("azure", "AZURE_OPENAI_BASE_URL"),
        ("amazon-bedrock", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME"),
        ("amazon-bedrock", "ANTHROPIC_BEDROCK_BASE_URL"),
        ("google-vertex", "GOOGLE_VERTEX_BASE_URL"),
        ("google-vertex", "ANTHROPIC_VERTEX_BASE_URL"),
    ];
    let settings = settings(json!({}));
    let url = |provider: &str, variable: &'static str| {
        let name = format!("{provider}/{}", known_provider(provider).unwrap().model);
        Models::new(&settings, &OneAddress(variable)).find(&name).unwrap().base_url
    };
    for &(provider, variable) in TABLE {
        assert_eq!(url(provider, variable), "http://127.0.0.1:1/gateway", "{variable}");
        assert_ne!(url(provider, "LARIAT_OTHER_BASE_URL"), "http://127.0.0.1:1/gateway", "{provider}");
    }
    let listed: usize = KNOWN.iter().map(|known| known.addresses.len()).sum();
    assert_eq!(listed, TABLE.len(), "every variable is in the table");
}

#[test]
fn usual_address_variable_wins_over_the_other_and_the_setting_over_both() {
    let keys = TestKeys(
        &[("OPENAI_API_BASE", "http://other"), ("OPENAI_BASE_URL", "http://usual"), ("OPENAI_API_KEY", "k")],
        &[],
    );
    let none = settings(json!({}));
    assert_eq!(Models::new(&none, &keys).find("openai/gpt-5.5").unwrap().base_url, "http://usual");
    let set = settings(json!({ "providers": { "openai": { "base_url": "http://set" } } }));
    assert_eq!(Models::new(&set, &keys).find("openai/gpt-5.5").unwrap().base_url, "http://set");
}

#[test]
fn local_server_needs_no_configuration() {
    let settings = settings(json!({}));
    let model = Models::new(&settings, &NOTHING).find("ollama/qwen3:8b").unwrap();
    assert_eq!((model.provider.as_str(), model.id.as_str()), ("ollama", "qwen3:8b"));
    assert!(model.base_url.starts_with("http://127.0.0.1:"));
}

#[test]
fn inspection_needs_no_key_and_no_model() {
    let none = settings(json!({}));
    let inspect =
        |settings, keys| Models::new(settings, keys).with_purpose(Purpose::Inspecting).selected_model();
    let model = inspect(&none, &NOTHING).unwrap();
    assert_eq!((model.id.as_str(), model.context_window), ("", 100_000));
    let keys = TestKeys(&[("OPENAI_API_KEY", "k")], &[]);
    assert_eq!(inspect(&none, &keys).unwrap().provider, "openai", "inspects the model that a run would use");
    let named = settings(json!({ "model": "anthropic/claude-sonnet-4-5" }));
    let model = inspect(&named, &NOTHING).unwrap();
    assert_eq!((model.id.as_str(), model.context_window), ("claude-sonnet-4-5", 200_000));
    let wrong = settings(json!({ "model": "anthropic/claude-sonet-4-5" }));
    assert!(matches!(inspect(&wrong, &NOTHING), Err(ServiceError::UnknownModel { .. })));
}

#[test]
fn errors_name_missing_key_and_similar_models() {
    let settings =
        settings(json!({ "providers": { "mine": { "base_url": "http://x", "models": ["large"] } } }));
    let models = Models::new(&settings, &NOTHING);
    let Err(ServiceError::NoKey { provider, variables }) = models.find("claude-sonnet-4-5") else { panic!() };
    assert_eq!(
        (provider.as_str(), variables.as_slice()),
        ("anthropic", &["ANTHROPIC_API_KEY".to_owned(), "ANTHROPIC_AUTH_TOKEN".to_owned()][..])
    );
    let Err(ServiceError::UnknownModel { suggestions, .. }) = models.find("claude-sonet-4-5") else {
        panic!()
    };
    assert!(suggestions.iter().any(|name| name.contains("claude-sonnet-4-5")), "{suggestions:?}");
    let Err(ServiceError::UnknownModel { suggestions, .. }) = models.find("mina/large") else { panic!() };
    assert_eq!(suggestions.first().map(String::as_str), Some("mine/large"));
}
