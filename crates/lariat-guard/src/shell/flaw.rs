//! Deliberate mistakes in the analysis, to prove that the checks find them.

/// A planted mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[cfg_attr(
    not(feature = "planted"),
    expect(unreachable_pub, reason = "seen only with the feature `planted`")
)]
pub enum Flaw {
    /// Commands in substitutions are not listed.
    SkipsSubstitutions,
    /// The results of the two parsers are not compared.
    TrustsOneReader,
    /// Of a text that is passed to a shell, only the first command is listed.
    StopsAtFirst,
    /// Files that are written are not listed.
    ForgetsFiles,
    /// An unknown word is taken literally.
    TrustsVariables,
    /// Variables that other programs obey are treated like any others.
    TrustsNames,
    /// Arithmetic is assumed to use numbers only.
    TrustsArithmetic,
    /// Here-documents of every form are assumed to be parsed correctly.
    TrustsDocuments,
}

impl Flaw {
    /// Every planted mistake.
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
