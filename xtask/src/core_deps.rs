//! Checks that `lariat-core` stays pure: it must not depend on an async runtime, a socket or a system call
//! crate.
//!
//! Licences and bans of the whole workspace are checked by `deny`, dependencies between our crates by
//! `layers`.

use std::collections::BTreeSet;

use anyhow::{Result, bail};

use crate::command_line::CommandLine;
use crate::workspace::Workspace;

/// Each of these adds a clock, a thread pool, a socket, randomness or access to the operating system.
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
    "hyper-util",
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
    println!("lariat-core depends on: {}", found.iter().copied().collect::<Vec<_>>().join(", "));
    check(&found)
}

/// Parses `cargo tree --prefix none` output: one crate per line, the name first. The root crate is left out.
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
         find the dependent crate with `cargo tree -p lariat-core -e normal -i {first}`, \
         then move that code to a higher crate or disable the feature",
        denied.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::{check, crates};

    const PURE: &str = "lariat-core v0.1.0 (crates/lariat-core)\nserde v1.0.229\nserde_derive v1.0.229 (proc-macro)\n\
                        serde v1.0.229 (*)\ntokio-free v1.0.0\n";

    #[test]
    fn parses_each_name_once_without_the_root() {
        assert_eq!(crates(PURE).into_iter().collect::<Vec<_>>(), ["serde", "serde_derive", "tokio-free"]);
    }

    #[test]
    fn accepts_a_pure_tree() {
        assert!(check(&crates(PURE)).is_ok());
    }

    #[test]
    fn error_names_the_denied_crates_and_how_to_find_them() {
        let tree = format!("{PURE}uuid v1.29.0\ntokio v1.54.0\nlibc v0.2.186\n");
        let error = check(&crates(&tree)).unwrap_err().to_string();
        assert!(error.contains("pulls in libc, tokio;"), "{error}");
        assert!(error.contains("-i libc"), "{error}");
    }
}
