//! Runs work that may block on a thread of its own.

use lariat_core::tool::ToolError;

/// Runs work on a thread that may block, or here without a runtime.
pub(crate) async fn off_thread<R: Send + 'static>(
    work: impl FnOnce() -> R + Send + 'static,
) -> Result<R, ToolError> {
    match tokio::runtime::Handle::try_current() {
        Ok(runtime) => {
            let done = runtime.spawn_blocking(work).await;
            done.map_err(|error| ToolError::Interrupted(error.to_string()))
        }
        Err(_) => Ok(work()),
    }
}
