//! What only shows when everything is put together.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "helpers of tests fail the test when something is not there, and look at files from outside"
)]
#![cfg(all(feature = "models", feature = "sqlite", feature = "tools", target_os = "linux"))]

mod everything_said;
mod secrets;
