//! What a power cut leaves on a disk, built from a recording of what a program did to its files.
//!
//! | module | owns |
//! | --- | --- |
//! | `recording` | changes, syncs and acknowledgements, as a list |
//! | `trace` | strace's log as such a list |
//! | `disk` | which of them a disk may hold at a moment, and the files that result |
//!
//! Pure: text and a seed in, bytes out. Running the program and opening what is left is up to the caller.
//! Invariant: what was synced before the cut is in every image.

mod disk;
mod recording;
mod trace;

pub use disk::{Disk, Image};
pub use recording::{Change, NodeId, Op, ROOT, Recording};
pub use trace::SYSTEM_CALLS;
