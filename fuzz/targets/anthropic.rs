//! Fuzzes the decoder of Anthropic Messages.
#![no_main]

use lariat_proofs::server::Wire;
use lariat_proofs::wire::fuzz::Target;

libfuzzer_sys::fuzz_target!(|input: &[u8]| Target::Decoder(Wire::AnthropicMessages).run(input));
