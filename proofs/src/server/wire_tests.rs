use super::{Operation, Wire, percent_decoded};

fn model(path: &str) -> Option<(Wire, String, bool)> {
    match Wire::of_path(path)? {
        (wire, Operation::Generate { model: Some(model), streaming: Some(streaming) }) => {
            Some((wire, model, streaming))
        }
        _ => None,
    }
}

#[test]
fn every_protocol_is_found_by_its_path() {
    let paths = [
        (Wire::AnthropicMessages, "/anthropic/v1/messages"),
        (Wire::OpenAiChat, "/chat/v1/chat/completions"),
        (Wire::OpenAiResponses, "/responses/v1/responses"),
        (Wire::AzureResponses, "/azure/openai/v1/responses"),
        (Wire::AzureResponses, "/azure/openai/responses"),
        (Wire::Gemini, "/gemini/v1beta/models/gemini-3-pro:generateContent"),
        (
            Wire::Vertex,
            "/vertex/v1/projects/p/locations/l/publishers/google/models/gemini-3-pro:streamGenerateContent",
        ),
        (Wire::BedrockConverse, "/bedrock/model/anthropic.claude/converse"),
    ];
    for (wire, path) in paths {
        assert_eq!(Wire::of_path(path).map(|found| found.0), Some(wire), "{path}");
        assert!(path.starts_with(wire.base_path()) || wire == Wire::AzureResponses);
    }
}

#[test]
fn google_and_amazon_name_the_model_in_the_path() {
    assert_eq!(
        model("/gemini/v1beta/models/gemini-3-pro:streamGenerateContent"),
        Some((Wire::Gemini, "gemini-3-pro".to_owned(), true))
    );
    assert_eq!(
        model("/bedrock/model/us.anthropic.claude-opus-4-5-v1%3A0/converse-stream"),
        Some((Wire::BedrockConverse, "us.anthropic.claude-opus-4-5-v1:0".to_owned(), true))
    );
}

#[test]
fn unknown_paths_belong_to_no_protocol() {
    for path in [
        "/",
        "/anthropic/v1/complete",
        "/gemini/v1beta/models/x:embedContent",
        "/vertex/v1/models/x:generateContent",
        "/bedrock/model/x/invoke",
    ] {
        assert_eq!(Wire::of_path(path), None, "{path}");
    }
}

#[test]
fn invalid_escapes_are_kept() {
    assert_eq!(percent_decoded("a%3Ab%zz%4"), "a:b%zz%4");
}
