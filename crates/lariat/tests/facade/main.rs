//! What only shows when everything is put together.
#![cfg(all(feature = "models", feature = "sqlite", feature = "tools", target_os = "linux"))]
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "helpers of tests fail the test when something is not there, and look at files from outside"
)]

mod everything_said;
mod memory;
mod opening;
mod place;
mod requests;
mod secrets;
