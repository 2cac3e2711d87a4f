//! Limits how long an exchange may take, and detects which limit it reached.
//!
//! Receiving bytes and making progress have separate limits, because a server that sends keep-alives forever
//! is alive but gets nowhere.

use std::time::Duration;

use lariat_core::model::ProviderError;
use lariat_core::time::Timestamp;

use crate::wire::sse::EVENT_LIMIT;

/// Time limits of one exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Deadlines {
    /// From the start to the first byte of the body. A local server processes the whole prompt before that.
    pub first_byte: Duration,
    /// Between two bytes of the body, keep-alives included.
    pub idle: Duration,
    /// Between two events that advance the reply. Models think for minutes behind keep-alives.
    pub no_progress: Duration,
    /// From the start to the end.
    pub total: Duration,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            first_byte: Duration::from_secs(300),
            idle: Duration::from_secs(300),
            no_progress: Duration::from_secs(600),
            total: Duration::from_secs(3600),
        }
    }
}

/// Maximum number of bytes without progress: room for the largest event plus keep-alives. Ten minutes of
/// keep-alives take kilobytes; a server that sends comments as fast as it can reaches this limit in a second.
const MOST_BYTES_WITHOUT_PROGRESS: u64 = 2 * EVENT_LIMIT as u64;

/// Tracks the times of an exchange in progress.
#[derive(Debug)]
pub(crate) struct DeadlineTracker {
    deadlines: Deadlines,
    started: Timestamp,
    last_byte: Option<Timestamp>,
    last_progress: Timestamp,
    progress: u64,
    /// Bytes since the last progress.
    bytes_without_progress: u64,
}

impl DeadlineTracker {
    pub(crate) const fn new(deadlines: Deadlines, now: Timestamp) -> Self {
        Self {
            deadlines,
            started: now,
            last_byte: None,
            last_progress: now,
            progress: 0,
            bytes_without_progress: 0,
        }
    }

    /// Records that `count` bytes arrived, after which the decoder's progress counter was `progress`.
    pub(crate) fn on_bytes(&mut self, now: Timestamp, count: usize, progress: u64) {
        self.last_byte = Some(now);
        if progress > self.progress {
            self.progress = progress;
            self.last_progress = now;
            self.bytes_without_progress = 0;
        } else {
            self.bytes_without_progress = self.bytes_without_progress.saturating_add(count as u64);
        }
    }

    /// Returns when the next limit is reached, the error message for it and the limit itself.
    pub(crate) fn next(&self) -> (Timestamp, &'static str, Duration) {
        let Deadlines { first_byte, idle, no_progress, total } = self.deadlines;
        let all = [
            match self.last_byte {
                None => (self.started.after(first_byte), "no response", first_byte),
                Some(last) => (last.after(idle), "no data received", idle),
            },
            (self.last_progress.after(no_progress), "the stream sent only keep-alives", no_progress),
            (self.started.after(total), "the reply did not complete", total),
        ];
        all.into_iter().min_by_key(|(at, ..)| *at).unwrap_or((self.started, "", Duration::ZERO))
    }

    /// Returns an error if a limit has been reached.
    pub(crate) fn expired(&self, now: Timestamp) -> Option<ProviderError> {
        if self.bytes_without_progress > MOST_BYTES_WITHOUT_PROGRESS {
            let limit = MOST_BYTES_WITHOUT_PROGRESS >> 20;
            return Some(ProviderError::Network(
                format!("the stream sent {limit} MiB without progress").into(),
            ));
        }
        let (at, what, limit) = self.next();
        (now >= at)
            .then(|| ProviderError::Network(format!("{what} within {} seconds", limit.as_secs_f64()).into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_millis(seconds * 1000)
    }

    fn expired_message(deadlines: &DeadlineTracker, now: u64) -> Option<String> {
        deadlines.expired(at(now)).map(|error| error.to_string())
    }

    #[test]
    fn first_byte_has_its_own_limit() {
        let mut deadlines = DeadlineTracker::new(Deadlines::default(), at(0));
        assert_eq!(expired_message(&deadlines, 299), None);
        assert_eq!(expired_message(&deadlines, 300).unwrap(), "network: no response within 300 seconds");
        deadlines.on_bytes(at(299), 1, 1);
        assert_eq!(expired_message(&deadlines, 598), None);
        assert_eq!(expired_message(&deadlines, 599).unwrap(), "network: no data received within 300 seconds");
    }

    #[test]
    fn keep_alives_do_not_extend_the_progress_limit() {
        let mut deadlines = DeadlineTracker::new(Deadlines::default(), at(0));
        deadlines.on_bytes(at(1), 1, 1);
        for second in 2..601 {
            deadlines.on_bytes(at(second), 16, 1);
            assert_eq!(expired_message(&deadlines, second), None);
        }
        assert!(expired_message(&deadlines, 601).unwrap().contains("only keep-alives"));
    }

    #[test]
    fn too_many_bytes_without_progress_end_the_stream() {
        let mut deadlines = DeadlineTracker::new(Deadlines::default(), at(0));
        for _ in 0..64 {
            deadlines.on_bytes(at(1), 1 << 20, 0);
        }
        assert_eq!(expired_message(&deadlines, 1), None);
        deadlines.on_bytes(at(1), 1 << 20, 1);
        deadlines.on_bytes(at(1), 64 << 20, 1);
        assert_eq!(expired_message(&deadlines, 1), None, "progress resets the count");
        deadlines.on_bytes(at(1), 1, 1);
        assert_eq!(
            expired_message(&deadlines, 1).unwrap(),
            "network: the stream sent 64 MiB without progress"
        );
    }

    #[test]
    fn progress_does_not_extend_the_total() {
        let mut deadlines = DeadlineTracker::new(Deadlines::default(), at(0));
        (1..3600).for_each(|second| deadlines.on_bytes(at(second), 16, second));
        assert_eq!(expired_message(&deadlines, 3599), None);
        assert!(expired_message(&deadlines, 3600).unwrap().contains("not complete within 3600 seconds"));
    }
}
