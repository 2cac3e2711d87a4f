//! What the analysis costs.

use std::time::{Duration, Instant};

use lariat_guard::shell::{Doubt, analyse};

/// Parts of the long chains.
const PARTS: usize = 10_000;
/// What a chain may take that needs no parser. One that needs it is timed, and listed whole, without a bound.
const CHAIN: Duration = Duration::from_millis(50);
/// Chains: a name, one part, and its bound.
const CHAINS: &[(&str, &str, Option<Duration>)] = &[
    ("plain", "echo a", Some(CHAIN)),
    ("quoted", "echo \"$a\"", Some(CHAIN)),
    ("substituted", "echo $(a)", None),
];
/// Rounds of which the best counts: others use the machine too.
const ROUNDS: usize = 7;

/// Prints the figures; whether the chains are fast enough, and listed whole.
pub(crate) fn told(everyday: &[String]) -> bool {
    let mut good = true;
    for (name, part, bound) in CHAINS {
        let mut parts = vec![*part; PARTS - 1];
        parts.push("rm -rf /");
        let text = parts.join(" && ");
        let mut best = Duration::MAX;
        for _ in 0..ROUNDS {
            let start = Instant::now();
            let script = analyse(&text);
            best = best.min(start.elapsed());
            let is_whole = script.commands.len() >= PARTS
                && script.commands.iter().any(|command| command.program() == Some("rm"));
            good &= is_whole && script.doubts.contains(&Doubt::TooLong);
        }
        let bound_text =
            bound.map_or("no bound".to_owned(), |bound| format!("at most {} ms", bound.as_millis()));
        println!("a chain of {PARTS} {name} parts: {:.1} ms ({bound_text})", best.as_secs_f64() * 1e3);
        good &= bound.is_none_or(|bound| best <= bound);
    }
    let mut times: Vec<Duration> = everyday
        .iter()
        .map(|text| {
            let time = || {
                let start = Instant::now();
                std::hint::black_box(analyse(std::hint::black_box(text)));
                start.elapsed()
            };
            (0..ROUNDS).map(|_| time()).min().unwrap_or_default()
        })
        .collect();
    times.sort();
    let at = |percent: usize| {
        times.get(times.len() * percent / 100).copied().unwrap_or_default().as_secs_f64() * 1e6
    };
    println!("an everyday command: {:.1} µs median, {:.1} µs for the slowest tenth", at(50), at(90));
    good
}
