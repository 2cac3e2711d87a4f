//! Defines a loop: the task, who acts and who judges, and the limits.

use std::fmt;
use std::time::Duration;

use lariat_core::nearest::nearest;
use lariat_core::usage::Cost;
use serde::{Deserialize, Serialize};

use super::external::{self, ExternalAgent};

/// Maximum number of iterations, unless the user sets another.
pub const DEFAULT_ITERATIONS: u64 = 10;
/// Maximum time of a loop, unless the settings or the user set another.
pub const DEFAULT_TIME: Duration = Duration::from_secs(60 * 60);
/// Maximum cost of a loop in US dollars, unless the settings or the user set another, or a price is unknown.
pub const DEFAULT_COST_USD: f64 = 10.0;

/// An actor or a critic. It is written as users name it on the command line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
#[non_exhaustive]
pub enum LoopAgent {
    /// Lariat, with this model; `None` for the model of the settings.
    Lariat {
        /// The name of the model.
        model: Option<String>,
    },
    /// Another agent, started as a program.
    External(ExternalAgent),
}

/// An agent that is not known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown agent `{name}`{suggestion} (known: {known}, a command with {{prompt}}, acp:COMMAND)")]
pub struct UnknownAgent {
    name: String,
    suggestion: String,
    known: String,
}

impl LoopAgent {
    /// Parses `lariat`, `lariat:MODEL`, the name of a known agent with or without a model, `headless:` with such a name, a command
    /// with `{prompt}`, or `acp:` with a command.
    ///
    /// # Errors
    /// If no agent has this name.
    pub fn parse(text: &str) -> Result<Self, UnknownAgent> {
        if let Some(command) = ExternalAgent::of_command(text) {
            return Ok(Self::External(command));
        }
        let (name, model) = match text.split_once(':') {
            Some((name, model)) => (name, Some(model.to_owned()).filter(|model| !model.is_empty())),
            None => (text, None),
        };
        if name == "lariat" {
            return Ok(Self::Lariat { model });
        }
        if let Some(known) = ExternalAgent::known(text) {
            return Ok(Self::External(known));
        }
        let names = || std::iter::once("lariat").chain(external::names());
        let suggestion = nearest(name, names()).map(|meant| format!("; did you mean `{meant}`?"));
        let known = names().collect::<Vec<_>>().join(", ");
        Err(UnknownAgent { name: text.to_owned(), suggestion: suggestion.unwrap_or_default(), known })
    }

    /// The name for users and session files.
    pub fn name(&self) -> &str {
        match self {
            Self::Lariat { .. } => "Lariat",
            Self::External(agent) => agent.label(),
        }
    }

    /// The model that the user chose for it.
    pub fn model(&self) -> Option<&str> {
        match self {
            Self::Lariat { model } => model.as_deref(),
            Self::External(agent) => agent.model(),
        }
    }

    pub(crate) const fn is_lariat(&self) -> bool {
        matches!(self, Self::Lariat { .. })
    }
}

impl Default for LoopAgent {
    fn default() -> Self {
        Self::Lariat { model: None }
    }
}

impl fmt::Display for LoopAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lariat { model: None } => f.write_str("lariat"),
            Self::Lariat { model: Some(model) } => write!(f, "lariat:{model}"),
            Self::External(agent) => agent.fmt(f),
        }
    }
}

impl TryFrom<String> for LoopAgent {
    type Error = UnknownAgent;

    fn try_from(text: String) -> Result<Self, UnknownAgent> {
        Self::parse(&text)
    }
}

impl From<LoopAgent> for String {
    fn from(agent: LoopAgent) -> Self {
        agent.to_string()
    }
}

/// What a loop is asked to do. The session records it, so that a resumed loop has the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LoopSettings {
    /// The task.
    pub prompt: String,
    /// Who works.
    #[serde(default)]
    pub actor: LoopAgent,
    /// Who judges.
    #[serde(default)]
    pub critic: LoopAgent,
    /// Maximum number of iterations.
    pub max_iterations: u64,
    /// Maximum time of all iterations together.
    pub max_time: Duration,
    /// Maximum cost of all iterations together; `None` for no limit.
    #[serde(default)]
    pub max_cost: Option<Cost>,
    /// A command that runs before each review. The critic sees its result, and a task is not done while it fails.
    #[serde(default)]
    pub check: Option<String>,
    /// The names of variables that other agents get, in addition to those that Lariat knows they need.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<String>,
}

impl LoopSettings {
    /// A loop in which Lariat works and judges, with the default limits on iterations and time.
    pub fn new(prompt: impl Into<String>) -> Self {
        Self {
            prompt: prompt.into(),
            actor: LoopAgent::default(),
            critic: LoopAgent::default(),
            max_iterations: DEFAULT_ITERATIONS,
            max_time: DEFAULT_TIME,
            max_cost: None,
            check: None,
            variables: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    //! Tests of names of agents.

    use super::*;

    #[test]
    fn agents_are_parsed_and_printed_by_name() {
        for text in [
            "lariat",
            "lariat:anthropic/x",
            "claude",
            "claude:opus",
            "codex",
            "headless:gemini:flash",
            "./agent.sh {prompt}",
            "acp:my-agent --acp",
        ] {
            assert_eq!(LoopAgent::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(LoopAgent::parse("claude:opus").unwrap().model(), Some("opus"));
        assert_eq!(LoopAgent::parse("claude").unwrap().name(), "Claude Code");
    }

    #[test]
    fn unknown_agent_names_the_nearest_one() {
        let error = LoopAgent::parse("cluade").unwrap_err().to_string();
        assert!(error.contains("unknown agent `cluade`; did you mean `claude`?"), "{error}");
    }
}
