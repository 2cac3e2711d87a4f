//! Describes a run, independent of whether our flags or Claude Code's flags asked for it.

use std::path::PathBuf;

use lariat_core::id::ToolCallId;
use lariat_service::SessionSelector;
use serde_json::{Map, Value, json};

use super::run::{Output, RunArgs};
use crate::exit::Exit;
use crate::problem::Problem;
use crate::wire::stream_json::StreamOptions;

/// A run as the command line asked for it.
#[derive(Debug, Default)]
pub(crate) struct Task {
    /// The prompt; `-` reads standard input.
    pub(crate) prompt: Option<String>,
    /// Image files to attach.
    pub(crate) images: Vec<PathBuf>,
    pub(crate) output: Output,
    /// Optional parts of the stream output.
    pub(crate) stream_options: StreamOptions,
    /// The JSON schema that the answer must match.
    pub(crate) schema: Option<Schema>,
    pub(crate) which: SessionSelector,
    /// Whether to fork the session instead of resuming it.
    pub(crate) forks: bool,
    /// Which run to run again instead of answering a prompt; the newest if the inner value is `None`.
    pub(crate) rerun: Option<Option<u64>>,
    /// The id of the session to create.
    pub(crate) session_id: Option<String>,
    /// Directories that belong to the workspace besides the working directory.
    pub(crate) directories: Vec<PathBuf>,
    pub(crate) settings: Map<String, Value>,
    pub(crate) allow: Vec<String>,
    pub(crate) deny: Vec<String>,
    /// Settings in Claude Code's format: JSON text, or the path of a JSON file.
    pub(crate) settings_texts: Vec<String>,
    /// The tools to offer; all if `None`.
    pub(crate) tools: Option<Vec<String>>,
    /// Whether to trust the project for this run.
    pub(crate) trusting: bool,
    /// Whether to ignore trust that the user granted earlier.
    pub(crate) distrusting: bool,
    /// The working directory.
    pub(crate) cwd: Option<PathBuf>,
    pub(crate) ephemeral: bool,
    /// Whether the background host runs it.
    pub(crate) detached: bool,
    pub(crate) verbose: bool,
    /// What to do with the changes queued in plan mode.
    pub(crate) plan: PlanChoice,
    /// Text that precedes Lariat's system prompt.
    pub(crate) system_prompt: Option<String>,
    /// Whether a program controls the session through standard input.
    pub(crate) controlled: bool,
    /// Whether that program answers approval requests.
    pub(crate) answers_approvals: bool,
    /// Requests that are ignored, for warnings.
    pub(crate) warnings: Vec<String>,
    /// Restrictions that cannot be enforced: flag and reason. Any entry prevents the run.
    pub(crate) refused: Vec<(String, String)>,
}

/// What a run does with queued changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum PlanChoice {
    /// Ask the user, if there is one.
    #[default]
    Ask,
    /// Apply all of them without asking.
    ApproveAll,
    /// Apply these without asking; the others stay queued.
    Approve(Vec<ToolCallId>),
}

/// The source of an answer schema.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Schema {
    /// A JSON file.
    File(PathBuf),
    /// JSON text.
    Text(String),
}

impl From<RunArgs> for Task {
    fn from(args: RunArgs) -> Self {
        Self {
            settings: settings(&args),
            which: which(&args),
            prompt: if args.words.is_empty() { args.p } else { Some(args.words.join(" ")) },
            rerun: args.rerun,
            images: args.image,
            output: args.output,
            stream_options: StreamOptions {
                partial: args.include_partial_messages,
                ..StreamOptions::default()
            },
            schema: args.output_schema.map(Schema::File),
            allow: args.allow,
            deny: args.deny,
            trusting: args.trust,
            cwd: args.cwd,
            session_id: args.session_id,
            directories: args.add_dir,
            ephemeral: args.ephemeral,
            detached: args.detach,
            verbose: args.verbose,
            plan: if args.approve_plan { PlanChoice::ApproveAll } else { PlanChoice::Ask },
            ..Self::default()
        }
    }
}

impl Task {
    /// Fails if the run should be restricted in a way that Lariat cannot enforce.
    pub(crate) fn check(&self) -> Result<(), Problem> {
        let Some((flag, why)) = self.refused.first() else { return Ok(()) };
        Err(Problem::new(Exit::Setup, format!("cannot enforce a restriction: {why}"))
            .at(flag.clone())
            .hint("fix or remove it; Lariat refuses to run when it cannot enforce a restriction"))
    }

    /// Sets a setting by its path, at most one table deep.
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

fn which(args: &RunArgs) -> SessionSelector {
    match (&args.resume, &args.fork, args.continue_last) {
        (Some(id), _, _) => SessionSelector::Resume(id.clone()),
        (_, Some(id), _) => SessionSelector::Fork(id.clone()),
        (_, _, true) => SessionSelector::Continue,
        _ => SessionSelector::New,
    }
}

/// The settings that flags set.
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
