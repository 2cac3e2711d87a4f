//! Telling the handlers of an event, all at once.
//!
//! Owns who is told of an event and who is waited for. A handler that is `async` is told and not waited for: it decides
//! nothing. One that is `once` is told once in a session, whatever comes of it.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

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

/// Which handlers that are told `once` were told, by session.
#[derive(Debug, Default)]
pub struct Spent(Mutex<BTreeSet<(String, usize)>>);

impl Spent {
    /// True the first time for a session.
    fn spend(&self, session: &str, handler: usize) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert((session.to_owned(), handler))
    }

    /// Forgets a session that is over.
    pub fn forget(&self, session: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).retain(|(spent, _)| spent != session);
    }
}

/// The handlers that are to be told of one event.
#[derive(Debug)]
pub struct Round<'a> {
    told: &'a Told,
    input: Arc<str>,
    waited: Vec<&'a Handler>,
    unwaited: Vec<&'a Handler>,
}

impl<'a> Round<'a> {
    /// Those of a book that an event concerns; `None` when there are none.
    ///
    /// `names` are the names of what the event is about (a tool has ours and Claude Code's); `condition` says whether
    /// a permission rule matches the call.
    pub fn of(
        book: &'a HookBook,
        spent: &Spent,
        told: &'a Told,
        names: &[&str],
        condition: impl Fn(&str) -> bool,
    ) -> Option<Self> {
        let applies = |handler: &Handler| handler.condition.as_deref().is_none_or(&condition);
        let unspent = |at: usize, handler: &Handler| !handler.once || spent.spend(&told.session_id, at);
        let handlers = book.matching(told.event, names).into_iter();
        let handlers = handlers.filter(|(at, handler)| applies(handler) && unspent(*at, handler));
        let (unwaited, waited): (Vec<&Handler>, Vec<&Handler>) =
            handlers.map(|(_, handler)| handler).partition(|handler| handler.background);
        if waited.is_empty() && unwaited.is_empty() {
            return None;
        }
        Some(Self { told, input: told.to_json().to_string().into(), waited, unwaited })
    }

    /// What to do beside everything else, for each handler that nobody waits for. Nothing is done before it is polled.
    pub fn unwaited(&self, runner: &Arc<dyn HookRunner>) -> Vec<BoxFuture<'static, ()>> {
        let tell = |handler: &&Handler| -> BoxFuture<'static, ()> {
            let (runner, handler, input) =
                (Arc::clone(runner), Handler::clone(handler), Arc::clone(&self.input));
            Box::pin(async move { drop(runner.run(&handler, &input).await) })
        };
        self.unwaited.iter().map(tell).collect()
    }

    /// Tells the others, and waits for all of them.
    pub async fn outcome(self, runner: &dyn HookRunner) -> Outcome {
        let ended = join_all(self.waited.iter().map(|handler| runner.run(handler, &self.input))).await;
        let answers = self.waited.iter().zip(&ended);
        Outcome::of(answers.map(|(handler, ended)| Answer::read(self.told.event, ended, handler.on_failure)))
    }
}
