//! Builds Bedrock's addresses and finds the region to sign for.

use http::Uri;
use lariat_core::model::ModelConfig;
use serde_json::Value;

use crate::wire::Auth;

/// Default region.
const REGION: &str = "us-east-1";
/// Host names of the endpoints that run models and that list them.
const RUNTIME: &str = "bedrock-runtime";
const CONTROL: &str = "bedrock";

/// Returns the region from `compat`, else from the address, else the default.
pub(super) fn region(model: &ModelConfig) -> String {
    let configured = model.compat.get("region").and_then(Value::as_str).filter(|region| !region.is_empty());
    let found = configured.map(str::to_owned).or_else(|| region_of(&model.base_url));
    found.unwrap_or_else(|| REGION.to_owned())
}

/// Parses the region from an address like `https://bedrock-runtime.eu-west-1.amazonaws.com`.
fn region_of(url: &str) -> Option<String> {
    let url: Uri = url.parse().ok()?;
    let host = url.host()?.to_ascii_lowercase();
    let (before, _) = host.split_once(".amazonaws.com")?;
    // `bedrock-runtime.REGION`, `bedrock-runtime-fips.REGION`, `vpce-1.bedrock-runtime.REGION.vpce`.
    before.split('.').skip_while(|label| !label.starts_with(RUNTIME)).nth(1).map(str::to_owned)
}

pub(super) fn auth(model: &ModelConfig) -> Auth {
    Auth::Aws { region: region(model), service: "bedrock" }
}

/// The address that streams a model's replies.
pub(super) fn converse(model: &ModelConfig) -> String {
    runtime(model, "converse-stream")
}

/// The address that counts a request's tokens.
pub(super) fn count(model: &ModelConfig) -> String {
    runtime(model, "count-tokens")
}

fn runtime(model: &ModelConfig, verb: &str) -> String {
    let base = match model.base_url.trim_end_matches('/') {
        "" => home(RUNTIME, &region(model)),
        base => base.to_owned(),
    };
    format!("{base}/model/{}/{verb}", encode_segment(&model.id))
}

/// The address that lists models.
pub(super) fn list(model: &ModelConfig) -> String {
    let base = match model.base_url.trim_end_matches('/') {
        "" => home(CONTROL, &region(model)),
        base => base.replacen(RUNTIME, CONTROL, 1),
    };
    format!("{base}/foundation-models")
}

fn home(host: &str, region: &str) -> String {
    let domain = if region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" };
    format!("https://{host}.{region}.{domain}")
}

/// Percent-encodes an id as one path segment: ids contain colons, and those of profiles also contain slashes.
fn encode_segment(id: &str) -> String {
    let mut out = String::with_capacity(id.len());
    for byte in id.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn model(id: &str, base: &str) -> ModelConfig {
        ModelConfig::new("bedrock-converse", id).with_base_url(base)
    }

    #[test]
    fn region_comes_from_configuration_then_from_address() {
        let cases = [
            ("", "us-east-1"),
            ("https://bedrock-runtime.eu-west-1.amazonaws.com", "eu-west-1"),
            ("https://bedrock-runtime-fips.us-gov-west-1.amazonaws.com/", "us-gov-west-1"),
            ("https://vpce-1-a.bedrock-runtime.ap-south-1.vpce.amazonaws.com", "ap-south-1"),
            ("https://bedrock-runtime.cn-north-1.amazonaws.com.cn", "cn-north-1"),
            ("http://127.0.0.1:8080", "us-east-1"),
        ];
        for (base, expected) in cases {
            assert_eq!(region(&model("m", base)), expected, "{base}");
        }
        let mut configured = model("m", "https://bedrock-runtime.eu-west-1.amazonaws.com");
        configured.compat = json!({"region": "ca-central-1"});
        assert_eq!(region(&configured), "ca-central-1");
        assert_eq!(auth(&configured), Auth::Aws { region: "ca-central-1".into(), service: "bedrock" });
    }

    #[test]
    fn encodes_ids_as_one_path_segment() {
        let arn = "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-opus-4-6-v1";
        assert_eq!(
            converse(&model(arn, "http://127.0.0.1:8080/")),
            "http://127.0.0.1:8080/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A123456789012%3Ainference-profile%2F\
             us.anthropic.claude-opus-4-6-v1/converse-stream"
        );
        let mut china = model("amazon.nova-pro-v1:0", "");
        china.compat = json!({"region": "cn-north-1"});
        let url = "https://bedrock-runtime.cn-north-1.amazonaws.com.cn/model/amazon.nova-pro-v1%3A0/converse-stream";
        assert_eq!(converse(&china), url);
    }

    #[test]
    fn lists_models_at_the_control_host() {
        assert_eq!(list(&model("m", "")), "https://bedrock.us-east-1.amazonaws.com/foundation-models");
        let runtime = model("m", "https://bedrock-runtime.eu-west-1.amazonaws.com/");
        assert_eq!(list(&runtime), "https://bedrock.eu-west-1.amazonaws.com/foundation-models");
        assert_eq!(list(&model("m", "http://127.0.0.1:8080")), "http://127.0.0.1:8080/foundation-models");
    }
}
