//! Fuzzes everything that reads untrusted bytes, guided by coverage.
//!
//! The targets are in `fuzz/`, a crate of its own; `lariat-proofs` defines what they assert. Needs no
//! nightly compiler and no other tool: the flags are stable, and libFuzzer comes with its crate. What it finds interesting is
//! kept in `fuzz/corpus` on request, so that the next run starts from it. Invariant: instrumented builds use a target directory
//! of their own.

use std::sync::{Mutex, PoisonError};

use anyhow::{Result, bail};

use crate::command_line::CommandLine;
use crate::workspace::Workspace;

/// The targets, most important first.
const TARGETS: &[&str] =
    &["sse", "aws_frames", "anthropic", "chat", "responses", "azure", "gemini", "vertex", "bedrock"];

/// The parsers of files and texts. One binary serves all of them; [`PARSER`] selects one.
const PARSERS: &[&str] = &[
    "rules",
    "settings",
    "shell",
    "patch",
    "event",
    "claude_session",
    "codex_session",
    "codeloops_session",
    "front_matter",
    "mcp_config",
    "openapi",
    "hook_answer",
    "archive",
    "acp_agent",
];

/// Parsers that are private to their crates, compiled from their sources into one binary. Each with the directories of its seeds.
const PRIVATE: &[(&str, &[&str])] = &[
    (
        "pdf",
        &[
            "crates/lariat-tools/tests/scenarios/read_pdf/before",
            "crates/lariat-tools/tests/scenarios/read_pdf_encrypted/before",
            "crates/lariat-tools/tests/scenarios/read_pdf_some_page_without_text/before",
            "crates/lariat-tools/tests/scenarios/read_pdf_truncated/before",
            "crates/lariat-tools/tests/scenarios/read_pdf_with_object_streams/before",
        ],
    ),
    ("stream_json", &["fuzz/seeds/stream_json"]),
    ("decision", &["fuzz/seeds/decision"]),
];
/// The environment variable with the name of the parser.
const PARSER: &str = "LARIAT_FUZZ_PARSER";

/// Coverage instrumentation for libFuzzer, with all checks of a test build.
const INSTRUMENTATION: &str = "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares";

/// Compilation target. It is explicit so that build scripts are not instrumented.
const TRIPLE: &str = "x86_64-unknown-linux-gnu";
/// Default number of seconds per target.
const SECONDS: u64 = 60;
/// Targets that run at the same time: each uses one core.
const AT_ONCE: usize = 2;
/// Archives of interesting inputs, one per target.
const CORPUS: &str = "fuzz/corpus";
/// Maximum input length in bytes: several events of every kind fit.
const MAX_LENGTH: u32 = 16 * 1024;
/// Seconds after which an input is treated as a hang.
const HANG_SECONDS: u32 = 10;

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fuzz {
    seconds: u64,
    /// Whether the inputs that reach different code are kept for later runs.
    keeps: bool,
    targets: Vec<&'static str>,
}

