//! Fuzzes parsers that are private to their crates, from the sources of those crates: `LARIAT_FUZZ_PARSER` names one.
//!
//! The sources are compiled as they are. What they use of `lariat-service` (two types and the names of tools) stands below under the same
//! path, so that this program does not contain the whole engine.
#![no_main]
#![allow(dead_code, reason = "a parser is a part of its module")]

extern crate self as lariat_service;

#[path = "../../crates/lariat-service/src/actor_critic/decision.rs"]
mod decision;
#[path = "../../crates/lariat-tools/src/pdf/mod.rs"]
mod pdf;
#[path = "../../crates/lariat-cli/src/wire/sdk.rs"]
mod sdk;

use std::sync::{LazyLock, Once};

use decision::CriticDecision;
use lariat_core::cancel::CancellationToken;
use lariat_core::content::ToolCall;
use lariat_core::permission::{PermissionDecision, PermissionRequest};
use lariat_core::tool::ToolContext;
use sdk::ControlLine;
use serde_json::{Value, json};

/// A prompt, as `lariat-service` defines it.
#[derive(Clone, Debug, Default)]
pub struct Prompt {
    pub text: String,
    pub images: Vec<(String, String)>,
}

pub mod callbacks {
    pub use lariat_guard::hooks::HandlerResult;
}

pub mod claude_tools {
    pub use lariat_guard::hooks::{claude_input, claude_name, own_input};
}

static PARSER: LazyLock<fn(&[u8])> = LazyLock::new(|| {
    let name = std::env::var("LARIAT_FUZZ_PARSER").unwrap_or_default();
    match name.as_str() {
        "pdf" => check_pdf,
        "stream_json" => check_stream_json,
        "decision" => check_decision,
        _ => panic!("`LARIAT_FUZZ_PARSER` names no private parser: `{name}`"),
    }
});

libfuzzer_sys::fuzz_target!(|input: &[u8]| PARSER(input));

/// A document ends in pages or in an error. Panics of the third-party parser are contained on its thread, so they are not faults.
fn check_pdf(input: &[u8]) {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let ends_process = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if std::thread::current().name() != Some("pdf") {
                ends_process(panic);
            }
        }));
    });
    let context = ToolContext::new(
        "call".into(),
        "read_file",
        "session".into(),
        "loop".into(),
        CancellationToken::new(),
    );
    let read = pdf::read(input.to_vec(), &(1..=3), &context, |text| text.len() > 100_000);
    let Ok(Ok(pages)) = read else { return };
    assert!(pages.pages.len() <= 3 && pages.pages.len() as u64 <= pages.total, "{} pages", pages.pages.len());
    assert_ne!(pages.stopped, Some(pdf::PdfStop::Late), "a small document took 20 s");
    let _ = pdf::page_range(&String::from_utf8_lossy(input));
}

/// Only JSON is a line, only the word `allow` approves, and the answer to a hook fails unless it is an object or nothing.
fn check_stream_json(input: &[u8]) {
    for line in String::from_utf8_lossy(input).lines() {
        let read = sdk::read(line);
        let is_json = serde_json::from_str::<Value>(line).is_ok();
        assert!(is_json || matches!(read, ControlLine::Broken(_)), "{read:?}");
        if let ControlLine::Response { answer, .. } = read {
            let arguments = json!({ "command": "cargo test" });
            let call = ToolCall {
                id: "call_1".into(),
                name: "bash".to_owned(),
                arguments: arguments.clone(),
                signature: None,
            };
            let request = PermissionRequest::new(&call, "cargo test").with_remember("Bash(cargo test *)");
            let (decision, _) = sdk::decision(&answer, &request, &arguments);
            let allows = matches!(&answer, Ok(answer) if answer["behavior"] == "allow");
            assert!(allows || matches!(decision, PermissionDecision::Deny { .. }), "{decision:?}");
            let is_good = matches!(&answer, Ok(Value::Object(_) | Value::Null));
            let result = sdk::hook_result(answer);
            assert_eq!(
                is_good,
                matches!(result, callbacks::HandlerResult::Exited { code: 0, .. }),
                "{result:?}"
            );
        }
    }
}

/// A decision that is written as JSON behind any text is the last one.
fn check_decision(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let _ = CriticDecision::last_in(&text);
    let last = r#"{"decision": "DONE", "summary": "s", "confidence": 0.5}"#;
    // A text that ends inside an object may contain what follows.
    let whole = format!("{}\n{last}", text.replace(['{', '"'], " "));
    let read = CriticDecision::last_in(&whole);
    assert_eq!(read, Some(CriticDecision::Done { summary: "s".to_owned(), confidence: Some(0.5) }));
}
