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
    // A failure here shows the compiler's message, and which of the switched mistakes does not compile.
    build(&copy).run(workspace)?;
    let mut controls = BTreeMap::new();
    let mut unnoticed = 0;
    for mistake in &wanted {
        for test in &mistake.tests {
            let passes = |line: CommandLine| line.succeeds_quietly(workspace);
            let is_sound = match controls.get(test) {
                Some(is_sound) => *is_sound,
                None => *controls.entry(test).or_insert(passes(runs(&copy, test)?)),
            };
            let outcome = if !is_sound {
                "its tests fail without the mistake"
            } else if mistake.is_switched() {
                judge(true, passes(runs(&copy, test)?.with_environment(SWITCH, &mistake.name)))
            } else {
                let together: Vec<&Mistake> = switched.iter().copied().chain([*mistake]).collect();
                copy.write(&together)?;
                let compiles = passes(build(&copy));
                let outcome = judge(compiles, compiles && passes(runs(&copy, test)?));
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

/// Features of the one build that serves all tests: those of the checks that every change must pass.
const BUILD: &str = "--workspace --features lariat-proofs/proofs,lariat/otlp --cargo-quiet";

/// Selects tests of that build from a line such as `-p lariat-cli --test cli -- name name`.
fn filter(test: &str) -> Result<String> {
    let (target, names) = test.split_once(" -- ").unwrap_or((test, ""));
    let target: Vec<&str> = target.split_whitespace().collect();
    let target = match *target {
        ["-p", package, "--lib"] => format!("package(={package}) & kind(lib)"),
        ["-p", package, "--test" | "--bin", binary] => format!("package(={package}) & binary(={binary})"),
        _ => bail!("`test {test}` does not name a package and `--lib`, `--test NAME` or `--bin NAME`"),
    };
    let names: Vec<String> = names.split_whitespace().map(|name| format!("test(~{name})")).collect();
    Ok(if names.is_empty() { target } else { format!("{target} & ({})", names.join(" | ")) })
}

/// Builds all tests.
fn build(copy: &SourceCopy<'_>) -> CommandLine {
    copy.cargo("nextest run --no-run").with_arguments(BUILD.split(' '))
}

/// Builds and runs the selected tests.
fn runs(copy: &SourceCopy<'_>, test: &str) -> Result<CommandLine> {
    Ok(copy.cargo("nextest run").with_arguments(BUILD.split(' ')).with_arguments(["-E", &filter(test)?]))
}

#[cfg(test)]
mod tests {
    use super::filter;
    use crate::mistakes::patch::all;
    use crate::workspace::Workspace;

    #[test]
    fn selects_tests_of_one_binary() {
        let expected = "package(=lariat-cli) & binary(=cli) & (test(~one) | test(~other))";
        assert_eq!(filter("-p lariat-cli --test cli -- one other").unwrap(), expected);
        assert_eq!(filter("-p lariat-core --lib").unwrap(), "package(=lariat-core) & kind(lib)");
        assert!(filter("-p lariat-core").is_err());
    }

    #[test]
    fn every_mistake_names_its_tests() {
        for mistake in all(&Workspace::locate().unwrap()).unwrap() {
            for test in &mistake.tests {
                assert!(filter(test).is_ok(), "{}: {test}", mistake.name);
            }
        }
    }
}
