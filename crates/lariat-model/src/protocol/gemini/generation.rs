//! Describes how Gemini's models differ, as a table.
//!
//! A row is chosen by the model's id; the first match wins. Models newer than the table get what all models
//! since Gemini 3 share. Invariant: a request never contains a budget or a level that the model rejects; an
//! unsupported one is replaced by the next that is supported.

use lariat_core::model::ThinkingLevel;
use serde_json::{Map, Value};

/// What a model supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ModelTraits {
    /// How thinking is controlled.
    thinking: ThinkingControl,
    /// Whether the model accepts a temperature.
    pub(super) sampling: Sampling,
    /// Which rules of the protocol apply to the model.
    pub(super) era: Era,
}

/// How a model's thinking is controlled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ThinkingControl {
    /// The model cannot think and rejects thinking parameters.
    Never,
    /// By a number of tokens within a range; zero turns thinking off, if `off` is set.
    Budget { min: u32, max: u32, off: bool },
    /// By one of these levels, weakest first. The model always thinks.
    Levels(&'static [GeminiLevel]),
}

/// Whether a model accepts sampling parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sampling {
    Free,
    Fixed,
}

/// Before or since Gemini 3, which introduced tool call ids, required signatures, images inside tool results,
/// and structured output together with tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Era {
    Early,
    Modern,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum GeminiLevel {
    Minimal,
    Low,
    Medium,
    High,
}

impl GeminiLevel {
    const fn word(self) -> &'static str {
        match self {
            Self::Minimal => "MINIMAL",
            Self::Low => "LOW",
            Self::Medium => "MEDIUM",
            Self::High => "HIGH",
        }
    }
}

const FOUR: &[GeminiLevel] =
    &[GeminiLevel::Minimal, GeminiLevel::Low, GeminiLevel::Medium, GeminiLevel::High];
const THREE: &[GeminiLevel] = &[GeminiLevel::Low, GeminiLevel::Medium, GeminiLevel::High];

const fn early(thinking: ThinkingControl) -> ModelTraits {
    ModelTraits { thinking, sampling: Sampling::Free, era: Era::Early }
}

const fn modern(levels: &'static [GeminiLevel], sampling: Sampling) -> ModelTraits {
    ModelTraits { thinking: ThinkingControl::Levels(levels), sampling, era: Era::Modern }
}

/// Part of the model id, and what the model supports. Budgets and levels are from Google's guide to thinking.
const TABLE: &[(&str, ModelTraits)] = &[
    ("gemini-1", early(ThinkingControl::Never)),
    ("gemini-2.0", early(ThinkingControl::Never)),
    ("gemini-exp", early(ThinkingControl::Never)),
    ("learnlm", early(ThinkingControl::Never)),
    ("gemma-2", early(ThinkingControl::Never)),
    ("gemma-3", early(ThinkingControl::Never)),
    ("gemma-4", early(ThinkingControl::Levels(&[GeminiLevel::Minimal, GeminiLevel::High]))),
    ("gemini-2.5-flash-image", early(ThinkingControl::Never)),
    ("gemini-2.5-flash-lite", early(ThinkingControl::Budget { min: 512, max: 24_576, off: true })),
    ("gemini-2.5-flash", early(ThinkingControl::Budget { min: 1, max: 24_576, off: true })),
    ("gemini-2.5", early(ThinkingControl::Budget { min: 128, max: 32_768, off: false })),
    ("gemini-3-pro", modern(&[GeminiLevel::Low, GeminiLevel::High], Sampling::Free)),
    ("gemini-3-flash", modern(FOUR, Sampling::Free)),
    ("gemini-3.1-flash", modern(FOUR, Sampling::Free)),
    ("gemini-3.5-flash-lite", modern(FOUR, Sampling::Fixed)),
    ("gemini-3.5-flash", modern(FOUR, Sampling::Free)),
    ("gemini-3.6-flash", modern(FOUR, Sampling::Fixed)),
    ("gemini-3.7-flash", modern(THREE, Sampling::Fixed)),
    ("gemini-3.8-flash", modern(THREE, Sampling::Fixed)),
];
/// For newer models, and for aliases that follow the newest.
const NEWEST: ModelTraits = modern(THREE, Sampling::Free);

/// Returns what the model with this id supports.
pub(super) fn of(id: &str) -> ModelTraits {
    let id = id.to_ascii_lowercase();
    let row = TABLE.iter().find(|(part, _)| id.contains(part));
    row.map_or(NEWEST, |(_, traits)| *traits)
}

impl ModelTraits {
    /// Returns the thinking configuration for a level; `None` if the model accepts none.
    pub(super) fn thinking(&self, level: ThinkingLevel) -> Option<Value> {
        let mut config = Map::new();
        match self.thinking {
            ThinkingControl::Never => return None,
            ThinkingControl::Budget { min, max, off } => {
                let budget = match level {
                    ThinkingLevel::Off if off => 0,
                    ThinkingLevel::Off => min,
                    ThinkingLevel::Minimal => 512.clamp(min, max),
                    ThinkingLevel::Low => 2048.clamp(min, max),
                    ThinkingLevel::Medium => 8192.clamp(min, max),
                    ThinkingLevel::High => 24_576.clamp(min, max),
                    ThinkingLevel::Max => max,
                };
                config.insert("thinkingBudget".to_owned(), budget.into());
            }
            ThinkingControl::Levels(levels) => {
                let wanted = match level {
                    ThinkingLevel::Off | ThinkingLevel::Minimal => GeminiLevel::Minimal,
                    ThinkingLevel::Low => GeminiLevel::Low,
                    ThinkingLevel::Medium => GeminiLevel::Medium,
                    ThinkingLevel::High | ThinkingLevel::Max => GeminiLevel::High,
                };
                let level = levels.iter().find(|level| **level >= wanted).or(levels.last())?;
                config.insert("thinkingLevel".to_owned(), level.word().into());
            }
        }
        if level != ThinkingLevel::Off {
            config.insert("includeThoughts".to_owned(), true.into());
        }
        Some(Value::Object(config))
    }
}

#[cfg(test)]
#[path = "generation_tests.rs"]
mod tests;
