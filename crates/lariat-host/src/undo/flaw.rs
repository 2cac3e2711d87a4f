//! Planted mistakes that the proofs must catch. Only with the feature `planted`.

/// A planted mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Flaw {
    /// Does not notice what a tool call deleted.
    ForgetsDeleted,
    /// Neither compares nor restores modes.
    ForgetsModes,
    /// Treats a file of the same size and modification time as unchanged.
    TrustsSizeAndTime,
    /// Overwrites the user's changes.
    OverwritesUsers,
    /// Follows links instead of recording them.
    ForgetsLinks,
}

impl Flaw {
    /// All planted mistakes.
    pub const ALL: &[Self] = &[
        Self::ForgetsDeleted,
        Self::ForgetsModes,
        Self::TrustsSizeAndTime,
        Self::OverwritesUsers,
        Self::ForgetsLinks,
    ];
}
