//! Tests of `registry`.

use futures_util::StreamExt;
use lariat_core::model::ModelConfig;
use lariat_core::transcript::Window;

use super::*;

#[test]
fn all_seven_protocols_are_registered() {
    let registry = ProviderRegistry::default();
    assert_eq!(registry.names().count(), 7);
    for api in ApiProtocol::ALL {
        assert_eq!(registry.get(api.as_str()).unwrap().provider_id(), api.as_str());
        assert_eq!(api.as_str().parse(), Ok(api));
    }
}

#[tokio::test]
async fn unknown_protocol_is_a_config_error_that_lists_the_registered_ones() {
    let model = Arc::new(ModelConfig::new("carrier-pigeon", "m"));
    let request = StreamConfig::new(model, Window::default());
    let mut stream = ProviderRegistry::default().stream(request, CancellationToken::new());
    let error = stream.next().await.unwrap().unwrap_err().to_string();
    assert!(error.contains("carrier-pigeon") && error.contains("anthropic-messages"), "{error}");
    assert!(stream.next().await.is_none());
}
