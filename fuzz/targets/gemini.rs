//! Fuzzes the decoder of Gemini.
#![no_main]

use lariat_testkit::server::Wire;
use lariat_testkit::wire::fuzz::Target;

libfuzzer_sys::fuzz_target!(|input: &[u8]| Target::Decoder(Wire::Gemini).run(input));
