//! Builds the benches' command lines.
//!
//! Benches run in the release profile; short ones use a profile that builds faster. The benches are a binary
//! of `lariat-proofs`; the bench of third-party crates is a crate of its own, `benches/decoders`.

use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::command_line::CommandLine;
use crate::workspace::Workspace;
use crate::{peers, terminal_bench};

const NAMES: &[&str] =
    &[DECODERS, "gate", "machine", "model", PEERS, "runs", "store", TERMINAL, "tools", "turn"];

/// Decodes the stream of `model` with third-party crates.
const DECODERS: &str = "decoders";
/// Compares the program `lariat` with other agents.
const PEERS: &str = "peers";
/// Compares the terminal UI of `lariat` with those of other agents.
const TERMINAL: &str = "terminal";

/// Benches that need the HTTP stack.
const HTTP: &[&str] = &["model", "turn"];

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Bench {
    name: String,
    arguments: Vec<String>,
}

impl Bench {
    pub(crate) fn parse(words: &[String]) -> Result<Self> {
        let known = NAMES.join("`, `");
        let Some((name, arguments)) = words.split_first() else {
            bail!("`bench` needs a name: one of `{known}`");
        };
        if !NAMES.contains(&name.as_str()) {
            bail!("unknown bench `{name}`; available: `{known}`");
        }
        Ok(Self { name: name.clone(), arguments: arguments.to_vec() })
    }

    /// The command that must run before the bench.
    fn preparation(&self) -> Option<CommandLine> {
        let build =
            CommandLine::cargo("build --release --locked -p lariat-proofs --features bench --bin bench");
        (self.name == DECODERS).then_some(build)
    }

    /// Builds and runs the bench; returns its exit code.
    pub(crate) fn pass_through(&self, workspace: &Workspace) -> Result<ExitCode> {
        if self.name == PEERS {
            return peers::run(workspace, &self.arguments).map(|()| ExitCode::SUCCESS);
        }
        if self.name == TERMINAL {
            return terminal_bench::run(workspace, &self.arguments).map(|()| ExitCode::SUCCESS);
        }
        if let Some(preparation) = self.preparation() {
            preparation.run(workspace)?;
        }
        self.command_line(workspace).pass_through(workspace)
    }

    pub(crate) fn command_line(&self, workspace: &Workspace) -> CommandLine {
        if self.name == DECODERS {
            let target = workspace.target();
            return CommandLine::cargo("run --release --locked --manifest-path benches/decoders/Cargo.toml")
                .with_arguments(["--target-dir", &format!("{target}/decoders"), "--"])
                .with_arguments([format!("{target}/release/bench")])
                .with_arguments(&self.arguments);
        }
        let is_short = self.arguments.iter().any(|word| word == "--short");
        // The same features for all benches, so that one build serves all.
        CommandLine::cargo("run --profile")
            .with_arguments([if is_short { "short" } else { "release" }])
            .with_arguments(["--locked", "-p", "lariat-proofs"])
            // The HTTP stack takes minutes to build, and few benches need it.
            .with_arguments(
                (is_short && !HTTP.contains(&self.name.as_str())).then_some("--no-default-features"),
            )
            .with_arguments("--features bench".split(' '))
            .with_arguments(["--bin", "bench", "--", &self.name])
            .with_arguments(&self.arguments)
    }
}

#[cfg(test)]
mod tests {
    use super::Bench;
    use crate::workspace::Workspace;

    fn parse(words: &[&str]) -> anyhow::Result<Bench> {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        Bench::parse(&words)
    }

    #[test]
    fn uses_the_release_profile_and_a_faster_one_for_short_benches() {
        let line =
            |words: &[&str]| parse(words).unwrap().command_line(&Workspace::fake("target")).to_string();
        let rest = "--features bench --bin bench -- machine";
        let kit = "--locked -p lariat-proofs";
        assert_eq!(line(&["machine"]), format!("cargo run --profile release {kit} {rest}"));
        assert_eq!(
            line(&["machine", "--short"]),
            format!("cargo run --profile short {kit} --no-default-features {rest} --short")
        );
    }

    #[test]
    fn builds_third_party_crates_separately_and_passes_our_server() {
        assert_eq!(
            parse(&["decoders"]).unwrap().command_line(&Workspace::fake("out")).to_string(),
            "cargo run --release --locked --manifest-path benches/decoders/Cargo.toml \
             --target-dir out/decoders -- out/release/bench"
        );
    }

    #[test]
    fn missing_or_unknown_name_lists_the_benches() {
        for words in [&[][..], &["horse"][..]] {
            let error = parse(words).unwrap_err().to_string();
            assert!(
                error.contains(
                    "`decoders`, `gate`, `machine`, `model`, `peers`, `runs`, `store`, `terminal`, `tools`, `turn`"
                ),
                "{error}"
            );
        }
    }
}
