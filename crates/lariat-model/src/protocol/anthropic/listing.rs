//! Lists the provider's models: `GET /v1/models`.

use lariat_core::model::{ModelConfig, ProviderError};
use serde::Deserialize;

use super::request::{address, auth};
use crate::wire::{ListedModel, OutgoingRequest};

/// Page size: the maximum, which is more models than the provider has.
const PAGE: &str = "/v1/models?limit=1000";

#[derive(Deserialize)]
struct Page {
    data: Vec<ListingEntry>,
}

#[derive(Deserialize)]
struct ListingEntry {
    id: String,
    display_name: Option<String>,
    max_input_tokens: Option<u64>,
    max_tokens: Option<u32>,
}

pub(super) fn request(model: &ModelConfig) -> Option<OutgoingRequest> {
    let outgoing = OutgoingRequest::get(address(model, PAGE), auth(model));
    outgoing.header("anthropic-version", super::request::VERSION).with_headers_of(model).ok()
}

pub(super) fn models(body: &[u8]) -> Result<Vec<ListedModel>, ProviderError> {
    let page: Page = serde_json::from_slice(body).map_err(|error| {
        ProviderError::InvalidReply(format!("cannot read the model list: {error}").into())
    })?;
    let listed = page.data.into_iter().map(|entry| {
        let mut model = ListedModel::new(entry.id);
        model.name = entry.display_name;
        // The provider sends 0 for unknown values.
        model.context_window = entry.max_input_tokens.filter(|tokens| *tokens > 0);
        model.max_tokens = entry.max_tokens.filter(|tokens| *tokens > 0);
        model
    });
    Ok(listed.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn model_list_has_names_and_limits_if_the_provider_sends_them() {
        let body = br#"{"data":[{"type":"model","id":"claude-opus-4-7","display_name":"Claude Opus 4.7",
            "created_at":"2026-04-16T00:00:00Z","max_input_tokens":1000000,"max_tokens":128000},
            {"id":"other","max_input_tokens":0}],"has_more":false,"first_id":"a","last_id":"b"}"#;
        let listed = models(body).unwrap();
        assert_eq!(listed[0].name.as_deref(), Some("Claude Opus 4.7"));
        assert_eq!((listed[0].context_window, listed[0].max_tokens), (Some(1_000_000), Some(128_000)));
        assert_eq!(listed[1], ListedModel::new("other"));
    }

    #[test]
    fn list_request_has_the_version_and_no_key() {
        let model = ModelConfig::new("anthropic-messages", "m").with_api_key("sk-secret");
        let outgoing = request(&model.with_base_url("https://proxy.example/v1/")).unwrap();
        assert_eq!(outgoing.url, "https://proxy.example/v1/models?limit=1000");
        assert_eq!(outgoing.headers["anthropic-version"], "2023-06-01");
        assert!(!format!("{outgoing:?}").contains("secret"));
    }

    #[test]
    fn invalid_model_list_is_an_invalid_reply() {
        assert!(matches!(models(b"<html>"), Err(ProviderError::InvalidReply(_))));
    }
}
