//! The questions of a session, with their ids and digests.
//!
//! Invariant: the digest covers everything that a user sees, so that an answer cannot approve something else.

use std::sync::Arc;

use lariat_api::{Answer, Ask, AskChoice, AskDigest, AskId, AskSubject};
use lariat_core::budget::BudgetRequest;
use lariat_core::id::ToolCallId;
use lariat_core::permission::{PermissionDecision, PermissionRequest, UserQuestion};
use lariat_core::session::Question;
use lariat_core::time::Timestamp;
use lariat_runtime::{Plan, PlannedChange};
use serde_json::Value;

/// Starts the digest of a plan with its previews, so that it is not taken for the digest of an ask.
const REVIEWED: &str = "plan:";

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
    if let Some(question) = &request.question {
        return user_question(request, question, asked_at);
    }
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

fn user_question(request: &PermissionRequest, question: &UserQuestion, asked_at: Timestamp) -> Ask {
    let text = match request.agent_path() {
        Some(path) => format!("The sub-agent {path} asks: {}", question.text),
        None => question.text.clone(),
    };
    let subject = AskSubject::Question { text, schema: None };
    let mut ask = new_ask(ask_id(Question::Request(request.id)), subject, asked_at);
    let choice = |option: &String| {
        let value = Value::from(option.as_str());
        AskChoice::new(option.as_str(), Answer::Value { value })
    };
    ask.choices.extend(question.options.iter().map(choice));
    ask.choices.push(AskChoice::new("decline to answer", Answer::Decline { reason: None }));
    // The digest must cover the options too: they are what the user sees.
    ask.digest = AskDigest::new(json_digest(&(&ask.subject, &question.options)));
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

/// Returns the digest of a plan with what each change would do now. An answer with this digest applies only if all of it
/// is unchanged.
pub fn plan_digest(plan: &Plan) -> AskDigest {
    let change = |change: &PlannedChange| {
        let (tool, preview) = (change.tool_name.clone(), format!("{:?}", change.preview));
        (change.id.clone(), tool, change.arguments.clone(), preview)
    };
    let changes: Vec<_> = plan.changes.iter().map(change).collect();
    AskDigest::new(format!("{REVIEWED}{}", json_digest(&changes)))
}

/// Whether an answer repeats the digest of a plan that a user saw with its previews.
pub(crate) fn is_plan_digest(digest: &AskDigest) -> bool {
    digest.as_str().starts_with(REVIEWED)
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

#[cfg(test)]
mod tests {
    //! Tests that a question names the sub-agent that asks.

    use lariat_core::content::ToolCall;
    use serde_json::json;

    use super::*;

    fn request() -> PermissionRequest {
        let call = ToolCall { id: "c1".into(), name: "write".into(), arguments: json!({}), signature: None };
        PermissionRequest::new(&call, "write a file")
    }

    #[test]
    fn question_of_a_sub_agent_has_its_path() {
        let question = || UserQuestion::new("Which one?", vec!["a".to_owned()]);
        let text =
            |request: PermissionRequest| match approval(&Arc::new(request), Timestamp::default()).subject {
                AskSubject::Question { text, .. } => text,
                other => panic!("{other:?}"),
            };
        assert_eq!(text(request().with_question(question())), "Which one?");
        let asked = request().with_question(question()).asked_by("inner").asked_by("outer");
        assert_eq!(text(asked), "The sub-agent outer › inner asks: Which one?");
    }

    #[test]
    fn approval_request_of_a_sub_agent_has_its_path_and_another_digest() {
        let asked = approval(&Arc::new(request().asked_by("inner").asked_by("outer")), Timestamp::default());
        let AskSubject::Approval { request: shown } = &asked.subject else { panic!("{asked:?}") };
        assert_eq!(shown.agent_path().as_deref(), Some("outer › inner"));
        assert_ne!(asked.digest, approval(&Arc::new(request()), Timestamp::default()).digest);
    }
}
