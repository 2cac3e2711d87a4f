//! Fuzzes the parser of server-sent events.
#![no_main]

use lariat_proofs::wire::fuzz::Target;

libfuzzer_sys::fuzz_target!(|input: &[u8]| Target::Events.run(input));
