//! Rejects PDFs in `read_file` if the feature `pdf` is disabled.

use lariat_core::tool::{ToolContext, ToolError, ToolResult};
use lariat_host::files::Known;

use super::Arguments;
use crate::Workbench;
use crate::shown::Part;

pub(super) const LIMIT: u64 = super::IMAGE_LIMIT;

pub(super) const fn are_in(_: &Workbench, _: &str) -> bool {
    false
}

pub(super) const fn are_named(_: &Arguments) -> bool {
    false
}

pub(super) const fn asked(_: &Arguments) -> Option<Part> {
    None
}

pub(super) const fn refuse(_: &Arguments) -> Result<(), ToolError> {
    Ok(())
}

pub(super) fn read(
    _: &Workbench,
    arguments: &Arguments,
    bytes: Vec<u8>,
    _: Known,
    _: &ToolContext,
) -> Result<ToolResult, ToolError> {
    Err(ToolError::Failed(format!(
        "`{}` is a PDF of {} bytes. This build cannot read PDFs; convert it to text with another program.",
        arguments.path,
        bytes.len()
    )))
}
