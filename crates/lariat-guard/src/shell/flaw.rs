//! Mistakes made on purpose, to prove that the checks notice them.

/// A mistake made on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[cfg_attr(
    not(feature = "planted"),
    expect(unreachable_pub, reason = "seen only with the feature `planted`")
)]
pub enum Flaw {
    /// Commands in substitutions are not listed.
    SkipsSubstitutions,
    /// What the parsers say is not compared.
    TrustsOneReader,
    /// Of the text that is handed to a shell, only the first command is listed.
    StopsAtFirst,
    /// Files that are written are not listed.
    ForgetsFiles,
    /// A word that is not known is taken as it is written.
    TrustsVariables,
    /// Variables that other programs obey are taken for any others.
    TrustsNames,
    /// Arithmetic is taken to be over numbers.
    TrustsArithmetic,
    /// Here-documents of every form are taken for what both readers make of them.
    TrustsDocuments,
}

impl Flaw {
    /// Every mistake.
    #[cfg(feature = "planted")]
    pub const ALL: &[Self] = &[
        Self::SkipsSubstitutions,
        Self::TrustsOneReader,
        Self::StopsAtFirst,
        Self::ForgetsFiles,
        Self::TrustsVariables,
        Self::TrustsNames,
        Self::TrustsArithmetic,
        Self::TrustsDocuments,
    ];
}
