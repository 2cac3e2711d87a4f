//! How much memory this process uses, as Linux counts it.

/// Resident memory now, in KiB.
pub(crate) fn resident() -> Result<u64, String> {
    field("VmRSS:")
}

/// The most resident memory so far, in KiB.
pub(crate) fn peak() -> Result<u64, String> {
    field("VmHWM:")
}

fn field(name: &str) -> Result<u64, String> {
    let status = std::fs::read_to_string("/proc/self/status").map_err(|error| error.to_string())?;
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
    number.ok_or_else(|| format!("/proc/self/status has no {name}"))
}
