//! Keys that a person stored.
//!
//! - `file`: which keys there are, and where each is: here, or in the keyring.
//! - `keyring`: the system's keyring, as something that is asked and may fail. `secret_service` is how Linux's is asked.
//!
//! Invariant: the file is asked first, and the keyring only for what the file says is there. So a start without stored keys
//! speaks to nobody.

mod file;
#[cfg_attr(
    not(all(feature = "keyring", target_os = "linux")),
    expect(dead_code, reason = "what is asked is read by the side that answers")
)]
mod keyring;
#[cfg(all(feature = "keyring", target_os = "linux"))]
mod secret_service;

pub(crate) use file::{KeyFile, Stored};
pub(crate) use keyring::{Keyring, Prompts};
