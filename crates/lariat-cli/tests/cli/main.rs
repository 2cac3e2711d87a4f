//! The real binary, as a person or a script meets it: an empty home, a clean environment, what it prints and how it ends.
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test that cannot make its files or start the program has failed; it is outside of every workspace"
)]

mod asking;
mod errors;
mod help;
mod kit;
mod managing;
mod sessions;
