//! Questions that wait for a user, and their answers.
//!
//! An approval, a question of the model, a plan, a used-up budget, an elicitation of a tool server and a login are
//! all an [`Ask`]. Invariants: an ask is durable before any client sees it; the first valid answer resolves it, and
//! later answers receive a conflict that names the winner; an answer must repeat the digest of what it answers.

use std::sync::Arc;

use lariat_core::budget::{BudgetLimits, BudgetRequest};
use lariat_core::id::ToolCallId;
use lariat_core::permission::{PermissionDecision, PermissionRequest};
use lariat_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{AskDigest, AskId, CommandId, Principal};

/// A question that waits for a user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Ask {
    /// Its id.
    pub id: AskId,
    /// What it asks.
    pub subject: AskSubject,
    /// The digest of the subject.
    pub digest: AskDigest,
    /// The answers that a client offers, in order. A client that knows the kind may offer its own wording.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<AskChoice>,
    /// When it was asked.
    #[cfg_attr(feature = "schema", schemars(with = "Value"))]
    pub asked_at: Timestamp,
    /// When it resolves by itself; `None` if it waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Value>"))]
    pub expires_at: Option<Timestamp>,
}

impl Ask {
    /// Creates an ask without choices that does not expire.
    pub const fn new(id: AskId, subject: AskSubject, digest: AskDigest, asked_at: Timestamp) -> Self {
        Self { id, subject, digest, choices: Vec::new(), asked_at, expires_at: None }
    }
}

/// What an ask is about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "camelCase")]
#[non_exhaustive]
pub enum AskSubject {
    /// A tool call needs approval.
    Approval {
        /// The request, with the summary, the danger and what an approval grants.
        #[cfg_attr(feature = "schema", schemars(with = "Value"))]
        request: Arc<PermissionRequest>,
    },
    /// The model asks the user.
    Question {
        /// The question.
        text: String,
        /// The form of the answer, as a JSON schema; free text without it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        schema: Option<Value>,
    },
    /// Plan mode queued changes.
    Plan {
        /// The tool calls of the changes.
        #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
        changes: Vec<ToolCallId>,
    },
    /// A budget is used up.
    Budget {
        /// The budget and the proposed increase.
        #[cfg_attr(feature = "schema", schemars(with = "Value"))]
        request: Arc<BudgetRequest>,
    },
    /// A tool server asks for input.
    Elicitation {
        /// The name of the server.
        server: String,
        /// Its message. Untrusted text.
        text: String,
        /// The form of the answer, as a JSON schema.
        schema: Value,
    },
    /// Somewhere a user must log in.
    Login {
        /// The service that needs it.
        service: String,
        /// The address to open.
        address: String,
    },
    /// A kind of a newer version. A client shows that it cannot answer it.
    #[serde(untagged)]
    Other(Map<String, Value>),
}

impl AskSubject {
    /// Returns the kind.
    pub const fn kind(&self) -> AskKind {
        match self {
            Self::Approval { .. } => AskKind::Approval,
            Self::Question { .. } => AskKind::Question,
            Self::Plan { .. } => AskKind::Plan,
            Self::Budget { .. } => AskKind::Budget,
            Self::Elicitation { .. } => AskKind::Elicitation,
            Self::Login { .. } => AskKind::Login,
            Self::Other(_) => AskKind::Other,
        }
    }
}

/// The kinds of asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum AskKind {
    /// A tool call.
    Approval,
    /// A question of the model.
    Question,
    /// The changes of plan mode.
    Plan,
    /// A used-up budget.
    Budget,
    /// Input for a tool server.
    Elicitation,
    /// A login.
    Login,
    /// A kind of a newer version.
    #[serde(other)]
    Other,
}

/// An answer that a client offers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct AskChoice {
    /// The text of the choice.
    pub label: String,
    /// What choosing it answers.
    pub answer: Answer,
}

impl AskChoice {
    /// Creates a choice.
    pub fn new(label: impl Into<String>, answer: Answer) -> Self {
        Self { label: label.into(), answer }
    }
}

/// The answer to an ask.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "camelCase")]
#[non_exhaustive]
pub enum Answer {
    /// Decides about a tool call.
    Approval {
        /// The decision, with its scope and the openings that it grants.
        #[cfg_attr(feature = "schema", schemars(with = "Value"))]
        decision: PermissionDecision,
    },
    /// Answers a question or an elicitation: text, or a value that fits the schema.
    Value {
        /// The answer.
        value: Value,
    },
    /// Decides about the changes of a plan. Changes in neither list stay queued.
    Plan {
        /// Changes to make.
        #[serde(default)]
        #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
        approved: Vec<ToolCallId>,
        /// Changes to discard.
        #[serde(default)]
        #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
        rejected: Vec<ToolCallId>,
    },
    /// Raises a budget by this much.
    Budget {
        /// The additional amounts.
        #[cfg_attr(feature = "schema", schemars(with = "Value"))]
        limits: BudgetLimits,
    },
    /// Declines.
    Decline {
        /// The reason, which the model receives.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// An answer of a newer version. A host refuses it.
    #[serde(untagged)]
    Other(Map<String, Value>),
}

impl Answer {
    /// Whether this answer can answer an ask of that kind. Everything may be declined.
    pub const fn fits(&self, kind: AskKind) -> bool {
        match self {
            Self::Approval { .. } => matches!(kind, AskKind::Approval),
            Self::Value { .. } => matches!(kind, AskKind::Question | AskKind::Elicitation | AskKind::Login),
            Self::Plan { .. } => matches!(kind, AskKind::Plan),
            Self::Budget { .. } => matches!(kind, AskKind::Budget),
            Self::Decline { .. } => true,
            Self::Other(_) => false,
        }
    }
}

/// How an ask ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct AskResolved {
    /// The ask.
    pub ask_id: AskId,
    /// How it ended.
    pub outcome: AnswerOutcome,
}

impl AskResolved {
    /// Creates the end of an ask.
    pub const fn new(ask_id: AskId, outcome: AnswerOutcome) -> Self {
        Self { ask_id, outcome }
    }
}

/// The ways in which an ask ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "camelCase")]
#[non_exhaustive]
pub enum AnswerOutcome {
    /// A client answered.
    Answered {
        /// The answer.
        answer: Answer,
        /// The user or program that answered.
        by: Principal,
        /// The command that carried the answer.
        command_id: CommandId,
    },
    /// The ask policy of the session answered, because no client was attached or the time was over.
    Policy {
        /// The answer.
        answer: Answer,
    },
    /// The run ended, so that the ask needs no answer any more.
    Withdrawn,
}

/// What happens to an ask when no client is attached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum AskPolicy {
    /// Decline at once and tell the model.
    #[default]
    Deny,
    /// Wait until a client answers. The status of the session says so.
    Wait,
}