impl Fuzz {
    pub(crate) fn parse(words: &[String]) -> Result<Self> {
        let mut fuzz = Self { seconds: SECONDS, keeps: false, targets: Vec::new() };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            if word == "--seconds" {
                let number = words.next().and_then(|text| text.parse().ok());
                let Some(seconds) = number else { bail!("`--seconds` needs a number") };
                fuzz.seconds = seconds;
            } else if word == "--keep" {
                fuzz.keeps = true;
            } else if let Some(target) = all().find(|target| *target == word) {
                fuzz.targets.push(target);
            } else {
                let known: Vec<&str> = all().collect();
                bail!("unknown fuzz target `{word}`; available: `{}`", known.join("`, `"));
            }
        }
        if fuzz.targets.is_empty() {
            fuzz.targets = all().collect();
        }
        Ok(fuzz)
    }

    pub(crate) fn run(&self, workspace: &Workspace) -> Result<()> {
        let place = format!("{}/fuzz", workspace.target());
        seeds(&place).run(workspace)?;
        build(&place).run(workspace)?;
        for target in &self.targets {
            restore(workspace, &place, target)?;
        }
        let executions = self.fuzz_all(workspace, &place)?;
        println!(
            "\n{} targets, {} s each: {executions} executions, 0 crashes",
            self.targets.len(),
            self.seconds
        );
        if self.keeps {
            self.targets.iter().try_for_each(|target| keep(workspace, &place, target))?;
        }
        Ok(())
    }

    /// Fuzzes every target, [`AT_ONCE`] at a time, and returns the number of executions. After a crash no other starts.
    fn fuzz_all(&self, workspace: &Workspace, place: &str) -> Result<u64> {
        let queue = Mutex::new(self.targets.iter());
        let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
        let work = || -> Result<u64> {
            let mut executions = 0;
            while let Some(target) = next() {
                // A crash ends the program with a failure.
                let output = self.fuzz_target(place, target).capture_errors(workspace);
                let done = executions_of(&output.inspect_err(|_| while next().is_some() {})?);
                println!("{target}: {done} executions");
                executions += done;
            }
            Ok(executions)
        };
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(work)).collect();
            workers
                .into_iter()
                .map(|worker| worker.join().unwrap_or_else(|_| bail!("a thread panicked")))
                .sum()
        })
    }

    fn fuzz_target(&self, place: &str, target: &str) -> CommandLine {
        // libFuzzer stores interesting inputs in the first directory and only reads the others.
        let fuzzer = fuzzer(place, target).with_arguments([format!("{place}/found/{target}")]);
        let fuzzer = match private_seeds(target) {
            Some(seeds) => fuzzer.with_arguments(seeds.iter().copied()),
            None => fuzzer.with_arguments([
                format!("{place}/seeds/{target}"),
                format!("-dict={place}/seeds/{target}.dict"),
            ]),
        };
        fuzzer.with_arguments([
            format!("-artifact_prefix={place}/found/{target}-"),
            format!("-max_total_time={}", self.seconds),
            format!("-max_len={MAX_LENGTH}"),
            format!("-timeout={HANG_SECONDS}"),
            "-print_final_stats=1".to_owned(),
            "-verbosity=1".to_owned(),
        ])
    }
}

/// The program of a target.
fn fuzzer(place: &str, target: &str) -> CommandLine {
    let program = match private_seeds(target) {
        Some(_) => "private",
        None if PARSERS.contains(&target) => "parsers",
        None => target,
    };
    CommandLine::of(&format!("{place}/{TRIPLE}/release/{program}"), "").with_environment(PARSER, target)
}

/// The directories with the seeds of a private parser.
fn private_seeds(target: &str) -> Option<&'static [&'static str]> {
    PRIVATE.iter().find(|(name, _)| *name == target).map(|(_, seeds)| *seeds)
}

/// The archive of the inputs that earlier runs kept.
fn kept(target: &str) -> String {
    format!("{CORPUS}/{target}.tar.gz")
}

/// Creates the directory of a target's inputs from those that were kept, unless an earlier run on this machine left more.
fn restore(workspace: &Workspace, place: &str, target: &str) -> Result<()> {
    let directory = format!("{place}/found/{target}");
    if workspace.root().join(&directory).is_dir() {
        return Ok(());
    }
    std::fs::create_dir_all(workspace.root().join(&directory))?;
    if workspace.exists(&kept(target)) {
        CommandLine::of("tar", "--extract --gzip --file")
            .with_arguments([kept(target), "--directory".to_owned(), directory])
            .run(workspace)?;
    }
    Ok(())
}

