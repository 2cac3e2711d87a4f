//! Decides which thinking parameters each generation of Claude gets.
//!
//! A table lists the generations; model ids are parsed as Anthropic and other providers of Claude write them.
//! Sources: the SDK's `ThinkingTypes` and `EffortCapability`, and the provider's messages with status 400.
//! Invariant: a plan never contains parameters that the provider rejects together: a budget outside
//! `1024..max_tokens`, a temperature with thinking, a forced tool call with thinking.

use lariat_core::model::{ModelConfig, StreamConfig, ThinkingLevel, ToolChoice};
use serde_json::{Value, json};

/// Minimum thinking budget in tokens.
const MIN_BUDGET: u32 = 1024;
/// Tokens of the output limit that a budget leaves for the answer.
const ANSWER_TOKENS: u32 = 1024;

/// How a generation's requests control thinking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ThinkingForm {
    /// The model cannot think.
    None,
    /// `{type: enabled, budget_tokens}`.
    Budget,
    /// `{type: adaptive}` and an effort.
    Adaptive,
}

/// What a generation does if the request has no thinking parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DefaultThinking {
    /// It does not think.
    Off,
    /// It thinks, unless the request says `{type: disabled}`.
    On,
    /// It always thinks, and rejects `disabled`.
    Always,
}

/// Whether a tool call can be forced (`tool_choice` of `any` or `tool`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ForcedChoice {
    /// Only without thinking: "Thinking may not be enabled when tool_choice forces tool use."
    WithoutThinking,
    /// Always.
    Yes,
    /// Never: the provider responds with status 400.
    No,
}

/// One row of the table.
#[derive(Clone, Copy, Debug)]
struct Generation {
    /// Families that the row applies to; empty for all.
    families: &'static [&'static str],
    /// First version that the row applies to.
    since: (u32, u32),
    form: ThinkingForm,
    default_thinking: DefaultThinking,
    forced_choice: ForcedChoice,
    /// Whether the model accepts a temperature at all.
    accepts_temperature: bool,
    /// Highest effort, at Anthropic and on Bedrock.
    max_effort: (&'static str, &'static str),
}

/// The generations; the first matching row wins. A version that is not known yet matches the first row:
/// adaptive, and nothing that any model rejects.
const GENERATIONS: &[Generation] = &[
    Generation {
        since: (5, 6),
        default_thinking: DefaultThinking::Always,
        forced_choice: ForcedChoice::No,
        ..ADAPTIVE
    },
    Generation { families: &["haiku"], since: (5, 0), default_thinking: DefaultThinking::On, ..ADAPTIVE },
    Generation {
        since: (5, 1),
        default_thinking: DefaultThinking::Always,
        forced_choice: ForcedChoice::No,
        ..ADAPTIVE
    },
    Generation {
        families: &["fable", "mythos"],
        since: (0, 0),
        default_thinking: DefaultThinking::Always,
        forced_choice: ForcedChoice::Yes,
        ..ADAPTIVE
    },
    Generation {
        families: &["opus"],
        since: (5, 0),
        default_thinking: DefaultThinking::On,
        max_effort: ("max", "max"),
        ..ADAPTIVE
    },
    Generation { since: (5, 0), default_thinking: DefaultThinking::On, ..ADAPTIVE },
    Generation { since: (4, 7), ..ADAPTIVE },
    Generation { since: (4, 6), accepts_temperature: true, max_effort: ("max", "max"), ..ADAPTIVE },
    Generation { since: (3, 7), form: ThinkingForm::Budget, ..PLAIN },
    PLAIN,
];

const ADAPTIVE: Generation = Generation {
    families: &[],
    since: (0, 0),
    form: ThinkingForm::Adaptive,
    default_thinking: DefaultThinking::Off,
    forced_choice: ForcedChoice::WithoutThinking,
    accepts_temperature: false,
    max_effort: ("max", "xhigh"),
};

const PLAIN: Generation = Generation {
    form: ThinkingForm::None,
    accepts_temperature: true,
    forced_choice: ForcedChoice::WithoutThinking,
    ..ADAPTIVE
};

