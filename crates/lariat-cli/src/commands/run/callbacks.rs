//! Passes hooks to the functions of the controlling program.
//!
//! The run loop alone writes to the program and reads its answers, so hooks send it their calls over a bounded channel. When
//! the loop no longer listens, a call fails at once, and what it could block is blocked.

use std::sync::Arc;

use lariat_core::BoxFuture;
use lariat_service::callbacks::{Handler, HandlerResult, HookRunner, Invocation};
use tokio::sync::{mpsc, oneshot};

/// Maximum number of calls that wait for the loop. More wait in their hooks, up to their timeouts.
const MAX_QUEUED: usize = 16;

/// A call of a function, and the channel for its answer.
pub(super) struct CallbackCall {
    /// The id that the program gave the function.
    pub(super) callback_id: String,
    /// The hook's input, as JSON.
    pub(super) input: String,
    pub(super) answer: oneshot::Sender<HandlerResult>,
}

struct ProgramCallbacks(mpsc::Sender<CallbackCall>);

/// A runner for hooks, and the receiver of their calls.
pub(super) fn channel() -> (Arc<dyn HookRunner>, mpsc::Receiver<CallbackCall>) {
    let (sender, receiver) = mpsc::channel(MAX_QUEUED);
    (Arc::new(ProgramCallbacks(sender)), receiver)
}

impl HookRunner for ProgramCallbacks {
    fn run<'a>(&'a self, handler: &'a Handler, input: &'a str) -> BoxFuture<'a, HandlerResult> {
        Box::pin(async move {
            let Invocation::Callback(id) = &handler.way else {
                return HandlerResult::Failed("it is not a function of the program".to_owned());
            };
            let (answer, answered) = oneshot::channel();
            let call = CallbackCall { callback_id: id.clone(), input: input.to_owned(), answer };
            let called = async {
                self.0.send(call).await.ok()?;
                answered.await.ok()
            };
            match tokio::time::timeout(handler.timeout, called).await {
                Ok(Some(ended)) => ended,
                Ok(None) => {
                    HandlerResult::Failed("the controlling program no longer answers hooks".to_owned())
                }
                Err(_) => HandlerResult::TimedOut,
            }
        })
    }
}
