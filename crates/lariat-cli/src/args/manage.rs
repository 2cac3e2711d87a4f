//! The commands about everything but sessions.

use clap::Args;

/// Permissions.
#[derive(Args, Debug)]
pub(crate) struct PermissionsArgs {}

/// Trust.
#[derive(Args, Debug)]
pub(crate) struct TrustArgs {}

/// Models.
#[derive(Args, Debug)]
pub(crate) struct ModelsArgs {}

/// Auth.
#[derive(Args, Debug)]
pub(crate) struct AuthArgs {}

/// Config.
#[derive(Args, Debug)]
pub(crate) struct ConfigArgs {}

/// Context.
#[derive(Args, Debug)]
pub(crate) struct ContextArgs {}

/// Undo.
#[derive(Args, Debug)]
pub(crate) struct UndoArgs {}

/// Doctor.
#[derive(Args, Debug)]
pub(crate) struct DoctorArgs {}

/// Init.
#[derive(Args, Debug)]
pub(crate) struct InitArgs {}

/// Completions.
#[derive(Args, Debug)]
pub(crate) struct CompletionsArgs {}
