//! Runs tests with planted mistakes: each mistake must make its tests fail.
//!
//! The same tests must pass without the mistake, so that a failure is evidence of it. A mistake that does not compile
//! fails too, because it proves nothing.

use std::collections::BTreeMap;

use anyhow::{Result, bail};

use super::SWITCH;
use super::copy::SourceCopy;
use super::patch::{Mistake, all};
use crate::command_line::CommandLine;
use crate::workspace::Workspace;

/// Plants every mistake whose name starts with one of `names`; all of them if `names` is empty.
pub(crate) fn run(workspace: &Workspace, names: &[String]) -> Result<()> {
    let mistakes = all(workspace)?;
    let switched: Vec<&Mistake> = mistakes.iter().filter(|mistake| mistake.is_switched()).collect();
    let is_wanted = |mistake: &&Mistake| {
        !mistake.tests.is_empty()
            && (names.is_empty() || names.iter().any(|name| mistake.name.starts_with(name.as_str())))
    };
    let mut wanted: Vec<&Mistake> = mistakes.iter().filter(is_wanted).collect();
    if wanted.is_empty() {
        bail!("no mistake with a test starts with `{}`", names.join("`, `"));
    }
    // Permanent mistakes last: each needs another build.
    wanted.sort_by_key(|mistake| !mistake.is_switched());
    let copy = SourceCopy::new(workspace);
    copy.write(&switched)?;
    let mut controls = BTreeMap::new();
    let mut unnoticed = 0;
    for mistake in &wanted {
        for test in &mistake.tests {
            let passes = |line: CommandLine| line.succeeds_quietly(workspace);
            let is_sound = *controls.entry(test).or_insert_with(|| passes(runs(&copy, test)));
            let outcome = if !is_sound {
                "its tests fail without the mistake"
            } else if mistake.is_switched() {
                judge(true, passes(runs(&copy, test).with_environment(SWITCH, &mistake.name)))
            } else {
                let together: Vec<&Mistake> = switched.iter().copied().chain([*mistake]).collect();
                copy.write(&together)?;
                let compiles = passes(copy.cargo("test --no-run --quiet").with_arguments(words(test).0));
                let outcome = judge(compiles, compiles && passes(runs(&copy, test)));
                copy.write(&switched)?;
                outcome
            };
            println!("{}: {outcome}", mistake.name);
            unnoticed += u32::from(outcome != NOTICED);
        }
    }
    if unnoticed > 0 {
        bail!("the tests missed {unnoticed} of {} planted mistakes", wanted.len());
    }
    println!("the tests caught all {} planted mistakes", wanted.len());
    Ok(())
}

const NOTICED: &str = "noticed";

fn judge(compiles: bool, passes: bool) -> &'static str {
    match (compiles, passes) {
        (false, _) => "does not compile",
        (true, true) => "NOT NOTICED",
        (true, false) => NOTICED,
    }
}

/// The arguments of cargo and the names of the tests, which are separated by ` -- `.
fn words(test: &str) -> (Vec<&str>, Vec<&str>) {
    let (cargo, names) = test.split_once(" -- ").unwrap_or((test, ""));
    (cargo.split_whitespace().collect(), names.split_whitespace().collect())
}

/// Builds and runs the tests.
fn runs(copy: &SourceCopy<'_>, test: &str) -> CommandLine {
    let (cargo, names) = words(test);
    copy.cargo("test --quiet").with_arguments(cargo).with_arguments(["--"]).with_arguments(names)
}
