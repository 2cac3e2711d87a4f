//! Runs hooks around a tool call: before it, before the user is asked for approval, and after it.

use std::collections::BTreeMap;
use std::convert::identity;
use std::sync::{Arc, Mutex, PoisonError};

use lariat_core::content::{Content, joined_text};
use lariat_core::id::{LoopId, SessionId, ToolCallId};
use lariat_core::permission::{PermissionRequest, PolicyQuery, Verdict};
use lariat_core::tool::{ToolError, ToolResult};
use lariat_guard::hooks::{
    EventHandlers, HookConfig, HookDecision, HookEvent, HookInput, HookRunner, OnceHandlers, Outcome, Subject,
};
use lariat_guard::{Guard, Judgement, Mode};

use serde_json::Value;

use super::verdict;

/// Maximum number of tool calls and of loops to keep data for.
const MAX_ENTRIES: usize = 256;

/// The configured hooks, and their notes for the model about tool calls that still run.
#[derive(Default)]
pub(super) struct ToolHooks {
    configured: Option<(HookConfig, Arc<dyn HookRunner>)>,
    cwd: String,
    /// The file with the transcript; empty if there is none.
    pub(super) transcript: String,
    notes: Mutex<BTreeMap<ToolCallId, Vec<String>>>,
    /// Why hooks of tool calls want loops to end, until the driver asks.
    stops: Mutex<BTreeMap<LoopId, String>>,
    /// What hooks of tool calls say to the user, until the driver asks.
    messages: Mutex<BTreeMap<LoopId, Vec<String>>>,
    spent: OnceHandlers,
}

impl ToolHooks {
    pub(super) fn new(hook_config: HookConfig, runner: Arc<dyn HookRunner>, cwd: String) -> Self {
        Self { configured: Some((hook_config, runner)), cwd, ..Self::default() }
    }

    /// Whether no hook runs before a tool call.
    pub(super) fn runs_no_hooks_before_calls(&self) -> bool {
        let has_none = |hook_config: &HookConfig| {
            [HookEvent::PreToolUse, HookEvent::PermissionRequest]
                .iter()
                .all(|event| hook_config.is_empty(*event))
        };
        self.configured.as_ref().is_none_or(|(hook_config, _)| has_none(hook_config))
    }

    /// Runs the hooks before a tool call.
    pub(super) async fn run_before_call(
        &self,
        query: &PolicyQuery<'_>,
        mode: Mode,
        guard: &Guard,
    ) -> Outcome {
        let arguments = &query.call.arguments;
        let outcome = self.fire(HookEvent::PreToolUse, query, arguments, mode, guard, identity).await;
        if !outcome.context.is_empty() {
            remember(&self.notes, query.call.id.clone(), outcome.context.clone());
        }
        outcome
    }

    /// Runs the hooks before the user is asked for approval: a hook may decide instead, but not where a rule
    /// requires approval.
    pub(super) async fn on_request(
        &self,
        query: &PolicyQuery<'_>,
        mode: Mode,
        guard: &Guard,
        judgement: &Judgement,
        request: PermissionRequest,
    ) -> Verdict {
        let arguments = request.args.as_deref().unwrap_or(&query.call.arguments);
        let event = HookEvent::PermissionRequest;
        let outcome = self.fire(event, query, arguments, mode, guard, identity).await;
        match outcome.decision {
            Some(HookDecision::Deny | HookDecision::Defer) => {
                Verdict::Deny(outcome.reason().unwrap_or_else(|| "a hook denied it".to_owned()))
            }
            // No rule has checked what a hook changes here, so the user is asked about the original.
            Some(HookDecision::Allow)
                if verdict::only_lacks_a_rule(judgement) && outcome.updated_input.is_none() =>
            {
                request.args.map_or(Verdict::Allow, Verdict::Rewrite)
            }
            _ => Verdict::Ask(request),
        }
    }

    /// Runs the hooks after a tool call.
    pub(super) async fn run_after_call(
        &self,
        query: PolicyQuery<'_>,
        mode: Mode,
        guard: Arc<Guard>,
        result: &mut Result<ToolResult, ToolError>,
    ) {
        let mut notes = take(&self.notes, &query.call.id).unwrap_or_default();
        let (event, response) = match &*result {
            Ok(done) => (HookEvent::PostToolUse, joined_text(&done.content)),
            Err(error) => (HookEvent::PostToolUseFailure, error.to_string()),
        };
        let field = if result.is_ok() { "tool_response" } else { "error" };
        let input = |input: HookInput| input.with(field, response);
        let outcome = self.fire(event, &query, &query.call.arguments, mode, &guard, input).await;
        notes.extend(outcome.reasons);
        notes.extend(outcome.context);
        if notes.is_empty() && outcome.updated_output.is_none() {
            return;
        }
        let note = notes.iter().map(|note| format!("[Hook: {note}]"));
        match result {
            Ok(done) => {
                if let Some(output) = outcome.updated_output {
                    let text = output.as_str().map_or_else(|| output.to_string(), str::to_owned);
                    done.content = vec![Content::text(text)];
                }
                done.content.extend(note.map(Content::text));
            }
            Err(ToolError::Failed(why)) => note.for_each(|note| {
                why.push('\n');
                why.push_str(&note);
            }),
            Err(_) => {}
        }
    }

