//! The result of a run as one JSON document. `--output json` prints only this; `stream-json` ends with it.
//!
//! A run that did not complete has no `result`; `errors` says why.

use std::time::Duration;

use lariat_core::event::{LimitKind, RunOutcome};
use lariat_core::message::StopReason;
use lariat_core::session::FileChange;
use lariat_core::usage::Usage;
use lariat_terminal::outcome::limit_words;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::messages;
use super::tally::{Tally, millis};

/// Whether the answer matches the requested schema.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SchemaCheck {
    /// It matches.
    Match(Value),
    /// The model's last attempt does not match, for this reason.
    Mismatch(String),
}

/// How a prompt ended, summed over all its runs.
#[derive(Clone, Debug)]
pub(crate) struct Ending {
    pub(crate) outcome: RunOutcome,
    pub(crate) text: String,
    pub(crate) stop_reason: Option<StopReason>,
    pub(crate) usage: Usage,
    pub(crate) turns: u32,
    pub(crate) duration: Duration,
    pub(crate) files: Vec<FileChange>,
    /// The result of the schema check, if there is a schema.
    pub(crate) schema_check: Option<SchemaCheck>,
}

impl Ending {
    /// The end if no run was needed.
    pub(crate) fn nothing() -> Self {
        Self {
            outcome: RunOutcome::Completed,
            text: String::new(),
            stop_reason: None,
            usage: Usage::default(),
            turns: 0,
            duration: Duration::ZERO,
            files: Vec::new(),
            schema_check: None,
        }
    }

    /// Adds the figures of an earlier run.
    pub(crate) fn after(mut self, earlier: Option<&Self>) -> Self {
        if let Some(earlier) = earlier {
            self.usage += earlier.usage;
            self.turns = self.turns.saturating_add(earlier.turns);
            self.duration += earlier.duration;
            let known = |file: &&FileChange| self.files.iter().any(|later| later.path == file.path);
            let before: Vec<_> = earlier.files.iter().filter(|file| !known(file)).cloned().collect();
            self.files.splice(0..0, before);
        }
        self
    }

    fn subtype(&self) -> &'static str {
        match (&self.outcome, &self.schema_check) {
            (RunOutcome::Completed, Some(SchemaCheck::Mismatch(_))) => "error_max_structured_output_retries",
            (RunOutcome::Completed, _) => "success",
            (RunOutcome::LimitReached { limit: LimitKind::Turns, .. }, _) => "error_max_turns",
            (RunOutcome::LimitReached { limit: LimitKind::Cost, .. }, _) => "error_max_budget_usd",
            _ => "error_during_execution",
        }
    }

    /// Why the loop ended, as the SDKs name it.
    fn terminal_reason(&self) -> &'static str {
        match &self.outcome {
            RunOutcome::Completed => "completed",
            RunOutcome::Aborted => "aborted_streaming",
            RunOutcome::LimitReached { limit: LimitKind::Turns, .. } => "max_turns",
            RunOutcome::LimitReached { limit: LimitKind::Cost, .. } => "max_budget_usd",
            RunOutcome::LimitReached { .. } => "limit",
            RunOutcome::StoppedByHook => "hook_stopped",
            RunOutcome::Rejected => "blocked",
            RunOutcome::Repetition => "repetition",
            RunOutcome::ContextFull(_) => "prompt_too_long",
            _ => "model_error",
        }
    }

    /// What went wrong; `None` on success.
    pub(crate) fn error(&self) -> Option<String> {
        Some(match (&self.outcome, &self.schema_check) {
            (RunOutcome::Completed, Some(SchemaCheck::Mismatch(problem))) => {
                format!("the answer does not match the schema: {problem}")
            }
            (RunOutcome::Completed, _) => return None,
            (RunOutcome::Rejected, _) => "the prompt was rejected".to_owned(),
            (RunOutcome::Aborted, _) => "interrupted".to_owned(),
            (RunOutcome::StoppedByHook, _) => "a hook stopped the run".to_owned(),
            (RunOutcome::LimitReached { limit, scope }, _) => limit_words(*limit, *scope),
            (RunOutcome::Repetition, _) => "the model kept repeating itself".to_owned(),
            (RunOutcome::ContextFull(full), _) => full.to_string(),
            (RunOutcome::Failed { error }, _) => error.clone(),
            (other, _) => format!("{other:?}"),
        })
    }

    /// The JSON document.
    pub(crate) fn result(&self, session: &str, uuid: Uuid, window: u64, tally: &Tally) -> Value {
        let subtype = self.subtype();
        let mut result = Map::new();
        let mut set = |name: &str, value: Value| drop(result.insert(name.to_owned(), value));
        set("type", json!("result"));
        set("subtype", json!(subtype));
        set("is_error", json!(subtype != "success"));
        set("duration_ms", json!(millis(self.duration)));
        set("duration_api_ms", json!(tally.api_millis()));
        set("num_turns", json!(self.turns));
        match self.error() {
            None => set("result", json!(self.text)),
            Some(error) => set("errors", json!([error])),
        }
        set("stop_reason", json!(self.stop_reason.and_then(messages::stop_reason)));
        set("terminal_reason", json!(self.terminal_reason()));
        set("total_cost_usd", json!(tally.cost().max(self.usage.cost.as_usd())));
        set("usage", messages::usage(&self.usage));
        set("modelUsage", tally.models(window));
        set("permission_denials", json!(tally.denials()));
        if let Some(SchemaCheck::Match(value)) = &self.schema_check {
            set("structured_output", value.clone());
        }
        set("session_id", json!(session));
        set("uuid", json!(uuid));
        Value::Object(result)
    }
}
