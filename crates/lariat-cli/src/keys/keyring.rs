//! Stores API keys in the system keyring.
//!
//! A keyring that is missing, locked or slow results in a [`KeyringError`]; no request waits forever.

use std::collections::BTreeMap;

use crate::exit::Exit;
use crate::problem::Problem;

/// The keyring of the user's desktop session.
#[derive(Clone, Debug)]
pub(crate) struct Keyring {
    /// The address of the D-Bus session bus.
    pub(crate) bus: Option<String>,
    pub(crate) prompts: UnlockPrompts,
}

/// Whether the keyring may ask the user to unlock it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnlockPrompts {
    /// A user can answer.
    Allowed,
    /// No user can answer: a locked keyring stays locked.
    Refused,
}

/// A request to the keyring.
pub(super) enum KeyringRequest {
    /// Check whether keys can be stored.
    Check,
    /// Read the keys of these providers.
    Read(Vec<String>),
    /// Store a key.
    Store { provider: String, key: String },
    /// Remove the key of this provider.
    Forget(String),
}

/// Keys by provider; empty for requests other than `Read`.
pub(super) type KeysByProvider = BTreeMap<String, String>;

/// Why a keyring request failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyringError {
    pub(crate) cause: String,
    /// The next step, for the hint.
    pub(crate) step: &'static str,
}

impl Keyring {
    /// Checks whether keys can be stored now. Does not ask the user to unlock the keyring.
    pub(crate) fn check(&self) -> Result<(), KeyringError> {
        self.ask(KeyringRequest::Check).map(drop)
    }

    /// Reads the keys of these providers; those without a key are missing from the map.
    pub(crate) fn read(&self, providers: Vec<String>) -> Result<BTreeMap<String, String>, KeyringError> {
        self.ask(KeyringRequest::Read(providers))
    }

    /// Stores a key, replacing the provider's previous one.
    pub(crate) fn store(&self, provider: &str, key: &str) -> Result<(), KeyringError> {
        self.ask(KeyringRequest::Store { provider: provider.to_owned(), key: key.to_owned() }).map(drop)
    }

    /// Removes a key. Succeeds if there is none.
    pub(crate) fn remove(&self, provider: &str) -> Result<(), KeyringError> {
        self.ask(KeyringRequest::Forget(provider.to_owned())).map(drop)
    }

    #[cfg(all(feature = "keyring", target_os = "linux"))]
    fn ask(&self, request: KeyringRequest) -> Result<KeysByProvider, KeyringError> {
        let bus = self.bus.clone().ok_or_else(|| {
            KeyringError::new(
                "no D-Bus session bus (DBUS_SESSION_BUS_ADDRESS is not set)",
                "log in to a session that has a keyring",
            )
        })?;
        super::secret_service::ask(bus, self.prompts, request)
    }

    #[cfg(not(all(feature = "keyring", target_os = "linux")))]
    fn ask(&self, _question: KeyringRequest) -> Result<KeysByProvider, KeyringError> {
        Err(KeyringError::new("this build does not support it", "use a build with the `keyring` feature"))
    }
}

impl KeyringError {
    pub(super) fn new(cause: impl Into<String>, step: &'static str) -> Self {
        Self { cause: cause.into(), step }
    }

    /// Converts to an error whose cause begins with `failed`.
    pub(crate) fn problem(self, failed: &str) -> Problem {
        Problem::new(Exit::Setup, format!("{failed}: {}", self.cause)).hint(self.step)
    }
}
