//! Tests that keys are sent in a header only and never come back in an error or debug output.

use std::sync::Arc;

use futures_util::StreamExt;
use lariat_core::cancel::CancellationToken;
use lariat_core::model::{ModelConfig, StreamConfig, StreamProvider};
use lariat_core::transcript::Transcript;
use lariat_model::ApiProtocol;
use lariat_model::http::HttpProvider;

use super::raw_server::{RawServer, ServerAction, answer, client};

const KEY: &str = "sk-a-key-that-must-stay-secret-0123456789";

#[tokio::test]
async fn key_appears_in_a_header_but_not_in_address_error_or_debug_output() {
    for api in ApiProtocol::ALL {
        let body = format!(
            r#"{{"error":{{"message":"Incorrect API key provided: {KEY}.","type":"x"}},"message":"{KEY}"}}"#
        );
        let answer = answer(
            "401 Unauthorized",
            &format!("content-type: application/json\r\nx-request-id: {KEY}\r\n"),
            body.as_bytes(),
        );
        let server = RawServer::start(move |_| ServerAction::Keep(answer.clone())).await;
        let mut model =
            ModelConfig::new(api.as_str(), "m-1").with_base_url(server.url("/base")).with_api_key(KEY);
        model.compat = serde_json::json!({"project": "p", "region": "us-east-1"});
        let (transcript, _) = Transcript::repair([Arc::new("hello".into())]);
        let request = StreamConfig::new(Arc::new(model), transcript.window());
        let provider = HttpProvider::new(api.implementation(), Arc::new(client()));
        let shown = format!("{provider:?} {request:?}");
        let mut stream = provider.stream(request, CancellationToken::new());
        let error = stream.next().await.unwrap().unwrap_err();
        assert_eq!(error.status(), Some(401), "{api}: {error:?}");
        for shown in [shown, format!("{error} {error:?}")] {
            assert!(!shown.contains(KEY), "{api}: {shown}");
        }
        let head = server.requests().remove(0);
        let (line, headers) = head.split_once("\r\n").unwrap();
        assert!(!line.contains(KEY), "{api}: {line}");
        assert!(headers.contains(KEY), "{api}: the key was sent");
    }
}
