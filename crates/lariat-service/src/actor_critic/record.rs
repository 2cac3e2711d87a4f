//! A loop as its session records it: what was asked, the iterations, the end, and how far the actor came since the last record.
//!
//! Each record is an extension message with a line of a codeloops session file, so that the session exports as such a file, and
//! a second one with what the format does not have. Invariant: a loop that was killed anywhere continues from this alone.

use std::time::Duration;

use lariat_core::content::joined_text;
use lariat_core::event::{AgentEvent, EventRecord, RunOutcome};
use lariat_core::message::{AgentMessage, ExtensionMessage};
use lariat_core::time::Timestamp;
use lariat_core::usage::Cost;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::decision::CriticDecision;
use super::settings::LoopSettings;

/// Prefix of the kind of messages that have a line of a codeloops session file.
const LINE: &str = "codeloops/";
/// The kind of messages with what such a file does not have.
const DETAILS: &str = "lariat/loop";

/// A loop, from the events of its session.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct LoopRecord {
    /// What was asked; `None` if the session is not a loop.
    pub settings: Option<LoopSettings>,
    /// The state of the files before the first iteration.
    pub snapshot: Option<String>,
    /// The iterations that ended.
    pub iterations: Vec<LoopIteration>,
    /// The end of the loop.
    pub end: Option<LoopEnd>,
    /// What the actor did since the last record.
    pub actor: ActorProgress,
}

/// How far the actor came in the current iteration.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum ActorProgress {
    /// It did not start.
    #[default]
    NotStarted,
    /// It started, and its end is not recorded.
    Running(ActorOutput),
    /// It ended.
    Ended(ActorOutput),
}

/// What an actor did in one iteration.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ActorOutput {
    /// Its last reply, or what it wrote to standard output.
    pub text: String,
    /// What it wrote to standard error.
    #[serde(default)]
    pub stderr: String,
    /// Its exit code; 0 for a run of Lariat that completed.
    pub exit_code: i64,
    /// How long it worked, in seconds.
    pub seconds: f64,
    /// What it cost, as far as Lariat knows.
    #[serde(default, rename = "cost_nano_usd")]
    pub cost: Cost,
    /// How its run ended.
    #[serde(skip)]
    pub outcome: Option<RunOutcome>,
    #[serde(skip)]
    began: Timestamp,
}

/// An iteration that ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct LoopIteration {
    /// Its number, from 1.
    pub number: u64,
    /// `DONE`, `CONTINUE` or `ERROR`.
    pub decision: String,
    /// What the critic told the actor.
    pub feedback: Option<String>,
    /// The number of files that differ from the state before the loop.
    pub files_changed: u64,
    /// The time of the whole iteration, in seconds.
    pub seconds: f64,
    /// The cost of actor and critic, in billionths of a dollar; 0 if it is not known.
    #[serde(rename = "cost_nano_usd")]
    pub cost: Cost,
    /// Whether the iteration changed nothing: the difference is the same as before it.
    pub is_unchanged: bool,
}

/// Why a loop ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LoopOutcome {
    /// The critic decided that the task is done.
    Success,
    /// The last iteration that the limit allows ended without that.
    MaxIterationsReached,
    /// The time limit was reached.
    TimeLimitReached,
    /// The cost limit was reached.
    CostLimitReached,
    /// Something else stopped the loop.
    #[serde(other)]
    Failed,
}

/// The end of a loop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LoopEnd {
    /// Why it ended.
    pub outcome: LoopOutcome,
    /// The number of iterations.
    #[serde(default)]
    pub iterations: u64,
    /// What was done, in the words of the critic.
    #[serde(default)]
    pub summary: Option<String>,
    /// How sure the critic was, from 0 to 1.
    #[serde(default)]
    pub confidence: Option<f64>,
    /// The time of all iterations, in seconds.
    #[serde(default)]
    pub duration_secs: f64,
}

/// What to do next.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum LoopStep {
    /// Give the actor this prompt.
    Prompt(String),
    /// Let the actor finish what a crash, a failure or the user interrupted.
    Continue,
    /// Review what the actor did.
    Review,
    /// Nothing: the loop ended.
    Ended(LoopEnd),
}

/// What a codeloops session file does not have, about the start of a loop.
#[derive(Serialize, Deserialize)]
struct StartDetails {
    settings: LoopSettings,
    snapshot: Option<String>,
}

/// What a codeloops session file does not have, about an iteration.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct IterationDetails {
    pub(crate) iteration: u64,
    pub(crate) seconds: f64,
    #[serde(rename = "cost_nano_usd")]
    pub(crate) cost: Cost,
    pub(crate) critic_session_id: Option<String>,
    /// The tool calls of a critic that is another agent, each with its status.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) critic_calls: Vec<String>,
    pub(crate) insertions: u64,
    pub(crate) deletions: u64,
    /// Whether the difference is known.
    pub(crate) has_diff: bool,
    /// The exit code of the check; `None` if there was none, or it did not end by itself.
    pub(crate) check_exit_code: Option<i64>,
    /// The end of the output of the check.
    pub(crate) check_output: Option<String>,
}

