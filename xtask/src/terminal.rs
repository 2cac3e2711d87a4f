//! The proof of the terminal UI: tests of the program on a pseudo terminal at full size, and a table of what they measured.
//!
//! The arguments become environment variables that the tests read. The build is optimised, because figures have limits.
//! Invariant: a missed limit fails the proof as a failed test does.

use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::command_line::CommandLine;
use crate::workspace::Workspace;
use crate::{peers, pictures};

/// The sizes: flag, variable, and value at full size.
const SIZES: &[(&str, &str, &str)] = &[
    ("--idle", "LARIAT_IDLE", "60"),
    ("--asks", "LARIAT_ASKS", "1000"),
    ("--resizes", "LARIAT_RESIZES", "10000"),
    ("--rounds", "LARIAT_ROUNDS", "20"),
    ("--tokens", "LARIAT_TOKENS", "5000"),
    (EVENTS, "LARIAT_EVENTS", "1000000"),
    ("--seed", "LARIAT_SEED", "7"),
];
/// Events of the long session; 0 writes none, and the program makes a short one.
const EVENTS: &str = "--events";
/// The tests that measure something.
const MEASURING: [&str; 5] = ["first_paint", "keys", "nothing", "stream", "waiting"];

/// Random bytes of a full run of `terminal-bytes`.
const BYTES: &str = "10000000";

/// Sends random bytes through every field of a screen: a test of the program, in the build that all checks share.
pub(crate) fn bytes(arguments: &[String]) -> Result<CommandLine> {
    let bytes = match arguments {
        [] => BYTES,
        [flag, bytes] if flag == "--bytes" => bytes.as_str(),
        _ => bail!("`terminal-bytes` accepts `--bytes N`, not `{}`", arguments.join(" ")),
    };
    let test = crate::build::tests("test --bin lariat");
    Ok(test
        .with_arguments(["random_bytes", "--", "--nocapture"])
        .with_environment("LARIAT_TERMINAL_BYTES", bytes))
}

/// What to run.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct TerminalProof {
    /// Given sizes, by flag.
    sizes: Vec<(String, String)>,
    /// The start of the tests' names.
    test: String,
    /// Whether to write the table to the document.
    writes: bool,
    /// Takes pictures of the program in xterm instead, into this directory.
    screenshots: Option<String>,
}

impl TerminalProof {
    pub(crate) fn parse(arguments: &[String]) -> Result<Self> {
        let mut proof = Self::default();
        let mut words = arguments.iter();
        while let Some(flag) = words.next() {
            if flag == "--write" {
                proof.writes = true;
                continue;
            }
            let value = words.next().with_context(|| format!("`{flag}` requires a value"))?.clone();
            match flag.as_str() {
                "--test" => proof.test = value,
                "--screenshots" => proof.screenshots = Some(value),
                _ if SIZES.iter().any(|(known, ..)| known == flag) => proof.sizes.push((flag.clone(), value)),
                _ => {
                    let flags: Vec<&str> = SIZES.iter().map(|(flag, ..)| *flag).collect();
                    bail!(
                        "`terminal` accepts {}, `--test`, `--screenshots` and `--write`, not `{flag}`",
                        flags.join(", ")
                    );
                }
            }
        }
        Ok(proof)
    }

    pub(crate) fn run(&self, workspace: &Workspace) -> Result<()> {
        if let Some(directory) = &self.screenshots {
            return pictures::xterm(workspace, directory);
        }
        let place = format!("{}/terminal", workspace.absolute(workspace.target()));
        let mut line = self.command_line();
        if self.size(EVENTS) != "0" {
            let state = format!("{place}/state");
            // What an earlier proof left.
            let _ = std::fs::remove_dir_all(&state);
            long_session(&format!("{state}/lariat"), self.size(EVENTS)).run(workspace)?;
            line = line.with_environment("LARIAT_LONG_SESSION", &state);
        }
        let text = measure(workspace, &place, &line, "terminal")?;
        if self.writes {
            peers::write(workspace, "terminal", &text)?;
        }
        check(&text)
    }

