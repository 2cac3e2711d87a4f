//! Tracks how full the context window is: the provider's count for the last request, plus the calibrated
//! estimate of newer messages.
//!
//! Every report is exact for its request, so errors do not accumulate. The difference between two reports is
//! the exact size of what was added in between; compared with its estimate, it gives a factor for the model.
//!
//! Invariants: the tracker is a pure fold over the conversation; all numbers are integers, so that a fold and
//! its snapshot agree exactly; a message costs the same at any length of the conversation.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::calibration::Calibration;
use super::tokens::{CharacterClasses, ImageTokens, TokenCounter, count_message, thinking_tokens};
use crate::config::ContextConfig;
use crate::message::{AgentMessage, AssistantMessage};
use crate::transcript::Window;

/// Minimum estimated tokens of a sample; in smaller ones, message framing outweighs the text.
const SMALLEST_SAMPLE: u64 = 40;
/// Minimum for a sample of a whole request, because providers add some hundred tokens of their own.
const SMALLEST_WHOLE: u64 = 4_000;
/// A report from before a compaction exceeds the estimate of what remains by at least a quarter (a compaction
/// that saves less than a fifth is refused); estimates are better than that. In percent of the estimate.
const STALE_PERCENT: u64 = 115;
/// Minimum excess of such a report in tokens; a smaller one does not matter.
const STALE_TOKENS: u64 = 1_000;

/// Tracks how much of the context window is used.
#[derive(Clone, Debug)]
pub struct ContextTracker {
    counter: Arc<dyn TokenCounter>,
    images: ImageTokens,
    /// Estimate of the parts of a request besides the conversation.
    fixed: FixedTokens,
    /// The configured model.
    configured: Arc<str>,
    state: TrackerState,
}

/// Estimated tokens of the system prompt and the tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FixedTokens {
    Counted(u64),
    /// A guess from the configuration, not used for calibration.
    Reserved(u64),
}

impl FixedTokens {
    const fn tokens(self) -> u64 {
        match self {
            Self::Counted(tokens) | Self::Reserved(tokens) => tokens,
        }
    }
}

/// The part of a tracker that a snapshot contains.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrackerState {
    /// The last report, if it describes the current conversation.
    base: Option<ReportedTokens>,
    /// Estimate of the messages that the last report covers, including its reply.
    sent: u64,
    /// Estimate of the messages since then.
    fresh: u64,
    /// Tokens of requests besides the conversation, as measured before a compaction.
    overhead: Option<u64>,
    /// The model of the next request, if it is not the configured one.
    asked: Option<String>,
    calibration: Calibration,
}

/// A count that a provider reported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct ReportedTokens {
    model: String,
    /// Tokens of the request and of the part of the reply that is sent back.
    tokens: u64,
    /// The part of `tokens` that may not be sent back: providers drop old reasoning by their own rules.
    doubtful: u64,
}

impl ContextTracker {
    /// Counts a conversation with the built-in counter. `config` has the reserve for the system prompt.
    pub fn of(window: &Window, config: Option<&ContextConfig>) -> Self {
        let reserved = config.map_or(0, |config| config.system_prompt_tokens as u64);
        let mut tracker = Self::new(Arc::new(CharacterClasses), ImageTokens::default(), "")
            .with_overhead_estimate(reserved);
        tracker.state.fresh = tracker.estimate(window);
        tracker
    }

    /// Creates a tracker for an empty conversation with a model.
    pub fn new(counter: Arc<dyn TokenCounter>, images: ImageTokens, model: impl Into<Arc<str>>) -> Self {
        let fixed = FixedTokens::Reserved(0);
        Self { counter, images, fixed, configured: model.into(), state: TrackerState::default() }
    }

    /// Sets a guess for the parts of a request besides the conversation.
    #[must_use]
    pub const fn with_overhead_estimate(mut self, tokens: u64) -> Self {
        self.fixed = FixedTokens::Reserved(tokens);
        self
    }

    /// Sets the count of the system prompt and the tools, made by the same counter.
    #[must_use]
    pub const fn with_counted_overhead(mut self, tokens: u64) -> Self {
        self.fixed = FixedTokens::Counted(tokens);
        self
    }

    /// Reads an existing conversation with the reports in its replies. The reports calibrate the factor, and
    /// the last one becomes the base unless it was made before a compaction and so does not describe this
    /// conversation.
    pub fn read(&mut self, window: &Window) {
        for message in window.iter() {
            self.add(message);
        }
        // The model of an earlier reply does not determine the model of the next request.
        self.ask(None);
        let Some(base) = &self.state.base else { return };
        let estimate = self.scale(self.fixed.tokens() + self.state.sent);
        if base.tokens > estimate.saturating_mul(STALE_PERCENT) / 100 + STALE_TOKENS {
            let state = &mut self.state;
            state.base = None;
            state.fresh += std::mem::take(&mut state.sent);
        }
    }

    /// Continues from a snapshot.
    pub fn restore(&mut self, state: TrackerState) {
        self.state = state;
    }

    /// Returns the state for a snapshot.
    pub const fn state(&self) -> &TrackerState {
        &self.state
    }

    /// Adds a message. A reply contains a report, and its model becomes that of the next request.
    pub fn add(&mut self, message: &AgentMessage) {
        let tokens = count_message(&*self.counter, self.images, message);
        if let Some(reply) = message.as_assistant() {
            let model = requested_model(reply);
            self.ask((*model != *self.configured).then_some(model));
        }
        match message.as_assistant() {
            Some(reply) if self.is_credible(reply.usage.context()) => self.report(reply, tokens),
            _ => self.state.fresh += tokens,
        }
    }

