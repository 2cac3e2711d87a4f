//! What a run is asked to do, whichever flags said so: ours, or those of programs that know Claude Code.

use std::path::PathBuf;

use lariat_service::Which;
use serde_json::{Map, Value, json};

use super::run::{Output, RunArgs};
use crate::exit::Exit;
use crate::problem::Problem;
use crate::wire::stream_json::Wishes;

/// What a run is asked to do.
#[derive(Debug, Default)]
pub(crate) struct Task {
    /// What to do; `-` is on standard input.
    pub(crate) prompt: Option<String>,
    /// Pictures to show.
    pub(crate) images: Vec<PathBuf>,
    /// How the result is written.
    pub(crate) output: Output,
    /// What is told besides what always is.
    pub(crate) wishes: Wishes,
    /// The form that the answer must have.
    pub(crate) schema: Option<Schema>,
    /// Which session.
    pub(crate) which: Which,
    /// Whether the session goes on under another id.
    pub(crate) forks: bool,
    /// Settings, by key.
    pub(crate) settings: Map<String, Value>,
    /// Rules that allow.
    pub(crate) allow: Vec<String>,
    /// Rules that deny.
    pub(crate) deny: Vec<String>,
    /// Settings in Claude Code's format: JSON, or a file of it.
    pub(crate) given: Vec<String>,
    /// The only tools that there are.
    pub(crate) tools: Option<Vec<String>>,
    /// Whether what the project brings is trusted.
    pub(crate) trusting: bool,
    /// Whether nothing that the project brings is trusted, whatever was said before.
    pub(crate) distrusting: bool,
    /// The directory.
    pub(crate) cwd: Option<PathBuf>,
    /// Whether nothing is kept.
    pub(crate) ephemeral: bool,
    /// Whether more is shown.
    pub(crate) verbose: bool,
    /// Whether the changes that plan mode queued are carried out without asking.
    pub(crate) approves_plan: bool,
    /// Words that come before our own system prompt.
    pub(crate) system_prompt: Option<String>,
    /// Whether a program holds the session, over standard input.
    pub(crate) held: bool,
    /// Whether that program answers questions about calls.
    pub(crate) answers: bool,
    /// What was asked for and cannot be done.
    pub(crate) warnings: Vec<String>,
    /// What would restrict the run and cannot be done: each with its flag. The run does not begin.
    pub(crate) refused: Vec<(String, String)>,
}

/// Where a schema comes from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Schema {
    /// A file.
    File(PathBuf),
    /// As text.
    Given(String),
}

impl From<RunArgs> for Task {
    fn from(args: RunArgs) -> Self {
        Self {
            settings: settings(&args),
            which: which(&args),
            prompt: if args.words.is_empty() { args.p } else { Some(args.words.join(" ")) },
            images: args.image,
            output: args.output,
            wishes: Wishes { partial: args.include_partial_messages, ..Wishes::default() },
            schema: args.output_schema.map(Schema::File),
            allow: args.allow,
            deny: args.deny,
            trusting: args.trust,
            cwd: args.cwd,
            ephemeral: args.ephemeral,
            verbose: args.verbose,
            approves_plan: args.approve_plan,
            ..Self::default()
        }
    }
}

impl Task {
    /// Refuses a run that should be restricted in a way that it cannot be.
    ///
    /// # Errors
    /// When there is such a restriction.
    pub(crate) fn check(&self) -> Result<(), Problem> {
        let Some((flag, why)) = self.refused.first() else { return Ok(()) };
        Err(Problem::new(Exit::Setup, format!("a restriction cannot be enforced: {why}"))
            .at(flag.clone())
            .next("correct or remove it; Lariat does not run without a restriction that it was given"))
    }

    /// Sets a setting by its path, one table deep at most.
    pub(crate) fn set(&mut self, path: &str, value: Value) {
        match path.split_once('.') {
            None => drop(self.settings.insert(path.to_owned(), value)),
            Some((table, key)) => {
                let table = self.settings.entry(table.to_owned()).or_insert_with(|| json!({}));
                if let Some(table) = table.as_object_mut() {
                    table.insert(key.to_owned(), value);
                }
            }
        }
    }
}

fn which(args: &RunArgs) -> Which {
    match (&args.resume, &args.fork, args.continue_last) {
        (Some(id), _, _) => Which::Resume(id.clone()),
        (_, Some(id), _) => Which::Fork(id.clone()),
        (_, _, true) => Which::Continue,
        _ => Which::New,
    }
}

/// The settings that flags are.
fn settings(args: &RunArgs) -> Map<String, Value> {
    let mut task = Task::default();
    let flags = [
        ("model", args.model.clone().map(Value::from)),
        ("mode", args.mode.clone().map(Value::from)),
        ("sandbox.enabled", args.no_sandbox.then_some(Value::from(false))),
        ("sandbox.network", args.network.then_some(Value::from(true))),
        ("limits.turns", args.max_turns.map(Value::from)),
        ("limits.cost", args.max_cost.map(Value::from)),
        ("limits.time", args.max_time.clone().map(Value::from)),
    ];
    for (path, value) in flags {
        if let Some(value) = value {
            task.set(path, value);
        }
    }
    task.settings
}
