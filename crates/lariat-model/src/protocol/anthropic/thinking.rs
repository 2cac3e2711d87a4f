//! What each generation of Claude takes for thinking, as data.
//!
//! Owns the table and the reading of model ids, on Anthropic's own service and on others that carry the models. Sources:
//! the SDK's `ThinkingTypes` and `EffortCapability`, and the service's own words when it answers 400.
//! Invariant: a plan never holds two things that the service rejects together: a budget outside `1024..max_tokens`, a
//! temperature with thinking, a forced tool call with thinking.

use lariat_core::model::{ModelConfig, StreamConfig, ThinkingLevel, ToolChoice};
use serde_json::{Value, json};

/// Fewest tokens a thinking budget may have.
const LEAST_BUDGET: u32 = 1024;
/// Tokens of the output limit that a budget leaves for the answer.
const ANSWER: u32 = 1024;

/// How a generation is told to think.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Not at all: it cannot.
    None,
    /// `{type: enabled, budget_tokens}`.
    Budget,
    /// `{type: adaptive}` and an effort.
    Adaptive,
}

/// What a generation does when nothing is said about thinking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Silence {
    /// It does not think.
    Off,
    /// It thinks, unless told `{type: disabled}`.
    On,
    /// It thinks, and rejects `disabled`.
    Always,
}

/// Whether a tool call can be forced (`tool_choice` of `any` or `tool`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Forced {
    /// Only while it does not think: "Thinking may not be enabled when tool_choice forces tool use."
    WithoutThinking,
    /// Yes.
    Yes,
    /// No: 400.
    No,
}

/// One row of the table.
#[derive(Clone, Copy, Debug)]
struct Generation {
    /// Families it is about; empty for all.
    families: &'static [&'static str],
    /// First version it is about.
    since: (u32, u32),
    form: Form,
    silence: Silence,
    forced: Forced,
    /// Whether it takes a temperature at all.
    sampling: bool,
    /// Highest effort, on Anthropic's service and on Bedrock.
    most: (&'static str, &'static str),
}

/// The generations; the first row that fits counts. A version that is not known yet fits the first one: adaptive,
/// and nothing that any model rejects.
const GENERATIONS: &[Generation] = &[
    Generation { since: (5, 6), silence: Silence::Always, forced: Forced::No, ..ADAPTIVE },
    Generation { families: &["haiku"], since: (5, 0), silence: Silence::On, ..ADAPTIVE },
    Generation { since: (5, 1), silence: Silence::Always, forced: Forced::No, ..ADAPTIVE },
    Generation {
        families: &["fable", "mythos"],
        since: (0, 0),
        silence: Silence::Always,
        forced: Forced::Yes,
        ..ADAPTIVE
    },
    Generation { families: &["opus"], since: (5, 0), silence: Silence::On, most: ("max", "max"), ..ADAPTIVE },
    Generation { since: (5, 0), silence: Silence::On, ..ADAPTIVE },
    Generation { since: (4, 7), ..ADAPTIVE },
    Generation { since: (4, 6), sampling: true, most: ("max", "max"), ..ADAPTIVE },
    Generation { since: (3, 7), form: Form::Budget, ..PLAIN },
    PLAIN,
];

const ADAPTIVE: Generation = Generation {
    families: &[],
    since: (0, 0),
    form: Form::Adaptive,
    silence: Silence::Off,
    forced: Forced::WithoutThinking,
    sampling: false,
    most: ("max", "xhigh"),
};

const PLAIN: Generation =
    Generation { form: Form::None, sampling: true, forced: Forced::WithoutThinking, ..ADAPTIVE };

/// Who carries the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carrier {
    /// Anthropic's own service, or one that speaks its protocol.
    Anthropic,
    /// Amazon Bedrock.
    Bedrock,
}

/// Whether the conversation's end allows a thinking budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tail {
    /// Yes.
    Free,
    /// It ends in results of calls that were made without thinking, by another model or with thinking off. With a
    /// budget: "Expected `thinking` or `redacted_thinking`, but found `tool_use`".
    Unthought,
}

/// What goes into the request.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Plan {
    /// The field `thinking`.
    pub(crate) thinking: Option<Value>,
    /// The effort.
    pub(crate) effort: Option<&'static str>,
    /// The temperature.
    pub(crate) temperature: Option<f64>,
    /// The tool choice that the service takes.
    pub(crate) tool_choice: ToolChoice,
}

