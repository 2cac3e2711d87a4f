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
use crate::model::ProviderError;
use crate::planted::{Planted, planted};
use crate::time::Timestamp;

/// Attempts to get a turn's reply from one model.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tries {
    /// Retries so far.
    pub(super) attempt: u32,
    /// Replies that broke off after they started to arrive.
    broken: usize,
    /// When the first attempt failed.
    since: Option<Timestamp>,
}

/// The reaction to a failure.
enum Remedy {
    /// Call the same model again after a delay.
    Again { tries: Tries, delay: Duration },
    /// The retries are used up; a fallback model may continue.
    UsedUp,
    /// The provider asks for a delay that exceeds the configured patience.
    TooLong(Duration),
    /// The same request would fail again.
    None,
}

impl Run {
    pub(super) fn on_model_failed(&mut self, error: ProviderError) {
        let Some(call) = self.take_call() else { return };
        if matches!(error, ProviderError::ContextOverflow(_)) && !call.delivered {
            return self.on_overflow(call, &error);
        }
        let remedy = self.remedy(&call, &error);
        let standing_by = self.candidate < self.config.fallbacks.len();
        match remedy {
            Remedy::Again { tries, delay } => {
                self.withdraw(&call);
                let delay_ms = millis(delay);
                let attempt = tries.attempt;
                self.record(AgentEvent::ModelRetry { attempt, delay_ms, error: error.to_string() });
                let op = self.op();
                self.activity = Activity::BackingOff { op, tries };
                self.out.push_back(Effect::StartTimer { op, at: self.now.after(delay) });
            }
            Remedy::UsedUp | Remedy::TooLong(_) if standing_by => {
                self.withdraw(&call);
                // The fallback stays for the rest of the loop: returning in each turn would repeat all
                // retries.
                let from = self.candidate_names().1.to_owned();
                self.candidate += 1;
                let to = self.candidate_names().1.to_owned();
                self.record(AgentEvent::ModelFallback { from, to, error: error.to_string() });
                self.call_model(Tries::default());
            }
            // The delivered part of the last attempt stays in the conversation; its tool calls do not run.
            remedy => {
                let said = self.last_words(&call, &error, &remedy);
                self.fail_reply(Some(call), said);
            }
        }
    }

    fn remedy(&mut self, call: &ModelCall, error: &ProviderError) -> Remedy {
        if !error.is_retryable() {
            return Remedy::None;
        }
        let retry = &self.config.retry;
        let mut tries = call.tries;
        tries.broken += usize::from(call.delivered);
        if tries.attempt as usize >= retry.max_retries || tries.broken > retry.max_broken_replies {
            return Remedy::UsedUp;
        }
        let since = *tries.since.get_or_insert(self.now);
        tries.attempt += 1;
        let unit = self.minter.signed_unit();
        let backoff = self.config.retry.delay_for_attempt(tries.attempt, unit);
        let asked = error.retry_after().unwrap_or_default();
        let patience = Duration::from_millis(self.config.retry.patience_ms);
        let left = patience.saturating_sub(self.now.since(since));
        if asked > left {
            return Remedy::TooLong(asked);
        }
        let delay = asked.max(backoff);
        if delay > left { Remedy::UsedUp } else { Remedy::Again { tries, delay } }
    }

    /// Tells observers to discard what they received of a reply.
    fn withdraw(&mut self, call: &ModelCall) {
        if call.delivered && !planted(Planted::RetriesAfterDelivery) {
            self.record(AgentEvent::MessageWithdrawn { message_id: call.message_id });
        }
    }

    /// Describes a permanent failure and the number of attempts.
    fn last_words(&self, call: &ModelCall, error: &ProviderError, remedy: &Remedy) -> String {
        let mut said = error.to_string();
        if let (1.., Some(since)) = (call.tries.attempt, call.tries.since) {
            let (attempts, seconds) = (call.tries.attempt + 1, millis(self.now.since(since)).div_ceil(1_000));
            said.push_str(&format!("; {attempts} attempts in {seconds} s"));
        }
        if let Remedy::TooLong(asked) = remedy {
            said.push_str(&format!("; the service asks to wait {} s", asked.as_secs()));
        }
        said
    }
}

fn millis(delay: Duration) -> u64 {
    u64::try_from(delay.as_millis()).unwrap_or(u64::MAX)
}
