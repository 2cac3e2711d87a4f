//! Long proofs of the stores: kills, disk faults and competing writers. Called by `cargo xtask crash` and its
//! siblings.
//!
//! The program that is killed is this one, as `store child`.
#![expect(
    clippy::disallowed_methods,
    reason = "a command-line tool reads its arguments and the wall clock, and starts itself, by itself"
)]

mod check;
mod child;
mod crash;
mod disk_faults;
mod open;
mod power_loss;
mod sessions;
mod writers;

use std::process::ExitCode;

use lariat_proofs::golden;
use lariat_proofs::proof::{ended, number, option};

const USAGE: &str = "\
usage: store crash --store sqlite|jsonl|postgres [--points N] [--random N]   kill a run at its writes and at random times
       store disk-faults --store sqlite|jsonl [--points N]                   make its writes and syncs fail
       store power-loss --store sqlite|jsonl [--images N] [--seed N]         open the possible files after a power loss
       store writers --store sqlite|jsonl [--rounds N] [--writers N]         let processes compete for one session
       store sessions --store sqlite|jsonl [--sessions N] [--hand-overs N]   open and close many sessions with 256 descriptors
       store golden [--write N]                                              open the sessions of earlier versions
       Each but the last with --planted: check that a planted mistake is noticed.
       store child …                                                         the run itself (internal)";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let ran = match words.split_first() {
        Some((&"child", options)) => child::run(options),
        Some((&"writer", options)) => writers::writer(options),
        Some((&"golden", options)) => check_golden(options),
        Some((&"crash", options)) => crash::run(options),
        Some((&"disk-faults", options)) => disk_faults::run(options),
        Some((&"power-loss", options)) => power_loss::run(options),
        Some((&"writers", options)) => writers::run(options),
        Some((&"sessions", options)) => sessions::run(options),
        Some((&"sessions-child", options)) => sessions::open_many(options),
        Some((&"sessions-holder", options)) => sessions::holder(options),
        _ => Err("missing or unknown proof".to_owned()),
    };
    ended(ran, USAGE)
}

/// Checks the golden corpora, or writes a new one.
fn check_golden(options: &[&str]) -> Result<bool, String> {
    let version = option(options, "--write").map(str::parse).transpose();
    let version: Option<u32> = version.map_err(|_| "--write: not a number".to_owned())?;
    let runtime = tokio::runtime::Runtime::new().map_err(|error| error.to_string())?;
    let corpora = golden::corpora();
    let tally = runtime.block_on(async {
        match version {
            Some(version) => golden::write(&corpora, version).await,
            None => golden::check(&corpora).await,
        }
    });
    match tally {
        Ok(tally) => {
            let golden::Tally { versions, sessions, continued } = tally;
            println!(
                "versions: {versions}, sessions with the same state: {sessions}, continued: {continued}"
            );
            Ok(true)
        }
        Err(faults) => {
            println!("{faults}");
            Ok(false)
        }
    }
}
