//! The proof of session hosts: the conformance suite, races, and attaching to a long session. Called by
//! `cargo xtask sessions`.
//!
//! Each part runs with the host in this process and with the same host behind a Unix socket. The fixtures are those of the
//! tests of `lariat-sessions` and `lariat-test`.
#![expect(
    clippy::disallowed_methods,
    reason = "a command-line tool reads its arguments and the clock, and starts itself, by itself"
)]

mod attach;
mod fixtures;
mod long_session;
mod memory;
mod planted;
mod seeds;
mod served;
mod suite;
mod template;

use std::process::ExitCode;

use lariat_proofs::proof::{ended, number, option};

const USAGE: &str = "\
usage: sessions all [--short]               every part
       sessions conformance [--short]       the scripts of the suite, with crashes and lost connections
       sessions planted                     the suite notices the mistakes of a toy host
       sessions seeds [--seed N] [--count N]   the scripts in simulated worlds, from a seed on [0, 200; 1 with --seed]
       sessions races [--count N]           two clients answer one ask; exactly one wins [1,000]
       sessions attach [--short] [--events N] [--limit-ms N] [--limit-mb N]   attach to a long session [1,000,000, 100, 20]
       sessions write --place DIR [--events N]   write a long session, for another program to open [1,000,000]
       sessions attach-child …              one attach in a process of its own (internal)";

/// Seeds of every script, in full and in the short form.
const SEEDS: (u64, u64) = (200, 10);
/// Rounds of the races, in full and in the short form.
const RACES: (u64, u64) = (1_000, 50);
/// Events of the long session, in full and in the short form.
const EVENTS: (u64, u64) = (1_000_000, 20_000);
/// Milliseconds of an attach. The short form runs in a build without optimisation.
const LIMIT_MS: (u64, u64) = (100, 2_000);
/// Megabytes of an attach.
const LIMIT_MB: u64 = 20;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let ran = match words.split_first() {
        Some((&"all", options)) => all(options.contains(&"--short")),
        Some((&"conformance", options)) => suite::conformance(options.contains(&"--short")),
        Some((&"planted", _)) => planted::run(),
        Some((&"seeds", options)) => {
            seeds_options(options).and_then(|(first, count)| seeds::run(first, count))
        }
        Some((&"races", options)) => number(options, "--count", RACES.0).and_then(suite::races),
        Some((&"attach", options)) => attach_options(options).and_then(|limits| attach::run(&limits)),
        Some((&"write", options)) => {
            number(options, "--events", EVENTS.0).and_then(|events| attach::write(options, events))
        }
        Some((&"attach-child", options)) => attach::child(options),
        _ => Err("missing or unknown part".to_owned()),
    };
    ended(ran, USAGE)
}

/// The figure of the full or of the short form.
const fn choose((full, short): (u64, u64), is_short: bool) -> u64 {
    if is_short { short } else { full }
}

fn all(is_short: bool) -> Result<bool, String> {
    let choose = |figures| choose(figures, is_short);
    let limits = attach::Limits { events: choose(EVENTS), millis: choose(LIMIT_MS), megabytes: LIMIT_MB };
    let parts = [
        suite::conformance(is_short)?,
        planted::run()?,
        seeds::run(0, choose(SEEDS))?,
        suite::races(choose(RACES))?,
        attach::run(&limits)?,
    ];
    Ok(parts.into_iter().all(|passed| passed))
}

/// The first seed, and how many to play. A seed that the user names is played alone.
fn seeds_options(options: &[&str]) -> Result<(u64, u64), String> {
    let count = if options.contains(&"--seed") { 1 } else { SEEDS.0 };
    Ok((number(options, "--seed", 0)?, number(options, "--count", count)?))
}

fn attach_options(options: &[&str]) -> Result<attach::Limits, String> {
    let is_short = options.contains(&"--short");
    let options: Vec<&str> = options.iter().copied().filter(|word| *word != "--short").collect();
    let options = options.as_slice();
    Ok(attach::Limits {
        events: number(options, "--events", choose(EVENTS, is_short))?,
        millis: number(options, "--limit-ms", choose(LIMIT_MS, is_short))?,
        megabytes: number(options, "--limit-mb", LIMIT_MB)?,
    })
}
