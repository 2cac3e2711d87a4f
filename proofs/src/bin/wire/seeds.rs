//! Writes the seed inputs for fuzzing (streams as providers send them, valid files), and the words that occur in them.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use lariat_proofs::wire::fuzz::TARGETS;

/// Inputs per target.
const SEEDS: u64 = 64;

pub(crate) fn run(options: &[&str]) -> Result<bool, String> {
    let [directory] = options else { return Err("missing argument: the target directory".to_owned()) };
    let directory = Path::new(directory);
    for (name, target) in TARGETS {
        write(directory, name, (0..SEEDS).map(|seed| target.seed(seed)))?;
    }
    #[cfg(feature = "parsers")]
    for (name, parser) in lariat_proofs::parsers::PARSERS {
        write(directory, name, parser.seeds().iter().map(|seed| seed.as_bytes().to_vec()))?;
    }
    Ok(true)
}

/// Writes the inputs of a target, and a dictionary of the words in them.
fn write(directory: &Path, name: &str, inputs: impl Iterator<Item = Vec<u8>>) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("cannot write the seeds of {name}: {error}");
    let place = directory.join(name);
    fs::create_dir_all(&place).map_err(failed)?;
    let mut words = BTreeSet::new();
    for (number, input) in inputs.enumerate() {
        words.extend(keys(&input));
        fs::write(place.join(number.to_string()), input).map_err(failed)?;
    }
    // libFuzzer refuses an empty file.
    let mut dictionary = "# The words of the seeds.\n".to_owned();
    for word in words {
        let _ = writeln!(dictionary, "\"\\\"{word}\\\"\"");
    }
    fs::write(place.with_extension("dict"), dictionary).map_err(failed)
}

/// Short quoted strings: field names and meaningful values.
fn keys(input: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(input);
    let parts = text.split('"').filter(|part| (2..40).contains(&part.len()));
    let plain = |part: &&str| part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte));
    parts.filter(plain).map(str::to_owned).collect()
}
