//! The questions of a session, with their ids and digests.
//!
//! Invariant: the digest covers everything that a person sees, so that an answer cannot approve something else.

use std::sync::Arc;

use lariat_api::{Answer, Ask, AskChoice, AskDigest, AskId, AskSubject};
use lariat_core::budget::BudgetRequest;
use lariat_core::id::ToolCallId;
use lariat_core::permission::{PermissionDecision, PermissionRequest};
use lariat_core::session::Question;
use lariat_core::time::Timestamp;

/// Returns the id under which clients answer a question.
pub(crate) fn ask_id(question: Question) -> AskId {
    match question {
        Question::Plan => AskId::new("plan"),
        Question::Request(id) => AskId::new(id.to_string()),
        // A question of a newer version; no client of this one answers it.
        _ => AskId::new("unknown"),
    }
}

pub(crate) fn approval(request: &Arc<PermissionRequest>, asked_at: Timestamp) -> Ask {
    let mut ask = new_ask(
        ask_id(Question::Request(request.id)),
        AskSubject::Approval { request: Arc::clone(request) },
        asked_at,
    );
    let choice = |label: &str, decision| AskChoice::new(label, Answer::Approval { decision });
    ask.choices.push(choice("allow once", PermissionDecision::Allow));
    if request.remember.is_some() {
        ask.choices.push(choice("allow for this session", PermissionDecision::AllowSession));
        ask.choices.push(choice("always allow in this project", PermissionDecision::AllowAlways));
    }
    ask.choices.push(choice("deny", PermissionDecision::Deny { reason: None }));
    ask
}

pub(crate) fn budget(request: &Arc<BudgetRequest>, asked_at: Timestamp) -> Ask {
    let subject = AskSubject::Budget { request: Arc::clone(request) };
    let mut ask = new_ask(ask_id(Question::Request(request.id)), subject, asked_at);
    ask.choices.push(AskChoice::new("extend as proposed", Answer::Budget { limits: request.proposed }));
    ask.choices.push(AskChoice::new("stop here", Answer::Decline { reason: None }));
    ask
}

/// Plan mode asks once for all changes that wait.
pub(crate) fn plan(changes: Vec<ToolCallId>, asked_at: Timestamp) -> Ask {
    let approve = Answer::Plan { approved: changes.clone(), rejected: Vec::new() };
    let reject = Answer::Plan { approved: Vec::new(), rejected: changes.clone() };
    let mut ask = new_ask(ask_id(Question::Plan), AskSubject::Plan { changes }, asked_at);
    ask.choices.push(AskChoice::new("carry out all changes", approve));
    ask.choices.push(AskChoice::new("reject all changes", reject));
    ask
}

fn new_ask(id: AskId, subject: AskSubject, asked_at: Timestamp) -> Ask {
    let digest = digest(&subject);
    Ask::new(id, subject, digest, asked_at)
}

fn digest(subject: &AskSubject) -> AskDigest {
    AskDigest::new(json_digest(subject))
}

/// A digest of a value: the same value has the same digest in every process.
pub(crate) fn json_digest(value: &impl serde::Serialize) -> String {
    // A value of the protocol is always JSON. If it were not, the empty digest would match no other.
    let json = serde_json::to_value(value).unwrap_or_default().to_string();
    format!("blake3:{}", blake3::hash(json.as_bytes()).to_hex())
}
