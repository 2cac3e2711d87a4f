//! API keys that the user stored.
//!
//! - `file`: lists the providers with a key, and holds the key or says that it is in the keyring.
//! - `key_store`: stores a secret in the one or the other.
//! - `keyring`: requests to the system keyring; `secret_service` performs them on Linux.
//!
//! Lariat reads the file first, and queries the keyring only for the providers that the file lists. Without stored keys it never
//! connects to the keyring.

mod file;
mod key_store;
#[cfg_attr(
    not(all(feature = "keyring", target_os = "linux")),
    expect(dead_code, reason = "the requests are only read by the Linux implementation")
)]
mod keyring;
#[cfg(all(feature = "keyring", target_os = "linux"))]
mod secret_service;

pub(crate) use file::{KeyFile, StoredKey};
pub(crate) use key_store::{KeyStore, StoredIn};
pub(crate) use keyring::{Keyring, UnlockPrompts};
