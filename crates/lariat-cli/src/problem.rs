//! What a person is told when something cannot be done: the cause, the place, the next step.

use std::fmt;

use lariat_core::store::StoreError;
use lariat_guard::{KeptError, Origin, SettingsError, display};
use lariat_runtime::BuildError;
use lariat_service::ServiceError;
use lariat_service::local::OpenError;

use crate::exit::Exit;

/// Why a command could not do its work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    /// How the program ends.
    pub(crate) exit: Exit,
    /// What is wrong.
    pub(crate) cause: String,
    /// Where: a file, a setting, a session, an address.
    pub(crate) place: Option<String>,
    /// More that is known, each with a label of a few letters.
    pub(crate) details: Vec<(&'static str, String)>,
    /// What to do now. Commands are in backticks.
    pub(crate) next: Option<String>,
    /// Whether there is no model, so that what there is to use should be told.
    pub(crate) lacks_model: bool,
}

impl Problem {
    /// A problem with a way to end.
    pub(crate) fn new(exit: Exit, cause: impl Into<String>) -> Self {
        Self { exit, cause: cause.into(), place: None, details: Vec::new(), next: None, lacks_model: false }
    }

    /// Says where.
    pub(crate) fn at(mut self, place: impl Into<String>) -> Self {
        self.place = Some(place.into());
        self
    }

    /// Adds what else is known. The label is padded to that of `hint`.
    pub(crate) fn with(mut self, label: &'static str, text: impl Into<String>) -> Self {
        self.details.push((label, text.into()));
        self
    }

    /// Says what to do now.
    pub(crate) fn next(mut self, next: impl Into<String>) -> Self {
        self.next = Some(next.into());
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
        if let Some(next) = &self.next {
            write!(f, "\n  hint: {}", display::block(next))?;
        }
        Ok(())
    }
}

impl From<ServiceError> for Problem {
    fn from(error: ServiceError) -> Self {
        let cause = error.to_string();
        match error {
            ServiceError::NoModel => Self {
                lacks_model: true,
                ..Self::new(Exit::Setup, cause).next("`lariat doctor` says what there is to use")
            },
            ServiceError::UnknownModel { suggestions, .. } => {
                let near = suggestions.first().map(|name| format!("did you mean `{name}`? "));
                let near = near.unwrap_or_default();
                Self::new(Exit::Setup, cause).next(format!("{near}`lariat models list` shows all"))
            }
            ServiceError::NoKey { provider, variables } => {
                let variable = variables.first().map(String::as_str).unwrap_or_default();
                Self::new(Exit::Setup, cause)
                    .next(format!("set {variable}, or store it: `lariat auth login {provider}`"))
            }
            ServiceError::UnknownSession(_)
            | ServiceError::AmbiguousSession { .. }
            | ServiceError::NothingToContinue(_) => {
                Self::new(Exit::Session, cause).next("`lariat sessions list` shows all")
            }
            ServiceError::Store(error) => Self::from(error),
            ServiceError::Directory { path, reason } => {
                Self::new(Exit::Setup, format!("the directory cannot be opened: {reason}"))
                    .at(path)
                    .next("name a directory that is there and can be entered")
            }
            ServiceError::Folder { path, reason } => {
                Self::new(Exit::Setup, format!("the folder cannot be used: {reason}"))
                    .at(path)
                    .next("make it writable, or set another in the settings (`store.path`)")
            }
            ServiceError::Open(error) => Self::from(error),
            ServiceError::Book(error) => Self::from(error),
            ServiceError::Build(BuildError::CapWithoutPrice(model)) => {
                Self::new(Exit::Setup, format!("money is capped, but the price of `{model}` is not known")).next(
                    "cap tokens instead (`limits.tokens`), remove the cap on money, or choose a model with a price: `lariat models list`",
                )
            }
            ServiceError::Schema(_) => Self::new(Exit::Setup, cause),
            _ => Self::new(Exit::Failed, cause),
        }
    }
}

impl From<OpenError> for Problem {
    fn from(error: OpenError) -> Self {
        let cause = error.to_string();
        let unread = |origin: &Origin, line: Option<usize>, reason: &str| {
            // A parser's picture of the place is left out: the line and what is wrong with it say as much.
            let lines: Vec<&str> = reason.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
            let reason = match lines.as_slice() {
                [first, .., last] => format!("{first}: {last}"),
                _ => reason.to_owned(),
            };
            Self::new(Exit::Setup, format!("settings cannot be read: {reason}"))
                .at(line.map_or_else(|| origin.to_string(), |line| format!("{origin}:{line}")))
                .next("correct the file, or move it away; `lariat config schema` lists every setting")
        };
        match &error {
            OpenError::Settings(SettingsError::Malformed { origin, line, reason }) => {
                unread(origin, *line, reason)
            }
            OpenError::Unreadable { origin, reason } => unread(origin, None, reason),
            OpenError::Settings(SettingsError::Restriction(broken)) => Self::new(
                Exit::Setup,
                format!("a restriction cannot be enforced: `{}` {}", broken.subject, broken.reason),
            )
            .at(broken.place())
            .next("correct or remove it; Lariat does not run without a restriction that is written"),
            _ => Self::new(Exit::Setup, cause),
        }
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        let cause = error.to_string();
        match error {
            StoreError::Busy { .. } => {
                Self::new(Exit::Session, cause).next("end the other process, or wait until it is done")
            }
            StoreError::NotFound(_) => {
                Self::new(Exit::Session, cause).next("`lariat sessions list` shows all")
            }
            StoreError::Damaged(_) => Self::new(Exit::Unsound, cause).next(
                "`lariat sessions verify --all` says where; `lariat sessions repair ID` keeps what is intact",
            ),
            _ => Self::new(Exit::Failed, cause),
        }
    }
}

impl From<KeptError> for Problem {
    fn from(error: KeptError) -> Self {
        let problem = Self::new(Exit::Setup, error.to_string());
        match error {
            KeptError::Exposed { path, .. } => {
                problem.next(format!("check what it says, then `chmod 600 '{}'`", path.display()))
            }
            _ => problem,
        }
    }
}
