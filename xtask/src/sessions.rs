//! The proof of session hosts: the parts of the program `sessions`, and kills of the background host.
//!
//! Invariant: without arguments, every part runs in full.

use anyhow::{Result, bail};

use crate::command_line::CommandLine;
use crate::kill_cli;
use crate::workspace::Workspace;

/// The parts, in the order in which they run.
const PARTS: [&str; 5] = ["conformance", "planted", "races", "attach", "kills"];
/// Kills of the host in the short form.
const SHORT_KILLS: &str = "5";

/// Which parts to run, and how long.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SessionsProof {
    parts: Vec<&'static str>,
    is_short: bool,
}

impl SessionsProof {
    /// Parses the names of parts and `--short`.
    pub(crate) fn parse(arguments: &[String]) -> Result<Self> {
        let (mut parts, mut is_short) = (Vec::new(), false);
        for argument in arguments {
            match PARTS.into_iter().find(|part| part == argument) {
                Some(part) => parts.push(part),
                None if argument == "--short" => is_short = true,
                None => bail!("`sessions` accepts `--short` and {}, not `{argument}`", PARTS.join(", ")),
            }
        }
        if parts.is_empty() {
            parts = PARTS.to_vec();
        }
        Ok(Self { parts, is_short })
    }

    /// Runs the parts; the first that fails ends the proof.
    pub(crate) fn run(&self, workspace: &Workspace) -> Result<()> {
        self.command_lines()?.iter().try_for_each(|line| line.run(workspace))
    }

    fn command_lines(&self) -> Result<Vec<CommandLine>> {
        self.parts.iter().map(|part| self.command_line(part)).collect()
    }

    fn command_line(&self, part: &str) -> Result<CommandLine> {
        let short: &[&str] = match part {
            "kills" => &["--kills", SHORT_KILLS],
            "races" => &["--count", "50"],
            "attach" => &["--events", "20000"],
            "conformance" => &["--short"],
            _ => &[],
        };
        let options = if self.is_short { short } else { &[] };
        if part == "kills" {
            let options: Vec<String> = options.iter().map(|&option| option.to_owned()).collect();
            return kill_cli::command_line(kill_cli::HOST, &options);
        }
        // Optimised, because an attach is timed.
        let run = CommandLine::cargo(
            "run --profile proof --locked -p lariat-proofs --no-default-features --features",
        );
        Ok(run.with_arguments(["sessions", "--bin", "sessions", "--", part]).with_arguments(options.to_vec()))
    }
}

#[cfg(test)]
mod tests {
    use super::SessionsProof;

    fn lines(arguments: &str) -> Vec<String> {
        let words: Vec<String> = arguments.split_whitespace().map(str::to_owned).collect();
        let lines = SessionsProof::parse(&words).unwrap().command_lines().unwrap();
        lines.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn runs_every_part_in_full() {
        let lines = lines("");
        assert_eq!(lines.len(), 5);
        assert!(lines[0].ends_with("--bin sessions -- conformance"), "{lines:?}");
        assert!(lines[3].ends_with("--bin sessions -- attach"), "{lines:?}");
        assert!(lines[4].starts_with("LARIAT_KILLS=200 cargo test"), "{lines:?}");
    }

    #[test]
    fn runs_named_parts_briefly() {
        let lines = lines("races kills --short");
        assert!(lines[0].ends_with("--bin sessions -- races --count 50"), "{lines:?}");
        assert!(lines[1].starts_with("LARIAT_KILLS=5 cargo test"), "{lines:?}");
        assert_eq!(lines.len(), 2);
    }

    #[test]
    fn refuses_an_unknown_part() {
        let error = SessionsProof::parse(&["--store".to_owned()]).unwrap_err().to_string();
        assert!(error.contains("conformance, planted, races, attach, kills, not `--store`"), "{error}");
    }
}
