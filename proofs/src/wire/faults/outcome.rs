//! The acceptable outcomes of a run: completed, retried and then completed, or a typed error; and their
//! letters in the table.

use std::fmt;

use lariat_core::model::ProviderError;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Completed at the first attempt.
    Completed,
    /// Completed after a retry or a compaction.
    Retried,
    /// Ended with a typed error.
    Failed(Kind),
}

/// The kinds of [`ProviderError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Rate limited or overloaded.
    RateLimited,
    /// A failure of the connection or the server.
    Network,
    /// A rejected key.
    Auth,
    /// A rejected request.
    Api,
    /// A request larger than the context window.
    Overflow,
    /// An invalid reply.
    Invalid,
    /// An empty reply.
    Empty,
    /// Anything else.
    Other,
}

impl Kind {
    /// The kind of an error; `None` for a cancellation, which does not occur here.
    pub const fn of(error: &ProviderError) -> Option<Self> {
        match error {
            ProviderError::RateLimited(_) => Some(Self::RateLimited),
            ProviderError::Network(_) => Some(Self::Network),
            ProviderError::Auth(_) => Some(Self::Auth),
            ProviderError::Api(_) => Some(Self::Api),
            ProviderError::ContextOverflow(_) => Some(Self::Overflow),
            ProviderError::InvalidReply(_) => Some(Self::Invalid),
            ProviderError::EmptyReply(_) => Some(Self::Empty),
            ProviderError::Other(_) => Some(Self::Other),
            _ => None,
        }
    }
}

impl Outcome {
    /// The meaning of the letters.
    pub const LEGEND: &'static str = "C completed, R retried and then completed; typed errors: l rate limited, \
        n network, a authentication, p rejected by the provider, o context overflow, i invalid reply, e empty reply, x other";

    /// Its letter in the table.
    pub const fn letter(self) -> char {
        match self {
            Self::Completed => 'C',
            Self::Retried => 'R',
            Self::Failed(Kind::RateLimited) => 'l',
            Self::Failed(Kind::Network) => 'n',
            Self::Failed(Kind::Auth) => 'a',
            Self::Failed(Kind::Api) => 'p',
            Self::Failed(Kind::Overflow) => 'o',
            Self::Failed(Kind::Invalid) => 'i',
            Self::Failed(Kind::Empty) => 'e',
            Self::Failed(Kind::Other) => 'x',
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.letter())
    }
}

/// The outcomes that a fault allows, by letters.
///
/// What the first exchange delivered decides which set applies. A reply that the server never marked as
/// complete must not complete, whatever the sets say; if the server marked it before the fault, completing is
/// right.
#[derive(Clone, Copy, Debug)]
pub struct AllowedOutcomes {
    /// If nothing was delivered before the fault.
    pub before: &'static str,
    /// If something was delivered.
    pub after: &'static str,
}

impl AllowedOutcomes {
    /// The same set in both cases.
    pub const fn always(letters: &'static str) -> Self {
        Self { before: letters, after: letters }
    }

    /// Two sets.
    pub const fn new(before: &'static str, after: &'static str) -> Self {
        Self { before, after }
    }
}
