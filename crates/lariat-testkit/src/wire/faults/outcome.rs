//! How a run can end well: completed, retried and then completed, or with a typed error.
//!
//! Owns the letters of the table and the sets of outcomes that a fault allows.

use std::fmt;

use lariat_core::model::ProviderError;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// At the first attempt.
    Completed,
    /// After another attempt, or after room was made.
    Retried,
    /// With a typed error.
    Failed(Kind),
}

/// The kinds of [`ProviderError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Rate limited or overloaded.
    RateLimited,
    /// The connection or the server.
    Network,
    /// The key.
    Auth,
    /// The request.
    Api,
    /// The context window.
    Overflow,
    /// The reply.
    Invalid,
    /// A reply of nothing.
    Empty,
    /// Anything else.
    Other,
}

impl Kind {
    /// The kind of an error; `None` for a cancellation, which nobody asked for here.
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
    /// What the letters mean.
    pub const LEGEND: &'static str = "C completed, R retried and then completed; typed errors: l rate limited, \
        n network, a authentication, p provider's refusal, o context overflow, i invalid reply, e empty reply, x other";

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
/// Which set holds is decided by what the first exchange delivered. A reply of which the server never said that it is
/// complete must not complete, whatever the sets say; where it did say so before the fault, completing is right.
#[derive(Clone, Copy, Debug)]
pub struct Allowed {
    /// When nothing was delivered before the fault.
    pub before: &'static str,
    /// When something was.
    pub after: &'static str,
}

impl Allowed {
    /// The same set in both cases.
    pub const fn always(letters: &'static str) -> Self {
        Self { before: letters, after: letters }
    }

    /// Two sets.
    pub const fn new(before: &'static str, after: &'static str) -> Self {
        Self { before, after }
    }
}
