//! Placeholder.
pub(crate) fn run(_: &[&str]) -> Result<bool, String> { Err("not yet".to_owned()) }
pub(crate) fn supervise(_: &[&str]) -> Result<bool, String> { Err("not yet".to_owned()) }