/// What to send for a request. A forced tool call weighs more than thinking: where both do not go together, thinking is
/// off for this request. Where thinking cannot be off, the model chooses.
pub(crate) fn plan(request: &StreamConfig, max_tokens: u32, carrier: Carrier, tail: Tail) -> Plan {
    let generation = generation(&request.model_config, carrier);
    let level = request.thinking_level;
    let mut tool_choice = request.tool_choice.clone();
    let mut wanted = level != ThinkingLevel::Off;
    if matches!(tool_choice, ToolChoice::Required | ToolChoice::Tool(_)) {
        match generation.forced {
            Forced::WithoutThinking => wanted = false,
            Forced::Yes => {}
            Forced::No => tool_choice = ToolChoice::Auto,
        }
    }
    let thinking = match (generation.form, wanted) {
        (Form::None, _) | (Form::Budget, false) => None,
        (Form::Budget, true) if tail == Tail::Unthought => None,
        (Form::Budget, true) => budget(level, max_tokens)
            .map(|budget_tokens| json!({"type": "enabled", "budget_tokens": budget_tokens})),
        // The newer generations leave the words out unless they are asked for.
        (Form::Adaptive, true) => Some(json!({"type": "adaptive", "display": "summarized"})),
        (Form::Adaptive, false) => match generation.silence {
            Silence::On => Some(json!({"type": "disabled"})),
            Silence::Off | Silence::Always => None,
        },
    };
    let adaptive = generation.form == Form::Adaptive && wanted;
    let thinks = adaptive || (generation.form == Form::Budget && thinking.is_some());
    let temperature = request.temperature.filter(|_| generation.sampling && !thinks).and_then(decimal);
    let effort = adaptive.then(|| effort(level, generation, carrier));
    Plan { thinking, effort, temperature, tool_choice }
}

/// Whether an id names a Claude, on any service.
pub(crate) fn is_claude(id: &str) -> bool {
    claude(id).is_some()
}

/// Whether a Bedrock model id is a Claude that takes cache points: 3.7 and later, and Haiku 3.5.
pub(crate) fn caches_on_bedrock(id: &str) -> bool {
    match claude(id) {
        Some(("haiku", version)) => version >= (3, 5),
        Some((_, version)) => version >= (3, 7),
        None => false,
    }
}

fn generation(model: &ModelConfig, carrier: Carrier) -> Generation {
    let form = match model.compat.get("thinking").and_then(Value::as_str) {
        Some("adaptive") => Some(Form::Adaptive),
        Some("budget") => Some(Form::Budget),
        Some("none") => Some(Form::None),
        _ => None,
    };
    let found = match claude(&model.id) {
        Some((family, version)) => GENERATIONS.iter().copied().find(|generation| {
            version >= generation.since
                && (generation.families.is_empty() || generation.families.contains(&family))
        }),
        // Other vendors' models behind Anthropic's protocol know the older form; on Bedrock each has its own.
        None if model.reasoning && carrier == Carrier::Anthropic => {
            Some(Generation { form: Form::Budget, ..PLAIN })
        }
        None => None,
    };
    let found = found.unwrap_or(PLAIN);
    Generation { form: form.unwrap_or(found.form), ..found }
}

/// Family and version of a Claude, by its id on any service: `claude-3-7-sonnet-20250219`, `claude-opus-4-6`,
/// `us.anthropic.claude-sonnet-4-5-20250929-v1:0`, `anthropic/claude-haiku-4.5`. Without a version it is the newest.
fn claude(id: &str) -> Option<(&str, (u32, u32))> {
    const NEWEST: u32 = u32::MAX;
    let (_, rest) = id.split_once("claude")?;
    let mut family = "";
    let mut numbers = Vec::new();
    for part in rest.split(['-', '.', '_', '@', ':', '/']).filter(|part| !part.is_empty()) {
        let digits = part.strip_prefix('v').unwrap_or(part);
        match digits.parse::<u32>() {
            // A release (`-v1:0`) or a date ends the version; `claude-v2` is one.
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
        // `claude-opus-41`, as some services write 4.1.
        [both] if *both > 9 => (both / 10, both % 10),
        [major] => (*major, 0),
        [major, minor, ..] => (*major, *minor),
    };
    Some((family, version))
}

const fn effort(level: ThinkingLevel, generation: Generation, carrier: Carrier) -> &'static str {
    match level {
        ThinkingLevel::Off | ThinkingLevel::Minimal | ThinkingLevel::Low => "low",
        ThinkingLevel::Medium => "medium",
        ThinkingLevel::High => "high",
        ThinkingLevel::Max => match carrier {
            Carrier::Anthropic => generation.most.0,
            Carrier::Bedrock => generation.most.1,
        },
    }
}

/// Tokens to think with; `None` when the output limit has no room for thinking and an answer.
fn budget(level: ThinkingLevel, max_tokens: u32) -> Option<u32> {
    let wanted = match level {
        ThinkingLevel::Off => return None,
        ThinkingLevel::Minimal => LEAST_BUDGET,
        ThinkingLevel::Low => 4 * 1024,
        ThinkingLevel::Medium => 8 * 1024,
        ThinkingLevel::High => 16 * 1024,
        ThinkingLevel::Max => 32 * 1024,
    };
    let budget = wanted.min(max_tokens.saturating_sub(ANSWER));
    (budget >= LEAST_BUDGET).then_some(budget)
}

/// A temperature within what the service takes, with the digits it was written with (0.7, not 0.699999988).
fn decimal(temperature: f32) -> Option<f64> {
    let exact: f64 = temperature.to_string().parse().ok()?;
    exact.is_finite().then(|| exact.clamp(0.0, 1.0))
}

#[cfg(test)]
#[path = "thinking_tests.rs"]
mod tests;
