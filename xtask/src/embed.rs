//! Compares programs that embed Lariat with the same programs on two peers, and builds programs that link Lariat
//! beside crates with native libraries.
//!
//! Both live in `benches/embed`, outside the workspace. Invariant: no program talks to anything but the scripted
//! server on loopback, and none runs longer than [`PATIENCE`].

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::command_line::CommandLine;
use crate::server_process::ServerProcess;
use crate::workspace::Workspace;

const DIRECTORY: &str = "benches/embed";
const BESIDE: &str = "benches/embed/beside";
const OURS: &str = "lariat";
const LIBRARIES: [&str; 3] = [OURS, "rig", "yoagent"];

/// The programs: what they do, the last word of their names, and the last line that they print.
const PROGRAMS: [(&str, &str, &str); 3] = [
    ("a model and a tool", "tool", "20 + 22 = 42."),
    ("approval of a tool call", "approval", "staging: yes, production: no."),
    ("a typed answer", "typed", "Paris has 2103778 inhabitants."),
];

/// The answers to the two approval requests.
const ANSWERS: &[u8] = b"y\nn\n";

/// Longest run of a program.
const PATIENCE: Duration = Duration::from_secs(60);

/// Packages that link Lariat beside another crate, and how each is tried. A native library is only known to
/// link once the program is linked and runs.
const NEIGHBOURS: &[(&str, &str)] = &[
    ("diesel", "run"),
    ("rusqlite", "run"),
    ("sqlx-08", "check"),
    ("sqlx-09", "check"),
    ("tree-sitter", "run"),
];

/// What to build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Embed {
    Programs,
    Beside,
}

pub(crate) fn run(workspace: &Workspace, embed: Embed) -> Result<()> {
    match embed {
        Embed::Programs => programs(workspace),
        Embed::Beside => beside(workspace),
    }
}

fn programs(workspace: &Workspace) -> Result<()> {
    cargo("build", DIRECTORY, workspace).with_arguments(["--bins"]).run(workspace)?;
    let program =
        |name: &str| Command::new(workspace.absolute(&format!("{}/debug/{name}", workspace.target())));
    let server = ServerProcess::start_announced(&mut program("chat_server"))?;
    let mut counts = Vec::new();
    let mut failures = Vec::new();
    for (_, program_name, expected) in PROGRAMS {
        let mut lines = Vec::new();
        for library in LIBRARIES {
            let name = format!("{library}_{program_name}");
            lines.push(lines_of_code(&workspace.read(&format!("{DIRECTORY}/src/bin/{name}.rs"))?));
            match last_line(program(&name).env("OPENAI_BASE_URL", format!("http://{}/v1", server.address))) {
                Ok(line) if line == expected => println!("{name}: {line}"),
                Ok(line) => failures.push(format!("{name} printed `{line}`, not `{expected}`")),
                Err(error) => failures.push(format!("{name}: {error:#}")),
            }
        }
        counts.push(lines);
    }
    println!("\n{}", table(&counts));
    failures.extend(longer(&counts));
    match failures.as_slice() {
        [] => Ok(()),
        failures => bail!("{}", failures.join("\n")),
    }
}

/// A cargo command on a package outside the workspace, which shares the target directory.
fn cargo(verb: &str, directory: &str, workspace: &Workspace) -> CommandLine {
    CommandLine::cargo(&format!("{verb} --locked --manifest-path {directory}/Cargo.toml"))
        .with_arguments(["--target-dir", workspace.target()])
}

/// Runs a program to its end and returns the last line of its output.
fn last_line(command: &mut Command) -> Result<String> {
    let command = command.env("OPENAI_API_KEY", "key").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut process = command.spawn().context("cannot start")?;
    // Most programs do not read it.
    let _ = process.stdin.take().map(|mut input| input.write_all(ANSWERS));
    let start = Instant::now();
    let status = loop {
        if let Some(status) = process.try_wait()? {
            break status;
        }
        if start.elapsed() > PATIENCE {
            let _ = process.kill();
            let _ = process.wait();
            bail!("ran for more than {} seconds", PATIENCE.as_secs());
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    let mut output = String::new();
    process.stdout.take().context("no output")?.read_to_string(&mut output)?;
    if !status.success() {
        bail!("failed ({status}) after `{}`", output.trim());
    }
    Ok(output.lines().last().unwrap_or_default().to_owned())
}

/// Counts the lines that are neither blank nor a comment.
fn lines_of_code(source: &str) -> usize {
    source.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//")).count()
}

/// Lines of code, one row per program and one column per library.
fn table(counts: &[Vec<usize>]) -> String {
    let mut text = format!("{:24}", "lines of code");
    LIBRARIES.iter().for_each(|library| text.push_str(&format!("{library:>9}")));
    for ((what, _, _), lines) in PROGRAMS.iter().zip(counts) {
        text.push_str(&format!("\n{what:24}"));
        lines.iter().for_each(|count| text.push_str(&format!("{count:>9}")));
    }
    text
}

/// Names the programs of ours that are longer than the shortest.
fn longer(counts: &[Vec<usize>]) -> Vec<String> {
    let rows = PROGRAMS.iter().zip(counts);
    let longer = rows.filter_map(|((what, _, _), lines)| {
        let (ours, shortest) = (lines.first()?, lines.iter().min()?);
        let text = format!("{what}: {ours} lines with {OURS}, {shortest} with the shortest");
        (ours > shortest).then_some(text)
    });
    longer.collect()
}

fn beside(workspace: &Workspace) -> Result<()> {
    for (name, verb) in NEIGHBOURS {
        println!("\n==> {name}");
        cargo(verb, &format!("{BESIDE}/{name}"), workspace).run(workspace)?;
    }
    println!();
    for (name, verb) in NEIGHBOURS {
        let outcome = if *verb == "run" { "resolves, links and runs" } else { "resolves and compiles" };
        println!("{name:12} {outcome} beside {OURS}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::{BESIDE, NEIGHBOURS, last_line, lines_of_code, longer, table};
    use crate::workspace::Workspace;

    #[test]
    fn counts_neither_blank_lines_nor_comments() {
        assert_eq!(lines_of_code("//! Head.\n\nfn main() {\n    // Why.\n    run();\n}\n"), 3);
    }

    #[test]
    fn fails_if_ours_is_longer_than_the_shortest() {
        assert!(longer(&[vec![9, 12, 38], vec![14, 14, 14]]).is_empty());
        assert_eq!(
            longer(&[vec![9, 12, 38], vec![28, 27, 52]]),
            ["approval of a tool call: 28 lines with lariat, 27 with the shortest"]
        );
    }

    #[test]
    fn table_has_a_row_per_program() {
        assert_eq!(
            table(&[vec![9, 12, 38]]).lines().last(),
            Some("a model and a tool              9       12       38")
        );
    }

    #[test]
    fn failing_program_is_an_error_with_its_output() {
        let error = last_line(Command::new("sh").args(["-c", "echo half; exit 3"])).unwrap_err().to_string();
        assert!(error.contains("half") && error.contains('3'), "{error}");
        assert_eq!(last_line(Command::new("sh").args(["-c", "read answer; echo $answer"])).unwrap(), "y");
    }

    #[test]
    fn every_package_beside_ours_is_tried() {
        let packages = Workspace::repository().names(BESIDE, "").unwrap();
        assert_eq!(packages, NEIGHBOURS.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    }
}
