//! Tests of token counts for texts, images and messages.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::json;

use super::*;
use crate::message::{AssistantMessage, StopReason};
use crate::time::Timestamp;
use crate::usage::Usage;

fn reply(content: Vec<Content>) -> AgentMessage {
    AgentMessage::from(Message::Assistant(AssistantMessage {
        content,
        stop_reason: StopReason::Stop,
        model: "m".to_owned(),
        requested_model: None,
        provider: "p".to_owned(),
        usage: Usage::default(),
        timestamp: Timestamp::default(),
        error_message: None,
    }))
}

/// Texts with their o200k token count and the allowed error of the built-in counter in percent.
const KNOWN: &[(&str, u64, u64)] = &[
    (
        "The quick brown fox jumps over the lazy dog, and then it sleeps in the sun until the evening comes.",
        22,
        15,
    ),
    (
        "fn main() {\n    let total: u64 = items.iter().map(|item| item.price).sum();\n    println!(\"{total}\");\n}\n",
        33,
        20,
    ),
    ("{\"name\":\"lariat\",\"version\":\"0.1.0\",\"tags\":[\"agent\",\"runtime\"],\"count\":42}", 27, 25),
    ("我们今天讨论上下文窗口的大小,以及如何估计令牌的数量。", 18, 60),
];

#[test]
fn built_in_counter_is_close_to_a_tokenizer() {
    for (text, real, percent) in KNOWN {
        let counted = estimate_tokens(text);
        let off = counted.abs_diff(*real) * 100 / real;
        assert!(off <= *percent, "{counted} for {real}: {text}");
    }
    let spaces = " ".repeat(4_000);
    assert!(estimate_tokens(&spaces) < 100, "indentation is cheap");
    assert_eq!(estimate_tokens(""), 0);
}

#[test]
fn parts_of_a_text_sum_to_the_whole_except_at_the_cut() {
    let text = "let größe = 値 + \u{1f680}; // done\n".repeat(50);
    for (at, _) in text.char_indices() {
        let (one, other) = text.split_at(at);
        let parts = estimate_tokens(one) + estimate_tokens(other);
        assert!(parts.abs_diff(estimate_tokens(&text)) <= 4, "at {at}");
    }
}

#[test]
fn unsigned_reasoning_is_not_counted() {
    let thinking = |signature: Option<&str>| Content::Thinking {
        thinking: "a long thought about the problem".repeat(20),
        signature: signature.map(str::to_owned),
    };
    let unsigned = message_tokens(&reply(vec![thinking(None), Content::text("yes")]));
    let signed = message_tokens(&reply(vec![thinking(Some("s")), Content::text("yes")]));
    assert_eq!(unsigned, message_tokens(&reply(vec![Content::text("yes")])));
    assert!(signed > unsigned + 60);
}

#[test]
fn tool_call_counts_name_and_json_arguments() {
    let small = message_tokens(&reply(vec![Content::tool_call("c", "read", json!({}))]));
    let large = message_tokens(&reply(vec![Content::tool_call(
        "c",
        "read",
        json!({ "text": "a word ".repeat(100) }),
    )]));
    assert!(small < 15 && large > small + 100, "{small}, {large}");
}

fn png(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    bytes.extend(width.to_be_bytes());
    bytes.extend(height.to_be_bytes());
    bytes.extend([8, 6, 0, 0, 0, 1, 2, 3, 4]);
    bytes
}

/// Builds a JPEG with `metadata` bytes before the frame, as cameras write them.
fn jpeg(width: u16, height: u16, metadata: u16) -> Vec<u8> {
    let mut bytes = vec![0xff, 0xd8, 0xff, 0xe1];
    bytes.extend((metadata + 2).to_be_bytes());
    bytes.extend(vec![0xc0; usize::from(metadata)]);
    bytes.extend([0xff, 0xc4, 0, 3, 9, 0xff, 0xff, 0xc2, 0, 17, 8]);
    bytes.extend(height.to_be_bytes());
    bytes.extend(width.to_be_bytes());
    bytes.extend([3, 1, 0x22]);
    bytes
}

#[test]
fn image_is_counted_by_area_if_its_size_is_known() {
    let by_area = |bytes: &[u8]| ImageTokens::ByArea.count(&BASE64_STANDARD.encode(bytes));
    assert_eq!(by_area(&png(750, 100)), 100);
    assert_eq!(by_area(&jpeg(300, 250, 40_000)), 100);
    assert_eq!(by_area(&png(8_000, 8_000)), 1_600, "it is scaled down first");
    assert_eq!(by_area(&png(1, 1)), 1);
    // Cut in the middle of a group, with line ends, or in the other alphabet.
    let coded = BASE64_STANDARD.encode(jpeg(300, 250, 40));
    for spelling in
        [coded.trim_end_matches('=').to_owned(), coded.replace('/', "_"), coded.replace('A', "A\r\n")]
    {
        assert_eq!(ImageTokens::ByArea.count(&spelling), 100, "{spelling}");
    }
    for broken in [&png(750, 100)[..18], b"GIF89a", b"", &jpeg(300, 250, 40)[..30], &[0xff, 0xd8, 0xff, 0xd9]]
    {
        assert_eq!(by_area(broken), 1_200, "{broken:?}");
    }
    assert_eq!(ImageTokens::default().count(&BASE64_STANDARD.encode(png(750, 100))), 1_200);
    assert_eq!(ImageTokens::of_protocol("anthropic-messages"), ImageTokens::ByArea);
    assert_eq!(ImageTokens::of_protocol("openai-chat"), ImageTokens::default());
}
