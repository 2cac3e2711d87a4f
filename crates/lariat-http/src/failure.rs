//! Describes why a connection failed, without an address.

use std::error::Error;

pub(crate) type BoxError = Box<dyn Error + Send + Sync>;

/// A connection that a retry cannot make.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct UnreachableError(pub(crate) String);

/// The error and its causes, the outermost first.
pub(crate) fn causes<'a>(
    error: &'a (dyn Error + 'static),
) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| error.source())
}

/// Returns the innermost error, because the outer ones only repeat that something failed.
pub(crate) fn cause(error: &(dyn Error + 'static)) -> String {
    causes(error).last().map(ToString::to_string).unwrap_or_default()
}
