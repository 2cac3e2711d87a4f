//! Fuzzes the parser that the environment variable `LARIAT_FUZZ_PARSER` names. One binary serves all, because each takes
//! long to link.
#![no_main]

use std::sync::LazyLock;

use lariat_proofs::parsers::Parser;

static PARSER: LazyLock<Parser> = LazyLock::new(|| {
    let name = std::env::var("LARIAT_FUZZ_PARSER").unwrap_or_default();
    Parser::named(&name).unwrap_or_else(|| panic!("`LARIAT_FUZZ_PARSER` names no parser: `{name}`"))
});

libfuzzer_sys::fuzz_target!(|input: &[u8]| PARSER.run(input));
