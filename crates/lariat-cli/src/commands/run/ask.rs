//! Questions of tools to the person at the terminal.
//!
//! Owns the way from a tool to the one loop that reads what is typed. Bounded: a tool that asks waits for room.

use std::sync::Arc;

use lariat_core::BoxFuture;
use lariat_tools::{Asker, Question};
use tokio::sync::{mpsc, oneshot};

/// Questions that wait at most; tools that ask run one after another, so that there is hardly ever more than one.
const WAITING: usize = 8;

/// A question, and where its answer goes.
pub(super) struct Asked {
    pub(super) question: Question,
    pub(super) answer: oneshot::Sender<Option<String>>,
}

struct Person(mpsc::Sender<Asked>);

/// The person as an asker for tools, and the questions that tools put.
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
