//! Lists the provider's models: `GET /foundation-models`.

use lariat_core::model::{ModelConfig, ProviderError};
use serde::Deserialize;

use super::address;
use crate::wire::{ListedModel, OutgoingRequest};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    model_summaries: Vec<ListingEntry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListingEntry {
    model_id: String,
    model_name: Option<String>,
    output_modalities: Option<Vec<String>>,
    response_streaming_supported: Option<bool>,
}

impl ListingEntry {
    /// Whether the model can stream text. The list also contains embedding and image models.
    fn converses(&self) -> bool {
        let text = |kinds: &Vec<String>| kinds.iter().any(|kind| kind == "TEXT");
        self.response_streaming_supported != Some(false) && self.output_modalities.as_ref().is_none_or(text)
    }
}

pub(super) fn request(model: &ModelConfig) -> Option<OutgoingRequest> {
    OutgoingRequest::get(address::list(model), address::auth(model)).with_headers_of(model).ok()
}

pub(super) fn models(body: &[u8]) -> Result<Vec<ListedModel>, ProviderError> {
    let page: Page = serde_json::from_slice(body).map_err(|error| {
        ProviderError::InvalidReply(format!("cannot read the model list: {error}").into())
    })?;
    let listed = page.model_summaries.into_iter().filter(ListingEntry::converses).map(|entry| {
        let mut model = ListedModel::new(entry.model_id);
        model.name = entry.model_name;
        model
    });
    Ok(listed.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_models_that_stream_text_are_listed() {
        let body = br#"{"modelSummaries":[
            {"modelId":"anthropic.claude-opus-4-7","modelName":"Claude Opus 4.7","outputModalities":["TEXT"],
             "responseStreamingSupported":true,"modelArn":"arn:x"},
            {"modelId":"amazon.titan-embed","outputModalities":["EMBEDDING"]},
            {"modelId":"slow","outputModalities":["TEXT"],"responseStreamingSupported":false},
            {"modelId":"bare"}]}"#;
        let ids: Vec<String> = models(body).unwrap().into_iter().map(|model| model.id).collect();
        assert_eq!(ids, ["anthropic.claude-opus-4-7", "bare"]);
        assert!(matches!(models(b"{}"), Err(ProviderError::InvalidReply(_))));
    }
}
