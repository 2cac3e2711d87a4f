//! The benches' command line.
//!
//! Owns which benches there are and that they run in the release profile, short ones in one that is built faster. The benches themselves are a binary
//! of `lariat-testkit`; the one of other people's crates is a crate of its own, `benches/decoders`.

use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::command_line::CommandLine;
use crate::peers;
use crate::workspace::Workspace;

const NAMES: &[&str] = &[DECODERS, "gate", "machine", "model", PEERS, "runs", "store", "tools", "turn"];

/// The one that reads the stream of `model` with other people's crates.
const DECODERS: &str = "decoders";
/// The one of the program `lariat` beside other people's agents.
const PEERS: &str = "peers";

/// Those that need the HTTP stack.
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
            bail!("no bench `{name}`; there are `{known}`");
        }
        Ok(Self { name: name.clone(), arguments: arguments.to_vec() })
    }

    /// What must be built before.
    fn preparation(&self) -> Option<CommandLine> {
        let build =
            CommandLine::cargo("build --release --locked -p lariat-testkit --features bench --bin bench");
        (self.name == DECODERS).then_some(build)
    }

    /// Runs it, with what must be built before, and answers with its exit code.
    pub(crate) fn pass_through(&self, workspace: &Workspace) -> Result<ExitCode> {
        if self.name == PEERS {
            return peers::run(workspace, &self.arguments).map(|()| ExitCode::SUCCESS);
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
        // The same features for all of them, so that one build serves.
        CommandLine::cargo("run --profile")
            .with_arguments([if is_short { "short" } else { "release" }])
            .with_arguments(["--locked", "-p", "lariat-testkit"])
            // The HTTP stack takes minutes to build; few of them need it.
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
    fn a_bench_runs_in_the_release_profile_and_a_short_one_in_its_own() {
        let line =
            |words: &[&str]| parse(words).unwrap().command_line(&Workspace::fake("target")).to_string();
        let rest = "--features bench --bin bench -- machine";
        let kit = "--locked -p lariat-testkit";
        assert_eq!(line(&["machine"]), format!("cargo run --profile release {kit} {rest}"));
        assert_eq!(
            line(&["machine", "--short"]),
            format!("cargo run --profile short {kit} --no-default-features {rest} --short")
        );
    }

    #[test]
    fn other_peoples_crates_are_built_apart_and_told_where_our_server_is() {
        assert_eq!(
            parse(&["decoders"]).unwrap().command_line(&Workspace::fake("out")).to_string(),
            "cargo run --release --locked --manifest-path benches/decoders/Cargo.toml \
             --target-dir out/decoders -- out/release/bench"
        );
    }

    #[test]
    fn a_missing_or_unknown_name_lists_the_benches() {
        for words in [&[][..], &["horse"][..]] {
            let error = parse(words).unwrap_err().to_string();
            assert!(
                error.contains(
                    "`decoders`, `gate`, `machine`, `model`, `peers`, `runs`, `store`, `tools`, `turn`"
                ),
                "{error}"
            );
        }
    }
}