    async fn fire(
        &self,
        event: HookEvent,
        query: &PolicyQuery<'_>,
        arguments: &Value,
        mode: Mode,
        guard: &Guard,
        add: impl FnOnce(HookInput) -> HookInput,
    ) -> Outcome {
        if !self.wants(event) {
            return Outcome::default();
        }
        let tool = &*query.call.name;
        let input =
            self.input_for(event, query.session_id, mode).with("tool_use_id", query.call.id.to_string());
        let subject = Subject::new(guard, tool, arguments, query.effects);
        let fits = |rule: &str| guard.rule_matches(rule, tool, arguments, query.effects);
        let outcome = self.run_event(&add(input), &[], Some(&subject), fits).await;
        if !outcome.messages.is_empty() {
            let mut messages = take(&self.messages, query.loop_id).unwrap_or_default();
            messages.extend(outcome.messages.iter().cloned());
            remember(&self.messages, query.loop_id.clone(), messages);
        }
        if outcome.stops {
            let reason = outcome.reason().unwrap_or_else(|| "a hook stopped the run".to_owned());
            remember(&self.stops, query.loop_id.clone(), reason);
        }
        outcome
    }

    /// Whether a hook is configured for an event.
    pub(super) fn wants(&self, event: HookEvent) -> bool {
        self.configured.as_ref().is_some_and(|(hook_config, _)| !hook_config.is_empty(event))
    }

    /// Creates the common input of hooks for an event.
    pub(super) fn input_for(&self, event: HookEvent, session_id: &SessionId, mode: Mode) -> HookInput {
        let mut input = HookInput::new(event, session_id.to_string(), self.cwd.clone());
        mode.claude_name().clone_into(&mut input.permission_mode);
        input.transcript_path.clone_from(&self.transcript);
        input
    }

    /// Runs the hooks that match an event, and waits for those that may answer.
    pub(super) async fn run_event(
        &self,
        input: &HookInput,
        names: &[&str],
        subject: Option<&Subject<'_>>,
        fits: impl Fn(&str) -> bool,
    ) -> Outcome {
        let Some((hook_config, runner)) = &self.configured else { return Outcome::default() };
        let Some(round) = EventHandlers::of(hook_config, &self.spent, input, names, subject, fits) else {
            return Outcome::default();
        };
        for unwaited in round.background_runs(runner) {
            match tokio::runtime::Handle::try_current() {
                // Not awaited; the runner ends it at its timeout.
                Ok(executor) => drop(executor.spawn(unwaited)),
                // Without a tokio runtime, it cannot run in the background.
                Err(_) => unwaited.await,
            }
        }
        round.outcome(&**runner).await
    }

    /// Takes the reason why a hook of a tool call wants the loop to end.
    pub(super) fn take_stop(&self, loop_id: &LoopId) -> Option<String> {
        take(&self.stops, loop_id)
    }

    /// Takes what hooks of tool calls of the loop say to the user.
    pub(super) fn take_messages(&self, loop_id: &LoopId) -> Vec<String> {
        take(&self.messages, loop_id).unwrap_or_default()
    }

    /// Drops the data of a session that is over.
    pub(super) fn forget(&self, session_id: &SessionId) {
        self.spent.forget(session_id.as_str());
    }
}

/// Stores a value until it is taken. Drops the oldest at the limit, because values of denied tool calls are
/// never taken.
fn remember<K: Ord, V>(map: &Mutex<BTreeMap<K, V>>, key: K, value: V) {
    let mut entries = map.lock().unwrap_or_else(PoisonError::into_inner);
    if entries.len() >= MAX_ENTRIES {
        entries.pop_first();
    }
    entries.insert(key, value);
}

fn take<K: Ord, V>(map: &Mutex<BTreeMap<K, V>>, key: &K) -> Option<V> {
    map.lock().unwrap_or_else(PoisonError::into_inner).remove(key)
}
