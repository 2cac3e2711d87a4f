//! What a policy needs to know about the machine and its user.

use std::path::Path;

/// Bytes of memory that the machine has.
pub fn machine_memory() -> Option<u64> {
    let known = rustix::system::sysinfo();
    known.totalram.checked_mul(u64::from(known.mem_unit)).filter(|bytes| *bytes > 0)
}

/// Whether the user may write in a directory.
pub fn is_writable(directory: &Path) -> bool {
    rustix::fs::access(directory, rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK).is_ok()
}
