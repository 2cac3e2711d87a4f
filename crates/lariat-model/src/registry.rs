//! Which provider answers for which model.

/// Dispatches requests by protocol.
#[derive(Debug, Default)]
pub struct ProviderRegistry;
