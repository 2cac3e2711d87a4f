//! Passes questions from tools to the user at the terminal.
//!
//! The run loop alone reads the terminal, so tools send it their questions over a bounded channel.

use std::sync::Arc;

use lariat_core::BoxFuture;
use lariat_tools::{Asker, Question};
use tokio::sync::{mpsc, oneshot};

/// Maximum number of queued questions. Tools that ask run one at a time, so there is rarely more than one.
const WAITING: usize = 8;

/// A question and the channel for its answer.
pub(super) struct Asked {
    pub(super) question: Question,
    pub(super) answer: oneshot::Sender<Option<String>>,
}

struct Person(mpsc::Sender<Asked>);

/// An asker for tools, and the receiver of their questions.
pub(super) fn person() -> (Arc<dyn Asker>, mpsc::Receiver<Asked>) {
    let (sender, receiver) = mpsc::channel(WAITING);
    (Arc::new(Person(sender)), receiver)
}

impl Asker for Person {
    fn ask(&self, question: Question) -> BoxFuture<'_, Option<String>> {
        Box::pin(async move {
            let (answer, answered) = oneshot::channel();
            self.0.send(Asked { question, answer }).await.ok()?;
            answered.await.ok().flatten()
        })
    }
}
