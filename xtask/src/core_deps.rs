//! `lariat-core` stays pure: no async runtime, no socket, no system call crate below it.
//!
//! Owns the list of crates that would let the world in, and the reading of `cargo tree`. Licences and bans
//! for the whole workspace are `deny`'s; who may use whom inside the workspace is `layers`'.

use std::collections::BTreeSet;

use anyhow::{Result, bail};

use crate::command_line::CommandLine;
use crate::workspace::Workspace;

/// Each of these brings a clock, a thread pool, a socket, randomness or the operating system.
const DENIED: &[&str] = &[
    "async-executor",
    "async-global-executor",
    "async-io",
    "async-process",
    "async-std",
    "blocking",
    "fastrand",
    "futures-executor",
    "getrandom",
    "glommio",
    "hyper",
    "io-uring",
    "libc",
    "mio",
    "monoio",
    "nix",
    "polling",
    "quinn",
    "rand",
    "rayon",
    "reqwest",
    "rusqlite",
    "rustix",
    "rustls",
    "smol",
    "socket2",
    "sqlx",
    "tokio",
    "tokio-util",
    "ureq",
    "wasi",
    "winapi",
    "windows-sys",
];

pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let tree =
        CommandLine::cargo("tree -p lariat-core -e normal --prefix none --locked").capture(workspace)?;
    let found = crates(&tree);
    println!("lariat-core stands on: {}", found.iter().copied().collect::<Vec<_>>().join(", "));
    check(&found)
}

/// The names in `cargo tree --prefix none` output: one crate a line, the name first, the root crate left out.
fn crates(tree: &str) -> BTreeSet<&str> {
    let names = tree.lines().filter_map(|line| line.split_whitespace().next());
    names.filter(|&name| name != "lariat-core").collect()
}

fn check(found: &BTreeSet<&str>) -> Result<()> {
    let denied: Vec<&str> = DENIED.iter().copied().filter(|name| found.contains(name)).collect();
    let Some(first) = denied.first() else {
        return Ok(());
    };
    bail!(
        "lariat-core must stay pure, but it pulls in {}; \
         see who asks with `cargo tree -p lariat-core -e normal -i {first}`, \
         then move that code to a crate above, or switch the feature off",
        denied.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::{check, crates};

    const PURE: &str = "lariat-core v0.1.0 (crates/lariat-core)\nserde v1.0.229\nserde_derive v1.0.229 (proc-macro)\n\
                        serde v1.0.229 (*)\ntokio-free v1.0.0\n";

    #[test]
    fn names_are_read_once_each_without_the_root() {
        assert_eq!(crates(PURE).into_iter().collect::<Vec<_>>(), ["serde", "serde_derive", "tokio-free"]);
    }

    #[test]
    fn a_pure_tree_passes() {
        assert!(check(&crates(PURE)).is_ok());
    }

    #[test]
    fn a_runtime_below_core_is_named_with_the_way_to_find_it() {
        let tree = format!("{PURE}uuid v1.29.0\ntokio v1.54.0\nlibc v0.2.186\n");
        let error = check(&crates(&tree)).unwrap_err().to_string();
        assert!(error.contains("pulls in libc, tokio;"), "{error}");
        assert!(error.contains("-i libc"), "{error}");
    }
}
