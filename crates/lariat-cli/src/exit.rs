//! Exit codes. Scripts depend on them: a code never changes its meaning.

use std::process::ExitCode;

/// Why the program ended; see [`CODES`] for the meanings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Done,
    Failed,
    Usage,
    Setup,
    Model,
    Limit,
    Session,
    SchemaMismatch,
    /// `verify`, `doctor`, `replay` or `permissions test` found a problem.
    VerificationFailed,
    /// Ctrl-C.
    Interrupted,
    /// SIGTERM or SIGHUP.
    Terminated,
}

/// Every code and its meaning, for the manual page and docs/cli.md.
pub(crate) const CODES: &[(Exit, &str)] = &[
    (Exit::Done, "success"),
    (Exit::Failed, "failed, without a more specific code"),
    (Exit::Usage, "invalid arguments"),
    (Exit::Setup, "setup required: a key, a model or a setting is missing or invalid"),
    (Exit::Model, "the model provider failed, also after retries"),
    (Exit::Limit, "a limit was reached: turns, tokens, cost or time"),
    (Exit::Session, "session not found, or in use by another process"),
    (Exit::SchemaMismatch, "the answer does not match the schema"),
    (Exit::VerificationFailed, "verification failed"),
    (Exit::Interrupted, "interrupted; the session is saved"),
    (Exit::Terminated, "terminated by a signal; the session is saved"),
];

impl Exit {
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Setup => 3,
            Self::Model => 4,
            Self::Limit => 5,
            Self::Session => 6,
            Self::SchemaMismatch => 7,
            Self::VerificationFailed => 8,
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

    const DOCUMENT: &str = include_str!("../../../docs/cli.md");

    #[test]
    fn docs_list_every_exit_code() {
        let rows: String =
            CODES.iter().map(|(exit, means)| format!("| {} | {means} |\n", exit.code())).collect();
        let table = format!("<!-- exit:begin -->\n| code | means |\n| --- | --- |\n{rows}<!-- exit:end -->");
        assert!(DOCUMENT.contains(&table), "docs/cli.md should say\n{table}");
    }
}