/// The provider that serves the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClaudeProvider {
    /// Anthropic, or a provider that speaks its protocol.
    Anthropic,
    /// Amazon Bedrock.
    #[cfg_attr(not(feature = "bedrock"), expect(dead_code, reason = "only Bedrock uses it"))]
    Bedrock,
}

/// Whether the end of the conversation allows a thinking budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConversationEnd {
    /// A budget is allowed.
    Free,
    /// The conversation ends in results of tool calls made without thinking, by another model or with
    /// thinking off. With a budget the provider responds: "Expected `thinking` or `redacted_thinking`, but
    /// found `tool_use`".
    WithoutThinking,
}

/// The parameters for one request.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ThinkingPlan {
    /// The field `thinking`.
    pub(crate) thinking: Option<Value>,
    /// The field `effort`, for adaptive thinking.
    pub(crate) effort: Option<&'static str>,
    /// The temperature, if the model accepts one now.
    pub(crate) temperature: Option<f64>,
    /// The tool choice that the provider accepts.
    pub(crate) tool_choice: ToolChoice,
}

/// Chooses the parameters for a request. A forced tool call takes precedence over thinking: if the model does
/// not allow both, thinking is off for this request. If thinking cannot be turned off, the tool choice
/// becomes automatic.
pub(crate) fn plan(
    request: &StreamConfig,
    max_tokens: u32,
    provider: ClaudeProvider,
    conversation_end: ConversationEnd,
) -> ThinkingPlan {
    let generation = generation(&request.model_config, provider);
    let level = request.thinking_level;
    let mut tool_choice = request.tool_choice.clone();
    let mut wanted = level != ThinkingLevel::Off;
    if matches!(tool_choice, ToolChoice::Required | ToolChoice::Tool(_)) {
        match generation.forced_choice {
            ForcedChoice::WithoutThinking => wanted = false,
            ForcedChoice::Yes => {}
            ForcedChoice::No => tool_choice = ToolChoice::Auto,
        }
    }
    let thinking = match (generation.form, wanted) {
        (ThinkingForm::None, _) | (ThinkingForm::Budget, false) => None,
        (ThinkingForm::Budget, true) if conversation_end == ConversationEnd::WithoutThinking => None,
        (ThinkingForm::Budget, true) => budget(level, max_tokens)
            .map(|budget_tokens| json!({"type": "enabled", "budget_tokens": budget_tokens})),
        // The newer generations omit the thinking text unless the request asks for it.
        (ThinkingForm::Adaptive, true) => Some(json!({"type": "adaptive", "display": "summarized"})),
        (ThinkingForm::Adaptive, false) => match generation.default_thinking {
            DefaultThinking::On => Some(json!({"type": "disabled"})),
            DefaultThinking::Off | DefaultThinking::Always => None,
        },
    };
    let adaptive = generation.form == ThinkingForm::Adaptive && wanted;
    let thinks = adaptive || (generation.form == ThinkingForm::Budget && thinking.is_some());
    let temperature =
        request.temperature.filter(|_| generation.accepts_temperature && !thinks).and_then(decimal);
    let effort = adaptive.then(|| effort(level, generation, provider));
    ThinkingPlan { thinking, effort, temperature, tool_choice }
}

/// Whether a model id names a Claude model, at any provider.
#[cfg_attr(not(feature = "bedrock"), expect(dead_code, reason = "only Bedrock uses it"))]
pub(crate) fn is_claude(id: &str) -> bool {
    claude(id).is_some()
}

/// Whether a Bedrock model id names a Claude model that supports cache points: 3.7 and later, and Haiku 3.5.
#[cfg_attr(not(feature = "bedrock"), expect(dead_code, reason = "only Bedrock uses it"))]
pub(crate) fn caches_on_bedrock(id: &str) -> bool {
    match claude(id) {
        Some(("haiku", version)) => version >= (3, 5),
        Some((_, version)) => version >= (3, 7),
        None => false,
    }
}

