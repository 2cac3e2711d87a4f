//! Measures in long runs of an agent how much of each request equals the previous one, and how much a prefix
//! cache would serve.

use lariat_proofs::proof::{number, option};
use lariat_proofs::wire::prefix::{LEAST_READ, LEAST_SHARED, Mistake, Report, percent, play};

/// Plays runs, or the planted mistakes.
pub(crate) fn run(options: &[&str]) -> Result<bool, String> {
    let requests = usize::try_from(number(options, "--turns", 200)?).map_err(|error| error.to_string())?;
    let (runs, seed) = (number(options, "--runs", 5)?, number(options, "--seed", 1)?);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    if options.contains(&"--planted") {
        let mut caught = print_report(seed, &runtime.block_on(play(seed, requests, None))?);
        for mistake in Mistake::ALL {
            let faults = runtime.block_on(play(seed, requests, Some(mistake)))?.faults();
            match faults.as_slice() {
                [] => println!("{mistake:?}: NOT NOTICED"),
                _ => println!("{mistake:?}: noticed: {}", faults.join("; ")),
            }
            caught &= !faults.is_empty();
        }
        return Ok(caught);
    }
    let mut good = true;
    for seed in seed..seed + runs {
        let report = runtime.block_on(play(seed, requests, None))?;
        good &= print_report(seed, &report);
    }
    if !good {
        println!(
            "reproduce with --turns {requests} --runs 1 --seed {}",
            option(options, "--seed").unwrap_or("of the line above")
        );
    }
    Ok(good)
}

fn print_report(seed: u64, report: &Report) -> bool {
    let faults = report.faults();
    let least = report.turns.iter().filter(|turn| !turn.compacted).map(|turn| turn.shared).min().unwrap_or(0);
    println!(
        "seed {seed}: {} requests ({} more for summaries, not counted), {} compactions; the previous request covers {} of a request's bytes in the median \
         (at least {}; least {}; with cache marks {}); {} of {} input tokens read from the cache (at least {}); {}",
        report.turns.len() + 1,
        report.beside,
        report.compactions(),
        percent(report.median(|turn| turn.shared)),
        percent(LEAST_SHARED),
        percent(least),
        percent(report.median(|turn| turn.shared_with_marks)),
        percent(report.read_share()),
        report.tokens,
        percent(LEAST_READ),
        if faults.is_empty() { "ok".to_owned() } else { format!("FAILED: {}", faults.join("; ")) },
    );
    faults.is_empty()
}
