//! Counts the crates that a program compiles to embed the loop with providers, beside two peers, and can time a
//! cold `cargo check` of it.
//!
//! Counts names with versions: two versions of a crate are compiled twice.

use std::collections::BTreeSet;
use std::time::Instant;

use anyhow::{Result, bail};

use crate::command_line::CommandLine;
use crate::workspace::Workspace;

/// The most crates that the loop with providers may pull in, our own included.
const LIMIT: usize = 90;

/// The smallest set of features with which an agent reaches a model by its name.
const LOOP: &str = "-p lariat --no-default-features --features models --locked";

/// The workspace whose lock pins the peers.
const PEERS: &str = "benches/decoders/Cargo.toml";

/// Whether to time a cold check as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timing {
    Skip,
    Measure,
}

pub(crate) fn run(workspace: &Workspace, timing: Timing) -> Result<()> {
    let ours = count(&tree(LOOP).capture(workspace)?);
    println!("{ours:>4} crates  lariat: the loop and its providers (at most {LIMIT})");
    for peer in ["rig-core", "yoagent"] {
        let tree = tree(&format!("-p {peer} --manifest-path {PEERS} --locked"));
        // The lock of the peers may not be resolvable offline; our own limit does not depend on it.
        match tree.capture(workspace) {
            Ok(tree) => println!("{:>4} crates  {peer}", count(&tree)),
            Err(error) => println!("   ? crates  {peer}: {error}"),
        }
    }
    if timing == Timing::Measure {
        let cold = format!("{}/cold", workspace.target());
        let _ = std::fs::remove_dir_all(workspace.root().join(&cold));
        let begun = Instant::now();
        CommandLine::cargo(&format!("check {LOOP} --target-dir {cold}")).run(workspace)?;
        println!("{:>4.0} s       lariat: cold check", begun.elapsed().as_secs_f64());
    }
    check(ours)
}

fn tree(words: &str) -> CommandLine {
    CommandLine::cargo(&format!("tree -e normal --prefix none {words}"))
}

/// Counts the crates in the output of `cargo tree --prefix none`: name and version are the first two words.
fn count(tree: &str) -> usize {
    let names = tree.lines().map(|line| line.split_whitespace().take(2).collect::<Vec<_>>());
    names.filter(|name| name.len() == 2).collect::<BTreeSet<_>>().len()
}

fn check(count: usize) -> Result<()> {
    if count <= LIMIT {
        return Ok(());
    }
    bail!(
        "the loop with providers pulls in {count} crates, more than {LIMIT}; \
         find what is new with `cargo tree {LOOP} -e normal`, and put it behind a feature"
    )
}

#[cfg(test)]
mod tests {
    use super::{LIMIT, check, count};

    #[test]
    fn counts_each_version_once() {
        let tree =
            "lariat v0.1.0 (crates/lariat)\nserde v1.0.0\nserde v1.0.0 (*)\nsyn v2.0.0\nsyn v1.0.0\n\n";
        assert_eq!(count(tree), 4);
    }

    #[test]
    fn fails_above_the_limit() {
        assert!(check(LIMIT).is_ok());
        assert!(check(LIMIT + 1).unwrap_err().to_string().contains("behind a feature"));
    }
}
