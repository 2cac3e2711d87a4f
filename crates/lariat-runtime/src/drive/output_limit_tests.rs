//! How long output is shortened.

use super::*;

#[test]
fn long_text_keeps_its_beginning_and_end_in_whole_lines() {
    let full: String = (0..10_000).map(|n| format!("line {n}\n")).collect();
    let short = shorten(&full, 4_096, " Kept.");
    assert!(short.len() <= 4_096, "{}", short.len());
    assert!(short.starts_with("line 0\nline 1\n") && short.ends_with("line 9998\nline 9999\n"), "{short}");
    let note = short.lines().find(|line| line.starts_with('[')).unwrap();
    assert!(note.contains("bytes left out here. Kept."), "{note}");
    assert!(short.lines().all(|line| line == note || full.contains(&format!("{line}\n"))), "{short}");
}

#[test]
fn long_line_is_split_between_characters() {
    let full = "é".repeat(100_000);
    let short = shorten(&full, 2_001, "");
    assert!(short.len() <= 2_001 && short.starts_with('é') && short.ends_with('é'), "{}", short.len());
}

#[test]
fn images_keep_their_place_and_text_becomes_one_block() {
    let image = || Content::Image { data: "aGk=".into(), mime_type: "image/png".into() };
    let mut result = ToolResult {
        content: vec![image(), Content::text("a".repeat(9_000)), image(), Content::text("b".repeat(9_000))],
        ..ToolResult::default()
    };
    partial(&mut result, 1_000);
    assert_eq!((result.content.len(), &result.content[0], &result.content[2]), (3, &image(), &image()));
    assert!(text_bytes(&result.content) <= 1_000);
}

#[test]
fn oversized_metadata_is_left_out() {
    let mut result = ToolResult::text("ok").with_details(json!({"rows": "x".repeat(2 << 20)}));
    partial(&mut result, 1_000);
    assert!(json_bytes(&result.details) < 100, "{}", result.details);
}
