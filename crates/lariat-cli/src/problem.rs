//! What a person is told when something cannot be done: the cause, the place, the next step.

use std::fmt;

use lariat_core::store::StoreError;
use lariat_guard::display;
use lariat_service::ServiceError;

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
    /// What to do now. Commands are in backticks.
    pub(crate) next: Option<String>,
}

impl Problem {
    /// A problem with a way to end.
    pub(crate) fn new(exit: Exit, cause: impl Into<String>) -> Self {
        Self { exit, cause: cause.into(), place: None, next: None }
    }

    /// Says where.
    pub(crate) fn at(mut self, place: impl Into<String>) -> Self {
        self.place = Some(place.into());
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
            write!(f, "\n   at: {}", display::line(place))?;
        }
        if let Some(next) = &self.next {
            write!(f, "\n next: {}", display::block(next))?;
        }
        Ok(())
    }
}

impl From<ServiceError> for Problem {
    fn from(error: ServiceError) -> Self {
        let cause = error.to_string();
        match error {
            ServiceError::NoModel => {
                Self::new(Exit::Setup, cause).next("`lariat doctor` says what there is to use")
            }
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
            ServiceError::Store(StoreError::Busy { .. } | StoreError::NotFound(_)) => {
                Self::new(Exit::Session, cause)
            }
            ServiceError::Directory { .. } | ServiceError::Open(_) | ServiceError::Schema(_) => {
                Self::new(Exit::Setup, cause)
            }
            _ => Self::new(Exit::Failed, cause),
        }
    }
}