/// A line of a codeloops session file about an iteration, as far as Lariat reads it.
#[derive(Deserialize)]
struct IterationLine {
    iteration_number: u64,
    #[serde(default)]
    actor_duration_secs: f64,
    #[serde(default)]
    git_diff: String,
    #[serde(default)]
    git_files_changed: u64,
    critic_decision: String,
    #[serde(default)]
    feedback: Option<String>,
}

impl LoopRecord {
    /// Reads a loop from the events of its session.
    pub fn of<'a>(events: impl IntoIterator<Item = &'a EventRecord>) -> Self {
        let mut fold = LoopFold::default();
        events.into_iter().for_each(|event| fold.apply(event));
        fold.record
    }

    /// What to do next.
    pub fn next_step(&self) -> LoopStep {
        if let Some(end) = &self.end {
            return LoopStep::Ended(end.clone());
        }
        match &self.actor {
            ActorProgress::NotStarted => LoopStep::Prompt(self.prompt()),
            ActorProgress::Running(_) => LoopStep::Continue,
            ActorProgress::Ended(output) if output.is_reviewable() => LoopStep::Review,
            ActorProgress::Ended(_) => LoopStep::Continue,
        }
    }

    /// The number of the current iteration, from 1.
    pub fn number(&self) -> u64 {
        self.iterations.len() as u64 + 1
    }

    /// The time of all recorded iterations.
    pub fn time(&self) -> Duration {
        let seconds: f64 = self.iterations.iter().map(|iteration| iteration.seconds).sum();
        Duration::try_from_secs_f64(seconds).unwrap_or_default()
    }

    /// What all iterations cost, as far as Lariat knows, with what the actor spent since the last record.
    pub fn cost(&self) -> Cost {
        let recorded = self.iterations.iter().map(|iteration| iteration.cost.as_nano_usd());
        let open = match &self.actor {
            ActorProgress::NotStarted => 0,
            ActorProgress::Running(output) | ActorProgress::Ended(output) => output.cost.as_nano_usd(),
        };
        Cost::from_nano_usd(recorded.fold(open, u64::saturating_add))
    }

    /// The prompt of the current iteration: the task, or what the critic said.
    fn prompt(&self) -> String {
        let task = self.settings.as_ref().map(|settings| settings.prompt.clone()).unwrap_or_default();
        match self.iterations.last().and_then(|last| last.feedback.as_deref()) {
            Some(feedback) => super::prompts::feedback(feedback),
            None => task,
        }
    }
}

impl ActorOutput {
    /// Whether the actor came to an end that a critic can judge.
    pub(crate) fn is_reviewable(&self) -> bool {
        !matches!(
            self.outcome,
            Some(
                RunOutcome::Aborted
                    | RunOutcome::Failed { .. }
                    | RunOutcome::Rejected
                    | RunOutcome::StoppedByHook
            )
        )
    }

    /// Records what another agent did, so that a loop that is killed during the review does not run it again.
    pub(crate) fn message(&self) -> AgentMessage {
        details(json!({ "actor": self }))
    }
}

/// Reads a loop event by event.
#[derive(Default)]
struct LoopFold {
    record: LoopRecord,
    /// The difference after the iteration before; empty before the first.
    last_diff: String,
}

impl LoopFold {
    fn apply(&mut self, record: &EventRecord) {
        match &record.event {
            AgentEvent::MessagesImported { messages, .. } => {
                for message in messages {
                    if let AgentMessage::Extension(extension) = &**message {
                        self.extension(extension);
                    }
                }
            }
            AgentEvent::AgentStart(_) => {
                let earlier = std::mem::take(&mut self.record.actor);
                let (ActorProgress::Running(mut output) | ActorProgress::Ended(mut output)) = earlier else {
                    let output = ActorOutput { began: record.timestamp, ..ActorOutput::default() };
                    self.record.actor = ActorProgress::Running(output);
                    return;
                };
                output.began = record.timestamp;
                self.record.actor = ActorProgress::Running(output);
            }
            AgentEvent::MessageEnd { message } => {
                let reply = message.shared().and_then(|message| message.as_assistant());
                if let (Some(reply), ActorProgress::Running(output)) = (reply, &mut self.record.actor) {
                    output.text = joined_text(&reply.content);
                }
            }
            AgentEvent::AgentEnd { usage, outcome, .. } => {
                let ActorProgress::Running(mut output) = std::mem::take(&mut self.record.actor) else {
                    return;
                };
                output.seconds += record.timestamp.since(output.began).as_secs_f64();
                output.cost =
                    Cost::from_nano_usd(output.cost.as_nano_usd().saturating_add(usage.cost.as_nano_usd()));
                output.exit_code = i64::from(!outcome.is_completed());
                if let RunOutcome::Failed { error } = outcome {
                    output.stderr.clone_from(error);
                }
                output.outcome = Some(outcome.clone());
                self.record.actor = ActorProgress::Ended(output);
            }
            _ => {}
        }
    }

