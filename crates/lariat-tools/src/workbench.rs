//! What the tools of one agent share.
//!
//! Owns nothing but the handles: the workspace, what has been read of it, and room for outputs that were too long to
//! give back whole. Cloning shares.

use std::sync::Arc;

/// The handles that the tools of one agent share. Cloning shares them.
#[derive(Clone, Debug)]
pub struct Workbench {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {}
