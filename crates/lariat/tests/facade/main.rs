//! What only shows when everything is put together.
#![cfg(all(feature = "models", feature = "sqlite", feature = "tools", target_os = "linux"))]
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "helpers of tests fail the test when something is not there, and look at files from outside"
)]

mod changes;
mod everything_said;
mod memory;
mod opening;
#[cfg(all(feature = "otlp", feature = "typed"))]
mod otlp;
mod place;
mod regression;
mod requests;
mod secrets;
