//! Errors for the user: the cause, the place, and a hint for the next step.

use std::fmt;

use lariat_core::display;
use lariat_core::store::StoreError;
use lariat_service::config::{BrokenRestriction, Origin, SettingsError, explain};
use lariat_service::local::OpenError;
use lariat_service::{ServiceError, StateFileError};

use crate::exit::Exit;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    /// The exit code.
    pub(crate) exit: Exit,
    pub(crate) cause: String,
    /// A file, a setting, a session or a URL.
    pub(crate) place: Option<String>,
    /// Further facts, each with a label of a few letters.
    pub(crate) details: Vec<(&'static str, String)>,
    /// The next step, printed as `hint:`. Commands are in backticks.
    pub(crate) hint: Option<String>,
    /// Whether no model is configured, so that first-run advice replaces the hint.
    pub(crate) lacks_model: bool,
}

impl Problem {
    pub(crate) fn new(exit: Exit, cause: impl Into<String>) -> Self {
        Self { exit, cause: cause.into(), place: None, details: Vec::new(), hint: None, lacks_model: false }
    }

    pub(crate) fn at(mut self, place: impl Into<String>) -> Self {
        self.place = Some(place.into());
        self
    }

    /// Adds a fact. The label is padded to the width of `hint:`.
    pub(crate) fn with(mut self, label: &'static str, text: impl Into<String>) -> Self {
        self.details.push((label, text.into()));
        self
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", display::block(&self.cause))?;
        if let Some(place) = &self.place {
            write!(f, "\n  at:   {}", display::line(place))?;
        }
        for (label, text) in &self.details {
            write!(f, "\n  {:<5} {}", format!("{label}:"), display::line(text))?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\n  hint: {}", display::block(hint))?;
        }
        Ok(())
    }
}

impl From<ServiceError> for Problem {
    fn from(error: ServiceError) -> Self {
        let cause = error.to_string();
        if error.is_model_failure() {
            return Self::new(Exit::Model, cause);
        }
        match error {
            ServiceError::NoModel => Self {
                lacks_model: true,
                ..Self::new(Exit::Setup, cause).hint("run `lariat doctor` to see which models you can use")
            },
            ServiceError::UnknownModel { suggestions, .. } => {
                let near = suggestions.first().map(|name| format!("did you mean `{name}`? "));
                let near = near.unwrap_or_default();
                Self::new(Exit::Setup, cause).hint(format!("{near}`lariat models list` lists all models"))
            }
            ServiceError::NoKey { provider, variables } => {
                let variable = variables.first().map(String::as_str).unwrap_or_default();
                Self::new(Exit::Setup, cause)
                    .hint(format!("set {variable}, or run `lariat auth login {provider}`"))
            }
            ServiceError::NoStoreUrl => Self::new(Exit::Setup, cause)
                .hint("set LARIAT_STORE__URL to the address of the database, such as `postgresql://lariat@localhost/lariat`"),
            ServiceError::UnknownSession(_)
            | ServiceError::AmbiguousSession { .. }
            | ServiceError::NothingToContinue(_) => {
                Self::new(Exit::Session, cause).hint("`lariat sessions list` lists all sessions")
            }
            ServiceError::NotALoop(_) => Self::new(Exit::Session, cause)
                .hint("`lariat metrics --json` lists the loops of this directory"),
            ServiceError::LoopEnded(id) => Self::new(Exit::Session, cause)
                .hint(format!("start another one, or continue its conversation with `lariat run --resume {id}`")),
            ServiceError::ExternalAgent(_) => Self::new(Exit::Setup, cause)
                .hint("check that the program is installed; commands run in the sandbox unless you pass `--no-sandbox`"),
            ServiceError::SessionExists(id) => Self::new(Exit::Session, cause)
                .hint(format!("continue it with `lariat run --resume {id}`, or choose another id")),
            ServiceError::Store(error) => Self::from(error),
            ServiceError::Directory { path, source } => {
                Self::new(Exit::Setup, format!("could not open the directory: {source}"))
                    .at(path.display().to_string())
                    .hint("choose an existing directory that you can enter")
            }
            ServiceError::Folder { path, source } => {
                Self::new(Exit::Setup, format!("could not use the directory: {source}"))
                    .at(path.display().to_string())
                    .hint("make it writable, or set another one with `lariat config set store.path PATH`")
            }
            ServiceError::Open(error) => Self::from(error),
            ServiceError::StateFile(error) => Self::from(error),
            ServiceError::UnknownPrice(_) => Self::new(Exit::Setup, cause).hint(
                "limit tokens instead (`limits.tokens`), remove the cost limit, or choose a model with a known price (`lariat models list`)",
            ),
            ServiceError::Schema(_) | ServiceError::Model(_) => Self::new(Exit::Setup, cause),
            _ => Self::new(Exit::Failed, cause),
        }
    }
}

impl Problem {
    pub(crate) fn of_restriction(broken: &BrokenRestriction) -> Self {
        let words = explain(&broken.subject, &broken.reason);
        Self::new(Exit::Setup, format!("cannot enforce a restriction: {words}"))
            .at(broken.location())
            .hint("fix or remove it; Lariat refuses to run when it cannot enforce a restriction")
    }
}

impl From<OpenError> for Problem {
    fn from(error: OpenError) -> Self {
        let cause = error.to_string();
        let unread = |origin: &Origin, line: Option<usize>, reason: &str| {
            // Drops the parser's source excerpt: the line number and the message are enough.
            let lines: Vec<&str> = reason.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
            let reason = match lines.as_slice() {
                [first, .., last] => format!("{first}: {last}"),
                _ => reason.to_owned(),
            };
            Self::new(Exit::Setup, format!("invalid settings: {reason}"))
                .at(line.map_or_else(|| origin.to_string(), |line| format!("{origin}:{line}")))
                .hint("fix the file or move it away; `lariat config schema` lists every setting")
        };
        match &error {
            OpenError::Settings(SettingsError::Malformed { origin, line, reason }) => {
                unread(origin, *line, reason)
            }
            OpenError::Unreadable { origin, reason } => unread(origin, None, reason),
            OpenError::Settings(SettingsError::Restrictions(broken)) => match broken.as_slice() {
                [only] => Self::of_restriction(only),
                [first, others @ ..] => Self::of_restriction(first)
                    .with("also", format!("{} more, which `lariat doctor` lists", others.len())),
                [] => Self::new(Exit::Setup, cause),
            },
            _ => Self::new(Exit::Setup, cause),
        }
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        let cause = error.to_string();
        match error {
            StoreError::Busy { .. } => {
                Self::new(Exit::Session, cause).hint("wait for the other process, or end it")
            }
            StoreError::NotFound(_) => {
                Self::new(Exit::Session, cause).hint("`lariat sessions list` lists all sessions")
            }
            StoreError::Damaged(_) => Self::new(Exit::VerificationFailed, cause).hint(
                "run `lariat sessions verify --all` to find the damage, then `lariat sessions repair ID` to keep the intact part",
            ),
            StoreError::Newer { .. } => Self::new(Exit::Session, cause)
                .hint("update Lariat, or use the version that wrote it; this version changed nothing"),
            _ => Self::new(Exit::Failed, cause),
        }
    }
}

impl From<StateFileError> for Problem {
    fn from(error: StateFileError) -> Self {
        let problem = Self::new(Exit::Setup, error.to_string());
        match error {
            StateFileError::Exposed { path, .. } => {
                problem.hint(format!("review its contents, then run `chmod 600 '{}'`", path.display()))
            }
            _ => problem,
        }
    }
}
