//! The facade's own tests: what it adds to the crates that it gathers.
#![cfg(all(feature = "tools", target_os = "linux"))]

mod opening;
mod place;
