//! What a program did to a directory: changes, syncs and acknowledgements, each with the time it took.
//!
//! Invariant: a call takes effect at some moment between its start and its end.

/// A file or directory, independent of its name: its position in the order of creation.
pub type NodeId = usize;

/// The recorded directory, which exists from the beginning.
pub const ROOT: NodeId = 0;

/// A call that changed something. Times are lines of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Op {
    /// When the call started: before that it had no effect.
    pub begun: usize,
    /// When the call returned: from then on it has taken effect.
    pub ended: usize,
    /// What it did.
    pub change: Change,
}

/// What a call did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A file or directory got a name.
    Enter {
        /// The folder of the name.
        folder: NodeId,
        /// The name.
        name: String,
        /// The node with that name.
        node: NodeId,
        /// Whether that is a folder.
        is_folder: bool,
    },
    /// A file or directory got another name, replacing the file that had it.
    Move {
        /// Folder and name before.
        from: (NodeId, String),
        /// Folder and name now.
        to: (NodeId, String),
        /// The node that moved.
        node: NodeId,
    },
    /// A name was removed.
    Leave {
        /// The folder of the name.
        folder: NodeId,
        /// The name.
        name: String,
    },
    /// Bytes were written.
    Write {
        /// The file.
        node: NodeId,
        /// The position in bytes.
        offset: u64,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// The length of a file was changed.
    Truncate {
        /// The file.
        node: NodeId,
        /// The new length in bytes.
        length: u64,
    },
    /// A file, or the names in a directory, were synced.
    Sync(NodeId),
    /// A sync failed. What it covered is gone: the kernel keeps the bytes for readers, and no later sync writes them.
    FailedSync(NodeId),
    /// The program reported that an event is durable.
    Acknowledge {
        /// Its position.
        seq: u64,
        /// Its id.
        id: String,
    },
}

/// What a program did, over one or more processes.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// In the order in which the calls returned.
    pub ops: Vec<Op>,
}

impl Recording {
    /// The acknowledgements before a moment.
    pub fn acknowledged(&self, before: usize) -> impl Iterator<Item = (u64, &str)> {
        self.ops.iter().filter(move |op| op.begun < before).filter_map(|op| match &op.change {
            Change::Acknowledge { seq, id } => Some((*seq, id.as_str())),
            _ => None,
        })
    }

    /// Whether a sync failed that covered bytes which no earlier sync had made durable.
    pub fn has_lost_writes(&self) -> bool {
        let is_synced = |node: NodeId, written: usize, before: usize| {
            let of_node = |op: &&Op| matches!(op.change, Change::Sync(synced) if synced == node);
            self.ops.iter().filter(of_node).any(|op| op.begun > written && op.ended < before)
        };
        let loses = |failed: &Op, node: NodeId| {
            let written = self.ops.iter().filter(|op| {
                matches!(op.change, Change::Write { node: written, .. } if written == node)
                    && op.ended < failed.begun
            });
            written.into_iter().any(|op| !is_synced(node, op.ended, failed.begun))
        };
        self.ops.iter().any(|op| matches!(op.change, Change::FailedSync(node) if loses(op, node)))
    }
}
