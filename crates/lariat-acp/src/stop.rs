//! Says to an editor why a prompt ended.

use lariat_core::event::{LimitKind, RunOutcome};
use lariat_core::message::StopReason as ReplyEnd;

use crate::wire::{RpcError, StopReason};

/// Why a prompt ended, from the outcome of its run and the end of the last reply.
///
/// # Errors
/// If the run failed.
pub(crate) fn reason(outcome: &RunOutcome, reply: Option<ReplyEnd>) -> Result<StopReason, RpcError> {
    Ok(match outcome {
        RunOutcome::Completed => match reply {
            Some(ReplyEnd::Length | ReplyEnd::ContextExceeded) => StopReason::MaxTokens,
            Some(ReplyEnd::Refusal) => StopReason::Refusal,
            _ => StopReason::EndTurn,
        },
        // The next request does not contain the prompt, which is what a refusal means to an editor.
        RunOutcome::Rejected => StopReason::Refusal,
        RunOutcome::Aborted => StopReason::Cancelled,
        RunOutcome::LimitReached { limit: LimitKind::Tokens, .. } | RunOutcome::ContextFull(_) => {
            StopReason::MaxTokens
        }
        // The protocol has no reason for a cost or a time; an update before this names the limit.
        RunOutcome::LimitReached { .. } => StopReason::MaxTurnRequests,
        RunOutcome::Failed { error } => return Err(RpcError::internal(error.clone())),
        // An update before this says why.
        _ => StopReason::EndTurn,
    })
}

#[cfg(test)]
mod tests {
    use lariat_core::event::{LimitKind, RunOutcome};
    use lariat_core::message::StopReason as ReplyEnd;

    use super::{StopReason, reason};

    #[test]
    fn every_outcome_has_its_reason() {
        let limit = |limit| RunOutcome::LimitReached { limit, scope: Default::default() };
        let cases = [
            (RunOutcome::Completed, Some(ReplyEnd::Stop), StopReason::EndTurn),
            (RunOutcome::Completed, None, StopReason::EndTurn),
            (RunOutcome::Completed, Some(ReplyEnd::Length), StopReason::MaxTokens),
            (RunOutcome::Completed, Some(ReplyEnd::Refusal), StopReason::Refusal),
            (RunOutcome::Rejected, None, StopReason::Refusal),
            (RunOutcome::Aborted, Some(ReplyEnd::Aborted), StopReason::Cancelled),
            (RunOutcome::Aborted, Some(ReplyEnd::Refusal), StopReason::Cancelled),
            (limit(LimitKind::Turns), Some(ReplyEnd::ToolUse), StopReason::MaxTurnRequests),
            (limit(LimitKind::Cost), Some(ReplyEnd::ToolUse), StopReason::MaxTurnRequests),
            (limit(LimitKind::Tokens), Some(ReplyEnd::ToolUse), StopReason::MaxTokens),
            (RunOutcome::StoppedByHook, None, StopReason::EndTurn),
            (RunOutcome::Repetition, Some(ReplyEnd::ToolUse), StopReason::EndTurn),
        ];
        for (outcome, reply, expected) in cases {
            assert_eq!(reason(&outcome, reply), Ok(expected), "{outcome:?} {reply:?}");
        }
        let failed = reason(&RunOutcome::Failed { error: "HTTP 500".to_owned() }, None).unwrap_err();
        assert_eq!((failed.code, failed.message.as_str()), (-32_603, "HTTP 500"));
    }
}
