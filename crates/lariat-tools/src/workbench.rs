//! What the tools of one agent share.
//!
//! Owns nothing but the handles: the workspace and what has been read of it. Cloning shares.

use std::sync::Arc;

use lariat_host::files::{FileMemory, Workspace};

/// The handles that the tools of one agent share. Cloning shares them.
#[derive(Clone, Debug)]
pub struct Workbench {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    workspace: Workspace,
    memory: FileMemory,
}

impl Workbench {
    /// A bench in a workspace of which nothing has been read.
    pub fn new(workspace: Workspace) -> Self {
        Self { shared: Arc::new(Shared { workspace, memory: FileMemory::default() }) }
    }

    /// Where the agent works.
    pub fn workspace(&self) -> &Workspace {
        &self.shared.workspace
    }

    /// What the agent has read.
    pub fn memory(&self) -> &FileMemory {
        &self.shared.memory
    }
}
