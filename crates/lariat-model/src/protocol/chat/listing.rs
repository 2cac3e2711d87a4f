//! Parses the model lists of compatible providers.
//!
//! Each provider uses its own field names for the limits. A model without an id is skipped.

use lariat_core::model::ProviderError;
use serde_json::Value;

use crate::wire::ListedModel;

/// Fields with the context window: OpenRouter, Together, Moonshot, Fireworks; Groq; Mistral; vLLM; LM Studio;
/// llama.cpp.
const WINDOWS: [&str; 7] = [
    "/context_length",
    "/context_window",
    "/max_context_length",
    "/max_model_len",
    "/loaded_context_length",
    "/meta/n_ctx",
    "/meta/n_ctx_train",
];
/// Fields with the output limit: OpenRouter; Groq; others.
const LIMITS: [&str; 3] =
    ["/top_provider/max_completion_tokens", "/max_completion_tokens", "/max_output_tokens"];
/// Fields with the display name.
const NAMES: [&str; 2] = ["/display_name", "/name"];

/// Parses a model list: under `data`, under `models`, or (Together) the body itself.
pub(crate) fn parse_models(body: &[u8]) -> Result<Vec<ListedModel>, ProviderError> {
    let invalid = || ProviderError::InvalidReply("cannot read the model list".into());
    let json: Value = serde_json::from_slice(body).map_err(|_| invalid())?;
    let list = json.get("data").or_else(|| json.get("models")).unwrap_or(&json);
    let models = list.as_array().ok_or_else(invalid)?;
    Ok(models.iter().filter_map(model).collect())
}

fn model(json: &Value) -> Option<ListedModel> {
    let id = json.get("id").or_else(|| json.get("name"))?.as_str().filter(|id| !id.is_empty())?;
    let number = |places: &[&str]| places.iter().find_map(|place| json.pointer(place)?.as_u64());
    let mut model = ListedModel::new(id);
    model.name = NAMES.iter().find_map(|place| json.pointer(place)?.as_str()).map(str::to_owned);
    model.context_window = number(&WINDOWS).filter(|window| *window > 0);
    model.max_tokens = number(&LIMITS).and_then(|limit| u32::try_from(limit).ok()).filter(|limit| *limit > 0);
    Some(model)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_model_lists_of_every_form_with_their_limits() {
        for (body, window, limit) in [
            (r#"{"object":"list","data":[{"id":"m","object":"model","owned_by":"openai"}]}"#, None, None),
            (
                r#"{"data":[{"id":"m","context_length":200000,"top_provider":{"max_completion_tokens":64000}}]}"#,
                Some(200_000),
                Some(64_000),
            ),
            (r#"[{"id":"m","context_length":8192}]"#, Some(8192), None),
            (
                r#"{"data":[{"id":"m","context_window":131072,"max_completion_tokens":8192}]}"#,
                Some(131_072),
                Some(8192),
            ),
            (r#"{"data":[{"id":"m","max_context_length":32768}]}"#, Some(32_768), None),
            (r#"{"data":[{"id":"m","max_model_len":4096}]}"#, Some(4096), None),
            (r#"{"models":[{"name":"m"}],"data":[{"id":"m","meta":{"n_ctx_train":512}}]}"#, Some(512), None),
            (r#"{"data":[{"id":"m","context_length":0},{"id":""},{"object":"x"},7]}"#, None, None),
        ] {
            let models = parse_models(body.as_bytes()).unwrap();
            let [model] = models.as_slice() else { panic!("{body}: {models:?}") };
            assert_eq!(
                (model.id.as_str(), model.context_window, model.max_tokens),
                ("m", window, limit),
                "{body}"
            );
        }
    }

    #[test]
    fn invalid_model_list_is_an_invalid_reply() {
        for body in ["<html>", "{}", r#"{"data":{}}"#, ""] {
            assert!(matches!(parse_models(body.as_bytes()), Err(ProviderError::InvalidReply(_))), "{body}");
        }
    }
}
