//! Telling the handlers of an event, all at once.
//!
//! Owns who is told of an event and who is waited for. A handler that is `async` is told and not waited for: it decides
//! nothing. One that is `once` is told once in a session, whatever comes of it. A call that touches several files is told
//! once for each, one after the other.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::join_all;
use lariat_core::BoxFuture;

use super::{Answer, Handler, HookBook, Outcome, Subject, Told};

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
    /// It may not run: what it would run is not what was trusted, or nothing confines it. Blocks what can be blocked,
    /// whatever its entry says about failures.
    Refused(String),
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
    subject: Option<&'a Subject<'a>>,
    waited: Vec<Telling<'a>>,
    unwaited: Vec<Telling<'a>>,
}

/// What one handler is told.
#[derive(Debug)]
struct Telling<'a> {
    handler: &'a Handler,
    /// The name that its matcher matched.
    name: &'a str,
    /// One text for each time it is told, or why it cannot be.
    inputs: Result<Vec<Arc<str>>, String>,
}

impl<'a> Round<'a> {
    /// Those of a book that an event concerns; `None` when there are none.
    ///
    /// `names` are the names of what the event is about. With a `subject`, it is about that call, and its names count;
    /// `condition` says whether a permission rule matches the call.
    pub fn of(
        book: &'a HookBook,
        spent: &Spent,
        told: &'a Told,
        names: &[&'a str],
        subject: Option<&'a Subject<'a>>,
        condition: impl Fn(&str) -> bool,
    ) -> Option<Self> {
        let names = subject.map_or(names, |subject| subject.names());
        let applies = |handler: &Handler| handler.condition.as_deref().is_none_or(&condition);
        let unspent = |at: usize, handler: &Handler| !handler.once || spent.spend(&told.session_id, at);
        let handlers = book.matching(told.event, names).into_iter();
        let handlers = handlers.filter(|(at, handler, _)| applies(handler) && unspent(*at, handler));
        let telling = |(_, handler, name)| Telling { handler, name, inputs: inputs(told, subject, name) };
        let (unwaited, waited): (Vec<_>, Vec<_>) =
            handlers.map(telling).partition(|telling| telling.handler.background);
        if waited.is_empty() && unwaited.is_empty() {
            return None;
        }
        Some(Self { told, subject, waited, unwaited })
    }

    /// What to do beside everything else, for each handler that nobody waits for. Nothing is done before it is polled.
    pub fn unwaited(&self, runner: &Arc<dyn HookRunner>) -> Vec<BoxFuture<'static, ()>> {
        let tell = |telling: &Telling<'_>| -> BoxFuture<'static, ()> {
            let (runner, handler) = (Arc::clone(runner), Handler::clone(telling.handler));
            let inputs = telling.inputs.clone().unwrap_or_default();
            Box::pin(async move {
                for input in inputs {
                    drop(runner.run(&handler, &input).await);
                }
            })
        };
        self.unwaited.iter().map(tell).collect()
    }

    /// Tells the others, and waits for all of them.
    pub async fn outcome(self, runner: &dyn HookRunner) -> Outcome {
        let answers = join_all(self.waited.iter().map(|telling| self.answer(telling, runner))).await;
        Outcome::of(answers)
    }

    /// What one handler says, however often it is told.
    async fn answer(&self, telling: &Telling<'_>, runner: &dyn HookRunner) -> Answer {
        let (event, on_failure) = (self.told.event, telling.handler.on_failure);
        let inputs = match &telling.inputs {
            Ok(inputs) => inputs,
            Err(why) => return Answer::read(event, &Ended::Refused(why.clone()), on_failure),
        };
        let mut answers = Vec::with_capacity(inputs.len());
        for input in inputs {
            let ended = runner.run(telling.handler, input).await;
            answers.push(self.own(telling, Answer::read(event, &ended, on_failure)));
        }
        Answer::together(answers)
    }

    /// An answer with the arguments of our tool in place of those that the handler was told.
    fn own(&self, telling: &Telling<'_>, answer: Answer) -> Answer {
        let Some((subject, wanted)) = self.subject.zip(answer.updated_input.as_ref()) else { return answer };
        match subject.own_input(telling.name, wanted) {
            Ok(updated_input) => Answer { updated_input, ..answer },
            Err(why) => Answer::blocks(format!("a hook's answer cannot be used: {why}")),
        }
    }
}

/// The texts that a handler is told that matched by a name.
fn inputs(told: &Told, subject: Option<&Subject<'_>>, name: &str) -> Result<Vec<Arc<str>>, String> {
    let Some(subject) = subject else { return Ok(vec![told.to_json().to_string().into()]) };
    let inputs = subject.inputs(name)?;
    let text = |input| told.clone().with("tool_name", name).with("tool_input", input).to_json().to_string();
    Ok(inputs.into_iter().map(|input| text(input).into()).collect())
}
