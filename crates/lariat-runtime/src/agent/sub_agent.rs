//! Runs the loop of a sub-agent in its own session: starts it, or resumes it where its journal ends.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use lariat_core::cancel::CancellationToken;
use lariat_core::content::joined_text;
use lariat_core::event::{AgentEvent, RunOutcome};
use lariat_core::message::AgentMessage;
use lariat_core::session::SessionFold;
use lariat_core::usage::Usage;

use super::context::AgentContext;
use super::error::AgentError;
use super::forward::EventSender;
use super::loop_config::AgentLoopConfig;
use super::loops::{begin_and_drive, recover, with_events};
use crate::budget::BudgetPool;
use crate::drive::RunHandle;

/// Delays after failed attempts to read what a sub-agent used. Its parent waits meanwhile.
const USAGE_RETRIES: [Duration; 4] = [
    Duration::from_millis(50),
    Duration::from_millis(100),
    Duration::from_millis(200),
    Duration::from_millis(400),
];

/// How a sub-agent starts.
pub(crate) struct SubAgentStart {
    /// The first message of its conversation.
    pub(crate) prompt: AgentMessage,
    /// True if an earlier process may have started it.
    pub(crate) is_resumed: bool,
    /// True if its parent has recorded its end. Then it must not run any more, whatever its own journal says.
    pub(crate) is_completed: bool,
    /// Receives the handle of its run.
    pub(crate) handle: Arc<OnceLock<RunHandle>>,
    /// Its pool. This and the pools of the runs above must know what it spent in earlier processes.
    pub(crate) pool: Option<BudgetPool>,
}

/// How a sub-agent ended.
pub(crate) struct SubAgentEnd {
    /// Text of its last reply; empty if there was none.
    pub(crate) text: String,
    pub(crate) outcome: RunOutcome,
    /// What it and its own sub-agents used, in all processes that ran it.
    pub(crate) usage: Usage,
    pub(crate) turns: u32,
}

/// Why a sub-agent has no end.
pub(crate) struct SubAgentFailure {
    pub(crate) error: AgentError,
    /// What it and its own sub-agents used until then, as far as its journal tells.
    pub(crate) usage: Usage,
}

/// Runs a sub-agent to its end and releases its session. A sub-agent that has ended does not run again.
pub(crate) async fn run_sub_agent(
    SubAgentStart { prompt, is_resumed, is_completed, handle, pool }: SubAgentStart,
    context: &mut AgentContext,
    config: &AgentLoopConfig,
    sender: impl EventSender,
    cancel: CancellationToken,
) -> Result<SubAgentEnd, SubAgentFailure> {
    let started = |run: RunHandle| drop(handle.set(run));
    let ended = with_events(context, sender, async |context| {
        if is_completed {
            let journal = Box::pin(context.read()).await?;
            let has_ended = context.last_loop_id.is_some() && journal.fold.open_loops().next().is_none();
            return if has_ended { Ok(None) } else { Err(AgentError::TaskLost) };
        }
        if is_resumed {
            if let Some(pool) = &pool {
                // Until it ends, only its own journal has what it spent.
                Box::pin(context.read()).await?;
                pool.count_earlier(context.memory.ledger().spent());
            }
            if let Some(output) = Box::pin(recover(context, config, cancel.clone(), started)).await? {
                return Ok(Some(output));
            }
            if context.last_loop_id.is_some() {
                return Ok(None);
            }
        }
        begin_and_drive(vec![prompt], None, context, config, cancel, started).await.map(Some)
    })
    .await;
    // A model that failed is an outcome like any other.
    let end = match ended.or_else(|error| error.into_output().map(Some)) {
        Ok(Some(output)) => Ok((output.text, output.outcome, output.turns)),
        Ok(None) => Box::pin(recorded_end(context)).await,
        Err(error) => Err(error),
    };
    let usage = match &end {
        Ok(_) => *context.memory.ledger().usage(),
        Err(_) => Box::pin(recorded_usage(context, config)).await,
    };
    // An earlier process may have recorded findings that no agent above knows.
    context.memory.findings().iter().for_each(|finding| config.ports.lineage.share_finding(finding));
    // If the store fails, the claim remains until the journal is dropped.
    let _ = context.journal().release().await;
    match end {
        Ok((text, outcome, turns)) => Ok(SubAgentEnd { text, outcome, usage, turns }),
        Err(error) => Err(SubAgentFailure { error, usage }),
    }
}

/// Reads what a sub-agent used whose run stopped before its end: its parent's limits include it.
async fn recorded_usage(context: &AgentContext, config: &AgentLoopConfig) -> Usage {
    let clock = &config.ports.clock;
    for delay in USAGE_RETRIES {
        match context.journal().read_from(0).await {
            Ok(events) => return *SessionFold::of(&events).memory().ledger().usage(),
            Err(error) if error.is_retryable() => clock.sleep_until(clock.now().after(delay)).await,
            Err(_) => break,
        }
    }
    *context.memory.ledger().usage()
}

/// Reads how a sub-agent ended in an earlier process.
async fn recorded_end(context: &AgentContext) -> Result<(String, RunOutcome, u32), AgentError> {
    let (mut outcome, mut turns) = (RunOutcome::Completed, 0);
    for record in context.journal().read_from(0).await? {
        match &record.event {
            AgentEvent::AgentEnd { outcome: ended, .. } => outcome = ended.clone(),
            AgentEvent::TurnStart { .. } => turns += 1,
            _ => {}
        }
    }
    let window = context.messages();
    let reply = window.iter_back().find_map(|message| message.as_assistant());
    Ok((reply.map(|reply| joined_text(&reply.content)).unwrap_or_default(), outcome, turns))
}
