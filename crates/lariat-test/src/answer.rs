//! An answer of a script, and when it is given.

use std::time::Duration;

use lariat_core::clock::Clock;

/// An answer and when it is given.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Answer<T> {
    /// At once.
    Now(T),
    /// After this time on the clock.
    After(Duration, T),
    /// Not at all.
    Never,
    /// A panic, without a message on the terminal.
    Panic,
}

impl<T> From<T> for Answer<T> {
    fn from(answer: T) -> Self {
        Self::Now(answer)
    }
}

impl<T> Answer<T> {
    pub(crate) async fn resolve(self, clock: &dyn Clock) -> T {
        match self {
            Self::Now(answer) => answer,
            Self::After(duration, answer) => {
                clock.sleep_until(clock.now().after(duration)).await;
                answer
            }
            Self::Never => std::future::pending().await,
            Self::Panic => std::panic::resume_unwind(Box::new("a scripted panic")),
        }
    }
}
