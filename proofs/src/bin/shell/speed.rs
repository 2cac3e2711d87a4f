//! Measures the shell analysis.

use std::sync::Arc;
use std::time::{Duration, Instant};

use lariat_core::tool::ToolEffects;
use lariat_guard::shell::{Doubt, analyse};
use lariat_guard::{
    Effect, Guard, GuardDecision, Layer, NoLinks, Origin, Query, SessionDirectories, Settings, Trust,
};

/// Parts of the long chains.
const PARTS: usize = 10_000;
/// Limit for a chain that needs no parser. A chain that needs one is measured without a limit, but must be
/// listed completely.
const CHAIN: Duration = Duration::from_millis(50);
/// Chains: name, one part, and the limit.
const CHAINS: &[(&str, &str, Option<Duration>)] = &[
    ("plain", "echo a", Some(CHAIN)),
    ("quoted", "echo \"$a\"", Some(CHAIN)),
    ("substituted", "echo $(a)", None),
];
/// Number of rounds. The best is used, because other processes share the machine.
const ROUNDS: usize = 7;

/// Measures how long rules take with a chain, and whether the rule that denies its last part applied.
fn judged(text: &str) -> (Duration, bool) {
    let layer = Layer::new(Origin::flags())
        .with_rule(Effect::Allow, "Bash(echo *)")
        .with_rule(Effect::Ask, "Bash(git push *)")
        .with_rule(Effect::Deny, "Read(.env)")
        .with_rule(Effect::Deny, "Bash(rm -rf /)");
    let settings = Settings::merge([layer], Trust::Trusted);
    let guard = Guard::new(settings, SessionDirectories::new("/work", "/people/me"), Arc::new(NoLinks));
    let arguments = serde_json::json!({ "command": text });
    let query = Query::new("bash", &arguments, ToolEffects::ALL);
    let mut best = Duration::MAX;
    let mut denied = true;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        denied &= guard.judge(&query).verdict == GuardDecision::Deny;
        best = best.min(start.elapsed());
    }
    (best, denied)
}

/// Prints the figures. Returns whether the chains are fast enough and listed completely.
pub(crate) fn print_figures(everyday: &[String]) -> bool {
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
            bound.map_or("no limit".to_owned(), |bound| format!("at most {} ms", bound.as_millis()));
        println!("a chain of {PARTS} {name} parts: {:.1} ms ({bound_text})", best.as_secs_f64() * 1e3);
        good &= bound.is_none_or(|bound| best <= bound);
        let (took, denied) = judged(&text);
        println!(
            "  judged by rules: {:.1} ms, {}",
            took.as_secs_f64() * 1e3,
            if denied { "denied" } else { "NOT DENIED" }
        );
        good &= denied && bound.is_none_or(|bound| took <= bound);
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
