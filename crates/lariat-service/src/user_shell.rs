//! Runs the user's own commands in the directory of a hosted session.
//!
//! They run as the model's commands do: in the same sandbox, with the same limits and the same record for undo. They need
//! no approval, because the user wrote them; deny rules of the organisation apply.

use std::sync::Arc;

use lariat_api::{Problem, ProblemCode};
use lariat_core::BoxFuture;
use lariat_core::cancel::CancellationToken;
use lariat_core::content::{ToolCall, joined_text};
use lariat_core::id::{LoopId, SessionId, ToolCallId};
use lariat_core::permission::PolicyQuery;
use lariat_core::tool::{AgentTool, ToolContext};
use lariat_guard::{Cause, Effect, GuardDecision, Level};
use lariat_runtime::Gate;
use lariat_sessions::{ShellOutput, UserShell};
use serde_json::json;

/// Time limit of a command, in seconds: the longest that `bash` permits.
const SECONDS: u64 = 600;

/// The shell of a session.
#[derive(Clone)]
pub(crate) struct SessionShell {
    pub(crate) bash: Arc<dyn AgentTool>,
    pub(crate) gate: Arc<Gate>,
    pub(crate) session_id: SessionId,
}

impl SessionShell {
    fn call(&self, id: &str, command: &str) -> ToolCall {
        ToolCall {
            id: ToolCallId::from(id),
            name: self.bash.name().to_owned(),
            arguments: json!({ "command": command, "timeout_seconds": SECONDS }),
            signature: None,
        }
    }
}

impl UserShell for SessionShell {
    fn check(&self, command: &str) -> Result<(), Problem> {
        let (call, loop_id) = (self.call("", command), LoopId::from(""));
        let query = PolicyQuery::new(&self.session_id, &loop_id, &call, self.bash.effects());
        let judgement = self.gate.explain(&query);
        let is_managed = |cause: &Cause| matches!(cause, Cause::Rule { effect: Effect::Deny, origin, .. } if origin.level == Level::Managed);
        let is_denied = judgement.verdict == GuardDecision::Deny
            && judgement.because.iter().any(|reason| is_managed(&reason.cause));
        if is_denied {
            return Err(Problem::new(ProblemCode::Forbidden, judgement.why())
                .with_hint("`lariat permissions explain` shows the rule"));
        }
        Ok(())
    }

    fn run<'a>(
        &'a self,
        call_id: &'a str,
        command: &'a str,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, ShellOutput> {
        let call = self.call(call_id, command);
        let context =
            ToolContext::new(call.id, call.name, self.session_id.clone(), LoopId::from(""), cancel.clone());
        Box::pin(async move {
            match self.bash.execute(call.arguments, context).await {
                Ok(result) => ShellOutput {
                    text: joined_text(&result.content),
                    exit_code: result.details.get("exit_code").and_then(serde_json::Value::as_i64),
                    problem: cancel.is_cancelled().then(|| "interrupted".to_owned()),
                },
                Err(error) => {
                    ShellOutput { text: String::new(), exit_code: None, problem: Some(error.to_string()) }
                }
            }
        })
    }
}
