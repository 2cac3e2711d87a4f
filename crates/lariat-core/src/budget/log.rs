//! The contract for storing what is spent per day, across processes.
//!
//! Also decides which day a time belongs to.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::SpentAmounts;
use crate::BoxFuture;
use crate::time::Timestamp;

/// When a day starts, as the offset of local time from UTC in minutes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DayStart {
    minutes: i16,
}

impl DayStart {
    /// Days start at midnight UTC.
    pub const UTC: Self = Self { minutes: 0 };

    /// Days start at midnight in a time zone that is this many minutes ahead of UTC.
    pub const fn minutes_ahead(minutes: i16) -> Self {
        Self { minutes }
    }

    /// Returns the day of a time.
    pub fn day(self, at: Timestamp) -> Day {
        let minutes = i64::try_from(at.as_millis() / 60_000).unwrap_or(i64::MAX);
        let local = minutes.saturating_add(i64::from(self.minutes)).max(0);
        Day(u32::try_from(local / (24 * 60)).unwrap_or(u32::MAX))
    }
}

/// A day, as the number of days since 1970-01-01.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Day(pub u32);

/// Formats as `2026-11-15`.
impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Howard Hinnant's `civil_from_days`, for days from 1970 on.
        let days = u64::from(self.0) + 719_468;
        let (era, of_era) = (days / 146_097, days % 146_097);
        let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted = (5 * of_year + 2) / 153;
        let day = of_year - (153 * shifted + 2) / 5 + 1;
        let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
        let year = year_of_era + era * 400 + u64::from(month <= 2);
        write!(f, "{year:04}-{month:02}-{day:02}")
    }
}

/// Why the spending log could not be read or written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot access the spending log: {0}")]
pub struct SpendingLogError(pub String);

/// Stores what is spent per day, for all sessions and across processes.
pub trait SpendingLog: Send + Sync {
    /// Adds an amount to a day.
    fn add(&self, day: Day, spent: SpentAmounts) -> BoxFuture<'_, Result<(), SpendingLogError>>;

    /// Returns what was spent on a day.
    fn total(&self, day: Day) -> BoxFuture<'_, Result<SpentAmounts, SpendingLogError>>;
}
