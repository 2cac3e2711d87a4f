//! The facade's own tests: what it adds to the crates that it gathers.
#![cfg(all(feature = "tools", target_os = "linux"))]
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "helpers of tests fail the test when something is not there"
)]

mod opening;
mod place;
