//! Computes what a power loss leaves on a disk, from a recording of what a program did to its files.
//!
//! | module | content |
//! | --- | --- |
//! | `recording` | changes, syncs and acknowledgements, as a list |
//! | `trace` | parses strace's log into such a list |
//! | `disk` | which of them a disk may contain at a moment, and the resulting files |
//!
//! Pure: text and a seed in, bytes out. The caller runs the program and opens the result.
//! Invariant: what was synced before the power loss is in every image.

mod disk;
mod recording;
mod trace;

pub use disk::{Disk, Image};
pub use recording::{Change, NodeId, Op, ROOT, Recording};
pub use trace::SYSTEM_CALLS;
