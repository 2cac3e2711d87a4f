//! Linux's keyring: the Secret Service of the session's bus (GNOME Keyring, KWallet, KeePassXC).
//!
//! Owns the conversation and its bounds. Invariant: a question ends within [`ANSWER`], or within [`UNLOCK`] where a person is asked to
//! unlock it. It runs on a thread with a runtime of its own, because whoever asks may be inside of one; what is still going on at the
//! end of the bound is left behind, and the connection closed, which takes a prompt away.

use std::collections::HashMap;
use std::io::Write as _;
use std::time::Duration;

use secret_service::{Collection, EncryptionType, Error, SecretService};
use tokio::runtime::Builder;
use tokio::time::timeout;
use zbus::connection;

use super::keyring::{Found, Prompts, Question, Trouble};

/// How long it may take to answer. The first question may start it.
const ANSWER: Duration = Duration::from_secs(5);
/// How long it may take with a person who unlocks it.
const UNLOCK: Duration = Duration::from_secs(30);

/// What errors are called on the bus: nobody answers to a name, and something is locked.
const NO_SUCH_SERVICE: &[&str] =
    &["org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NameHasNoOwner"];
const IS_LOCKED: &str = "org.freedesktop.Secret.Error.IsLocked";

/// Asks, and waits for the answer.
pub(super) fn ask(bus: String, prompts: Prompts, question: Question) -> Result<Found, Trouble> {
    let thread = std::thread::Builder::new().name("keyring".to_owned());
    let asked = thread.spawn(move || {
        let runtime = Builder::new_current_thread().enable_all().build().map_err(|error| failed(&error))?;
        let answer = runtime.block_on(converse(&bus, prompts, question));
        // A connection that is still being made is not waited for.
        runtime.shutdown_background();
        answer
    });
    let asked = asked.map_err(|error| failed(&error))?;
    asked.join().unwrap_or_else(|_| Err(failed(&"the conversation broke off")))
}

async fn converse(bus: &str, prompts: Prompts, question: Question) -> Result<Found, Trouble> {
    let service = within(ANSWER, open(bus)).await?;
    let bound = match prompts {
        Prompts::Allowed => UNLOCK,
        Prompts::Refused => ANSWER,
    };
    within(bound, async { answer(&service, prompts, question).await.map_err(trouble) }).await
}

async fn within<T>(bound: Duration, work: impl Future<Output = Result<T, Trouble>>) -> Result<T, Trouble> {
    let slow = |_| {
        let cause = format!("it does not answer within {} s", bound.as_secs());
        Trouble::new(cause, "look whether the keyring works, or log in again")
    };
    timeout(bound, work).await.unwrap_or_else(|elapsed| Err(slow(elapsed)))
}

async fn open(bus: &str) -> Result<SecretService<'static>, Trouble> {
    let bus = async { connection::Builder::address(bus)?.build().await };
    let bus = bus.await.map_err(|error| {
        Trouble::new(format!("the session bus cannot be reached ({error})"), "log in again")
    })?;
    SecretService::connect_with_existing(EncryptionType::Dh, bus).await.map_err(trouble)
}

async fn answer(service: &SecretService<'_>, prompts: Prompts, question: Question) -> Result<Found, Error> {
    let mut found = Found::new();
    match question {
        Question::Look => service.get_default_collection().await?.ensure_unlocked().await?,
        Question::Read(providers) => {
            for provider in providers {
                let items = service.search_items(attributes(&provider)).await?;
                let item = match (items.unlocked.first(), items.locked.first()) {
                    (Some(item), _) => item,
                    (None, Some(item)) => {
                        announce(prompts)?;
                        item.unlock().await?;
                        item
                    }
                    (None, None) => continue,
                };
                let key = String::from_utf8(item.get_secret().await?);
                found.insert(provider, key.map_err(|_| Error::Crypto("a key in it is no text"))?);
            }
        }
        Question::Store { provider, key } => {
            let collection = service.get_default_collection().await?;
            unlock(&collection, prompts).await?;
            let label = format!("Lariat: {provider}");
            let attributes = attributes(&provider);
            collection.create_item(&label, attributes, key.as_bytes(), true, "text/plain").await?;
        }
        Question::Forget(provider) => {
            let items = service.search_items(attributes(&provider)).await?;
            for item in &items.locked {
                announce(prompts)?;
                item.unlock().await?;
            }
            for item in items.unlocked.iter().chain(&items.locked) {
                item.delete().await?;
            }
        }
    }
    Ok(found)
}

/// By what an item of ours is found again.
fn attributes(provider: &str) -> HashMap<&str, &str> {
    HashMap::from([("application", "lariat"), ("provider", provider)])
}

async fn unlock(collection: &Collection<'_>, prompts: Prompts) -> Result<(), Error> {
    if collection.is_locked().await? {
        announce(prompts)?;
        collection.unlock().await?;
    }
    Ok(())
}

/// Says what is waited for, before a person is asked to unlock; ends where nobody is.
fn announce(prompts: Prompts) -> Result<(), Error> {
    if prompts == Prompts::Refused {
        return Err(Error::Locked);
    }
    let bound = UNLOCK.as_secs();
    let _ = writeln!(std::io::stderr(), "the keyring is locked: it asks you to unlock it, for {bound} s");
    Ok(())
}

fn trouble(error: Error) -> Trouble {
    const UNLOCKED: &str = "unlock the keyring";
    let name = match &error {
        Error::Zbus(zbus::Error::MethodError(name, ..)) => name.as_str(),
        _ => "",
    };
    match &error {
        Error::Locked => Trouble::new("it is locked", UNLOCKED),
        Error::Prompt | Error::PromptDisconnected => {
            Trouble::new("it is locked, and nobody unlocked it", UNLOCKED)
        }
        _ if name == IS_LOCKED => Trouble::new("it is locked", UNLOCKED),
        _ if NO_SUCH_SERVICE.contains(&name) => Trouble::new(
            "no keyring runs here (nobody answers as org.freedesktop.secrets)",
            "start one: GNOME Keyring, KWallet, KeePassXC",
        ),
        Error::NoResult => Trouble::new(
            "it has no collection to store keys in",
            "make a default one with the keyring's own program",
        ),
        _ => failed(&error),
    }
}

fn failed(error: &dyn std::fmt::Display) -> Trouble {
    Trouble::new(format!("it failed ({error})"), "look whether the keyring works, or log in again")
}
