//! This process and the programs that it starts.

pub use lariat_host::process::{Environment, LaunchHelper};

/// Prepares a program that runs sessions. Must be the first call of `main`: if Lariat started the program as its launch
/// helper, this serves as one and does not return. Otherwise it keeps the memory of the process private.
pub fn prepare() {
    LaunchHelper::serve_if_requested();
    lariat_host::process::keep_memory_private();
}
