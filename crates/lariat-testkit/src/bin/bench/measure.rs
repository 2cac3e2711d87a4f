//! Clocks and scales: CPU time of a thread, memory of the process, medians, goals.

use std::fmt::Display;

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds the calling thread spent on a CPU.
pub(crate) fn thread_cpu_ns() -> u64 {
    let spent = clock_gettime(ClockId::ThreadCPUTime);
    u64::try_from(spent.tv_sec).unwrap_or_default() * 1_000_000_000
        + u64::try_from(spent.tv_nsec).unwrap_or_default()
}

/// Kilobytes of a line of `/proc/self/status`: `VmRSS` now, `VmHWM` at its peak.
pub(crate) fn memory_kb(line: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let found = text.lines().find(|candidate| candidate.starts_with(line));
    found.and_then(|found| found.split_whitespace().nth(1)?.parse().ok()).unwrap_or_default()
}

/// The middle of a list; 0 when there is none.
pub(crate) fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples.get(samples.len() / 2).copied().unwrap_or_default()
}

/// Prints a figure beside its goal; false when it is missed or was not measured at all.
pub(crate) fn goal(what: &str, figure: f64, unit: &str, at_most: f64) -> bool {
    let met = figure <= at_most && (figure > 0.0 || at_most == 0.0);
    row(
        what,
        format!("{figure:.2} {unit}"),
        format!("≤ {at_most} {unit}"),
        if met { "met" } else { "MISSED" },
    );
    met
}

/// Prints a figure without a goal.
pub(crate) fn figure(what: &str, value: impl Display) {
    row(what, value, "", "");
}

fn row(what: &str, value: impl Display, limit: impl Display, verdict: &str) {
    println!("{what:<58} {value:>18} {limit:>14} {verdict}");
}
