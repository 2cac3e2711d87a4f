//! Runs the handlers of an event, all at the same time.
//!
//! Decides which handlers run for an event and which the run waits for. An `async` handler runs in the background and
//! decides nothing. A `once` handler runs once per session, whatever the result. For a tool call that touches several
//! files, each handler runs once per file, one after the other.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::join_all;
use lariat_core::BoxFuture;

use super::{Handler, HandlerAnswer, HookConfig, HookInput, Outcome, Subject};

/// How a handler ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HandlerResult {
    /// It finished. A successful HTTP response has code 0 and its body as output.
    Exited {
        /// The exit code.
        code: i32,
        /// Standard output.
        output: String,
        /// Standard error.
        errors: String,
    },
    /// It was stopped at its timeout.
    TimedOut,
    /// It could not be started or reached.
    Failed(String),
    /// It may not run: what it would run is not what the user trusted, or no sandbox is available for it. Blocks every
    /// event that can be blocked, whatever its entry says about failures.
    Refused(String),
}

/// Starts programs and sends requests for hooks. Enforces each handler's timeout and kills what exceeds it.
pub trait HookRunner: Send + Sync {
    /// Runs one handler with this JSON input.
    fn run<'a>(&'a self, handler: &'a Handler, input: &'a str) -> BoxFuture<'a, HandlerResult>;
}

/// Records which `once` handlers have run, by session.
#[derive(Debug, Default)]
pub struct OnceHandlers(Mutex<BTreeSet<(String, usize)>>);

impl OnceHandlers {
    /// Marks a handler as run. Returns true the first time in a session.
    fn mark_run(&self, session: &str, handler: usize) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert((session.to_owned(), handler))
    }

    /// Forgets a session that has ended.
    pub fn forget(&self, session: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).retain(|(spent, _)| spent != session);
    }
}

/// The handlers to run for one event.
#[derive(Debug)]
pub struct EventHandlers<'a> {
    hook_input: &'a HookInput,
    subject: Option<&'a Subject<'a>>,
    waited: Vec<HandlerRun<'a>>,
    unwaited: Vec<HandlerRun<'a>>,
}

/// One handler and its inputs.
#[derive(Debug)]
struct HandlerRun<'a> {
    handler: &'a Handler,
    /// The name that its matcher matched.
    name: &'a str,
    /// One input per run, or the reason why it cannot run.
    inputs: Result<Vec<Arc<str>>, String>,
}

impl<'a> EventHandlers<'a> {
    /// Selects the handlers of `hook_config` for an event; `None` if there are none.
    ///
    /// `names` are the names of what the event is about. With a `subject`, the event is about that tool call, and its names
    /// are used instead; `condition` says whether a permission rule matches the tool call.
    pub fn of(
        hook_config: &'a HookConfig,
        spent: &OnceHandlers,
        hook_input: &'a HookInput,
        names: &[&'a str],
        subject: Option<&'a Subject<'a>>,
        condition: impl Fn(&str) -> bool,
    ) -> Option<Self> {
        let names = subject.map_or(names, |subject| subject.names());
        let applies = |handler: &Handler| handler.condition.as_deref().is_none_or(&condition);
        let may_run =
            |at: usize, handler: &Handler| !handler.once || spent.mark_run(&hook_input.session_id, at);
        let handlers = hook_config.matching(hook_input.event, names).into_iter();
        let handlers = handlers.filter(|(at, handler, _)| applies(handler) && may_run(*at, handler));
        let handler_run =
            |(_, handler, name)| HandlerRun { handler, name, inputs: inputs(hook_input, subject, name) };
        let (unwaited, waited): (Vec<_>, Vec<_>) =
            handlers.map(handler_run).partition(|handler_run| handler_run.handler.background);
        if waited.is_empty() && unwaited.is_empty() {
            return None;
        }
        Some(Self { hook_input, subject, waited, unwaited })
    }

    /// Returns one future per background handler. Nothing happens until it is polled.
    pub fn background_runs(&self, runner: &Arc<dyn HookRunner>) -> Vec<BoxFuture<'static, ()>> {
        let tell = |handler_run: &HandlerRun<'_>| -> BoxFuture<'static, ()> {
            let (runner, handler) = (Arc::clone(runner), Handler::clone(handler_run.handler));
            let inputs = handler_run.inputs.clone().unwrap_or_default();
            Box::pin(async move {
                for input in inputs {
                    drop(runner.run(&handler, &input).await);
                }
            })
        };
        self.unwaited.iter().map(tell).collect()
    }

    /// Runs the other handlers and waits for all of them.
    pub async fn outcome(self, runner: &dyn HookRunner) -> Outcome {
        let answers = join_all(self.waited.iter().map(|handler_run| self.answer(handler_run, runner))).await;
        Outcome::of(answers)
    }

    /// Runs one handler for each of its inputs and combines the answers.
    async fn answer(&self, handler_run: &HandlerRun<'_>, runner: &dyn HookRunner) -> HandlerAnswer {
        let (event, on_failure) = (self.hook_input.event, handler_run.handler.on_failure);
        let inputs = match &handler_run.inputs {
            Ok(inputs) => inputs,
            Err(why) => return HandlerAnswer::read(event, &HandlerResult::Refused(why.clone()), on_failure),
        };
        let mut answers = Vec::with_capacity(inputs.len());
        for input in inputs {
            let ended = runner.run(handler_run.handler, input).await;
            answers.push(self.translate_input(handler_run, HandlerAnswer::read(event, &ended, on_failure)));
        }
        HandlerAnswer::combine(answers)
    }

    /// Translates the updated arguments of an answer to those of Lariat's own tool.
    fn translate_input(&self, handler_run: &HandlerRun<'_>, answer: HandlerAnswer) -> HandlerAnswer {
        let Some((subject, wanted)) = self.subject.zip(answer.updated_input.as_ref()) else { return answer };
        match subject.tool_arguments(handler_run.name, wanted) {
            Ok(updated_input) => HandlerAnswer { updated_input, ..answer },
            Err(why) => HandlerAnswer::blocks(format!("a hook's answer cannot be applied: {why}")),
        }
    }
}

/// Returns the inputs of a handler that matched by `name`.
fn inputs(
    hook_input: &HookInput,
    subject: Option<&Subject<'_>>,
    name: &str,
) -> Result<Vec<Arc<str>>, String> {
    let Some(subject) = subject else { return Ok(vec![hook_input.to_json().to_string().into()]) };
    let inputs = subject.inputs(name)?;
    let text =
        |input| hook_input.clone().with("tool_name", name).with("tool_input", input).to_json().to_string();
    Ok(inputs.into_iter().map(|input| text(input).into()).collect())
}
