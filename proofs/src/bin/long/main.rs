//! Runs an agent for thousands of turns with a context window for a few dozen. Called by `cargo xtask
//! long-run`.
//!
//! This process plays the model on a strict server; the agent is a child process, so that its memory and time
//! can be measured. Facts are planted in messages of the user, in files and in outputs of commands. At the
//! end, each fact must be in the context window word for word or be recalled exactly.
#![expect(
    clippy::disallowed_methods,
    reason = "a command-line tool looks at the world from outside: files, processes and the wall clock"
)]

mod facts;
mod model;
mod worker;

use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};

use lariat_proofs::proof::{ended, number};
use lariat_proofs::server::{Script, Server, Wire};

use model::Model;
use worker::Report;

const USAGE: &str = "\
usage: long [--turns N] [--window TOKENS]    run N turns in a context window [default: 2000 turns, 200000 tokens]
       long worker DIRECTORY URL TURNS WINDOW  run the agent (internal)";

/// Facts that must survive a run of full length.
const FACTS: u64 = 40;
/// Maximum memory of the agent in megabytes.
const MEMORY: f64 = 150.0;
/// How much slower a late turn may be than an early one.
const SLOWER: f64 = 1.5;
/// The turn that late turns are compared with: the context window is half full by then.
const EARLY: usize = 20;
/// Number of turns around a position that a median covers.
const AROUND: usize = 20;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let ran = match words.as_slice() {
        ["worker", directory, url, turns, window] => work(Path::new(directory), url, turns, window),
        options => prove(options),
    };
    ended(ran, USAGE)
}

fn runtime() -> Result<tokio::runtime::Runtime, String> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(|error| error.to_string())
}

fn work(directory: &Path, url: &str, turns: &str, window: &str) -> Result<bool, String> {
    let turns = turns.parse().map_err(|_| "turns must be a number".to_owned())?;
    let window = window.parse().map_err(|_| "the window must be a number".to_owned())?;
    let report = runtime()?.block_on(Box::pin(worker::run(directory, url, turns, window)))?;
    println!("{}", serde_json::to_string(&report).map_err(|error| error.to_string())?);
    Ok(true)
}

fn prove(options: &[&str]) -> Result<bool, String> {
    let turns = number(options, "--turns", 2_000)?;
    let window = number(options, "--window", 200_000)?;
    let directory = Scratch::new()?;
    let model = Model::new(turns, window);
    let report = runtime()?.block_on(run(&directory.0, &model, turns, window))?;
    Ok(judge(&report, &model, turns))
}

async fn run(directory: &Path, model: &Model, turns: u64, window: u64) -> Result<Report, String> {
    let playing = model.clone();
    let script = Script::answer(move |request| playing.answer(request)).forgetting();
    let server = Server::start(script).await.map_err(|error| error.to_string())?;
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let (url, directory) = (server.base_url(Wire::AnthropicMessages), directory.to_owned());
    let worker = move || {
        std::process::Command::new(program)
            .args(["worker"])
            .arg(directory)
            .args([url, turns.to_string(), window.to_string()])
            .stderr(Stdio::inherit())
            .output()
    };
    let output = tokio::task::spawn_blocking(worker).await.map_err(|error| error.to_string())?;
    let output = output.map_err(|error| error.to_string())?;
    let line = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(line.trim())
        .map_err(|error| format!("the agent's process failed ({}): {error}", output.status))
}

fn judge(report: &Report, model: &Model, turns: u64) -> bool {
    let median = |from: usize, of: &[u64]| {
        let mut part: Vec<u64> = of.iter().skip(from).take(AROUND).copied().collect();
        part.sort_unstable();
        part.get(part.len() / 2).copied().unwrap_or_default() as f64 / 1_000.0
    };
    let took: Vec<u64> = model.tally(|tally| tally.took.iter().map(|nanos| nanos / 1_000).collect());
    let late = usize::try_from(turns).unwrap_or_default().saturating_sub(AROUND);
    let own: Vec<u64> =
        report.turns.iter().zip(&took).map(|(all, model)| all.saturating_sub(*model)).collect();
    let (early, end) = (median(EARLY - AROUND / 2, &own), median(late, &own));
    let (wall_early, wall_end) = (median(EARLY - AROUND / 2, &report.turns), median(late, &report.turns));
    println!("turns                               {:>10}", report.turns.len());
    println!("outcome                             {:>10}", report.outcome);
    println!(
        "compactions                         {:>10}   refused {}",
        report.compactions,
        report.refused.len()
    );
    println!(
        "peak memory of the agent            {:>7.1} MB   (at most {MEMORY})",
        report.peak_kb as f64 / 1_024.0
    );
    println!(
        "time per turn, at {EARLY} and at the end     {early:.2} ms, {end:.2} ms   (wall, with the model's share: {wall_early:.2} ms, {wall_end:.2} ms)"
    );
    // Processor time, because the time of other processes on the machine must not matter.
    let (early, end) = (median(EARLY - AROUND / 2, &report.cpu), median(late, &report.cpu));
    println!("processor time per turn, the same   {early:.2} ms, {end:.2} ms   (at most {SLOWER} times)");
    let mut slow = own.clone();
    slow.sort_unstable();
    println!(
        "slowest turn                        {:>7.1} ms",
        slow.last().copied().unwrap_or_default() as f64 / 1_000.0
    );
    model.tally(|tally| {
        println!("largest request                     {:>10} tokens", tally.largest);
        println!("requests larger than the window     {:>10}", tally.overflows);
        println!("summaries asked for                 {:>10}", tally.summaries);
        println!(
            "the user's facts, in every request  {:>10} of {}   missing {}",
            tally.wishes, report.wishes, tally.forgotten
        );
        println!("facts found in the window           {:>10}", tally.in_window);
        println!("facts recalled exactly              {:>10}", tally.recalled);
        tally.lost.iter().take(10).for_each(|lost| println!("LOST {lost}"));
        let planted = facts::planting(turns).len() as u64 + tally.wishes;
        println!("facts                               {planted:>10}   lost {}", tally.lost.len());
        let complete = report.outcome == "Completed" && report.turns.len() as u64 >= turns;
        let kept = tally.lost.is_empty() && tally.forgotten == 0 && tally.wishes == report.wishes;
        let enough = planted >= FACTS || turns < 2_000;
        let small = report.peak_kb as f64 / 1_024.0 <= MEMORY;
        // Times of a short run on a busy machine mean nothing.
        let quick = end <= early * SLOWER || turns < 2_000;
        let room = report.compactions > 0;
        let rows = [
            (complete, "the run did not complete"),
            (kept, "facts were lost"),
            (enough, "too few facts"),
            (small, "too much memory"),
            (quick, "late turns are slower"),
            (room, "nothing was compacted"),
        ];
        rows.iter().filter(|(holds, _)| !holds).for_each(|(_, what)| println!("FAILED: {what}"));
        rows.iter().all(|(holds, _)| *holds)
    })
}

/// A directory that is removed at the end of the proof.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Self, String> {
        let path = std::env::temp_dir().join(format!("lariat-long-{}", std::process::id()));
        std::fs::create_dir_all(&path).map_err(|error| error.to_string())?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
