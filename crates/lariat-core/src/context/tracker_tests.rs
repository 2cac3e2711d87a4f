//! Tests of predictions, calibration and implausible reports.

use super::*;
use crate::content::Content;
use crate::message::{Message, StopReason};
use crate::time::Timestamp;
use crate::transcript::Transcript;
use crate::usage::Usage;

const SENTENCE: &str = "The tracker adds what is new to what the provider has said. ";

fn user(sentences: usize) -> AgentMessage {
    AgentMessage::from(Message::user(SENTENCE.repeat(sentences)))
}

fn reply_of(model: &str, usage: Usage, content: Vec<Content>) -> AgentMessage {
    AgentMessage::from(Message::Assistant(AssistantMessage {
        content,
        stop_reason: StopReason::Stop,
        model: model.to_owned(),
        requested_model: None,
        provider: "p".to_owned(),
        usage,
        timestamp: Timestamp::default(),
        error_message: None,
    }))
}

fn reply(usage: Usage) -> AgentMessage {
    reply_of("m", usage, vec![Content::text("Yes.")])
}

fn tracker() -> ContextTracker {
    ContextTracker::new(Arc::new(CharacterClasses), ImageTokens::default(), "m").with_overhead_estimate(1_000)
}

/// A provider whose token counts are `tenths` of the estimate, with a fixed number of tokens besides the
/// conversation.
struct FakeProvider {
    tenths: u64,
    overhead: u64,
    conversation: u64,
    model: &'static str,
}

impl FakeProvider {
    fn of(tenths: u64) -> Self {
        Self { tenths, overhead: 1_300, conversation: 0, model: "m" }
    }

    fn tokens(&self, message: &AgentMessage) -> u64 {
        super::super::message_tokens(message) * self.tenths / 10
    }

    fn context(&self) -> u64 {
        self.overhead + self.conversation
    }

    /// Runs a turn and returns the predicted and the real tokens of its request.
    fn turn(&mut self, tracker: &mut ContextTracker, sentences: usize) -> (u64, u64) {
        let prompt = user(sentences);
        tracker.add(&prompt);
        self.conversation += self.tokens(&prompt);
        let (predicted, real) = (tracker.used_tokens(), self.context());
        let answer = reply_of(self.model, Usage::default(), vec![Content::text("Yes.")]);
        let output = self.tokens(&answer);
        self.conversation += output;
        tracker.add(&reply_of(self.model, Usage::new(real, output), vec![Content::text("Yes.")]));
        (predicted, real)
    }
}

/// Returns the error in thousandths.
fn error((predicted, real): (u64, u64)) -> u64 {
    predicted.abs_diff(real) * 1_000 / real
}

#[test]
fn prediction_converges_within_three_turns() {
    for tenths in [3, 5, 8, 10, 13, 20, 40] {
        let (mut tracker, mut provider) = (tracker(), FakeProvider::of(tenths));
        let errors: Vec<u64> = (0..12).map(|_| error(provider.turn(&mut tracker, 60))).collect();
        assert!(errors[3..].iter().all(|error| *error < 20), "{tenths} tenths: {errors:?}");
    }
}

#[test]
fn factor_stays_within_its_bounds() {
    let mut tracker = tracker();
    for turn in 1..20 {
        tracker.add(&user(60));
        tracker.add(&reply(Usage::new(1_000_000 * turn, 5)));
    }
    let before = tracker.used_tokens();
    tracker.add(&user(60));
    let estimate = super::super::message_tokens(&user(60));
    assert!(tracker.used_tokens() - before <= estimate * 4 + 1);
}

#[test]
fn outlier_report_affects_only_one_prediction() {
    let (mut tracker, mut provider) = (tracker(), FakeProvider::of(13));
    (0..6).for_each(|_| _ = provider.turn(&mut tracker, 60));
    provider.conversation += 30_000;
    let odd = error(provider.turn(&mut tracker, 60));
    assert!(odd > 500, "the jump is not predictable");
    let after: Vec<u64> = (0..4).map(|_| error(provider.turn(&mut tracker, 60))).collect();
    assert!(after.iter().all(|error| *error < 20), "{after:?}");
}

#[test]
fn cached_tokens_are_included_and_reports_without_them_rejected() {
    let (mut tracker, mut provider) = (tracker(), FakeProvider::of(10));
    (0..4).for_each(|_| _ = provider.turn(&mut tracker, 60));
    let known = tracker.used_tokens();
    let cached = Usage { cache_read: known - 20, cache_write: 20, output: 5, ..Usage::default() };
    tracker.add(&user(1));
    tracker.add(&reply(cached));
    assert!(tracker.used_tokens().abs_diff(known) < 30, "{} after {known}", tracker.used_tokens());
    tracker.add(&reply(Usage::new(25, 5)));
    assert!(tracker.used_tokens() >= known, "25 tokens are implausible");
    tracker.add(&reply(Usage::default()));
    assert!(tracker.used_tokens() >= known, "an empty report is ignored");
}

