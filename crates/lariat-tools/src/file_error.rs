//! Reports failed access to files.

use lariat_core::tool::ToolError;
use lariat_host::files::FileError;

/// Converts a file error for the model.
pub(crate) fn failed(error: FileError) -> ToolError {
    ToolError::Failed(error.to_string())
}
