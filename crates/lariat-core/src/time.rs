//! Timestamps and ids, computed from values that the caller passes in.
//!
//! [`Stamp`] comes with every input of the machine, and [`Minter`] turns stamps into UUID v7 ids. There is no
//! clock and no random source here: the same stamps give the same ids.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Milliseconds since the Unix epoch, UTC. Events write it as RFC 3339, messages as a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(u64);

impl Timestamp {
    /// Creates a timestamp from milliseconds since the Unix epoch.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis)
    }

    /// Returns the milliseconds since the Unix epoch.
    pub const fn as_millis(self) -> u64 {
        self.0
    }

    /// Returns the time `duration` later; saturates.
    pub fn after(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)))
    }

    /// Returns the time from `earlier` to `self`; zero if the clock went backwards.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match i64::try_from(self.0).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok()) {
            Some(instant) => write!(f, "{instant:.3}"),
            None => write!(f, "+{}ms", self.0),
        }
    }
}

impl Serialize for Timestamp {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        let instant: jiff::Timestamp = text.parse().map_err(serde::de::Error::custom)?;
        u64::try_from(instant.as_millisecond())
            .map(Self)
            .map_err(|_| serde::de::Error::custom("timestamps before 1970 are not supported"))
    }
}

/// Time of an input, and entropy for ids and jitter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// When the input arrived.
    pub now: Timestamp,
    /// New random bits. A simulator derives them from its seed.
    pub entropy: u64,
}

/// Creates UUID v7 ids from stamps: 48 bits of time, a 12-bit counter, 62 mixed bits.
///
/// Ids of one minter sort in the order of their creation, even within a millisecond and when the clock steps
/// back.
#[derive(Clone, Debug, Default)]
pub struct Minter {
    millis: u64,
    counter: u16,
    state: u64,
}

/// The counter occupies the 12 `rand_a` bits of a UUID v7.
const COUNTER_LIMIT: u16 = 1 << 12;

impl Minter {
    /// Mixes in the stamp of the next input.
    pub fn stamp(&mut self, stamp: Stamp) {
        if stamp.now.as_millis() > self.millis {
            self.millis = stamp.now.as_millis();
            self.counter = 0;
        }
        self.state ^= stamp.entropy;
    }

    /// Returns 64 mixed bits (splitmix64).
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Returns a number in `[-1, 1)`, for jitter.
    pub fn signed_unit(&mut self) -> f64 {
        // An f64 holds exactly 53 bits.
        let unit = (self.bits() >> 11) as f64 / (1u64 << 53) as f64;
        unit * 2.0 - 1.0
    }

    /// Creates the next id.
    pub fn uuid(&mut self) -> Uuid {
        if self.counter == COUNTER_LIMIT {
            // More than 4096 ids in one millisecond: borrow from the future, as RFC 9562 section 6.2 allows.
            self.millis += 1;
            self.counter = 0;
        }
        let rand_b = u128::from(self.bits() >> 2);
        let value = (u128::from(self.millis) << 80)
            | (0x7 << 76)
            | (u128::from(self.counter) << 64)
            | (0b10 << 62)
            | rand_b;
        self.counter += 1;
        Uuid::from_u128(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_version_7_sorted_and_reproducible() {
        let stamp = Stamp { now: Timestamp::from_millis(1_763_164_800_000), entropy: 42 };
        let mint = || {
            let mut minter = Minter::default();
            minter.stamp(stamp);
            (0..10_000).map(|_| minter.uuid()).collect::<Vec<_>>()
        };
        let ids = mint();
        assert!(ids.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(ids.iter().all(|id| id.get_version_num() == 7));
        assert_eq!(ids, mint());
    }

    #[test]
    fn timestamps_round_trip_as_rfc_3339() {
        let at = Timestamp::from_millis(1_763_164_800_123);
        let json = serde_json::to_string(&at).unwrap();
        assert_eq!(json, "\"2025-11-15T00:00:00.123Z\"");
        assert_eq!(serde_json::from_str::<Timestamp>(&json).unwrap(), at);
    }

    #[test]
    fn ids_stay_sorted_when_the_clock_steps_back() {
        let mut minter = Minter::default();
        minter.stamp(Stamp { now: Timestamp::from_millis(2_000), entropy: 1 });
        let first = minter.uuid();
        minter.stamp(Stamp { now: Timestamp::from_millis(1_000), entropy: 2 });
        assert!(minter.uuid() > first);
    }
}
