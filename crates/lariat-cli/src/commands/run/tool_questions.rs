//! Passes questions from tools to the user at the terminal.
//!
//! The run loop alone reads the terminal, so tools send it their questions over a bounded channel.

use std::sync::Arc;

use lariat_core::BoxFuture;
use lariat_tools::{Question, UserPrompter};
use tokio::sync::{mpsc, oneshot};

/// Maximum number of queued questions. Tools that ask run one at a time, so there is rarely more than one.
const MAX_QUEUED: usize = 8;

/// A question and the channel for its answer.
pub(super) struct ToolQuestion {
    pub(super) question: Question,
    pub(super) answer: oneshot::Sender<Option<String>>,
}

struct TerminalAsker(mpsc::Sender<ToolQuestion>);

/// An asker for tools, and the receiver of their questions.
pub(super) fn terminal_asker() -> (Arc<dyn UserPrompter>, mpsc::Receiver<ToolQuestion>) {
    let (sender, receiver) = mpsc::channel(MAX_QUEUED);
    (Arc::new(TerminalAsker(sender)), receiver)
}

impl UserPrompter for TerminalAsker {
    fn ask(&self, question: Question) -> BoxFuture<'_, Option<String>> {
        Box::pin(async move {
            let (answer, answered) = oneshot::channel();
            self.0.send(ToolQuestion { question, answer }).await.ok()?;
            answered.await.ok().flatten()
        })
    }
}
