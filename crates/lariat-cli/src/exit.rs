//! How the program ends. Scripts build on these: a code keeps its meaning.

use std::process::ExitCode;

/// Why the program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Done,
    /// It failed, for a reason that has no code of its own.
    Failed,
    /// The arguments make no sense together.
    Usage,
    /// Something must be set up first: a key, a model, a file of settings, trust.
    Setup,
    /// The model's service failed for good.
    Model,
    /// A cap was reached: turns, tokens, money, time.
    Limit,
    /// There is no such session, or another process writes to it.
    Session,
    /// The answer does not fit the schema that was asked for.
    Answer,
    /// Something that was looked at is not in order: `verify`, `doctor`, `replay`, `permissions test`.
    Unsound,
    /// Interrupted by the person. The session is kept.
    Interrupted,
    /// Told to end by the system. The session is kept.
    Terminated,
}

/// Every code with its meaning, for the manual.
pub(crate) const CODES: &[(Exit, &str)] = &[
    (Exit::Done, "done"),
    (Exit::Failed, "failed, for a reason without a code of its own"),
    (Exit::Usage, "the arguments make no sense"),
    (Exit::Setup, "something must be set up first: a key, a model, settings"),
    (Exit::Model, "the model's service failed for good"),
    (Exit::Limit, "a cap was reached: turns, tokens, money or time"),
    (Exit::Session, "no such session, or another process writes to it"),
    (Exit::Answer, "the answer does not fit the schema"),
    (Exit::Unsound, "what was looked at is not in order"),
    (Exit::Interrupted, "interrupted; the session is kept"),
    (Exit::Terminated, "told to end by the system; the session is kept"),
];

impl Exit {
    /// The code.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Setup => 3,
            Self::Model => 4,
            Self::Limit => 5,
            Self::Session => 6,
            Self::Answer => 7,
            Self::Unsound => 8,
            Self::Interrupted => 130,
            Self::Terminated => 143,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What scripts are told.
    const DOCUMENT: &str = include_str!("../../../docs/cli.md");

    #[test]
    fn the_document_lists_every_code() {
        let rows: String =
            CODES.iter().map(|(exit, means)| format!("| {} | {means} |\n", exit.code())).collect();
        let table = format!("<!-- exit:begin -->\n| code | means |\n| --- | --- |\n{rows}<!-- exit:end -->");
        assert!(DOCUMENT.contains(&table), "docs/cli.md should say\n{table}");
    }
}
