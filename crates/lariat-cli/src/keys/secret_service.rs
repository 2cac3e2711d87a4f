//! Accesses the Linux keyring: the Secret Service on the D-Bus session bus (GNOME Keyring, KWallet, KeePassXC).
//!
//! A request ends within twice [`ANSWER`], plus [`UNLOCK`] if the user is asked to unlock the keyring, whatever the service does.
//! It runs on its own thread with its own runtime, because the caller may already be inside a runtime.

use std::collections::HashMap;
use std::io::Write as _;
use std::time::Duration;

use secret_service::{EncryptionType, Error, SecretService};
use tokio::runtime::Builder;
use tokio::time::timeout;
use zbus::connection;

use super::keyring::{KeyringError, KeyringRequest, KeysByProvider, UnlockPrompts};

/// Timeout to connect, and to answer. The first request may have to start the service.
const ANSWER: Duration = Duration::from_secs(5);
/// Time for the user to unlock the keyring.
const UNLOCK: Duration = Duration::from_secs(30);

/// D-Bus error names: no service owns the name, and the item is locked.
const NO_SUCH_SERVICE: &[&str] =
    &["org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NameHasNoOwner"];
const IS_LOCKED: &str = "org.freedesktop.Secret.Error.IsLocked";

/// Performs a request and waits for the result.
pub(super) fn ask(
    bus: String,
    prompts: UnlockPrompts,
    request: KeyringRequest,
) -> Result<KeysByProvider, KeyringError> {
    let thread = std::thread::Builder::new().name("keyring".to_owned());
    let asked = thread.spawn(move || {
        let runtime =
            Builder::new_current_thread().enable_all().build().map_err(|error| keyring_failure(&error))?;
        let answer = runtime.block_on(run_request(&bus, prompts, request));
        // Does not wait for a connection that is still being opened.
        runtime.shutdown_background();
        answer
    });
    let asked = asked.map_err(|error| keyring_failure(&error))?;
    asked.join().unwrap_or_else(|_| Err(keyring_failure(&"the keyring thread panicked")))
}

async fn run_request(
    bus: &str,
    prompts: UnlockPrompts,
    request: KeyringRequest,
) -> Result<KeysByProvider, KeyringError> {
    let service = with_timeout(ANSWER, open(bus)).await?;
    let bound = match prompts {
        UnlockPrompts::Allowed => UNLOCK + ANSWER,
        UnlockPrompts::Refused => ANSWER,
    };
    // On the heap: D-Bus futures are large.
    let answer = Box::pin(answer(&service, prompts, request));
    with_timeout(bound, async { answer.await.map_err(keyring_error) }).await
}

async fn with_timeout<T>(
    bound: Duration,
    work: impl Future<Output = Result<T, KeyringError>>,
) -> Result<T, KeyringError> {
    let slow = |_| {
        let cause = format!("no answer within {} s", bound.as_secs());
        KeyringError::new(cause, "check that the keyring works, or log in again")
    };
    timeout(bound, work).await.unwrap_or_else(|elapsed| Err(slow(elapsed)))
}

async fn open(bus: &str) -> Result<SecretService<'static>, KeyringError> {
    let bus = async { connection::Builder::address(bus)?.build().await };
    let bus = bus.await.map_err(|error| {
        KeyringError::new(format!("could not connect to the D-Bus session bus ({error})"), "log in again")
    })?;
    SecretService::connect_with_existing(EncryptionType::Dh, bus).await.map_err(keyring_error)
}

async fn answer(
    service: &SecretService<'_>,
    prompts: UnlockPrompts,
    request: KeyringRequest,
) -> Result<KeysByProvider, Error> {
    let mut found = KeysByProvider::new();
    match request {
        KeyringRequest::Check => service.get_default_collection().await?.ensure_unlocked().await?,
        KeyringRequest::Read(providers) => {
            for provider in providers {
                let items = service.search_items(attributes(&provider)).await?;
                let item = match (items.unlocked.first(), items.locked.first()) {
                    (Some(item), _) => item,
                    (None, Some(item)) => {
                        interruptible(unlocked(prompts, item.unlock())).await?;
                        item
                    }
                    (None, None) => continue,
                };
                let key = String::from_utf8(item.get_secret().await?);
                found.insert(provider, key.map_err(|_| Error::Crypto("a stored key is not valid UTF-8"))?);
            }
        }
        KeyringRequest::Store { provider, key } => {
            let collection = service.get_default_collection().await?;
            if collection.is_locked().await? {
                unlocked(prompts, collection.unlock()).await?;
            }
            let label = format!("Lariat: {provider}");
            let attributes = attributes(&provider);
            collection.create_item(&label, attributes, key.as_bytes(), true, "text/plain").await?;
        }
        KeyringRequest::Forget(provider) => {
            let items = service.search_items(attributes(&provider)).await?;
            for item in &items.locked {
                unlocked(prompts, item.unlock()).await?;
            }
            for item in items.unlocked.iter().chain(&items.locked) {
                item.delete().await?;
            }
        }
    }
    Ok(found)
}

/// The attributes that identify Lariat's items.
fn attributes(provider: &str) -> HashMap<&str, &str> {
    HashMap::from([("application", "lariat"), ("provider", provider)])
}

/// Asks the user to unlock the keyring. Fails with `Locked` if no user can answer.
async fn unlocked(
    prompts: UnlockPrompts,
    unlocking: impl Future<Output = Result<(), Error>>,
) -> Result<(), Error> {
    if prompts == UnlockPrompts::Refused {
        return Err(Error::Locked);
    }
    let bound = UNLOCK.as_secs();
    let _ = writeln!(std::io::stderr(), "the keyring is locked: unlock it within {bound} s");
    timeout(UNLOCK, unlocking).await.unwrap_or(Err(Error::Prompt))
}

/// Ends the wait on Ctrl-C. Needed where a run reads keys: it handles signals itself, but only after this call returns. Where a
/// command stores or removes a key, no handler is installed and the signal ends the program.
async fn interruptible(work: impl Future<Output = Result<(), Error>>) -> Result<(), Error> {
    tokio::select! {
        // Installs the handler before the message asks the user to act.
        biased;
        _ = tokio::signal::ctrl_c() => Err(Error::Prompt),
        ended = work => ended,
    }
}

fn keyring_error(error: Error) -> KeyringError {
    const UNLOCKED: &str = "unlock the keyring";
    let name = match &error {
        Error::Zbus(zbus::Error::MethodError(name, ..)) => name.as_str(),
        _ => "",
    };
    match &error {
        Error::Locked => KeyringError::new("it is locked", UNLOCKED),
        Error::Prompt | Error::PromptDisconnected => {
            KeyringError::new("it is locked and was not unlocked", UNLOCKED)
        }
        _ if name == IS_LOCKED => KeyringError::new("it is locked", UNLOCKED),
        _ if NO_SUCH_SERVICE.contains(&name) => KeyringError::new(
            "no keyring is running (no service owns org.freedesktop.secrets)",
            "start GNOME Keyring, KWallet or KeePassXC",
        ),
        Error::NoResult => KeyringError::new(
            "it has no default collection",
            "create a default collection with the keyring's own program",
        ),
        _ => keyring_failure(&error),
    }
}

fn keyring_failure(error: &dyn std::fmt::Display) -> KeyringError {
    KeyringError::new(format!("it failed ({error})"), "check that the keyring works, or log in again")
}
