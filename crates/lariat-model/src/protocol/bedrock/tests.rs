//! Tests that any valid history makes a request that passes validation, and that appending gives the same
//! request as building from scratch.

use std::sync::Arc;

use lariat_core::message::SharedMessage;
use lariat_core::model::{ModelConfig, RequestMemo, StreamConfig};
use lariat_core::transcript::Transcript;
use proptest::prelude::*;

use super::request::build;
use crate::protocol::anthropic::tests::any_messages;

const MODEL: &str = "anthropic.claude-sonnet-4-5-20250929-v1:0";

fn model() -> Arc<ModelConfig> {
    let mut model = ModelConfig::new("bedrock-converse", MODEL);
    model.provider = "bedrock".into();
    Arc::new(model)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn valid_history_always_passes_validation(given in any_messages(("bedrock", MODEL))) {
        let (transcript, _) = Transcript::repair(given);
        if let Ok(window) = transcript.request() {
            let built = build(&StreamConfig::new(model(), window)).map(|outgoing| outgoing.body);
            prop_assert!(built.is_ok(), "{:?}", built);
            let sent: Result<serde_json::Value, _> = serde_json::from_slice(&built.unwrap_or_default());
            prop_assert!(sent.is_ok());
        }
    }

    #[test]
    fn appended_body_equals_one_built_from_scratch(given in any_messages(("bedrock", MODEL))) {
        let (transcript, _) = Transcript::repair(given);
        let messages: Vec<SharedMessage> = transcript.window().iter().cloned().collect();
        let memo = RequestMemo::default();
        for length in 1..=messages.len() {
            let (part, repairs) = Transcript::repair(messages[..length].iter().cloned());
            let (true, Ok(window)) = (repairs.is_empty(), part.request()) else { continue };
            let mut grown = StreamConfig::new(model(), window);
            let fresh = build(&grown).unwrap();
            grown.memo = memo.clone();
            prop_assert_eq!(build(&grown).unwrap().body, fresh.body);
        }
    }
}
