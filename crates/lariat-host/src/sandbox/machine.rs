//! Reads facts about the machine and its user that a policy depends on.

use std::path::Path;

/// Total memory of the machine in bytes.
pub fn machine_memory() -> Option<u64> {
    let known = rustix::system::sysinfo();
    known.totalram.checked_mul(u64::from(known.mem_unit)).filter(|bytes| *bytes > 0)
}

/// Whether the user may write to a directory.
pub fn is_writable(directory: &Path) -> bool {
    rustix::fs::access(directory, rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK).is_ok()
}
