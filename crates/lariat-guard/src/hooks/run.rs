//! Telling all handlers of an event at once.

use futures_util::future::join_all;
use lariat_core::BoxFuture;

use super::{Answer, Handler, HookBook, Outcome, Told};

/// How a handler ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// By itself. An address that answered well counts as code 0, with its body as output.
    Exited {
        /// The exit code.
        code: i32,
        /// Standard output.
        output: String,
        /// Standard error.
        errors: String,
    },
    /// It was stopped at its time limit.
    TimedOut,
    /// It could not be started or reached.
    Failed(String),
}

/// Starts programs and reaches addresses for hooks. Keeps the handler's time limit, and kills what is over it.
pub trait HookRunner: Send + Sync {
    /// Tells one handler, with this JSON.
    fn run<'a>(&'a self, handler: &'a Handler, input: &'a str) -> BoxFuture<'a, Ended>;
}

/// Tells all handlers of an event, at once, and waits for all of them.
///
/// `names` are the names of what the event is about (a tool has ours and Claude Code's); `condition` says whether a
/// permission rule matches the call.
pub async fn fire(
    book: &HookBook,
    runner: &dyn HookRunner,
    told: &Told,
    names: &[&str],
    condition: impl Fn(&str) -> bool,
) -> Outcome {
    let applies = |handler: &&Handler| handler.condition.as_deref().is_none_or(&condition);
    let handlers: Vec<&Handler> = book.matching(told.event, names).into_iter().filter(applies).collect();
    if handlers.is_empty() {
        return Outcome::default();
    }
    let input = told.to_json().to_string();
    let ended = join_all(handlers.iter().map(|handler| runner.run(handler, &input))).await;
    let answers = handlers.iter().zip(&ended);
    Outcome::of(answers.map(|(handler, ended)| Answer::read(told.event, ended, handler.on_failure)))
}
