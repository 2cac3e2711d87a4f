//! Mistakes made on purpose, to prove that the checks notice them. Only with the feature `planted`.

/// A mistake made on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Flaw {
    /// What a call deleted is not noticed.
    ForgetsDeleted,
    /// Modes are neither compared nor restored.
    ForgetsModes,
    /// A file of the same size and time of modification counts as unchanged.
    TrustsSizeAndTime,
    /// What the user changed is restored like everything else.
    OverwritesUsers,
    /// Links are followed to their content.
    ForgetsLinks,
}

impl Flaw {
    /// Every mistake.
    pub const ALL: &[Self] = &[
        Self::ForgetsDeleted,
        Self::ForgetsModes,
        Self::TrustsSizeAndTime,
        Self::OverwritesUsers,
        Self::ForgetsLinks,
    ];
}
