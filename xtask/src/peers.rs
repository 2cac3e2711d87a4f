//! Compares the program `lariat` with other agents on the same tasks in the same run.
//!
//! Our own rows have goals, and a missed goal fails the bench. The kit of scripts (a scripted model, one
//! script per agent, the measuring) is a directory outside this project (`--kit DIR`, default
//! `../shared/peers`); our own scripts in `benches/peers` are added to a copy of it. Measures the release
//! build or `--program PATH`. Prints a table, and with `--write` updates `docs/benchmarks.md`.
//! Invariant: everything runs in a network namespace that has only the loopback interface.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value};

use crate::command_line::CommandLine;
use crate::workspace::Workspace;

const OURS: &str = "benches/peers";
const KIT: &str = "../shared/peers";
const DOCUMENT: &str = "docs/benchmarks.md";
/// Agents to measure by default.
const PEERS: &[&str] = &["lariat", "lariat-sandbox", "codex", "goose", "claude", "pi", "opencode", "gemini"];
/// Number of tool calls of the run that checks whether turns stay fast.
const LONG: usize = 1_000;
/// Number of turns compared around the tenth and the last turn.
const SPAN: usize = 20;

/// A measurement of ours that must not exceed a limit.
struct Goal {
    what: &'static str,
    /// Path of the measurement in the results; `factor` converts it to the goal's unit.
    path: &'static str,
    /// Path of the same measurement without any agent.
    without: &'static str,
    factor: f64,
    most: f64,
}

const fn goal(what: &'static str, path: &'static str, without: &'static str, factor: f64, most: f64) -> Goal {
    Goal { what, path, without, factor, most }
}

/// Baselines without an agent: `nothing` starts `true`, `bare` sends requests and starts commands.
const NOTHING: &str = "nothing";
const BARE: &str = "bare";
const START: &str = "nothing/version/wall/med";

const GOALS: &[Goal] = &[
    goal("`--version`, ms", "lariat/version/wall/med", START, 1e3, 3.0),
    goal("one turn, ms", "lariat/one/wall/med", START, 1e3, 15.0),
    goal("one turn, MB", "lariat/one/rss/med", "", 1.0, 20.0),
    goal("one turn with sandbox, ms", "lariat-sandbox/one/wall/med", START, 1e3, 15.0),
    goal("one turn with sandbox, MB", "lariat-sandbox/one/rss/med", "", 1.0, 20.0),
    goal("gap per turn, ms", "lariat/gap_ms/med", "bare/early", 1.0, 3.0),
    goal("gap per turn with sandbox, ms", "lariat-sandbox/gap_ms/med", "bare/early", 1.0, 8.0),
    goal("gap around turn 1,000 against turn 10", "lariat/flat", "bare/flat", 1.0, 1.5),
    goal("gap around turn 1,000 against turn 10, with sandbox", "lariat-sandbox/flat", "bare/flat", 1.0, 1.5),
    goal("program, MB", "lariat/size", "", 1e-6, 30.0),
];

/// Parsed arguments.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Options {
    pub(crate) kit: Option<String>,
    /// An existing program; if not given, the release program is built.
    program: Option<String>,
    pub(crate) peers: Vec<String>,
    pub(crate) write: bool,
    pub(crate) skip_install: bool,
}

impl Options {
    /// Returns the program to measure; builds it if none is given.
    pub(crate) fn program(&self, workspace: &Workspace) -> Result<String> {
        match &self.program {
            Some(program) => Ok(workspace.absolute(program)),
            None => crate::dist::program(workspace, workspace.root()),
        }
    }
}

pub(crate) fn parse(words: &[String]) -> Result<Options> {
    let mut options = Options::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--kit" => options.kit = Some(words.next().context("`--kit` requires a directory")?.clone()),
            "--program" => {
                options.program = Some(words.next().context("`--program` requires a path")?.clone())
            }
            "--write" => options.write = true,
            "--skip-install" => options.skip_install = true,
            flag if flag.starts_with('-') => bail!("unknown option `{flag}` of a bench with peers"),
            peer => options.peers.push(peer.to_owned()),
        }
    }
    Ok(options)
}

/// The agents, installed, and the program to measure beside them.
pub(crate) struct Bench {
    /// The kit with our own scripts.
    pub(crate) place: PathBuf,
    pub(crate) program: String,
}