#[test]
fn fallback_model_has_its_own_factor() {
    let (mut tracker, mut provider) = (tracker(), FakeProvider::of(10));
    (0..5).for_each(|_| _ = provider.turn(&mut tracker, 60));
    let mut other =
        FakeProvider { tenths: 20, overhead: 1_300, conversation: provider.conversation * 2, model: "n" };
    tracker.ask(Some("n"));
    let errors: Vec<u64> = (0..5).map(|_| error(other.turn(&mut tracker, 60))).collect();
    assert!(errors[3..].iter().all(|error| *error < 30), "{errors:?}");
    tracker.ask(None);
    let back = FakeProvider { tenths: 10, overhead: 1_300, conversation: other.conversation / 2, model: "m" };
    let off = error((tracker.used_tokens(), back.context()));
    assert!(off < 120, "in the first model's tokens again: {} for {}", tracker.used_tokens(), back.context());
}

#[test]
fn compaction_keeps_the_factor_and_the_overhead() {
    let (mut tracker, mut provider) = (tracker(), FakeProvider::of(20));
    (0..8).for_each(|_| _ = provider.turn(&mut tracker, 60));
    let mut transcript = Transcript::new();
    transcript.push_user(Arc::new(user(100))).unwrap();
    let before = tracker.used_tokens();
    tracker.reset_after_compaction(&transcript.window());
    let real = provider.overhead + provider.tokens(&user(100));
    assert!(
        before > 2 * real && error((tracker.used_tokens(), real)) < 60,
        "{} for {real}",
        tracker.used_tokens()
    );
    assert_eq!(tracker.used_tokens(), tracker.measure(&transcript.window()));
    assert!(!tracker.is_reported());
}

#[test]
fn reading_a_conversation_gives_the_same_state_as_live() {
    let (mut live, mut provider) = (tracker(), FakeProvider::of(16));
    let mut transcript = Transcript::new();
    for _ in 0..6 {
        let prompt = user(40);
        live.add(&prompt);
        provider.conversation += provider.tokens(&prompt);
        transcript.push_user(Arc::new(prompt)).unwrap();
        let answer = reply(Usage::new(provider.context(), 3));
        provider.conversation += 3;
        live.add(&answer);
        transcript.push_exchange(Arc::new(answer), Vec::new()).unwrap();
    }
    let mut read = tracker();
    read.read(&transcript.window());
    assert_eq!(read.state(), live.state());
    assert!(read.is_reported());
}

#[test]
fn report_from_before_a_compaction_is_ignored() {
    let mut transcript = Transcript::new();
    transcript.push_user(Arc::new(user(40))).unwrap();
    transcript.push_exchange(Arc::new(reply(Usage::new(90_000, 3))), Vec::new()).unwrap();
    let mut read = tracker();
    read.read(&transcript.window());
    assert!(!read.is_reported() && read.used_tokens() < 3_000, "{}", read.used_tokens());
}

#[test]
fn restored_snapshot_gives_the_same_numbers() {
    let (mut live, mut provider) = (tracker(), FakeProvider::of(17));
    (0..5).for_each(|_| _ = provider.turn(&mut live, 33));
    live.ask(Some("n"));
    let json = serde_json::to_string(live.state()).unwrap();
    let mut restored = tracker();
    restored.restore(serde_json::from_str(&json).unwrap());
    live.add(&user(7));
    restored.add(&user(7));
    assert_eq!((restored.state(), restored.used_tokens()), (live.state(), live.used_tokens()));
}

#[test]
fn unsigned_reasoning_in_reports_is_not_counted() {
    let mut tracker = tracker();
    tracker.add(&user(20));
    let thought = Usage { reasoning: 4_000, ..Usage::new(5_000, 4_010) };
    tracker.add(&reply(thought));
    assert_eq!(tracker.used_tokens(), 5_010);
    let signed = Content::Thinking { thinking: "hm ".repeat(2_000), signature: Some("s".to_owned()) };
    tracker.add(&reply_of("m", Usage { reasoning: 4_000, ..Usage::new(5_100, 4_010) }, vec![signed]));
    assert_eq!(tracker.used_tokens(), 9_110, "signed reasoning is sent back");
}

#[test]
fn provider_count_is_used_like_a_report() {
    let mut tracker = tracker();
    tracker.add(&user(500));
    tracker.use_provider_count(9_000);
    assert_eq!(tracker.used_tokens(), 9_000);
    assert!(tracker.is_reported());
    tracker.use_provider_count(3);
    assert_eq!(tracker.used_tokens(), 9_000, "three tokens are implausible");
}

#[test]
fn counted_overhead_calibrates_with_the_first_report() {
    let mut tracker = ContextTracker::new(Arc::new(CharacterClasses), ImageTokens::default(), "m")
        .with_counted_overhead(3_000);
    tracker.add(&user(100));
    let estimate = tracker.used_tokens();
    tracker.add(&reply(Usage::new(estimate * 3 / 2, 2)));
    let before = tracker.used_tokens();
    tracker.add(&user(100));
    let added = super::super::message_tokens(&user(100));
    assert!((tracker.used_tokens() - before).abs_diff(added * 3 / 2) < added / 20);
}
