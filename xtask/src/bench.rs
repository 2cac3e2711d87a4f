//! The benches' command line.
//!
//! Owns which benches there are and that they run in the release profile. The benches themselves are a binary
//! of `lariat-testkit`.

use anyhow::{Result, bail};

use crate::command_line::CommandLine;

const NAMES: &[&str] = &["machine", "runs"];

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

    pub(crate) fn command_line(&self) -> CommandLine {
        CommandLine::cargo("run --release --locked -p lariat-testkit --bin bench --")
            .with_arguments([&self.name])
            .with_arguments(&self.arguments)
    }
}

#[cfg(test)]
mod tests {
    use super::Bench;

    fn parse(words: &[&str]) -> anyhow::Result<Bench> {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        Bench::parse(&words)
    }

    #[test]
    fn a_bench_runs_in_the_release_profile_with_its_arguments() {
        assert_eq!(
            parse(&["machine", "--short"]).unwrap().command_line().to_string(),
            "cargo run --release --locked -p lariat-testkit --bin bench -- machine --short"
        );
    }

    #[test]
    fn a_missing_or_unknown_name_lists_the_benches() {
        for words in [&[][..], &["horse"][..]] {
            let error = parse(words).unwrap_err().to_string();
            assert!(error.contains("`machine`, `runs`"), "{error}");
        }
    }
}
