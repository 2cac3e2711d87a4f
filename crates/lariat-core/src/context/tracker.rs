//! How full the window is: what the service reported for the last request, plus what is new, times what the service's
//! reports have taught about our estimates.
//!
//! Every report is the truth about its request, so errors do not add up. A report minus the one before is the truth
//! about what was added in between: compared with the estimate of the same, it gives a factor for the model.
//! Invariants: a pure fold over the conversation; all numbers are integers, so that a fold and its snapshot agree to
//! the token; a message costs the same at any length of the conversation.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::calibration::Calibration;
use super::tokens::{CharacterClasses, ImageTokens, TokenCounter, count_message, thinking_tokens};
use crate::config::ContextConfig;
use crate::message::{AgentMessage, AssistantMessage};
use crate::transcript::Window;

/// A sample needs this many estimated tokens: in fewer, framing weighs more than the text.
const SMALLEST_SAMPLE: u64 = 40;
/// A sample of a whole request needs this many: services add some hundred tokens of their own.
const SMALLEST_WHOLE: u64 = 4_000;
/// A report from before a compaction exceeds the estimate of what is left by a quarter at least (a compaction that
/// saves less than a fifth is refused); estimates are better than that. In percent of the estimate.
const STALE_PERCENT: u64 = 115;
/// And by this many tokens: below, it does not matter.
const STALE_TOKENS: u64 = 1_000;

/// How much of the window is used.
#[derive(Clone, Debug)]
pub struct ContextTracker {
    counter: Arc<dyn TokenCounter>,
    images: ImageTokens,
    /// Estimate of what is sent besides the conversation.
    fixed: Fixed,
    /// The model that is configured.
    configured: Arc<str>,
    state: TrackerState,
}

/// Estimated tokens of the system prompt and the tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fixed {
    Counted(u64),
    /// The configuration's guess; teaches nothing.
    Reserved(u64),
}

impl Fixed {
    const fn tokens(self) -> u64 {
        match self {
            Self::Counted(tokens) | Self::Reserved(tokens) => tokens,
        }
    }
}

/// The part of a tracker that a snapshot holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrackerState {
    /// The last report, if it is about the conversation as it is now.
    base: Option<Base>,
    /// Estimate of the messages that the last report covers, its reply included.
    sent: u64,
    /// Estimate of the messages since.
    fresh: u64,
    /// Tokens that requests take besides the conversation, as learnt before a compaction.
    overhead: Option<u64>,
    /// The model that is asked next, when it is not the configured one.
    asked: Option<String>,
    calibration: Calibration,
}

/// What a service reported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Base {
    model: String,
    /// Its request and the part of its reply that goes back.
    tokens: u64,
    /// The part of it that may not go back: services leave out old reasoning by rules of their own.
    doubtful: u64,
}

impl ContextTracker {
    /// Counts a conversation with the built-in counter. `config` says what is reserved for the system prompt.
    pub fn of(window: &Window, config: Option<&ContextConfig>) -> Self {
        let reserved = config.map_or(0, |config| config.system_prompt_tokens as u64);
        let mut tracker =
            Self::new(Arc::new(CharacterClasses), ImageTokens::default(), "").reserving(reserved);
        tracker.state.fresh = tracker.estimate(window);
        tracker
    }

    /// An empty conversation with a model.
    pub fn new(counter: Arc<dyn TokenCounter>, images: ImageTokens, model: impl Into<Arc<str>>) -> Self {
        let fixed = Fixed::Reserved(0);
        Self { counter, images, fixed, configured: model.into(), state: TrackerState::default() }
    }

    /// With a guess of what is sent besides the conversation.
    #[must_use]
    pub const fn reserving(mut self, tokens: u64) -> Self {
        self.fixed = Fixed::Reserved(tokens);
        self
    }

    /// With a count of the system prompt and the tools, made by the same counter.
    #[must_use]
    pub const fn besides(mut self, tokens: u64) -> Self {
        self.fixed = Fixed::Counted(tokens);
        self
    }

    /// Takes in a conversation that is there already, with the reports in its replies. They teach the factor; the last
    /// one is the base, unless it cannot be about this conversation: it was made before a compaction.
    pub fn read(&mut self, window: &Window) {
        for message in window.iter() {
            self.add(message);
        }
        // Who answered before does not say who is asked now.
        self.ask(None);
        let Some(base) = &self.state.base else { return };
        let estimate = self.scaled(self.fixed.tokens() + self.state.sent);
        if base.tokens > estimate.saturating_mul(STALE_PERCENT) / 100 + STALE_TOKENS {
            let state = &mut self.state;
            state.base = None;
            state.fresh += std::mem::take(&mut state.sent);
        }
    }

    /// Goes on where a snapshot was made.
    pub fn restore(&mut self, state: TrackerState) {
        self.state = state;
    }

    /// For a snapshot.
    pub const fn state(&self) -> &TrackerState {
        &self.state
    }

    /// A message was added; a reply brings its report along, and whoever gave it is asked next.
    pub fn add(&mut self, message: &AgentMessage) {
        let tokens = count_message(&*self.counter, self.images, message);
        if let Some(reply) = message.as_assistant() {
            let model = requested(reply);
            self.ask((*model != *self.configured).then_some(model));
        }
        match message.as_assistant() {
            Some(reply) if self.is_credible(reply.usage.context()) => self.report(reply, tokens),
            _ => self.state.fresh += tokens,
        }
    }

