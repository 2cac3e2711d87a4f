//! Writes the seed inputs for fuzzing: streams as providers send them, and the words that occur in them.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use lariat_proofs::wire::fuzz::TARGETS;

/// Inputs per target.
const SEEDS: u64 = 64;

pub(crate) fn run(options: &[&str]) -> Result<bool, String> {
    let [directory] = options else { return Err("missing argument: the target directory".to_owned()) };
    for (name, target) in TARGETS {
        let failed = |error: std::io::Error| format!("cannot write the seeds of {name}: {error}");
        let place = Path::new(directory).join(name);
        fs::create_dir_all(&place).map_err(failed)?;
        let mut words = BTreeSet::new();
        for seed in 0..SEEDS {
            let input = target.seed(seed);
            words.extend(keys(&input));
            fs::write(place.join(seed.to_string()), input).map_err(failed)?;
        }
        let mut dictionary = String::new();
        for word in words {
            let _ = writeln!(dictionary, "\"\\\"{word}\\\"\"");
        }
        fs::write(place.with_extension("dict"), dictionary).map_err(failed)?;
    }
    Ok(true)
}

/// Short quoted strings: field names and meaningful values.
fn keys(input: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(input);
    let parts = text.split('"').filter(|part| (2..40).contains(&part.len()));
    let plain = |part: &&str| part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte));
    parts.filter(plain).map(str::to_owned).collect()
}
