//! Builds the requests of a run and asks the provider how many tokens they have.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::{Either, select};
use lariat_core::model::StreamConfig;
use lariat_core::run::{Input, OpId};
use lariat_core::tool::Access;
use lariat_core::transcript::Window;

use super::{Driver, JobKey};

/// How long a provider may take to count. Afterwards the estimate is used.
const COUNT_TIMEOUT: Duration = Duration::from_secs(10);

impl Driver {
    /// Builds the request for a conversation. If the policy panics, the model gets only read access.
    pub(super) fn request(&self, window: Window, candidate: usize) -> StreamConfig {
        let access = std::panic::catch_unwind(AssertUnwindSafe(|| self.ports.policy.access()));
        let tools = self.ports.tools.offered_definitions(access.unwrap_or(Access::Reads));
        self.ports.request.with(window, tools, candidate, &self.memo, self.system_prompt())
    }

    /// Asks the provider for the tokens of a request. A provider that fails, panics or is too slow gives no count.
    pub(super) fn count_tokens(&mut self, op: OpId, window: Window, candidate: usize) {
        let request = self.request(window, candidate);
        let ports = Arc::clone(&self.ports);
        let job = Box::pin(async move {
            let timeout = ports.clock.sleep_until(ports.clock.now().after(COUNT_TIMEOUT));
            let counting = AssertUnwindSafe(async { ports.model.count_tokens(request).await }).catch_unwind();
            let tokens = match select(Box::pin(counting), timeout).await {
                Either::Left((Ok(Ok(tokens)), _)) => tokens,
                _ => None,
            };
            Input::Counted { op, tokens }.into()
        });
        self.start_job(Some(JobKey::Op(op)), job);
    }
}
