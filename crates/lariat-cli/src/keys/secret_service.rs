//! Linux's keyring: the Secret Service of the session's bus (GNOME Keyring, KWallet, KeePassXC).
//!
//! Owns the conversation and its bounds. Invariant: a question ends within twice [`ANSWER`], and [`UNLOCK`] more where a person is asked
//! to unlock it, whatever the other side does. It runs on a thread with a runtime of its own, because whoever asks may be inside of
//! one.

use std::collections::HashMap;
use std::io::Write as _;
use std::time::Duration;

use secret_service::{EncryptionType, Error, SecretService};
use tokio::runtime::Builder;
use tokio::time::timeout;
use zbus::connection;

use super::keyring::{Found, Prompts, Question, Trouble};

/// How long it may take to be reached, and to answer. The first question may start it.
const ANSWER: Duration = Duration::from_secs(5);
/// How long a person may take to unlock it.
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
        Prompts::Allowed => UNLOCK + ANSWER,
        Prompts::Refused => ANSWER,
    };
    // On the heap: conversations on a bus are large futures.
    let answer = Box::pin(answer(&service, prompts, question));
    within(bound, async { answer.await.map_err(trouble) }).await
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
                        interruptible(unlocked(prompts, item.unlock())).await?;
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
            if collection.is_locked().await? {
                unlocked(prompts, collection.unlock()).await?;
            }
            let label = format!("Lariat: {provider}");
            let attributes = attributes(&provider);
            collection.create_item(&label, attributes, key.as_bytes(), true, "text/plain").await?;
        }
        Question::Forget(provider) => {
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

/// By what an item of ours is found again.
fn attributes(provider: &str) -> HashMap<&str, &str> {
    HashMap::from([("application", "lariat"), ("provider", provider)])
}

/// Lets a person unlock it, and says so first. Where nobody is, it stays locked.
async fn unlocked(prompts: Prompts, unlocking: impl Future<Output = Result<(), Error>>) -> Result<(), Error> {
    if prompts == Prompts::Refused {
        return Err(Error::Locked);
    }
    let bound = UNLOCK.as_secs();
    let _ = writeln!(std::io::stderr(), "the keyring is locked: unlock it within {bound} s");
    timeout(UNLOCK, unlocking).await.unwrap_or(Err(Error::Prompt))
}

/// Ends the wait with Ctrl-C. For keys that are read: a run listens for signals and would hear it only afterwards. Where a key is stored
/// or removed nobody listens, and the signal ends the program, as it should.
async fn interruptible(work: impl Future<Output = Result<(), Error>>) -> Result<(), Error> {
    tokio::select! {
        // Heard from before anybody is told to do something.
        biased;
        _ = tokio::signal::ctrl_c() => Err(Error::Prompt),
        ended = work => ended,
    }
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
