//! `lariat sessions` and `lariat replay`.

use clap::Args;

/// Sessions.
#[derive(Args, Debug)]
pub(crate) struct SessionsArgs {}

/// Run a recorded session through today's loop and compare.
#[derive(Args, Debug)]
pub(crate) struct ReplayArgs {}
