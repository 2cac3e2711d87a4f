//! Formats numbers, times and money for users.
//!
//! Rounds down, so that nothing looks complete before it is.

use std::fmt;
use std::time::Duration;

use lariat_core::time::Timestamp;
use lariat_core::usage::Cost;

/// Lengths in seconds.
const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// An age: `just now`, `3 min ago`, `2 h ago`, `5 days ago`, then the date.
pub fn ago(then: Timestamp, now: Timestamp) -> String {
    let seconds = now.since(then).as_secs();
    match seconds {
        0..MINUTE => "just now".to_owned(),
        MINUTE..HOUR => format!("{} min ago", seconds / MINUTE),
        HOUR..DAY => format!("{} h ago", seconds / HOUR),
        _ if seconds < 2 * DAY => "yesterday".to_owned(),
        _ if seconds < 14 * DAY => format!("{} days ago", seconds / DAY),
        _ => then.to_string().chars().take("2026-01-01".len()).collect(),
    }
}

/// A time in UTC, to the minute: `2026-01-01 12:30`. For listings that programs read.
pub fn time(at: Timestamp) -> String {
    let text = at.to_string();
    text.get(..16).map_or_else(|| text.clone(), |minute| minute.replace('T', " "))
}

/// A duration: `40ms`, `0.4s`, `12.3s`, `3m 20s`, `2h 05m`.
pub fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0 if duration.subsec_millis() < 100 => format!("{}ms", duration.subsec_millis()),
        0..MINUTE => format!("{seconds}.{}s", duration.subsec_millis() / 100),
        MINUTE..HOUR => format!("{}m {:02}s", seconds / MINUTE, seconds % MINUTE),
        _ => format!("{}h {:02}m", seconds / HOUR, seconds % HOUR / MINUTE),
    }
}

/// An elapsed time in whole seconds, for output that is redrawn.
pub fn elapsed(duration: Duration) -> String {
    match duration.as_secs() {
        seconds @ 0..MINUTE => format!("{seconds}s"),
        _ => self::duration(duration),
    }
}

/// Tokens and other numbers: `812`, `12.3k`, `4.0M`.
pub fn count(number: u64) -> String {
    scaled(number, 1_000, &["", "k", "M", "G"])
}

/// Bytes: `812 B`, `12.3 KB`.
pub fn size(bytes: u64) -> String {
    scaled(bytes, 1_024, &[" B", " KB", " MB", " GB", " TB"])
}

fn scaled(number: u64, step: u64, units: &[&str]) -> String {
    let mut scale = 1_u64;
    let mut unit = units.first().copied().unwrap_or_default();
    for larger in units.iter().skip(1) {
        if number / scale < step {
            break;
        }
        scale = scale.saturating_mul(step);
        unit = larger;
    }
    if scale == 1 {
        return format!("{number}{unit}");
    }
    let tenths = u128::from(number) * 10 / u128::from(scale);
    format!("{}.{}{unit}", tenths / 10, tenths % 10)
}

/// Money: `$0.0123` below a dollar, `$12.34` above, `<$0.0001` for tiny amounts.
pub fn money(cost: Cost) -> String {
    const DOLLAR: u64 = 1_000_000_000;
    const SMALLEST: u64 = DOLLAR / 10_000;
    let nanos = cost.as_nano_usd();
    match nanos {
        0 => "$0".to_owned(),
        1..SMALLEST => "<$0.0001".to_owned(),
        SMALLEST..DOLLAR => format!("$0.{:04}", nanos / SMALLEST),
        _ => format!("${}.{:02}", nanos / DOLLAR, nanos % DOLLAR / (DOLLAR / 100)),
    }
}

/// A number with its noun: `1 file`, `2 files`.
pub fn counted<N>(number: N, one: &str, many: &str) -> String
where
    N: fmt::Display + PartialEq + From<u8>,
{
    let name = if number == N::from(1) { one } else { many };
    format!("{number} {name}")
}

#[cfg(test)]
#[path = "human_tests.rs"]
mod tests;
