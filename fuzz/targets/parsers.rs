//! Fuzzes the parser that the environment variable `LARIAT_FUZZ_PARSER` names. One binary serves all, because each takes
//! long to link.
#![no_main]

use std::sync::LazyLock;

use lariat_proofs::parsers::Parser;

static PARSER: LazyLock<Parser> = LazyLock::new(|| {
    tolerate_contained_panics();
    let name = std::env::var("LARIAT_FUZZ_PARSER").unwrap_or_default();
    Parser::named(&name).unwrap_or_else(|| panic!("`LARIAT_FUZZ_PARSER` names no parser: `{name}`"))
});

/// The analysis of commands catches panics of its second parser: such a text is unreadable.
fn tolerate_contained_panics() {
    let ends_process = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !panic.location().is_some_and(|place| place.file().contains("brush-parser")) {
            ends_process(panic);
        }
    }));
}

libfuzzer_sys::fuzz_target!(|input: &[u8]| PARSER.run(input));
