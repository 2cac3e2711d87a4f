use std::path::Path;
use std::sync::Arc;

use lariat_api::{Answer, Ask, AskChoice, AskDigest, AskId, AskSubject};
use lariat_core::content::ToolCall as Call;
use lariat_core::opening::SandboxOpening;
use lariat_core::permission::{PermissionDecision, PermissionRequest};
use lariat_core::time::Timestamp;
use serde_json::{Value, json};

use super::{QuestionReply, form, text_form, text_reply, wants_text};

fn ask(subject: AskSubject, choices: Vec<AskChoice>) -> Ask {
    let mut ask = Ask::new(AskId::new("a1"), subject, AskDigest::new("d"), Timestamp::default());
    ask.choices = choices;
    ask
}

fn call() -> Call {
    let arguments = json!({"path": "a", "content": "y\n"});
    Call { id: "c1".into(), name: "write_file".to_owned(), arguments, signature: None }
}

fn approval() -> Ask {
    let request = PermissionRequest::new(&call(), "write_file a")
        .with_preview("--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+y\n")
        .with_reason("mode default")
        .with_remember("Edit(a)")
        .with_openings(vec![SandboxOpening::Network]);
    let choice = |label: &str, decision| AskChoice::new(label, Answer::Approval { decision });
    let choices = vec![
        choice("allow once", PermissionDecision::Allow),
        choice("allow for this session", PermissionDecision::AllowSession),
        choice("always allow in this project", PermissionDecision::AllowAlways),
        choice("deny", PermissionDecision::Deny { reason: None }),
    ];
    ask(AskSubject::Approval { request: Arc::new(request) }, choices)
}

fn selected(option: &str) -> Value {
    json!({ "outcome": { "outcome": "selected", "optionId": option } })
}

#[test]
fn an_approval_shows_what_runs_what_changes_and_what_it_grants() {
    let form = form(&approval(), Some(&call()), &[], Path::new("/project")).unwrap();
    let shown = serde_json::to_value(&form.tool_call).unwrap();
    assert_eq!((&shown["toolCallId"], &shown["title"]), (&json!("c1"), &json!("write_file a")));
    assert_eq!(shown["rawInput"], call().arguments);
    assert_eq!(
        shown["content"][0],
        json!({"type": "diff", "path": "/project/a", "oldText": "x\n", "newText": "y\n"})
    );
    let text = shown["content"].to_string();
    for fact in ["mode default", "use the network", "Edit(a)"] {
        assert!(text.contains(fact), "{fact}: {text}");
    }
    let options = serde_json::to_value(&form.options).unwrap();
    let expected = json!([
        {"optionId": "allow_once", "name": "Allow once", "kind": "allow_once"},
        {"optionId": "allow_session", "name": "Allow for this session", "kind": "allow_always"},
        {"optionId": "allow_always", "name": "Always allow in this project", "kind": "allow_always"},
        {"optionId": "reject_once", "name": "Deny", "kind": "reject_once"},
    ]);
    assert_eq!(options, expected);
}

#[test]
fn only_an_offered_option_approves() {
    let form = form(&approval(), None, &[], Path::new("/project")).unwrap();
    let decided = |decision| QuestionReply::Answer(Answer::Approval { decision });
    assert_eq!(form.reply(&selected("allow_once")), decided(PermissionDecision::Allow));
    assert_eq!(form.reply(&selected("allow_always")), decided(PermissionDecision::AllowAlways));
    assert_eq!(form.reply(&selected("reject_once")), decided(PermissionDecision::Deny { reason: None }));
    assert_eq!(form.reply(&json!({ "outcome": { "outcome": "cancelled" } })), QuestionReply::Cancel);
    for broken in [selected("yes"), json!(null), json!({ "outcome": "selected" }), json!({ "outcome": {} })] {
        let reply = form.reply(&broken);
        assert!(
            matches!(reply, QuestionReply::Answer(Answer::Decline { reason: Some(_) })),
            "{broken}: {reply:?}"
        );
    }
}

#[test]
fn a_question_offers_its_choices_or_a_text_field() {
    let question = || AskSubject::Question { text: "Which?".to_owned(), schema: None };
    let value = |text: &str| Answer::Value { value: json!(text) };
    let decline = || AskChoice::new("decline to answer", Answer::Decline { reason: None });
    let choosing = ask(question(), vec![AskChoice::new("red", value("red")), decline()]);
    assert!(!wants_text(&choosing));
    let form = form(&choosing, None, &[], Path::new("/project")).unwrap();
    assert_eq!(form.reply(&selected("choice_0")), QuestionReply::Answer(value("red")));
    assert_eq!(form.reply(&selected("decline")), QuestionReply::Answer(Answer::Decline { reason: None }));

    let free = ask(question(), vec![decline()]);
    assert!(wants_text(&free));
    assert_eq!(text_form("s1", &free)["message"], "Which?");
    assert_eq!(
        text_reply(&json!({"action": "accept", "content": {"answer": "blue"}})),
        QuestionReply::Answer(value("blue"))
    );
    assert_eq!(text_reply(&json!({"action": "cancel"})), QuestionReply::Cancel);
    assert_eq!(
        text_reply(&json!({"action": "decline"})),
        QuestionReply::Answer(Answer::Decline { reason: None })
    );
}

#[test]
fn a_plan_lists_its_changes() {
    let changes = vec!["c1".into(), "c2".into()];
    let approve = Answer::Plan { approved: changes.clone(), rejected: Vec::new() };
    let reject = Answer::Plan { approved: Vec::new(), rejected: changes.clone() };
    let plan = ask(
        AskSubject::Plan { changes },
        vec![AskChoice::new("carry out all changes", approve.clone()), AskChoice::new("reject all", reject)],
    );
    let described = [("c1".into(), "write a".to_owned()), ("c2".into(), "write b".to_owned())];
    let form = form(&plan, None, &described, Path::new("/project")).unwrap();
    assert_eq!(form.tool_call.title.as_deref(), Some("Make the planned changes (2)"));
    assert_eq!(form.tool_call.content.as_ref().unwrap().len(), 2);
    assert_eq!(form.reply(&selected("approve_plan")), QuestionReply::Answer(approve));
}
