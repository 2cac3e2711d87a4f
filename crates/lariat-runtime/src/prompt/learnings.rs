//! A section with learnings of earlier sessions: at most five, chosen by the words they share with the task.
//!
//! Each names its session and its id, so that the user can look it up and remove it
//! ([`Agent::unlearn`](crate::Agent::unlearn)).

use std::collections::BTreeSet;

use lariat_core::BoxFuture;
use lariat_core::event::Learning;
use lariat_core::id::SessionId;
use lariat_core::model::SectionStability;

use super::{Section, SectionQuery, SectionSource};

/// The name of the section.
const NAME: &str = "learnings";
/// Maximum number of learnings in the section.
const MAX_LEARNINGS: usize = 5;
/// Maximum number of characters of one learning.
const MAX_CHARS: usize = 400;
/// Minimum length of a word: shorter words say little about the topic.
const MIN_WORD_CHARS: usize = 4;

/// A learning, and the session it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredLearning {
    /// The session that recorded the learning.
    pub session_id: SessionId,
    /// The learning.
    pub learning: Learning,
}

/// Provides the learnings of earlier sessions, for example from a store.
pub trait Learnings: Send + Sync {
    /// Returns all learnings that were not removed, newest first. Returns none if the store fails.
    fn learnings(&self) -> BoxFuture<'_, Vec<StoredLearning>>;
}

/// A section of the system prompt with learnings.
pub struct LearningsSection<L>(pub L);

impl<L: Learnings> SectionSource for LearningsSection<L> {
    fn sections(&self, query: SectionQuery) -> BoxFuture<'_, Vec<Section>> {
        Box::pin(async move {
            if let Some(sent) = query.sent_section(NAME) {
                return vec![Section::new(NAME, sent.place, &*sent.text).without_updates()];
            }
            let known = self.0.learnings().await;
            let lines: String = relevant(&known, &query.prompt).into_iter().map(line).collect();
            if lines.is_empty() {
                return Vec::new();
            }
            let text = format!(
                "# Learned in earlier sessions\nMay be out of date; check before you rely on it.\n{lines}"
            );
            vec![
                Section::new(NAME, SectionStability::SemiStatic, text)
                    .with_max_tokens(1_000)
                    .without_updates(),
            ]
        })
    }
}

/// Returns the learnings that share the most words with the task; newer ones first if they share equally
/// many.
fn relevant<'a>(known: &'a [StoredLearning], prompt: &str) -> Vec<&'a StoredLearning> {
    let prompt_words = words(prompt);
    let score = |learned: &StoredLearning| {
        let learning = &learned.learning;
        let texts = std::iter::once(&learning.text).chain(&learning.evidence).chain(&learning.tags);
        let learning_words: BTreeSet<String> = texts.flat_map(|text| words(text)).collect();
        learning_words.intersection(&prompt_words).count()
    };
    let mut scored: Vec<_> = known.iter().map(|learned| (score(learned), learned)).collect();
    scored.retain(|(score, _)| *score > 0);
    scored.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    scored.into_iter().take(MAX_LEARNINGS).map(|(_, learned)| learned).collect()
}

fn words(text: &str) -> BTreeSet<String> {
    let words =
        text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.chars().count() >= MIN_WORD_CHARS);
    words.map(str::to_lowercase).collect()
}

fn line(learned: &StoredLearning) -> String {
    let text: String = learned.learning.text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text: String = text.chars().take(MAX_CHARS).collect();
    format!("- {text} (learning {} of session {})\n", learned.learning.learning_id, learned.session_id)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn learned(id: &str, text: &str) -> StoredLearning {
        let learning = serde_json::from_value(json!({"learning_id": id, "text": text})).unwrap();
        StoredLearning { session_id: "s1".into(), learning }
    }

    #[test]
    fn learnings_that_share_the_most_words_come_first_and_unrelated_ones_are_left_out() {
        let known = [
            learned("a", "The parser needs the generator."),
            learned("b", "Deploy on Fridays only."),
            learned("c", "Tests of the parser need fixtures."),
        ];
        let found = relevant(&known, "Fix the PARSER tests, please");
        let ids: Vec<&str> = found.iter().map(|learned| &*learned.learning.learning_id).collect();
        assert_eq!(ids, ["c", "a"]);
        assert!(line(found[0]).contains("learning c of session s1"));
    }

    #[test]
    fn at_most_five_learnings_are_included() {
        let known: Vec<_> = (0..20).map(|n| learned(&n.to_string(), "parser")).collect();
        assert_eq!(relevant(&known, "parser").len(), 5);
    }
}
