//! Fuzzes the parser of AWS frames.
#![no_main]

use lariat_proofs::wire::fuzz::Target;

libfuzzer_sys::fuzz_target!(|input: &[u8]| Target::AwsFrames.run(input));
