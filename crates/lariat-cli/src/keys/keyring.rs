//! The system's keyring, as something that is asked and may fail.
//!
//! Owns what can be asked and what a failure means to a person. Invariant: a keyring that is gone, locked or slow is a [`Trouble`],
//! never a wait.

use std::collections::BTreeMap;

use crate::exit::Exit;
use crate::problem::Problem;

/// The keyring of the person's session.
#[derive(Clone, Debug)]
pub(crate) struct Keyring {
    /// The address of the session's bus, if there is one.
    pub(crate) bus: Option<String>,
    /// Whether a person may be asked to unlock it.
    pub(crate) prompts: Prompts,
}

/// Whether a person may be asked to unlock a keyring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prompts {
    /// Somebody is there.
    Allowed,
    /// Nobody is: one that is locked stays so.
    Refused,
}

/// What is asked.
pub(super) enum Question {
    /// Whether keys could be stored.
    Look,
    /// The keys of these services.
    Read(Vec<String>),
    /// To keep a key.
    Store {
        /// Of this service.
        provider: String,
        /// The key.
        key: String,
    },
    /// To remove the key of this service.
    Forget(String),
}

/// Keys by service; empty where none was asked for.
pub(super) type Found = BTreeMap<String, String>;

/// Why the keyring cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Trouble {
    /// What is wrong.
    pub(crate) cause: String,
    /// What to do about it.
    pub(crate) step: &'static str,
}

impl Keyring {
    /// Whether keys could be stored now. Nobody is asked to unlock anything.
    pub(crate) fn look(&self) -> Result<(), Trouble> {
        self.ask(Question::Look).map(drop)
    }

    /// The keys of services, as far as it has them.
    pub(crate) fn read(&self, providers: Vec<String>) -> Result<BTreeMap<String, String>, Trouble> {
        self.ask(Question::Read(providers))
    }

    /// Keeps a key, instead of one that it has for the service.
    pub(crate) fn store(&self, provider: &str, key: &str) -> Result<(), Trouble> {
        self.ask(Question::Store { provider: provider.to_owned(), key: key.to_owned() }).map(drop)
    }

    /// Removes a key. One that is gone already is no failure.
    pub(crate) fn forget(&self, provider: &str) -> Result<(), Trouble> {
        self.ask(Question::Forget(provider.to_owned())).map(drop)
    }

    #[cfg(all(feature = "keyring", target_os = "linux"))]
    fn ask(&self, question: Question) -> Result<Found, Trouble> {
        let bus = self.bus.clone().ok_or_else(|| {
            Trouble::new(
                "there is no session bus (DBUS_SESSION_BUS_ADDRESS is not set)",
                "work in a session that has a keyring",
            )
        })?;
        super::secret_service::ask(bus, self.prompts, question)
    }

    #[cfg(not(all(feature = "keyring", target_os = "linux")))]
    fn ask(&self, _question: Question) -> Result<Found, Trouble> {
        Err(Trouble::new("this program cannot use one", "use a program that is built with `keyring`"))
    }
}

impl Trouble {
    pub(super) fn new(cause: impl Into<String>, step: &'static str) -> Self {
        Self { cause: cause.into(), step }
    }

    /// As the problem that something failed for it.
    pub(crate) fn problem(self, failed: &str) -> Problem {
        Problem::new(Exit::Setup, format!("{failed}: {}", self.cause)).next(self.step)
    }
}
