//! The questions of a server to the user during one call: one at a time, and only so many.

use std::time::Duration;

use lariat_core::BoxFuture;
use tokio::time::Instant;

use super::client::CallObserver;
use super::content::{McpContent, McpToolCallResult};
use super::elicitation::{self, ElicitationAnswer, PendingElicitation};

/// Maximum number of questions of one call. The others are declined without asking.
const MAX_QUESTIONS: usize = 10;

/// The dialog of one call.
pub(super) struct Dialog<'a> {
    server: &'a str,
    observer: &'a CallObserver<'a>,
    asked: usize,
    /// The question that the user is asked, and since when.
    current: Option<(Instant, BoxFuture<'a, Option<String>>)>,
    /// Why questions were declined.
    declined: Vec<String>,
}

impl<'a> Dialog<'a> {
    pub(super) const fn new(server: &'a str, observer: &'a CallObserver<'a>) -> Self {
        Self { server, observer, asked: 0, current: None, declined: Vec::new() }
    }

    /// Whether the user is asked.
    pub(super) const fn is_open(&self) -> bool {
        self.current.is_some()
    }

    /// Asks the user.
    pub(super) fn open(&mut self, question: PendingElicitation) {
        self.asked += 1;
        let (server, is_allowed) = (self.server, self.asked <= MAX_QUESTIONS);
        let ask = self.observer.ask.clone();
        let asking = async move {
            let answer = match ask {
                None => ElicitationAnswer::Decline("no user is available to answer".to_owned()),
                Some(_) if !is_allowed => {
                    ElicitationAnswer::Decline(format!("it asked more than {MAX_QUESTIONS} questions"))
                }
                Some(ask) => elicitation::ask(server, &question.elicitation, &ask).await,
            };
            let why = match &answer {
                ElicitationAnswer::Decline(why) => Some(why.clone()),
                _ => None,
            };
            let _ = question.reply.send(answer);
            why
        };
        self.current = Some((Instant::now(), Box::pin(asking)));
    }

    /// Waits until the open question is answered. Returns how long it was open.
    pub(super) async fn answered(&mut self) -> Duration {
        let Some((since, asking)) = &mut self.current else { return std::future::pending().await };
        let (declined, waited) = (asking.await, since.elapsed());
        self.current = None;
        if let Some(why) = declined {
            (self.observer.report)(format!("declined a question of the server: {why}"));
            self.declined.push(why);
        }
        waited
    }

    /// Tells the model which questions were declined.
    pub(super) fn with_notes(&self, mut result: McpToolCallResult) -> McpToolCallResult {
        for why in &self.declined {
            let text = format!("[Lariat declined a question of the server to the user: {why}]");
            result.content.push(McpContent::Text { text });
        }
        result
    }
}
