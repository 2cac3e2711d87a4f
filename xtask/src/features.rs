//! Checks that the facade compiles without warnings with each small set of features that an embedder may choose.
//!
//! CI compiles the whole workspace with the features of all its members together, so a missing `cfg` shows only
//! here.

use anyhow::{Result, bail};

use crate::command_line::CommandLine;
use crate::workspace::Workspace;

/// The sets, smallest first.
const SETS: &[&str] = &[
    "",
    "typed",
    "models",
    "models,typed",
    "tracing",
    "jsonl",
    "gate",
    "second-parser",
    "sqlite",
    "postgres",
    "bedrock",
    "tools",
    "otlp",
    "service",
];

pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let mut failed = Vec::new();
    for set in SETS {
        println!("\n==> {}", name(set));
        if clippy(set).run(workspace).is_err() {
            failed.push(name(set));
        }
    }
    println!();
    for set in SETS {
        let verdict = if failed.contains(&name(set)) { "FAILED" } else { "compiles" };
        println!("{:16} {verdict}", name(set));
    }
    match failed.as_slice() {
        [] => Ok(()),
        failed => bail!("{} of {} sets of features do not compile cleanly", failed.len(), SETS.len()),
    }
}

fn name(set: &'static str) -> &'static str {
    if set.is_empty() { "no features" } else { set }
}

/// Clippy passes its flags to our own crates only, so that the others need no second compilation.
fn clippy(set: &str) -> CommandLine {
    CommandLine::cargo("clippy -p lariat --lib --locked --no-default-features --features")
        .with_arguments([set, "--", "-D", "warnings"])
}

#[cfg(test)]
mod tests {
    use super::{SETS, clippy};
    use crate::workspace::Workspace;

    #[test]
    fn checks_a_set_without_the_default_features() {
        assert_eq!(
            clippy("models,typed").to_string(),
            "cargo clippy -p lariat --lib --locked --no-default-features --features models,typed -- -D warnings"
        );
    }

    #[test]
    fn every_feature_of_a_set_exists() {
        let manifest = Workspace::repository().read("crates/lariat/Cargo.toml").unwrap();
        for feature in SETS.iter().flat_map(|set| set.split(',')).filter(|feature| !feature.is_empty()) {
            assert!(manifest.contains(&format!("\n{feature} = [")), "{feature}");
        }
    }
}