impl Bench {
    /// Builds the program and installs the agents.
    pub(crate) fn prepare(workspace: &Workspace, options: &Options) -> Result<Self> {
        let kit = workspace.root().join(options.kit.as_deref().unwrap_or(KIT));
        if !kit.join("bench.sh").exists() {
            bail!("no bench kit found at {}; pass its directory with `--kit DIR`", kit.display());
        }
        let program = options.program(workspace)?;
        if !options.skip_install {
            bash(&kit.join("install.sh"), "").run(workspace)?;
        }
        let place = PathBuf::from(workspace.absolute(&format!("{}/peers", workspace.target())));
        join(&kit, &workspace.root().join(OURS), &place)?;
        Ok(Self { place, program })
    }
}

/// Builds, installs, measures and prints.
pub(crate) fn run(workspace: &Workspace, words: &[String]) -> Result<()> {
    let options = parse(words)?;
    let Bench { place, program } = Bench::prepare(workspace, &options)?;
    let home = home()?;
    let results = place.join("results.json");
    let _ = std::fs::remove_file(&results);
    let named: Vec<&str> = match options.peers.as_slice() {
        [] => PEERS.to_vec(),
        peers => peers.iter().map(String::as_str).collect(),
    };
    bash(&place.join("bench.sh"), "")
        .with_arguments([results.display().to_string()])
        .with_arguments(named.iter().copied().chain([NOTHING]))
        .with_environment("LARIAT", &program)
        .run(workspace)?;
    let mut measured: Value = serde_json::from_str(&std::fs::read_to_string(&results)?)?;
    let gaps = |peer: &str, turns: usize| -> Result<Vec<f64>> {
        let said = bash(&place.join("flat.sh"), "")
            .with_arguments([peer.to_owned(), turns.to_string()])
            .with_environment("LARIAT", &program)
            .capture(workspace)?;
        let gaps: Vec<f64> = said.lines().filter_map(|line| line.trim().parse().ok()).collect();
        if gaps.len() + 1 < turns {
            bail!("{peer} completed only {} of {turns} turns", gaps.len() + 1);
        }
        Ok(gaps)
    };
    let mut text = table(&measured, &named);
    for peer in named.iter().filter(|peer| peer.starts_with("lariat")).chain([&BARE]) {
        let gaps = gaps(peer, LONG)?;
        let (early, late) = (median(&gaps, 1, SPAN), median(&gaps, gaps.len() - SPAN, SPAN));
        text.push_str(&format!(
            "\n{peer}, {LONG} turns: gap around turn 10 {early:.1} ms, around turn {LONG} {late:.1} ms.\n"
        ));
        set(&mut measured, peer, "early", early);
        set(&mut measured, peer, "flat", late / early);
    }
    set(&mut measured, "lariat", "size", std::fs::metadata(&program)?.len() as f64);
    let (goals, missed) = compare_with_goals(&measured);
    text.push_str(&format!("\n{goals}\n{}\n", machine("bench peers")));
    println!("\n{text}");
    if options.write {
        write(workspace, "peers", &text)?;
    }
    println!("results: {}; agents are installed in {}", results.display(), home.display());
    if !missed.is_empty() {
        bail!("missed goals: {}", missed.join("; "));
    }
    Ok(())
}

fn set(measured: &mut Value, peer: &str, name: &str, value: f64) {
    if let Some(peers) = measured.as_object_mut() {
        let of_peer = peers.entry(peer).or_insert_with(|| Value::Object(Map::new()));
        of_peer.as_object_mut().into_iter().for_each(|of_peer| {
            of_peer.insert(name.to_owned(), Value::from(value));
        });
    }
}

/// The median of `count` gaps, starting at `from`.
fn median(gaps: &[f64], from: usize, count: usize) -> f64 {
    let mut span: Vec<f64> = gaps.iter().skip(from).take(count).copied().collect();
    span.sort_by(f64::total_cmp);
    span.get(span.len() / 2).copied().unwrap_or_default()
}

