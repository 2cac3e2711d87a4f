//! Builds Vertex's addresses: a host per region, a path per project.
//!
//! Invariant: a project, region or model id cannot escape its path segment.

use lariat_core::model::{ModelConfig, ProviderError};
use serde_json::Value;

use crate::protocol::gemini::{bare, escaped};

/// The location that runs models wherever capacity is available.
const GLOBAL: &str = "global";
/// Largest page size that the provider accepts.
const PAGE: u32 = 100;

/// The address that streams a model's replies.
pub(super) fn generate(model: &ModelConfig) -> Result<String, ProviderError> {
    at(model, "streamGenerateContent?alt=sse")
}

/// The address that counts a request's tokens.
pub(super) fn count(model: &ModelConfig) -> Result<String, ProviderError> {
    at(model, "countTokens")
}

fn at(model: &ModelConfig, verb: &str) -> Result<String, ProviderError> {
    let base = model.base_url.trim().trim_end_matches('/');
    let parent = if base.contains("/projects/") {
        base.to_owned()
    } else {
        let project = setting(model, "project").ok_or_else(|| {
            ProviderError::Other(
                "Vertex requires a project: set `compat.project` (and `compat.region`), or a base URL that ends in \
                 `projects/PROJECT/locations/REGION`"
                    .into(),
            )
        })?;
        let region = region(model);
        format!("{}/projects/{}/locations/{}", versioned(model, "v1"), escaped(project), escaped(region))
    };
    let id = bare(&model.id);
    let publisher = if parent.contains("/publishers/") { "" } else { "/publishers/google" };
    Ok(format!("{parent}{publisher}/models/{}:{verb}", escaped(id)))
}

/// The address that lists models. Only the beta version has the list.
pub(super) fn list(model: &ModelConfig) -> String {
    format!("{}/publishers/google/models?pageSize={PAGE}", versioned(model, "v1beta1"))
}

/// Host and API version.
fn versioned(model: &ModelConfig, version: &str) -> String {
    let base = model.base_url.trim().trim_end_matches('/');
    let base = base.split_once("/projects/").map_or(base, |(host, _)| host);
    let host = match base.rsplit_once('/') {
        Some((host, "v1" | "v1beta1")) => host.to_owned(),
        _ if base.is_empty() => host(region(model)),
        _ => base.to_owned(),
    };
    format!("{host}/{version}")
}

fn host(region: &str) -> String {
    match region {
        GLOBAL => "https://aiplatform.googleapis.com".to_owned(),
        // Multi-regions, which span several data centres.
        "us" | "eu" => format!("https://aiplatform.{region}.rep.googleapis.com"),
        // A region must be a single host name label; anything else would address another host.
        _ if region.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') => {
            format!("https://{region}-aiplatform.googleapis.com")
        }
        _ => "https://aiplatform.googleapis.com".to_owned(),
    }
}

fn region(model: &ModelConfig) -> &str {
    setting(model, "region").unwrap_or(GLOBAL)
}

fn setting<'a>(model: &'a ModelConfig, name: &str) -> Option<&'a str> {
    model.compat.get(name).and_then(Value::as_str).map(str::trim).filter(|value| !value.is_empty())
}
