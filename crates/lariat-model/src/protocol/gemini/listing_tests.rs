//! Tests model lists.

use lariat_core::model::ModelConfig;
use serde_json::json;

use super::Gemini;
use crate::protocol::Protocol;
use crate::wire::{Auth, ListedModel};

#[test]
fn lists_models_in_one_page_with_the_key_in_a_header() {
    let request = Gemini.list_request(&ModelConfig::new("google-gemini", "")).unwrap();
    assert_eq!(request.url, "https://generativelanguage.googleapis.com/v1beta/models?pageSize=1000");
    assert_eq!((request.method, request.auth), (http::Method::GET, Auth::Header("x-goog-api-key")));
}

#[test]
fn lists_models_that_can_chat_with_their_limits() {
    let body = json!({"models": [
        {
            "name": "models/gemini-3-pro-preview", "displayName": "Gemini 3 Pro", "inputTokenLimit": 1_048_576,
            "outputTokenLimit": 65_536, "supportedGenerationMethods": ["generateContent", "countTokens"],
        },
        {"name": "models/embedding-001", "supportedGenerationMethods": ["embedContent"]},
    ]});
    let mut expected = ListedModel::new("gemini-3-pro-preview");
    expected.name = Some("Gemini 3 Pro".to_owned());
    expected.context_window = Some(1_048_576);
    expected.max_tokens = Some(65_536);
    assert_eq!(Gemini.parse_models(body.to_string().as_bytes()).unwrap(), [expected]);
    assert_eq!(Gemini.parse_models(b"{}").unwrap(), []);
    assert!(Gemini.parse_models(b"<html>").is_err());
}
