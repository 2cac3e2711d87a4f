//! What only shows when everything is put together.
#![cfg(all(feature = "models", feature = "sqlite", feature = "tools", target_os = "linux"))]

mod everything_said;
mod secrets;
