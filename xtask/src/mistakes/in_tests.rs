//! Runs tests with planted mistakes: each mistake must make its tests fail.
//!
//! One build has all mistakes, and an environment variable switches one on. The same tests must first pass without a
//! mistake, so that a failure is evidence of it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use anyhow::{Result, bail};

use super::SWITCH;
use super::copy::SourceCopy;
use super::patch::{Mistake, all};
use crate::command_line::CommandLine;
use crate::workspace::Workspace;

/// Plants every mistake whose name starts with one of `names`; all of them if `names` is empty.
pub(crate) fn run(workspace: &Workspace, names: &[String]) -> Result<()> {
    let mistakes = all(workspace)?;
    let is_wanted = |mistake: &&Mistake| {
        !mistake.tests.is_empty()
            && (names.is_empty() || names.iter().any(|name| mistake.name.starts_with(name.as_str())))
    };
    let wanted: Vec<&Mistake> = mistakes.iter().filter(is_wanted).collect();
    if wanted.is_empty() {
        bail!("no mistake with a test starts with `{}`", names.join("`, `"));
    }
    let tests = TestBuild::new(workspace, &mistakes.iter().collect::<Vec<_>>())?;
    tests.check_without_mistakes(&wanted)?;
    let queue =
        Mutex::new(wanted.iter().flat_map(|mistake| mistake.tests.iter().map(|test| (&mistake.name, test))));
    let unnoticed = AtomicUsize::new(0);
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some((mistake, test)) = next() {
                    let outcome = tests.outcome(mistake, test);
                    println!("{mistake}: {outcome}");
                    unnoticed.fetch_add(usize::from(outcome != NOTICED), Ordering::Relaxed);
                }
            });
        }
    });
    let unnoticed = unnoticed.into_inner();
    if unnoticed > 0 {
        bail!("the tests missed {unnoticed} of {} planted mistakes", wanted.len());
    }
    println!("the tests caught all {} planted mistakes", wanted.len());
    Ok(())
}

const NOTICED: &str = "noticed";
/// Mistakes that are tried at the same time. Many tests fail only after they have waited for something.
const AT_ONCE: usize = 3;
/// The profile of nextest that ends a test that waits for ever.
const PROFILE: &str = "mistakes";
/// Exit code of nextest if a test failed. Other failures, such as a filter without tests, have other codes.
const TESTS_FAILED: i32 = 100;

/// Features of the one build that serves all tests: those of the checks that every change must pass.
const BUILD: &str = "--workspace --features lariat-proofs/proofs,lariat/otlp --cargo-quiet";

/// The built tests of a copy with mistakes.
struct TestBuild<'a> {
    workspace: &'a Workspace,
    copy: SourceCopy<'a>,
    /// What nextest knows about the build. With it, a run does not ask cargo whether the build is up to date.
    description: String,
}

impl<'a> TestBuild<'a> {
    /// Builds all tests. A failure shows the compiler's message, and which mistake does not compile.
    fn new(workspace: &'a Workspace, mistakes: &[&Mistake]) -> Result<Self> {
        let copy = SourceCopy::new(workspace, "planted-tests");
        copy.write(mistakes)?;
        copy.cargo("nextest run --no-run").with_arguments(BUILD.split(' ')).run(workspace)?;
        let list = "nextest list --list-type binaries-only --message-format json";
        let binaries = copy.cargo(list).with_arguments(BUILD.split(' ')).capture(workspace)?;
        let description = copy.keep("binaries.json", &binaries)?;
        Ok(Self { workspace, copy, description })
    }

    /// Fails if a test of these mistakes fails without any mistake, and shows it.
    fn check_without_mistakes(&self, mistakes: &[&Mistake]) -> Result<()> {
        let tests = mistakes.iter().flat_map(|mistake| &mistake.tests);
        let filters: Result<Vec<String>> = tests.map(|test| Ok(format!("({})", filter(test)?))).collect();
        self.nextest(&filters?.join(" | ")).with_arguments(["--no-fail-fast"]).run(self.workspace)
    }

    fn outcome(&self, mistake: &str, test: &str) -> &'static str {
        let run = |filter: String| {
            let line = self.nextest(&filter).with_environment(SWITCH, mistake);
            line.exit_code_quietly(self.workspace)
        };
        match filter(test).and_then(run) {
            Ok(Some(0)) => "NOT NOTICED",
            Ok(Some(TESTS_FAILED)) => NOTICED,
            _ => "its tests did not run",
        }
    }

    fn nextest(&self, filter: &str) -> CommandLine {
        self.copy.nextest(&self.description).with_arguments(["--profile", PROFILE, "-E", filter])
    }
}

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
