//! Classifies the operators of redirections: which of them open a file.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Read,
    Write,
    /// `>&`: a file unless the word is a number or `-`.
    WriteOrDuplicate,
    /// `<&`.
    Duplicate,
    Close,
}

impl Operator {
    pub(super) fn of(written: &str) -> Option<Self> {
        match written {
            "<" => Some(Self::Read),
            ">" | ">>" | ">|" | "&>" | "&>>" | "<>" => Some(Self::Write),
            ">&" => Some(Self::WriteOrDuplicate),
            "<&" => Some(Self::Duplicate),
            "<&-" | ">&-" => Some(Self::Close),
            _ => None,
        }
    }

    /// Returns whether it opens a file for writing; `None` if it opens none.
    pub(super) fn opens(self, target: &str) -> Option<bool> {
        match self {
            Self::Read => Some(false),
            Self::Write => Some(true),
            Self::WriteOrDuplicate => (!is_descriptor(target)).then_some(true),
            Self::Duplicate => (!is_descriptor(target)).then_some(false),
            Self::Close => None,
        }
    }
}

/// Whether a target is a file descriptor: `3`, `3-` or `-`.
pub(super) fn is_descriptor(target: &str) -> bool {
    target.trim_end_matches('-').bytes().all(|byte| byte.is_ascii_digit())
}