/// Compares the measurements with the goals; returns the table and the missed goals. Agents that were not
/// measured are left out.
fn compare_with_goals(measured: &Value) -> (String, Vec<String>) {
    let mut text =
        String::from("| Lariat | figure | with no agent at all | goal |\n| --- | --- | --- | --- |\n");
    let mut missed = Vec::new();
    for goal in GOALS {
        let of =
            |path: &str| measured.pointer(&format!("/{path}"))?.as_f64().map(|figure| figure * goal.factor);
        let Some(figure) = of(goal.path) else { continue };
        let without = of(goal.without).map_or_else(|| "–".to_owned(), |figure| format!("{figure:.2}"));
        let word = if figure <= goal.most { "" } else { ": missed" };
        text.push_str(&format!("| {} | {figure:.2} | {without} | ≤ {}{word} |\n", goal.what, goal.most));
        if figure > goal.most {
            missed.push(format!("{} {figure:.2} (goal {})", goal.what, goal.most));
        }
    }
    (text, missed)
}

/// Copies the kit and our own scripts into one directory.
fn join(kit: &Path, ours: &Path, place: &Path) -> Result<()> {
    std::fs::create_dir_all(place.join("run"))?;
    for (from, to) in [
        (kit, place),
        (ours, place),
        (&kit.join("run"), &place.join("run")),
        (&ours.join("run"), &place.join("run")),
    ] {
        for entry in std::fs::read_dir(from)? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                std::fs::copy(entry.path(), to.join(entry.file_name()))?;
            }
        }
    }
    Ok(())
}

pub(crate) fn bash(script: &Path, words: &str) -> CommandLine {
    CommandLine::of("bash", words).with_arguments([script.display().to_string()])
}

fn home() -> Result<PathBuf> {
    let named = std::env::var_os("PEERS_HOME").map(PathBuf::from);
    let usual = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache/lariat-peers"));
    named.or_else(usual).context("neither PEERS_HOME nor HOME is set")
}

/// One row per agent.
fn table(measured: &Value, peers: &[&str]) -> String {
    let mut text = String::from(
        "| agent | `--version` ms | one turn ms | CPU ms | RSS MB | 20 tools ms | gap per turn ms | RSS MB (20) | first request KB / tools |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for peer in peers {
        let of = |path: &str| measured.pointer(&format!("/{peer}/{path}")).and_then(Value::as_f64);
        let show = |value: Option<f64>, factor: f64, digits: usize| {
            value.map_or_else(|| "–".to_owned(), |value| format!("{:.digits$}", value * factor))
        };
        let cells = [
            (*peer).to_owned(),
            show(of("version/wall/med"), 1e3, 1),
            show(of("one/wall/med"), 1e3, 1),
            show(of("one/cpu/med"), 1e3, 1),
            show(of("one/rss/med"), 1.0, 1),
            show(of("tools/wall/med"), 1e3, 0),
            show(of("gap_ms/med"), 1.0, 1),
            show(of("tools/rss/med"), 1.0, 1),
            format!("{} / {}", show(of("req_bytes"), 1e-3, 1), show(of("ntools"), 1.0, 0)),
        ];
        text.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
    text
}

/// Describes the machine, the date and the command.
pub(crate) fn machine(command: &str) -> String {
    let processors = std::thread::available_parallelism().map_or(0, usize::from);
    let model = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = model.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    let model = model.map_or("unknown processor", |(_, name)| name.trim());
    let date = std::process::Command::new("date").arg("+%Y-%m-%d").output();
    let date =
        date.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default();
    format!("{date}, {processors} × {model}, Linux, `cargo xtask {command}`.")
}

/// Writes the text between the markers `<!-- NAME:begin -->` and `<!-- NAME:end -->` of the document.
pub(crate) fn write(workspace: &Workspace, name: &str, text: &str) -> Result<()> {
    let (begin, end) = (format!("<!-- {name}:begin -->"), format!("<!-- {name}:end -->"));
    let document = workspace.read(DOCUMENT)?;
    let (before, rest) = document.split_once(&begin).with_context(|| format!("{DOCUMENT} has no {begin}"))?;
    let (_, after) = rest.split_once(&end).with_context(|| format!("{DOCUMENT} has no {end}"))?;
    workspace.write(DOCUMENT, &format!("{before}{begin}\n{}\n{end}{after}", text.trim()))
}

#[cfg(test)]
#[path = "peers_tests.rs"]
mod tests;