/// Keeps the fewest inputs of a target that reach what all of its inputs reach. The same inputs give the same archive.
fn keep(workspace: &Workspace, place: &str, target: &str) -> Result<()> {
    let fewest = format!("{place}/kept/{target}");
    let _ = std::fs::remove_dir_all(workspace.root().join(&fewest));
    std::fs::create_dir_all(workspace.root().join(&fewest))?;
    std::fs::create_dir_all(workspace.root().join(CORPUS))?;
    fuzzer(place, target)
        .with_arguments(["-merge=1".to_owned(), format!("-max_len={MAX_LENGTH}"), fewest.clone()])
        .with_arguments([format!("{place}/found/{target}")])
        .capture_errors(workspace)?;
    CommandLine::of(
        "tar",
        "--create --gzip --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --file",
    )
    .with_arguments([kept(target), "--directory".to_owned(), fewest, ".".to_owned()])
    .run(workspace)
}

/// The executions that libFuzzer states at its end.
fn executions_of(output: &str) -> u64 {
    let stated = output.lines().find_map(|line| line.strip_prefix("stat::number_of_executed_units:"));
    stated.and_then(|number| number.trim().parse().ok()).unwrap_or_default()
}

/// The names of all targets.
fn all() -> impl Iterator<Item = &'static str> {
    TARGETS.iter().chain(PARSERS).copied().chain(PRIVATE.iter().map(|(name, _)| *name))
}

fn seeds(place: &str) -> CommandLine {
    CommandLine::cargo("run --quiet --locked -p lariat-proofs --features parsers --bin wire -- seeds")
        .with_arguments([format!("{place}/seeds")])
}

fn build(place: &str) -> CommandLine {
    CommandLine::cargo("build --release --locked --manifest-path fuzz/Cargo.toml --bins")
        .with_arguments(["--target", TRIPLE, "--target-dir", place])
        .with_environment("RUSTFLAGS", INSTRUMENTATION)
}

#[cfg(test)]
mod tests {
    use super::{Fuzz, all, build, executions_of};

    fn parse(line: &str) -> anyhow::Result<Fuzz> {
        Fuzz::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn fuzzes_every_target_without_a_name() {
        assert_eq!(
            parse("--seconds 5").unwrap(),
            Fuzz { seconds: 5, keeps: false, targets: all().collect() }
        );
        let kept = parse("--keep chat").unwrap();
        assert_eq!((kept.keeps, kept.targets), (true, vec!["chat"]));
    }

    #[test]
    fn reads_the_executions_of_a_target() {
        let output =
            "Done 12 runs in 1 second(s)\nstat::number_of_executed_units: 12\nstat::peak_rss_mb: 40\n";
        assert_eq!(executions_of(output), 12);
        assert_eq!(executions_of("interrupted"), 0);
    }

    #[test]
    fn unknown_target_error_lists_the_targets() {
        let error = parse("horse").unwrap_err().to_string();
        assert!(error.contains("`sse`, `aws_frames`"), "{error}");
        assert!(parse("--seconds").is_err());
    }

    #[test]
    fn seeds_of_private_parsers_are_in_the_repository() {
        let workspace = crate::workspace::Workspace::locate().unwrap();
        for (name, seeds) in super::PRIVATE {
            assert!(seeds.iter().all(|seeds| workspace.exists(seeds)), "{name}");
        }
        let line = parse("pdf").unwrap().fuzz_target("out/fuzz", "pdf").to_string();
        assert!(
            line.contains("release/private out/fuzz/found/pdf crates/lariat-tools")
                && !line.contains("-dict"),
            "{line}"
        );
    }

    #[test]
    fn instrumented_builds_use_their_own_target_directory() {
        let line = build("out/fuzz").to_string();
        assert!(line.contains("--target-dir out/fuzz") && line.contains("sancov-module"), "{line}");
        let fuzz_target = parse("sse").unwrap().fuzz_target("out/fuzz", "sse").to_string();
        assert!(
            fuzz_target.contains("out/fuzz/x86_64-unknown-linux-gnu/release/sse out/fuzz/found/sse"),
            "{fuzz_target}"
        );
    }
}
