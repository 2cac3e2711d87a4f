//! The proof of session hosts: the parts of the program `sessions`, and kills of the background host.
//!
//! Invariant: without arguments, every part runs in full.

use anyhow::{Context as _, Result, bail};

use crate::command_line::CommandLine;
use crate::kill_cli;
use crate::workspace::Workspace;

/// The parts, in the order in which they run.
const PARTS: [&str; 6] = ["conformance", "planted", "seeds", "races", "attach", "kills"];
/// Seeds of every script in the short form.
const SHORT_SEEDS: &str = "10";
/// Kills of the host in the short form.
const SHORT_KILLS: &str = "5";

/// Which parts to run, and how long.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SessionsProof {
    parts: Vec<&'static str>,
    is_short: bool,
    /// The only seed to play.
    seed: Option<u64>,
}

impl SessionsProof {
    /// Parses the names of parts, `--short` and `--seed N`.
    pub(crate) fn parse(arguments: &[String]) -> Result<Self> {
        let (mut parts, mut is_short, mut seed) = (Vec::new(), false, None);
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            match PARTS.into_iter().find(|part| part == argument) {
                Some(part) => parts.push(part),
                None if argument == "--short" => is_short = true,
                None if argument == "--seed" => {
                    let number = arguments.next().context("`--seed` needs a number")?;
                    seed = Some(number.parse().with_context(|| format!("`{number}` is not a seed"))?);
                }
                None => {
                    bail!(
                        "`sessions` accepts `--short`, `--seed N` and {}, not `{argument}`",
                        PARTS.join(", ")
                    )
                }
            }
        }
        if parts.is_empty() {
            parts = PARTS.to_vec();
        }
        Ok(Self { parts, is_short, seed })
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
            "seeds" => &["--count", SHORT_SEEDS],
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
        let run = run.with_arguments(["sessions", "--bin", "sessions", "--", part]);
        match self.seed.filter(|_| part == "seeds") {
            Some(seed) => Ok(run.with_arguments(["--seed".to_owned(), seed.to_string()])),
            None => Ok(run.with_arguments(options.to_vec())),
        }
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
        assert_eq!(lines.len(), 6);
        assert!(lines[0].ends_with("--bin sessions -- conformance"), "{lines:?}");
        assert!(lines[2].ends_with("--bin sessions -- seeds"), "{lines:?}");
        assert!(lines[4].ends_with("--bin sessions -- attach"), "{lines:?}");
        assert!(lines[5].starts_with("LARIAT_KILLS=200 cargo test"), "{lines:?}");
    }

    #[test]
    fn runs_named_parts_briefly() {
        let lines = lines("races kills --short");
        assert!(lines[0].ends_with("--bin sessions -- races --count 50"), "{lines:?}");
        assert!(lines[1].starts_with("LARIAT_KILLS=5 cargo test"), "{lines:?}");
        assert_eq!(lines.len(), 2);
    }

    #[test]
    fn repeats_a_seed() {
        let lines = lines("seeds --short --seed 17");
        assert!(lines[0].ends_with("--bin sessions -- seeds --seed 17"), "{lines:?}");
        assert!(SessionsProof::parse(&["--seed".to_owned(), "x".to_owned()]).is_err());
    }

    #[test]
    fn refuses_an_unknown_part() {
        let error = SessionsProof::parse(&["--store".to_owned()]).unwrap_err().to_string();
        assert!(
            error.contains("conformance, planted, seeds, races, attach, kills, not `--store`"),
            "{error}"
        );
    }
}
