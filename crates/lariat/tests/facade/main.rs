//! Tests of the assembled facade, for behaviour that no single crate shows.
#![cfg(all(feature = "service", target_os = "linux"))]
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "test helpers fail the test when something is missing, and inspect files from outside"
)]

mod catalogue;
mod changes;
mod log_capture;
mod memory;
mod newcomer;
mod opening;
#[cfg(all(feature = "otlp", feature = "typed"))]
mod otlp;
mod regression;
mod requests;
mod root_names;
mod secrets;
mod test_dirs;
