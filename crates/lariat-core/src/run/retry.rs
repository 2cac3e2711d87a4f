//! Decides what follows a failed model call: a retry, the next model, or the end of the turn.
//!
//! A temporary failure is retried with growing, jittered delays, as often and as long as [`RetryConfig`]
//! allows. A reply that broke off after it started to arrive is withdrawn first, so that an observer can
//! discard its text. Invariant: tool calls of a broken reply never run; only a clean end delivers them.
//!
//! [`RetryConfig`]: crate::config::RetryConfig

use std::time::Duration;

use super::reply::ModelCall;
use super::{Activity, Effect, Run};
use crate::event::AgentEvent;
use crate::model::{ModelFailure, ProviderError};
use crate::time::Timestamp;

/// Attempts to get a turn's reply from one model.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Attempts {
    /// Retries so far.
    pub(super) attempt: u32,
    /// Replies that broke off after they started to arrive.
    broken: usize,
    /// When the first attempt failed.
    since: Option<Timestamp>,
}

/// The reaction to a failure.
enum FailureResponse {
    /// Call the same model again after a delay.
    Retry { attempts: Attempts, delay: Duration },
    /// The retries are used up; a fallback model may continue.
    RetriesUsedUp,
    /// The provider asks for a delay that exceeds the configured patience.
    DelayTooLong(Duration),
    /// The same request would fail again.
    GiveUp,
}

impl Run {
    pub(super) fn on_model_failed(&mut self, error: ProviderError) {
        let Some(call) = self.take_call() else { return };
        if matches!(error, ProviderError::ContextOverflow(_)) && !call.delivered {
            return self.on_overflow(call, &error);
        }
        let response = self.failure_response(&call, &error);
        let has_fallback = self.candidate < self.config.fallbacks.len();
        match response {
            FailureResponse::Retry { attempts, delay } => {
                self.withdraw(&call);
                let delay_ms = millis(delay);
                let attempt = attempts.attempt;
                self.record(AgentEvent::ModelRetry { attempt, delay_ms, error: error.to_string() });
                let op = self.op();
                self.activity = Activity::BackingOff { op, attempts };
                self.out.push_back(Effect::StartTimer { op, at: self.now.after(delay) });
            }
            FailureResponse::RetriesUsedUp | FailureResponse::DelayTooLong(_) if has_fallback => {
                self.withdraw(&call);
                // The fallback stays for the rest of the loop: returning in each turn would repeat all
                // retries.
                let from = self.candidate_names().1.to_owned();
                self.candidate += 1;
                let to = self.candidate_names().1.to_owned();
                self.record(AgentEvent::ModelFallback { from, to, error: error.to_string() });
                self.call_model(Attempts::default());
            }
            // The delivered part of the last attempt stays in the conversation; its tool calls do not run.
            response => {
                let text = self.describe_failure(&call, &error, &response);
                self.fail_reply(Some(call), text);
            }
        }
    }

    fn failure_response(&mut self, call: &ModelCall, error: &ProviderError) -> FailureResponse {
        if !error.is_retryable() {
            return FailureResponse::GiveUp;
        }
        let retry = &self.config.retry;
        let mut attempts = call.attempts;
        attempts.broken += usize::from(call.delivered);
        if attempts.attempt as usize >= retry.max_retries || attempts.broken > retry.max_broken_replies {
            return FailureResponse::RetriesUsedUp;
        }
        let since = *attempts.since.get_or_insert(self.now);
        attempts.attempt += 1;
        let unit = self.minter.signed_unit();
        let backoff = self.config.retry.delay_for_attempt(attempts.attempt, unit);
        let asked = error.retry_after().unwrap_or_default();
        let patience = Duration::from_millis(self.config.retry.patience_ms);
        let left = patience.saturating_sub(self.now.since(since));
        if asked > left {
            return FailureResponse::DelayTooLong(asked);
        }
        let delay = asked.max(backoff);
        if delay > left { FailureResponse::RetriesUsedUp } else { FailureResponse::Retry { attempts, delay } }
    }

    /// Tells observers to discard what they received of a reply.
    fn withdraw(&mut self, call: &ModelCall) {
        if call.delivered {
            self.record(AgentEvent::MessageWithdrawn { message_id: call.message_id });
        }
    }

    /// Describes a permanent failure and the number of attempts.
    fn describe_failure(
        &self,
        call: &ModelCall,
        error: &ProviderError,
        response: &FailureResponse,
    ) -> String {
        let mut failure = ModelFailure::new(error);
        if let (1.., Some(since)) = (call.attempts.attempt, call.attempts.since) {
            let seconds = millis(self.now.since(since)).div_ceil(1_000);
            failure.attempts = Some((call.attempts.attempt + 1, Duration::from_secs(seconds)));
        }
        if let FailureResponse::DelayTooLong(asked) = response {
            failure.asked_wait = Some(*asked);
        }
        failure.to_string()
    }
}

fn millis(delay: Duration) -> u64 {
    u64::try_from(delay.as_millis()).unwrap_or(u64::MAX)
}
