use lariat_core::content::ToolCall;
use serde_json::json;

use super::*;

fn request() -> Arc<PermissionRequest> {
    let call = ToolCall { id: "c1".into(), name: "bash".to_owned(), arguments: json!({}), signature: None };
    Arc::new(PermissionRequest::new(&call, "touch made").with_remember("Bash(touch made)"))
}

/// Questions with a clock that the test moves.
struct Desk {
    questions: Questions,
    now: Instant,
}

impl Desk {
    fn new() -> Self {
        Self { questions: Questions::default(), now: Instant::now() }
    }

    fn ask(&mut self) {
        let open = Open::Call { request: request(), arguments: None, wants_reason: false };
        self.questions.put(open);
        self.questions.show(self.now, &Look::plain(72));
    }

    /// Waits, and shows the prompt if it is time.
    fn wait(&mut self, millis: u64) -> Option<String> {
        self.now += Duration::from_millis(millis);
        self.questions.ready(self.now)
    }

    fn press(&mut self, key: Key) -> Outcome {
        self.questions.key(&key, self.now, &Look::plain(72))
    }

    fn types(&mut self, words: &str, millis: u64) -> Vec<Outcome> {
        let mut outcomes = Vec::new();
        for letter in words.chars() {
            outcomes.push(self.press(Key::Char(letter)));
            self.now += Duration::from_millis(millis);
        }
        outcomes
    }
}

fn decided(outcome: &Outcome) -> Option<&PermissionDecision> {
    match outcome {
        Outcome::Decided(_, decision) => Some(decision),
        _ => None,
    }
}

#[test]
fn one_key_answers_once_the_prompt_is_there_and_enter_after_it_means_nothing() {
    let mut desk = Desk::new();
    desk.ask();
    assert_eq!(desk.wait(100), None);
    assert_eq!(desk.wait(150).as_deref(), Some("y/s/a/n/e> "));
    assert_eq!(decided(&desk.press(Key::Char('s'))), Some(&PermissionDecision::AllowSession));
    assert!(matches!(desk.press(Key::Enter), Outcome::Nothing));
    assert!(matches!(desk.press(Key::Char('x')), Outcome::Nothing), "the rest of a word");
    desk.now += Duration::from_secs(1);
    assert!(matches!(desk.press(Key::Char('x')), Outcome::Typing(_)), "after a pause it is for the run");
}

#[test]
fn keys_pressed_before_the_prompt_never_answer() {
    let mut desk = Desk::new();
    desk.ask();
    for outcome in desk.types("yyyyyyyy", 100) {
        assert!(matches!(outcome, Outcome::Nothing));
    }
    assert_eq!(desk.wait(50), None, "the keys have not rested yet");
    assert!(desk.wait(60).is_some());
}

#[test]
fn a_sentence_that_a_question_interrupts_is_kept_and_does_not_answer_it() {
    let mut desk = Desk::new();
    desk.types("please ", 100);
    desk.ask();
    assert!(desk.types("say yes", 300).iter().all(|outcome| matches!(outcome, Outcome::Nothing)));
    assert_eq!(desk.wait(500), None, "a longer rest for a person who types");
    assert!(desk.wait(600).is_some());
    assert_eq!(decided(&desk.press(Key::Char('y'))), Some(&PermissionDecision::Allow));
    assert_eq!(desk.questions.draft.text(), "please say yes");
}

#[test]
fn a_word_is_not_taken_for_its_letters() {
    let mut desk = Desk::new();
    desk.ask();
    desk.wait(250);
    for outcome in desk.types("maybe", 60) {
        assert_eq!(decided(&outcome), None, "the `a` in it is not always");
    }
    assert!(desk.wait(250).is_some(), "it is asked again");
    assert_eq!(decided(&desk.press(Key::End)), Some(&PermissionDecision::Deny { reason: None }));
}

#[test]
fn a_pasted_text_never_answers() {
    let mut desk = Desk::new();
    desk.ask();
    desk.wait(250);
    assert_eq!(decided(&desk.press(Key::Paste("y\n".to_owned()))), None);
}

#[test]
fn a_second_question_needs_a_key_of_its_own() {
    let mut desk = Desk::new();
    desk.ask();
    desk.wait(250);
    desk.press(Key::Char('y'));
    desk.ask();
    assert!(matches!(desk.press(Key::Char('y')), Outcome::Nothing));
    assert!(matches!(desk.press(Key::Enter), Outcome::Nothing));
    assert!(desk.wait(250).is_some());
    assert_eq!(decided(&desk.press(Key::Char('n'))), Some(&PermissionDecision::Deny { reason: None }));
}

#[test]
fn a_reason_is_a_line() {
    let mut desk = Desk::new();
    desk.ask();
    desk.wait(250);
    assert!(matches!(desk.press(Key::Char('e')), Outcome::Write(_)));
    assert_eq!(desk.wait(250).as_deref(), Some("why not> "));
    desk.types("use y", 10);
    assert_eq!(decided(&desk.press(Key::Enter)), Some(&PermissionDecision::deny("use y")));
}

#[test]
fn a_line_typed_during_a_run_is_said_to_it() {
    let mut desk = Desk::new();
    desk.types("fix it ", 50);
    assert!(matches!(desk.press(Key::Enter), Outcome::Said(words) if words == "fix it"));
    assert!(matches!(desk.press(Key::Enter), Outcome::Typing(_)), "an empty line says nothing");
}
