//! What a program did to a folder: changes, syncs and acknowledgements, each with the time it took.
//!
//! Owns the words. Invariant: a call has its effect at some moment from where it began to where it ended.

/// A file or folder, whatever its name: the position in the order in which they were made.
pub type NodeId = usize;

/// The folder that is recorded. It is there from the beginning.
pub const ROOT: NodeId = 0;

/// A call that changed something, in lines of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Op {
    /// When it was entered: before that it had no effect.
    pub begun: usize,
    /// When it returned: from then on it has its effect.
    pub ended: usize,
    /// What it did.
    pub change: Change,
}

/// What a call did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A file or folder got a name.
    Enter {
        /// The folder of the name.
        folder: NodeId,
        /// The name.
        name: String,
        /// What has it now.
        node: NodeId,
        /// Whether that is a folder.
        is_folder: bool,
    },
    /// A file or folder got another name, which another file may have had.
    Move {
        /// Folder and name before.
        from: (NodeId, String),
        /// Folder and name now.
        to: (NodeId, String),
        /// What has it now.
        node: NodeId,
    },
    /// A name is gone.
    Leave {
        /// The folder of the name.
        folder: NodeId,
        /// The name.
        name: String,
    },
    /// Bytes at a place.
    Write {
        /// The file.
        node: NodeId,
        /// The place, in bytes.
        offset: u64,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// A file was cut or made longer.
    Truncate {
        /// The file.
        node: NodeId,
        /// Its length now, in bytes.
        length: u64,
    },
    /// A file, or the names in a folder, were synced.
    Sync(NodeId),
    /// The program told that an event is safe.
    Acknowledge {
        /// Its position.
        seq: u64,
        /// Its id.
        id: String,
    },
}

/// What a program did, over one or several lives.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// In the order in which the calls returned.
    pub ops: Vec<Op>,
}

impl Recording {
    /// The acknowledgements told before a moment.
    pub fn acknowledged(&self, before: usize) -> impl Iterator<Item = (u64, &str)> {
        self.ops.iter().filter(move |op| op.begun < before).filter_map(|op| match &op.change {
            Change::Acknowledge { seq, id } => Some((*seq, id.as_str())),
            _ => None,
        })
    }
}