fn generation(model: &ModelConfig, provider: ClaudeProvider) -> Generation {
    let form = match model.compat.get("thinking").and_then(Value::as_str) {
        Some("adaptive") => Some(ThinkingForm::Adaptive),
        Some("budget") => Some(ThinkingForm::Budget),
        Some("none") => Some(ThinkingForm::None),
        _ => None,
    };
    let found = match claude(&model.id) {
        Some((family, version)) => GENERATIONS.iter().copied().find(|generation| {
            version >= generation.since
                && (generation.families.is_empty() || generation.families.contains(&family))
        }),
        // Other makers' models behind Anthropic's protocol use the older form; on Bedrock each has its own.
        None if model.reasoning && provider == ClaudeProvider::Anthropic => {
            Some(Generation { form: ThinkingForm::Budget, ..PLAIN })
        }
        None => None,
    };
    let found = found.unwrap_or(PLAIN);
    Generation { form: form.unwrap_or(found.form), ..found }
}

/// Parses family and version from a Claude model id of any provider: `claude-3-7-sonnet-20250219`,
/// `claude-opus-4-6`, `us.anthropic.claude-sonnet-4-5-20250929-v1:0`, `anthropic/claude-haiku-4.5`. An id
/// without a version is treated as the newest.
fn claude(id: &str) -> Option<(&str, (u32, u32))> {
    const NEWEST: u32 = u32::MAX;
    let (_, rest) = id.split_once("claude")?;
    let mut family = "";
    let mut numbers = Vec::new();
    for part in rest.split(['-', '.', '_', '@', ':', '/']).filter(|part| !part.is_empty()) {
        let digits = part.strip_prefix('v').unwrap_or(part);
        match digits.parse::<u32>() {
            // A release (`-v1:0`) or a date ends the version, but in `claude-v2` the `v2` is the version.
            Ok(number) if part.starts_with('v') && numbers.is_empty() => {
                numbers.push(number);
                break;
            }
            Ok(_) if part.starts_with('v') || part.len() > 2 => break,
            Ok(number) => numbers.push(number),
            Err(_) if family.is_empty() => family = part,
            Err(_) => {}
        }
    }
    let version = match numbers.as_slice() {
        [] => (NEWEST, 0),
        // `claude-opus-41`: some providers write 4.1 like this.
        [both] if *both > 9 => (both / 10, both % 10),
        [major] => (*major, 0),
        [major, minor, ..] => (*major, *minor),
    };
    Some((family, version))
}

const fn effort(level: ThinkingLevel, generation: Generation, provider: ClaudeProvider) -> &'static str {
    match level {
        ThinkingLevel::Off | ThinkingLevel::Minimal | ThinkingLevel::Low => "low",
        ThinkingLevel::Medium => "medium",
        ThinkingLevel::High => "high",
        ThinkingLevel::Max => match provider {
            ClaudeProvider::Anthropic => generation.max_effort.0,
            ClaudeProvider::Bedrock => generation.max_effort.1,
        },
    }
}

/// Returns the thinking budget in tokens; `None` if the output limit has no room for thinking and an answer.
fn budget(level: ThinkingLevel, max_tokens: u32) -> Option<u32> {
    let wanted = match level {
        ThinkingLevel::Off => return None,
        ThinkingLevel::Minimal => MIN_BUDGET,
        ThinkingLevel::Low => 4 * 1024,
        ThinkingLevel::Medium => 8 * 1024,
        ThinkingLevel::High => 16 * 1024,
        ThinkingLevel::Max => 32 * 1024,
    };
    let budget = wanted.min(max_tokens.saturating_sub(ANSWER_TOKENS));
    (budget >= MIN_BUDGET).then_some(budget)
}

/// Limits a temperature to the accepted range, and keeps the digits as written (0.7, not 0.699999988).
fn decimal(temperature: f32) -> Option<f64> {
    let exact: f64 = temperature.to_string().parse().ok()?;
    exact.is_finite().then(|| exact.clamp(0.0, 1.0))
}

#[cfg(test)]
#[path = "thinking_tests.rs"]
mod tests;