    /// Zero means that the service did not say; far too little, that it left out what came from its cache.
    fn is_credible(&self, context: u64) -> bool {
        context > 0 && Calibration::may_be(context, self.state.sent + self.state.fresh)
    }

    fn report(&mut self, reply: &AssistantMessage, reply_tokens: u64) {
        let (usage, context) = (&reply.usage, reply.usage.context());
        let model = requested(reply);
        self.learn(model, context);

        let (back, gone) = thinking_tokens(&*self.counter, &reply.content);
        let thought = match usage.reasoning {
            0 => self.state.calibration.scaled(model, back + gone),
            reported => reported,
        };
        let thought = thought.min(usage.output);
        let (kept, doubtful) = if back > 0 { (usage.output, thought) } else { (usage.output - thought, 0) };

        let state = &mut self.state;
        state.sent += std::mem::take(&mut state.fresh) + reply_tokens;
        state.overhead = None;
        state.base = Some(Base { model: model.to_owned(), tokens: context + kept, doubtful });
    }

    fn learn(&mut self, model: &str, context: u64) {
        let TrackerState { base, sent, fresh, overhead, calibration, .. } = &mut self.state;
        match (base, self.fixed) {
            (Some(base), _)
                if base.model == model && *fresh >= SMALLEST_SAMPLE && base.doubtful <= *fresh / 4 =>
            {
                calibration.learn(model, context.saturating_sub(base.tokens), *fresh);
            }
            (None, Fixed::Counted(fixed))
                if overhead.is_none() && fixed + *sent + *fresh >= SMALLEST_WHOLE =>
            {
                calibration.learn(model, context, fixed + *sent + *fresh);
            }
            _ => {}
        }
    }

    /// The service was asked and counted the conversation as it is now.
    pub fn counted(&mut self, tokens: u64) {
        let model = self.asked().to_owned();
        if self.is_credible(tokens) {
            self.learn(&model, tokens);
            let state = &mut self.state;
            state.sent += std::mem::take(&mut state.fresh);
            state.overhead = None;
            state.base = Some(Base { model, tokens, doubtful: 0 });
        }
    }

    /// Another model is asked from here on; `None` for the configured one.
    pub fn ask(&mut self, model: Option<&str>) {
        if self.state.asked.as_deref() != model {
            self.state.asked = model.map(str::to_owned);
        }
    }

    fn asked(&self) -> &str {
        self.state.asked.as_deref().unwrap_or(&self.configured)
    }

    /// True while a report or a count says how much the conversation takes, but for what came since.
    pub const fn is_reported(&self) -> bool {
        self.state.base.is_some()
    }

    /// The conversation was compacted to this one.
    pub fn compacted(&mut self, window: &Window) {
        let overhead = self.overhead();
        let fresh = self.estimate(window);
        let calibration = std::mem::take(&mut self.state.calibration);
        let asked = self.state.asked.take();
        self.state =
            TrackerState { base: None, sent: 0, fresh, overhead: Some(overhead), asked, calibration };
    }

    /// Tokens of a request with this conversation, by estimate: to compare before with after.
    pub fn measure(&self, window: &Window) -> u64 {
        self.overhead() + self.scaled(self.estimate(window))
    }

    /// What requests take besides the conversation: what reports leave when the conversation is taken off. Where the
    /// system prompt and the tools were counted, it is not far from them.
    fn overhead(&self) -> u64 {
        let fixed = self.scaled(self.fixed.tokens());
        let TrackerState { base, sent, overhead, .. } = &self.state;
        let left = match (base, overhead) {
            (Some(base), _) => self.rebased(base).saturating_sub(self.scaled(*sent)),
            (None, Some(overhead)) => *overhead,
            (None, None) => fixed,
        };
        match self.fixed {
            Fixed::Counted(_) => left.clamp(fixed / 2, fixed.saturating_mul(2) + STALE_TOKENS),
            Fixed::Reserved(_) => left,
        }
    }

    fn estimate(&self, window: &Window) -> u64 {
        window.iter().map(|message| count_message(&*self.counter, self.images, message)).sum()
    }

    fn scaled(&self, estimate: u64) -> u64 {
        self.state.calibration.scaled(self.asked(), estimate)
    }

    /// A report in the tokens of the model that is asked now.
    fn rebased(&self, base: &Base) -> u64 {
        self.state.calibration.rebased(&base.model, self.asked(), base.tokens)
    }

    /// Tokens the next request will take, as far as anybody knows.
    pub fn used(&self) -> u64 {
        let TrackerState { base, sent, fresh, .. } = &self.state;
        match base {
            Some(base) => self.rebased(base) + self.scaled(*fresh),
            None => self.overhead() + self.scaled(sent + fresh),
        }
    }
}

/// The model that a reply was asked of; services answer under other names.
fn requested(reply: &AssistantMessage) -> &str {
    reply.requested_model.as_ref().unwrap_or(&reply.model)
}

#[cfg(test)]
#[path = "tracker_tests.rs"]
mod tests;
