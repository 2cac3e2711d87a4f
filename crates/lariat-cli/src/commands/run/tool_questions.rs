//! Passes questions from tools to the user at the terminal.
//!
//! A session of the background host asks by its journal instead; its answer goes to the host. The run loop alone reads the terminal, so tools send it their questions over a bounded channel.

use std::sync::Arc;

use lariat_core::BoxFuture;
use lariat_core::id::RequestId;
use lariat_core::permission::UserQuestion;
use lariat_tools::{Question, UserPrompter};
use tokio::sync::{mpsc, oneshot};

/// Maximum number of queued questions. Tools that ask run one at a time, so there is rarely more than one.
const MAX_QUEUED: usize = 8;

/// A question and where its answer goes.
pub(super) struct ToolQuestion {
    pub(super) question: UserQuestion,
    pub(super) asked_by: AskedBy,
}

/// Who asks a question.
pub(super) enum AskedBy {
    /// A tool of this process.
    Tool(oneshot::Sender<Option<String>>),
    /// A session of the background host.
    Session(RequestId),
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
            let (question, asked_by) =
                (UserQuestion::new(question.text, question.options), AskedBy::Tool(answer));
            self.0.send(ToolQuestion { question, asked_by }).await.ok()?;
            answered.await.ok().flatten()
        })
    }
}
