//! `std` with the locks, channels and threads of shuttle.
//!
//! The program `interleavings` uses this crate under the name `std`, so that the modules of the product that it compiles get them without a
//! change. Everything else is the real `std`.

pub use ::std::*;

/// Shuttle's locks and channels, and the rest of `std::sync`.
pub mod sync {
    pub use ::std::sync::*;
    pub use shuttle::sync::{
        Barrier, Condvar, Mutex, MutexGuard, Once, RwLock, RwLockReadGuard, RwLockWriteGuard, atomic, mpsc,
    };
}

/// Shuttle's threads.
pub mod thread {
    pub use shuttle::thread::*;
}
