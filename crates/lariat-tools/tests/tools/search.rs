//! Tests `search` and `glob` in real directories.
#![expect(clippy::disallowed_methods, reason = "tests create their own files")]

use std::time::{Duration, SystemTime};

use lariat_core::cancel::CancellationToken;
use lariat_core::tool::ToolError;
use serde_json::json;

use crate::fixture::{Fixture, context};

fn rust_project() -> Fixture {
    let fixture = Fixture::new();
    fixture.put(".gitignore", "/target\n");
    fixture.put("src/main.rs", "fn main() {\n    helper();\n}\n");
    fixture.put("src/helper.rs", "// one\n// two\npub fn helper() {}\n// four\n");
    fixture.put("README.md", "Call helper().\r\n");
    fixture.put("target/debug/helper.rs", "fn helper() {}\n");
    fixture.put(".github/ci.yml", "run: helper\n");
    fixture.put(".git/HEAD", "helper\n");
    fixture.put("data.bin", b"helper\n\0\x01\x02");
    fixture
}

#[tokio::test]
async fn shows_lines_by_file_without_ignored_and_binary_files() {
    let text = rust_project().text("search", json!({ "pattern": r"helper\b" })).await;
    assert_eq!(
        text,
        "README.md\n1: Call helper().\n\n.github/ci.yml\n1: run: helper\n\nsrc/helper.rs\n3: pub fn helper() {}\n\n\
         src/main.rs\n2:     helper();\n[4 matches in 4 files.]\n"
    );
}

#[tokio::test]
async fn glob_type_path_case_and_all_select_files() {
    let fixture = rust_project();
    let files = async |more: serde_json::Value| {
        let mut call = json!({ "pattern": "HELPER", "mode": "files", "case": "insensitive" });
        call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        fixture.text("search", call).await
    };
    assert_eq!(files(json!({ "glob": "*.rs" })).await, "src/helper.rs\nsrc/main.rs\n[2 files.]\n");
    assert_eq!(files(json!({ "type": "md" })).await, "README.md\n[1 file.]\n");
    assert_eq!(files(json!({ "path": "src", "glob": "!main.rs" })).await, "src/helper.rs\n[1 file.]\n");
    assert_eq!(files(json!({ "path": "src/main.rs" })).await, "src/main.rs\n[1 file.]\n");
    assert_eq!(files(json!({ "path": "target" })).await, "target/debug/helper.rs\n[1 file.]\n");
    assert!(files(json!({ "all": true })).await.contains(".git/HEAD\n"));
    assert_eq!(files(json!({ "case": "sensitive" })).await, "No matches in 6 files.\n");
    assert!(files(json!({ "case": "smart" })).await.starts_with("No matches"));
}

#[tokio::test]
async fn context_count_and_multiline_shape_the_result() {
    let fixture = rust_project();
    let lines = fixture.text("search", json!({ "pattern": "pub fn", "context": 1 })).await;
    assert_eq!(lines, "src/helper.rs\n2- // two\n3: pub fn helper() {}\n4- // four\n[1 match in 1 file.]\n");
    let count = fixture.text("search", json!({ "pattern": "//", "mode": "count" })).await;
    assert_eq!(count, "src/helper.rs: 3\n[3 matches in 1 file.]\n");
    let call = json!({ "pattern": r"main\(\).*helper", "multiline": true });
    let across = fixture.text("search", call).await;
    assert_eq!(across, "src/main.rs\n1: fn main() {\n2:     helper();\n[2 matches in 1 file.]\n");
}

#[tokio::test]
async fn result_pages_join_and_say_how_to_continue() {
    let fixture = Fixture::new();
    for file in 0..900 {
        fixture.put(
            &format!("d{:02}/f{file:03}", file % 30),
            format!("needle {file}\nhay\nneedle {file} again\n"),
        );
    }
    let (mut offset, mut seen, mut pages) = (0, Vec::new(), 0);
    loop {
        let result = fixture
            .call("search", json!({ "pattern": "needle", "limit": 700, "offset": offset }))
            .await
            .unwrap();
        let text = crate::fixture::text(&result);
        seen.extend(text.lines().filter(|line| line.contains(": needle")).map(str::to_owned));
        pages += 1;
        match result.details["next_offset"].as_u64() {
            Some(next) => {
                assert!(text.contains(&format!("Continue with `offset` {next}")), "{text}");
                offset = next;
            }
            None => break,
        }
    }
    assert_eq!(pages, 3);
    let mut unique = seen.clone();
    unique.sort();
    unique.dedup();
    assert_eq!((seen.len(), unique.len()), (1_800, 1_800));
}

