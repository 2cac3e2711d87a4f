use lariat_core::content::ToolCall;
use serde_json::json;

use super::*;

fn request() -> Arc<PermissionRequest> {
    let call = ToolCall { id: "c1".into(), name: "bash".to_owned(), arguments: json!({}), signature: None };
    Arc::new(PermissionRequest::new(&call, "touch made").with_remember("Bash(touch made)"))
}

/// Questions with a clock that the test advances.
struct Fixture {
    questions: Questions,
    now: Instant,
}

impl Fixture {
    fn new() -> Self {
        Self { questions: Questions::default(), now: Instant::now() }
    }

    fn ask(&mut self) {
        let open = PendingQuestion::Call { request: request(), arguments: None, wants_reason: false };
        self.questions.put(open);
        self.questions.show(self.now, &Theme::plain(72));
    }

    /// Advances the clock and returns the prompt if it is due.
    fn wait(&mut self, millis: u64) -> Option<String> {
        self.now += Duration::from_millis(millis);
        self.questions.ready(self.now)
    }

    fn press(&mut self, key: TypedKey) -> KeyEffect {
        self.questions.key(&key, self.now, &Theme::plain(72))
    }

    fn types(&mut self, words: &str, millis: u64) -> Vec<KeyEffect> {
        let mut outcomes = Vec::new();
        for letter in words.chars() {
            outcomes.push(self.press(TypedKey::Char(letter)));
            self.now += Duration::from_millis(millis);
        }
        outcomes
    }
}

fn decided(outcome: &KeyEffect) -> Option<&PermissionDecision> {
    match outcome {
        KeyEffect::Decided(_, decision) => Some(decision),
        _ => None,
    }
}

#[test]
fn one_key_answers_after_the_prompt_and_following_enter_is_ignored() {
    let mut fixture = Fixture::new();
    fixture.ask();
    assert_eq!(fixture.wait(100), None);
    assert_eq!(fixture.wait(150).as_deref(), Some("y/s/a/n/e> "));
    assert_eq!(decided(&fixture.press(TypedKey::Char('s'))), Some(&PermissionDecision::AllowSession));
    assert!(matches!(fixture.press(TypedKey::Enter), KeyEffect::Nothing));
    assert!(matches!(fixture.press(TypedKey::Char('x')), KeyEffect::Nothing), "the rest of a word");
    fixture.now += Duration::from_secs(1);
    assert!(
        matches!(fixture.press(TypedKey::Char('x')), KeyEffect::Typing(_)),
        "after a pause it goes to the run"
    );
}

#[test]
fn keys_pressed_before_the_prompt_never_answer() {
    let mut fixture = Fixture::new();
    fixture.ask();
    for outcome in fixture.types("yyyyyyyy", 100) {
        assert!(matches!(outcome, KeyEffect::Nothing));
    }
    assert_eq!(fixture.wait(50), None, "not enough time since the last key");
    assert!(fixture.wait(60).is_some());
}

#[test]
fn interrupted_sentence_is_kept_and_does_not_answer() {
    let mut fixture = Fixture::new();
    fixture.types("please ", 100);
    fixture.ask();
    assert!(fixture.types("say yes", 300).iter().all(|outcome| matches!(outcome, KeyEffect::Nothing)));
    assert_eq!(fixture.wait(500), None, "a longer wait for a user who is typing");
    assert!(fixture.wait(600).is_some());
    assert_eq!(decided(&fixture.press(TypedKey::Char('y'))), Some(&PermissionDecision::Allow));
    assert_eq!(fixture.questions.draft.text(), "please say yes");
}

#[test]
fn letters_of_a_word_do_not_answer() {
    let mut fixture = Fixture::new();
    fixture.ask();
    fixture.wait(250);
    for outcome in fixture.types("maybe", 60) {
        assert_eq!(decided(&outcome), None, "the `a` in it does not mean always");
    }
    assert!(fixture.wait(250).is_some(), "the prompt is shown again");
    assert_eq!(decided(&fixture.press(TypedKey::End)), Some(&PermissionDecision::Deny { reason: None }));
}

#[test]
fn pasted_text_never_answers() {
    let mut fixture = Fixture::new();
    fixture.ask();
    fixture.wait(250);
    assert_eq!(decided(&fixture.press(TypedKey::Paste("y\n".to_owned()))), None);
}

#[test]
fn each_question_needs_its_own_key() {
    let mut fixture = Fixture::new();
    fixture.ask();
    fixture.wait(250);
    fixture.press(TypedKey::Char('y'));
    fixture.ask();
    assert!(matches!(fixture.press(TypedKey::Char('y')), KeyEffect::Nothing));
    assert!(matches!(fixture.press(TypedKey::Enter), KeyEffect::Nothing));
    assert!(fixture.wait(250).is_some());
    assert_eq!(
        decided(&fixture.press(TypedKey::Char('n'))),
        Some(&PermissionDecision::Deny { reason: None })
    );
}

#[test]
fn reason_for_denial_is_a_line() {
    let mut fixture = Fixture::new();
    fixture.ask();
    fixture.wait(250);
    assert!(matches!(fixture.press(TypedKey::Char('e')), KeyEffect::Write(_)));
    assert_eq!(fixture.wait(250).as_deref(), Some("reason> "));
    fixture.types("use y", 10);
    assert_eq!(decided(&fixture.press(TypedKey::Enter)), Some(&PermissionDecision::deny("use y")));
}

#[test]
fn line_typed_during_run_is_sent_to_it() {
    let mut fixture = Fixture::new();
    fixture.types("fix it ", 50);
    assert!(matches!(fixture.press(TypedKey::Enter), KeyEffect::Message(words) if words == "fix it"));
    assert!(matches!(fixture.press(TypedKey::Enter), KeyEffect::Typing(_)), "an empty line sends nothing");
}
