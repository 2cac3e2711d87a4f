//! The clock of this machine, and fresh ids.

use lariat_core::clock::Clock as _;
use lariat_core::time::Timestamp;
pub use lariat_runtime::new_session_id;
use lariat_runtime::system::SystemClock;

/// Returns the time of this machine.
pub fn now() -> Timestamp {
    SystemClock.now()
}
