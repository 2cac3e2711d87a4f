//! Runs proofs with planted mistakes: each mistake must make its proof find a fault.
//!
//! A proof runs once per mistake, in a process of its own, until its first fault (`--until-fault`); its exit code is
//! then 1. It also runs without a mistake and must find none, so that a fault is evidence of the mistake.

use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

use anyhow::{Result, bail};

use super::SWITCH;
use super::copy::SourceCopy;
use super::patch::{Mistake, all};
use crate::workspace::Workspace;

/// The binaries of the proofs that catch mistakes in the product.
pub(super) const NAMES: [&str; 5] = ["simulate", "budgets", "escape", "undo", "shell"];
/// The proofs in which nothing depends on time, so that several runs do not disturb each other.
const DETERMINISTIC: [&str; 2] = ["simulate", "budgets"];
/// Runs of them at the same time.
const AT_ONCE: usize = 2;
/// The crate with the proofs, and what they need of it.
const PACKAGE: &str = "-p lariat-proofs --no-default-features --features simulate,tools,guard";
const PROFILE: &str = "proof";
/// The copy that is shared by the proofs.
const COPY: &str = "planted";
const FLAG: &str = "--planted";

/// Whether the arguments of a proof ask for planted mistakes.
pub(crate) fn is_planted(arguments: &[String]) -> bool {
    arguments.iter().any(|word| word == FLAG)
}

/// Plants the mistakes that proofs must catch and builds the proofs: one build for all of them.
fn build(workspace: &Workspace) -> Result<()> {
    let mistakes = all(workspace)?;
    let mistakes: Vec<&Mistake> = mistakes.iter().filter(|mistake| mistake.proof.is_some()).collect();
    let copy = SourceCopy::new(workspace, COPY);
    copy.write(&mistakes)?;
    let binaries = NAMES.iter().flat_map(|name| ["--bin", name]);
    copy.cargo("build")
        .with_arguments(["--profile", PROFILE])
        .with_arguments(PACKAGE.split(' '))
        .with_arguments(binaries)
        .run(workspace)
}

/// Builds, then runs a proof with `--planted [NAME]` and further arguments.
pub(crate) fn prove(workspace: &Workspace, proof: &str, arguments: &[String]) -> Result<ExitCode> {
    build(workspace)?;
    let (name, rest) = split(arguments);
    Ok(if run(workspace, proof, name, &rest)? { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Separates the name after `--planted` from the arguments of the proof itself.
fn split(arguments: &[String]) -> (Option<&str>, Vec<String>) {
    let mut rest = Vec::new();
    let mut name = None;
    let mut words = arguments.iter().peekable();
    while let Some(word) = words.next() {
        if word == FLAG {
            name = words.next_if(|next| !next.starts_with("--")).map(String::as_str);
        } else {
            rest.push(word.clone());
        }
    }
    (name, rest)
}

/// Runs a proof without a mistake and with each whose name starts with `name`. Returns whether it found a fault exactly with the
/// mistakes.
fn run(workspace: &Workspace, proof: &str, name: Option<&str>, arguments: &[String]) -> Result<bool> {
    let mistakes = all(workspace)?;
    let is_wanted = |mistake: &&Mistake| {
        mistake.proof.as_deref() == Some(proof) && name.is_none_or(|name| mistake.name.starts_with(name))
    };
    let mistakes: Vec<&Mistake> = mistakes.iter().filter(is_wanted).collect();
    if mistakes.is_empty() {
        bail!("no mistake of `{proof}` starts with `{}`", name.unwrap_or_default());
    }
    let copy = SourceCopy::new(workspace, COPY);
    let program = copy.program(PROFILE, proof).with_arguments(["--until-fault"]).with_arguments(arguments);
    // The run without a mistake is the longest.
    let queue = Mutex::new(std::iter::once(None).chain(mistakes.iter().copied().map(Some)));
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
    let results = Mutex::new(Results::default());
    std::thread::scope(|scope| {
        let at_once = if DETERMINISTIC.contains(&proof) { AT_ONCE } else { 1 };
        for _ in 0..at_once {
            scope.spawn(|| {
                while let Some(mistake) = next() {
                    let program = match mistake {
                        Some(mistake) => program.clone().with_environment(SWITCH, &mistake.name),
                        None => program.clone(),
                    };
                    let outcome = match program.exit_code_and_output(workspace) {
                        Ok(ended) => Outcome::of(ended),
                        Err(error) => Outcome::Broken(None, format!("{error:#}")),
                    };
                    let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
                    results.add(mistake, outcome, name.is_some());
                }
            });
        }
    });
    let Results { control, caught } = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(control) = control {
        bail!("`{proof}` fails without a mistake: {control}");
    }
    println!("{caught} of {} planted mistakes caught", mistakes.len());
    Ok(caught == mistakes.len())
}

/// What the runs of a proof found.
#[derive(Default)]
struct Results {
    /// What the run without a mistake found, which should be nothing.
    control: Option<String>,
    caught: usize,
}

impl Results {
    /// Prints and keeps the outcome with a mistake, or with none.
    fn add(&mut self, mistake: Option<&Mistake>, outcome: Outcome, prints_fault: bool) {
        let Some(mistake) = mistake else {
            self.control =
                Some(outcome).filter(|outcome| *outcome != Outcome::NoFault).map(|o| o.first_line());
            return;
        };
        if let (Outcome::Fault(output), true) = (&outcome, prints_fault) {
            print!("{output}");
        }
        let line: String = outcome.first_line().chars().take(120).collect();
        match outcome {
            Outcome::Fault(_) => {
                self.caught += 1;
                println!("{:<26} caught by {line}", mistake.name);
            }
            Outcome::NoFault => println!("{:<26} NOT CAUGHT", mistake.name),
            Outcome::Broken(..) => println!("{:<26} NOT CAUGHT: {line}", mistake.name),
        }
    }
}

/// The result of a proof.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    NoFault,
    /// With what the proof printed about it.
    Fault(String),
    /// The proof could not run, or died.
    Broken(Option<i32>, String),
}

impl Outcome {
    fn of((code, output): (Option<i32>, String)) -> Self {
        match code {
            Some(0) => Self::NoFault,
            Some(1) if !output.trim().is_empty() => Self::Fault(output),
            _ => Self::Broken(code, output),
        }
    }

    fn first_line(&self) -> String {
        match self {
            Self::NoFault => String::new(),
            Self::Fault(output) => output.lines().next().unwrap_or_default().to_owned(),
            Self::Broken(code, output) => {
                format!("exit code {code:?}: {}", output.lines().next().unwrap_or_default())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Outcome, is_planted, split};

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn passes_other_arguments_to_the_proof() {
        let arguments = words("--planted LosesSteering --seed 5");
        assert_eq!(split(&arguments), (Some("LosesSteering"), words("--seed 5")));
        let arguments = words("--seeds 10 --planted");
        assert_eq!(split(&arguments), (None, words("--seeds 10")));
        assert!(is_planted(&arguments) && !is_planted(&words("--seeds 10")));
    }

    #[test]
    fn only_a_reported_fault_is_a_catch() {
        assert_eq!(Outcome::of((Some(1), "seed 3: lost\n".into())), Outcome::Fault("seed 3: lost\n".into()));
        assert_eq!(Outcome::of((Some(0), "fine".into())), Outcome::NoFault);
        for (code, output) in [(Some(1), " \n"), (Some(2), "usage"), (Some(101), "panicked"), (None, "")] {
            assert!(matches!(Outcome::of((code, output.into())), Outcome::Broken(..)), "{code:?}");
        }
    }
}
