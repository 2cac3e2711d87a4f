//! Rejects PDFs in `read_file` if the feature `pdf` is disabled.

use lariat_core::tool::{ToolContext, ToolError, ToolResult};
use lariat_host::files::FileVersion;

use super::Arguments;
use crate::Workbench;
use crate::shown_files::ShownPart;

pub(super) const LIMIT: u64 = super::IMAGE_LIMIT;

pub(super) const fn is_pdf(_: &Workbench, _: &str) -> bool {
    false
}

pub(super) const fn names_pages(_: &Arguments) -> bool {
    false
}

pub(super) const fn requested(_: &Arguments) -> Option<ShownPart> {
    None
}

pub(super) const fn reject_pages(_: &Arguments) -> Result<(), ToolError> {
    Ok(())
}

pub(super) fn read(
    _: &Workbench,
    arguments: &Arguments,
    bytes: Vec<u8>,
    _: FileVersion,
    _: &ToolContext,
) -> Result<ToolResult, ToolError> {
    Err(ToolError::Failed(format!(
        "`{}` is a PDF of {} bytes. This build cannot read PDFs; convert it to text with another program.",
        arguments.path,
        bytes.len()
    )))
}