    fn size(&self, flag: &str) -> &str {
        let given = self.sizes.iter().rev().find(|(given, _)| given == flag).map(|(_, value)| value.as_str());
        let full = || SIZES.iter().find(|(known, ..)| *known == flag).map(|(.., full)| *full);
        given.or_else(full).unwrap_or_default()
    }

    fn command_line(&self) -> CommandLine {
        let line = tests("--release", &[&self.test]);
        SIZES.iter().fold(line, |line, (flag, variable, _)| line.with_environment(variable, self.size(flag)))
    }
}

/// Runs the tests that measure something, small and in a build that takes less long: `cargo xtask bench terminal --short`.
pub(crate) fn short(workspace: &Workspace) -> Result<()> {
    let place = format!("{}/terminal", workspace.absolute(workspace.target()));
    let text = measure(workspace, &place, &tests("--profile short", &MEASURING), "bench terminal --short")?;
    check(&text)
}

fn tests(profile: &str, names: &[&str]) -> CommandLine {
    CommandLine::cargo(&format!("test {profile} --locked -p lariat-cli --test cli --"))
        .with_arguments(names.iter().map(|name| format!("ui_limits::{name}")))
        .with_arguments(["--nocapture", "--test-threads", "1"])
}

/// Writes a session with this many events. Optimised, because it takes long otherwise.
fn long_session(place: &str, events: &str) -> CommandLine {
    CommandLine::cargo("run --profile proof --locked -p lariat-proofs --no-default-features --features")
        .with_arguments(["sessions", "--bin", "sessions", "--", "write", "--place", place])
        .with_arguments([EVENTS, events])
}

/// Runs the tests; prints and returns the table of what they measured.
fn measure(workspace: &Workspace, place: &str, line: &CommandLine, command: &str) -> Result<String> {
    std::fs::create_dir_all(place).with_context(|| place.to_owned())?;
    let figures = Path::new(place).join("figures");
    // What an earlier proof left.
    let _ = std::fs::remove_file(&figures);
    let ran = line.clone().with_environment("LARIAT_FIGURES", &figures.to_string_lossy()).run(workspace);
    let rows = std::fs::read_to_string(&figures).unwrap_or_default();
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or_default();
    let text = format!(
        "| what | measured | limit |\n| --- | --- | --- |\n{rows}\n{} The load at the end was {load}.\n",
        peers::machine(command)
    );
    println!("\n{text}");
    ran.map(|()| text)
}

fn check(text: &str) -> Result<()> {
    let missed: Vec<&str> = text.lines().filter(|line| line.ends_with(": missed |")).collect();
    if missed.is_empty() {
        return Ok(());
    }
    bail!("missed limits:\n{}", missed.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::{TerminalProof, check, long_session};

    fn parse(line: &str) -> anyhow::Result<TerminalProof> {
        TerminalProof::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn passes_sizes_to_the_tests() {
        let line = parse("--asks 7 --test typed").unwrap().command_line().to_string();
        assert!(line.contains("LARIAT_ASKS=7") && line.contains("LARIAT_RESIZES=10000"), "{line}");
        assert!(line.ends_with("-- ui_limits::typed --nocapture --test-threads 1"), "{line}");
        assert!(parse("--ask 7").is_err() && parse("--asks").is_err());
    }

    #[test]
    fn writes_the_long_session_before() {
        let line = long_session("out", parse("--events 5").unwrap().size("--events")).to_string();
        assert!(line.ends_with("--bin sessions -- write --place out --events 5"), "{line}");
    }

    #[test]
    fn missed_limit_fails() {
        assert!(check("| a | 1 ms | ≤ 2 ms |\n").is_ok());
        let error = check("| a | 1 ms | ≤ 2 ms |\n| b | 3 ms | ≤ 2 ms: missed |\n").unwrap_err().to_string();
        assert!(error.contains("| b |") && !error.contains("| a |"), "{error}");
    }
}