    fn extension(&mut self, message: &ExtensionMessage) {
        let record = &mut self.record;
        match message.kind.strip_prefix(LINE) {
            Some("session_start") => {
                let prompt = message.data.get("prompt").and_then(Value::as_str).unwrap_or_default();
                let mut settings = LoopSettings::new(prompt);
                if let Some(most) = message.data.get("max_iterations").and_then(Value::as_u64) {
                    settings.max_iterations = most;
                }
                *record = LoopRecord { settings: Some(settings), ..LoopRecord::default() };
            }
            Some("iteration") => {
                let Some(line) = read::<IterationLine>(&message.data) else { return };
                let is_unchanged = self.last_diff == line.git_diff;
                record.iterations.push(LoopIteration {
                    number: line.iteration_number,
                    decision: line.critic_decision,
                    feedback: line.feedback,
                    files_changed: line.git_files_changed,
                    seconds: line.actor_duration_secs,
                    cost: Cost::default(),
                    is_unchanged,
                });
                self.last_diff = line.git_diff;
                record.actor = ActorProgress::NotStarted;
            }
            Some("session_end") => record.end = read(&message.data),
            _ if message.kind == DETAILS => self.details(&message.data),
            _ => {}
        }
    }

    fn details(&mut self, data: &Value) {
        let record = &mut self.record;
        if let Some(start) = data.get("start").and_then(read::<StartDetails>) {
            (record.settings, record.snapshot) = (Some(start.settings), start.snapshot);
        }
        if let Some(output) = data.get("actor").and_then(read::<ActorOutput>) {
            record.actor = ActorProgress::Ended(output);
        }
        if let Some(more) = data.get("iteration").and_then(read::<IterationDetails>)
            && let Some(last) = record.iterations.last_mut().filter(|last| last.number == more.iteration)
        {
            (last.seconds, last.cost) = (more.seconds, more.cost);
            last.is_unchanged &= more.has_diff;
        }
    }
}

fn read<T: DeserializeOwned>(value: &Value) -> Option<T> {
    T::deserialize(value).ok()
}

fn line(kind: &str, data: Value) -> AgentMessage {
    ExtensionMessage::new(format!("{LINE}{kind}"), data).into()
}

fn details(data: Value) -> AgentMessage {
    ExtensionMessage::new(DETAILS, data).into()
}

/// A time as the format writes it.
fn time(at: Timestamp) -> String {
    let text = at.to_string();
    text.split_once('.').map_or_else(|| text.clone(), |(seconds, _)| format!("{seconds}Z"))
}

/// Rounds to milliseconds.
fn seconds(seconds: f64) -> f64 {
    (seconds * 1000.0).round() / 1000.0
}

/// The messages at the start of a loop. `models` are those of the actor and the critic.
pub(crate) fn start_messages(
    settings: &LoopSettings,
    snapshot: Option<String>,
    directory: &str,
    models: (Option<String>, Option<String>),
    now: Timestamp,
) -> Vec<AgentMessage> {
    let start = json!({
        "type": "session_start",
        "timestamp": time(now),
        "prompt": settings.prompt,
        "working_dir": directory,
        "actor_agent": settings.actor.name(),
        "critic_agent": settings.critic.name(),
        "actor_model": models.0,
        "critic_model": models.1,
        "max_iterations": settings.max_iterations,
    });
    let more = json!({ "start": StartDetails { settings: settings.clone(), snapshot } });
    vec![line("session_start", start), details(more)]
}

/// The messages at the end of an iteration.
pub(crate) fn iteration_messages(
    actor: &ActorOutput,
    diff: &str,
    files: usize,
    decision: &CriticDecision,
    more: &IterationDetails,
    now: Timestamp,
) -> Vec<AgentMessage> {
    let iteration = json!({
        "type": "iteration",
        "iteration_number": more.iteration,
        "actor_output": actor.text,
        "actor_stderr": actor.stderr,
        "actor_exit_code": actor.exit_code,
        "actor_duration_secs": seconds(actor.seconds),
        "git_diff": diff,
        "git_files_changed": files,
        "critic_decision": decision.name(),
        "feedback": decision.feedback(),
        "timestamp": time(now),
    });
    vec![line("iteration", iteration), details(json!({ "iteration": more }))]
}

/// The message at the end of a loop.
pub(crate) fn end_message(end: &LoopEnd, now: Timestamp) -> AgentMessage {
    let end = json!({
        "type": "session_end",
        "outcome": end.outcome,
        "iterations": end.iterations,
        "summary": end.summary,
        "confidence": end.confidence,
        "duration_secs": seconds(end.duration_secs),
        "timestamp": time(now),
    });
    line("session_end", end)
}