#[tokio::test]
async fn cuts_long_lines_around_the_match_and_limits_the_result() {
    let fixture = Fixture::new();
    fixture.put("min.js", format!("{}needle{}\n", "é".repeat(5_000), "b".repeat(5_000)));
    let text = fixture.text("search", json!({ "pattern": "needle" })).await;
    assert!(text.contains("needle") && text.contains("[… ") && text.len() < 600, "{text}");
    fixture.put(
        "wide.txt",
        "needle and some more words to fill the line up to a hundred characters or so, no less\n"
            .repeat(5_000),
    );
    let text = fixture.text("search", json!({ "pattern": "needle", "limit": 5_000 })).await;
    assert!(text.len() < 40_000 && text.contains("more follow"), "{}", text.len());
}

#[tokio::test]
async fn searches_large_and_utf16_files() {
    let fixture = Fixture::new();
    fixture.put("large", format!("{}needle\n", "hay\n".repeat(400_000)));
    let utf16: Vec<u8> =
        [0xff, 0xfe].into_iter().chain("a needle\n".encode_utf16().flat_map(u16::to_le_bytes)).collect();
    fixture.put("utf16", utf16);
    // Recognised as binary only near the end: earlier matches are not reported.
    fixture.put("late.bin", format!("needle\n{}\0", "hay\n".repeat(400_000)));
    let text = fixture.text("search", json!({ "pattern": "needle" })).await;
    assert_eq!(text, "large\n400001: needle\n\nutf16\n1: a needle\n[2 matches in 2 files.]\n");
}

#[tokio::test]
async fn searches_nothing_outside_the_workspace() {
    let fixture = rust_project();
    std::fs::write(fixture.base.join("outputs/secret"), "helper\n").unwrap();
    std::fs::write(fixture.base.join("outputs/hidden.rs"), "pub fn hidden_away() {}\n").unwrap();
    std::os::unix::fs::symlink(fixture.base.join("outputs"), fixture.base.join("ws/way-out")).unwrap();
    for path in ["..", "way-out", "../outputs", "/etc", "way-out/secret"] {
        let error = fixture.error("search", json!({ "pattern": "helper", "path": path })).await;
        assert!(error.contains("outside the workspace"), "{path}: {error}");
        let error = fixture.error("glob", json!({ "pattern": "*", "path": path })).await;
        assert!(error.contains("outside the workspace"), "{path}: {error}");
        let error = fixture.error("repo_map", json!({ "path": path })).await;
        assert!(error.contains("outside the workspace"), "{path}: {error}");
    }
    assert!(!fixture.text("search", json!({ "pattern": "helper", "all": true })).await.contains("secret"));
    assert!(!fixture.text("glob", json!({ "pattern": "*", "all": true })).await.contains("way-out"));
    let map = fixture.text("repo_map", json!({})).await;
    assert!(map.contains("helper") && !map.contains("hidden_away"), "{map}");
}

#[tokio::test]
async fn cancelled_search_returns_cancelled() {
    let fixture = rust_project();
    for name in ["search", "glob"] {
        let cancel = CancellationToken::new();
        cancel.cancel();
        let ended = fixture.tool(name).execute(json!({ "pattern": "x" }), context(name, cancel)).await;
        assert_eq!(ended.unwrap_err(), ToolError::Cancelled);
    }
}

#[tokio::test]
async fn glob_lists_newest_first_and_notes_the_cut() {
    let fixture = rust_project();
    let old = std::fs::File::options().write(true).open(fixture.base.join("ws/src/helper.rs")).unwrap();
    old.set_modified(SystemTime::now() - Duration::from_secs(60)).unwrap();
    assert_eq!(fixture.text("glob", json!({ "pattern": "*.rs" })).await, "src/main.rs\nsrc/helper.rs\n");
    assert_eq!(fixture.text("glob", json!({ "pattern": "src/h*" })).await, "src/helper.rs\n");
    assert_eq!(fixture.text("glob", json!({ "pattern": "h*", "path": "src" })).await, "src/helper.rs\n");
    assert!(
        fixture
            .text("glob", json!({ "pattern": "**/helper.rs", "all": true }))
            .await
            .contains("target/debug/helper.rs")
    );
    let cut = fixture.text("glob", json!({ "pattern": "*.rs", "limit": 1 })).await;
    assert!(cut.starts_with("src/main.rs\n[1 of 2 files shown"), "{cut}");
    assert!(fixture.text("glob", json!({ "pattern": "*.zig" })).await.starts_with("No file matches"));
    assert!(fixture.error("glob", json!({ "pattern": "a{" })).await.contains("is not valid"));
}