    /// Zero means that the provider reported nothing; far too little means that it left out cached tokens.
    fn is_credible(&self, context: u64) -> bool {
        context > 0 && Calibration::is_plausible(context, self.state.sent + self.state.fresh)
    }

    fn report(&mut self, reply: &AssistantMessage, reply_tokens: u64) {
        let (usage, context) = (&reply.usage, reply.usage.context());
        let model = requested_model(reply);
        self.learn(model, context);

        let (back, gone) = thinking_tokens(&*self.counter, &reply.content);
        let thought = match usage.reasoning {
            0 => self.state.calibration.scale(model, back + gone),
            reported => reported,
        };
        let thought = thought.min(usage.output);
        let (kept, doubtful) = if back > 0 { (usage.output, thought) } else { (usage.output - thought, 0) };

        let state = &mut self.state;
        state.sent += std::mem::take(&mut state.fresh) + reply_tokens;
        state.overhead = None;
        state.base = Some(ReportedTokens { model: model.to_owned(), tokens: context + kept, doubtful });
    }

    fn learn(&mut self, model: &str, context: u64) {
        let TrackerState { base, sent, fresh, overhead, calibration, .. } = &mut self.state;
        match (base, self.fixed) {
            (Some(base), _)
                if base.model == model && *fresh >= SMALLEST_SAMPLE && base.doubtful <= *fresh / 4 =>
            {
                calibration.learn(model, context.saturating_sub(base.tokens), *fresh);
            }
            (None, FixedTokens::Counted(fixed))
                if overhead.is_none() && fixed + *sent + *fresh >= SMALLEST_WHOLE =>
            {
                calibration.learn(model, context, fixed + *sent + *fresh);
            }
            _ => {}
        }
    }

    /// Uses the provider's count of the current conversation, requested through its API.
    pub fn use_provider_count(&mut self, tokens: u64) {
        let model = self.next_model().to_owned();
        if self.is_credible(tokens) {
            self.learn(&model, tokens);
            let state = &mut self.state;
            state.sent += std::mem::take(&mut state.fresh);
            state.overhead = None;
            state.base = Some(ReportedTokens { model, tokens, doubtful: 0 });
        }
    }

    /// Sets the model of the next request; `None` for the configured one.
    pub fn ask(&mut self, model: Option<&str>) {
        if self.state.asked.as_deref() != model {
            self.state.asked = model.map(str::to_owned);
        }
    }

    fn next_model(&self) -> &str {
        self.state.asked.as_deref().unwrap_or(&self.configured)
    }

    /// Returns true if a report or a count covers the conversation, except for newer messages.
    pub const fn is_reported(&self) -> bool {
        self.state.base.is_some()
    }

    /// Returns the part of [`Self::used_tokens`] that is an estimate.
    pub fn estimated_tokens(&self) -> u64 {
        match &self.state.base {
            Some(_) => self.scale(self.state.fresh),
            None => self.used_tokens(),
        }
    }

    /// Updates the tracker after compaction reduced the conversation to `window`.
    pub fn reset_after_compaction(&mut self, window: &Window) {
        let overhead = self.overhead();
        let fresh = self.estimate(window);
        let calibration = std::mem::take(&mut self.state.calibration);
        let asked = self.state.asked.take();
        self.state =
            TrackerState { base: None, sent: 0, fresh, overhead: Some(overhead), asked, calibration };
    }

    /// Estimates the tokens of a request with this conversation, for comparison before and after compaction.
    pub fn measure(&self, window: &Window) -> u64 {
        self.overhead() + self.scale(self.estimate(window))
    }

    /// Returns the tokens of a request besides the conversation: the reports minus the conversation. If the
    /// system prompt and the tools were counted, the result is limited to values near their count.
    fn overhead(&self) -> u64 {
        let fixed = self.scale(self.fixed.tokens());
        let TrackerState { base, sent, overhead, .. } = &self.state;
        let left = match (base, overhead) {
            (Some(base), _) => self.convert(base).saturating_sub(self.scale(*sent)),
            (None, Some(overhead)) => *overhead,
            (None, None) => fixed,
        };
        match self.fixed {
            FixedTokens::Counted(_) => left.clamp(fixed / 2, fixed.saturating_mul(2) + STALE_TOKENS),
            FixedTokens::Reserved(_) => left,
        }
    }

    fn estimate(&self, window: &Window) -> u64 {
        window.iter().map(|message| count_message(&*self.counter, self.images, message)).sum()
    }

    fn scale(&self, estimate: u64) -> u64 {
        self.state.calibration.scale(self.next_model(), estimate)
    }

    /// Converts a report to the tokens of the model of the next request.
    fn convert(&self, base: &ReportedTokens) -> u64 {
        self.state.calibration.convert(&base.model, self.next_model(), base.tokens)
    }

    /// Returns the best estimate of the tokens of the next request.
    pub fn used_tokens(&self) -> u64 {
        let TrackerState { base, sent, fresh, .. } = &self.state;
        match base {
            Some(base) => self.convert(base) + self.scale(*fresh),
            None => self.overhead() + self.scale(sent + fresh),
        }
    }
}

/// Returns the model that was requested; providers may answer under other names.
fn requested_model(reply: &AssistantMessage) -> &str {
    reply.requested_model.as_ref().unwrap_or(&reply.model)
}

#[cfg(test)]
#[path = "tracker_tests.rs"]
mod tests;
