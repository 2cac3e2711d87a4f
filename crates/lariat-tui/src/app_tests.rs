use std::sync::Arc;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use lariat_api::{
    Action, Ask, AskDigest, AskId, AskSubject, Cursor, Delivery, Edit, Problem, ProblemCode, PromptContent,
    QueuedMessage, SessionStatus, SessionView, StoreGeneration,
};
use lariat_core::content::Content;
use lariat_core::id::{MessageId, SessionId};
use lariat_core::permission::PermissionRequest;
use lariat_core::time::Timestamp;
use lariat_terminal::theme::Theme;
use serde_json::json;

use super::{App, AppEffect, Setup};
use crate::feed::FeedItem;
use crate::frame::{Frame, Size};

const NOW: Timestamp = Timestamp::from_millis(1_000_000);
const SIZE: Size = Size { columns: 80, rows: 24 };

fn view(seq: u64, status: SessionStatus) -> SessionView {
    let cursor = Cursor::new(StoreGeneration::new("a").unwrap(), seq);
    let mut view = SessionView::new(SessionId::new("s"), cursor);
    view.status = status;
    view.mode = "default".to_owned();
    view
}

fn app(status: SessionStatus) -> App {
    let mut app = App::new(Setup::new(Theme::plain(80), "/project"));
    app.opened(view(1, status), NOW);
    app.item(FeedItem::Synced, NOW);
    app.effects();
    app
}

fn press(app: &mut App, code: KeyCode, modifiers: KeyModifiers) {
    app.key(KeyEvent::new(code, modifiers), NOW);
}

fn key(app: &mut App, code: KeyCode) {
    press(app, code, KeyModifiers::NONE);
}

fn control(app: &mut App, letter: char) {
    press(app, KeyCode::Char(letter), KeyModifiers::CONTROL);
}

fn write(app: &mut App, text: &str) {
    for letter in text.chars() {
        key(app, KeyCode::Char(letter));
    }
}

fn sent(app: &mut App) -> Vec<Action> {
    let action = |effect| if let AppEffect::Send(action) = effect { Some(action) } else { None };
    app.effects().into_iter().filter_map(action).collect()
}

fn prompt(text: &str, delivery: Delivery) -> Action {
    Action::Prompt { content: PromptContent::text(text), delivery }
}

fn shown(app: &mut App) -> String {
    app.frame(SIZE, NOW).live.join("\n")
}

fn approval(id: u32) -> Ask {
    let call = Content::tool_call("call", "bash", json!({ "command": "true" }));
    let request = PermissionRequest::new(call.as_tool_call().unwrap(), format!("command {id}"));
    let subject = AskSubject::Approval { request: Arc::new(request) };
    Ask::new(AskId::new(id.to_string()), subject, AskDigest::new(id.to_string()), NOW)
}

#[test]
fn enter_sends_steers_and_queues() {
    let mut idle = app(SessionStatus::Idle);
    write(&mut idle, "hi");
    key(&mut idle, KeyCode::Enter);
    assert_eq!(sent(&mut idle), [prompt("hi", Delivery::Steer)]);
    assert_eq!(idle.draft(), "");

    let mut running = app(SessionStatus::Running);
    assert!(shown(&mut running).contains("steers"), "{}", shown(&mut running));
    write(&mut running, "more");
    press(&mut running, KeyCode::Enter, KeyModifiers::ALT);
    write(&mut running, "tab");
    key(&mut running, KeyCode::Tab);
    write(&mut running, "now");
    key(&mut running, KeyCode::Enter);
    let expected =
        [prompt("more", Delivery::Queue), prompt("tab", Delivery::Queue), prompt("now", Delivery::Steer)];
    assert_eq!(sent(&mut running), expected);
}

#[test]
fn escape_interrupts_a_run_and_keeps_the_draft() {
    let mut app = app(SessionStatus::Running);
    write(&mut app, "draft");
    key(&mut app, KeyCode::Esc);
    assert_eq!(sent(&mut app), [Action::Interrupt]);
    assert_eq!(app.draft(), "draft");
}

#[test]
fn what_is_submitted_before_the_session_is_open_is_sent_later() {
    let mut app = App::new(Setup::new(Theme::plain(80), "/project"));
    assert!(shown(&mut app).contains("connecting"));
    write(&mut app, "hi");
    key(&mut app, KeyCode::Enter);
    assert_eq!(sent(&mut app), []);
    app.opened(view(1, SessionStatus::Idle), NOW);
    assert_eq!(sent(&mut app), [prompt("hi", Delivery::Steer)]);
}

#[test]
fn a_message_that_was_not_accepted_is_in_the_draft_again() {
    let mut app = app(SessionStatus::Idle);
    write(&mut app, "new");
    let problem = Problem::new(ProblemCode::Unavailable, "no host");
    app.refused(&prompt("old", Delivery::Steer), &problem);
    assert_eq!(app.draft(), "old\nnew");
    assert!(shown(&mut app).contains("not sent: no host"));
}

#[test]
fn control_c_clears_the_draft_and_then_quits() {
    let mut app = app(SessionStatus::Running);
    write(&mut app, "words");
    control(&mut app, 'c');
    assert!(app.effects().contains(&AppEffect::Remember("words".to_owned())));
    assert_eq!(app.draft(), "");
    control(&mut app, 'c');
    assert!(shown(&mut app).contains("press again to quit; this stops the run"), "{}", shown(&mut app));
    assert_eq!(app.effects(), []);
    control(&mut app, 'c');
    assert_eq!(app.effects(), [AppEffect::Quit]);
}

#[test]
fn another_key_disarms_control_c() {
    let mut app = app(SessionStatus::Idle);
    control(&mut app, 'c');
    write(&mut app, "x");
    key(&mut app, KeyCode::Backspace);
    control(&mut app, 'c');
    assert!(!app.effects().contains(&AppEffect::Quit));
}

#[test]
fn control_d_quits_an_empty_draft_and_asks_during_a_run() {
    let mut idle = app(SessionStatus::Idle);
    control(&mut idle, 'd');
    assert_eq!(idle.effects(), [AppEffect::Quit]);
    let mut running = app(SessionStatus::Running);
    control(&mut running, 'd');
    assert_eq!(running.effects(), []);
    control(&mut running, 'd');
    assert_eq!(running.effects(), [AppEffect::Quit]);
}

#[test]
fn moves_the_newest_queued_message_into_the_draft() {
    let mut app = app(SessionStatus::Running);
    let mut with_queue = view(2, SessionStatus::Running);
    let queued =
        |text: &str| QueuedMessage::new(MessageId::default(), PromptContent::text(text), Delivery::Queue);
    with_queue.queue = vec![queued("later")];
    app.view(with_queue, NOW);
    assert!(shown(&mut app).contains("queued: later"), "{}", shown(&mut app));
    press(&mut app, KeyCode::Up, KeyModifiers::ALT);
    assert_eq!(app.draft(), "later");
    let edit = Edit::Remove { message_id: MessageId::default() };
    assert_eq!(sent(&mut app), [Action::EditQueue { edit }]);
    assert!(!shown(&mut app).contains("queued: later"));
}

#[test]
fn commands_act_and_unknown_ones_stay_in_the_draft() {
    let mut app = app(SessionStatus::Idle);
    write(&mut app, "/rename Better name");
    key(&mut app, KeyCode::Esc);
    key(&mut app, KeyCode::Enter);
    let title = Some("Better name".to_owned());
    assert_eq!(sent(&mut app), [Action::Describe { title, tags: None }]);
    write(&mut app, "/nope");
    key(&mut app, KeyCode::Enter);
    assert_eq!(sent(&mut app), []);
    assert_eq!(app.draft(), "/nope");
    assert!(shown(&mut app).contains("unknown command"));
}

#[test]
fn notifies_the_user_only_without_the_focus() {
    let mut app = app(SessionStatus::Running);
    let mut asks = view(2, SessionStatus::RequiresAction);
    asks.asks = vec![approval(1)];
    app.view(asks.clone(), NOW);
    assert_eq!(app.effects(), []);
    app.focus(false);
    asks.asks.push(approval(2));
    asks.seq = 3;
    app.view(asks.clone(), NOW);
    assert!(matches!(&app.effects()[..], [AppEffect::Notify(_)]));
    app.view(asks, NOW);
    assert_eq!(app.effects(), []);
}

#[test]
fn ticks_once_a_second_during_a_run_and_never_without_one() {
    assert_eq!(app(SessionStatus::Idle).next_tick(NOW), None);
    let tick = app(SessionStatus::Running).next_tick(NOW).unwrap();
    assert!(tick.as_millis() > 0 && tick.as_millis() <= 1_000);
}

#[test]
fn an_idle_session_gives_equal_frames() {
    let mut app = app(SessionStatus::Idle);
    let first = app.frame(SIZE, NOW);
    let later = app.frame(SIZE, Timestamp::from_millis(9_000_000));
    assert_eq!(first, Frame { finished: first.finished.clone(), ..later });
}

#[test]
fn fits_every_size() {
    for status in [SessionStatus::Idle, SessionStatus::RequiresAction] {
        let mut app = app(status.clone());
        let mut asks = view(2, status.clone());
        if status == SessionStatus::RequiresAction {
            asks.asks = vec![approval(1), approval(2)];
        }
        app.view(asks, NOW);
        write(&mut app, "a draft that is longer than the narrowest terminal of this test");
        for columns in [1, 5, 20, 40, 80] {
            for rows in [1, 2, 3, 5, 10, 24] {
                let frame = app.frame(Size { columns, rows }, NOW);
                assert!(frame.live.len() <= rows.max(2), "{columns}x{rows}: {} rows", frame.live.len());
                assert!(frame.caret.is_some_and(|caret| caret.row < frame.live.len()));
            }
        }
    }
}

/// A small generator: the test needs random text and moments, not good ones.
struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

#[test]
fn a_thousand_questions_are_never_answered_by_typed_text() {
    let mut app = app(SessionStatus::Running);
    let mut random = Random(7);
    let mut typed = String::new();
    let mut asks: Vec<Ask> = Vec::new();
    let (mut asked, mut seq) = (0, 1);
    // Letters that would answer, and others. No `@` or `/`, which open completions.
    let letters: Vec<char> = "yYnNsSaAeEdDwWoOcC1234567890 bfghijklmpqrtuvxz".chars().collect();
    let mut now = 1_000_000;
    while asked < 1_000 {
        now += random.below(400);
        match random.below(10) {
            0 => {
                asked += 1;
                asks.push(approval(asked));
                if asks.len() > 3 {
                    asks.remove(usize::try_from(random.below(3)).unwrap());
                }
                seq += 1;
                let mut next = view(seq, SessionStatus::RequiresAction);
                next.asks = asks.clone();
                app.view(next, Timestamp::from_millis(now));
            }
            _ => {
                let letter = letters[usize::try_from(random.below(letters.len() as u64)).unwrap()];
                typed.push(letter);
                let key = KeyEvent::new(KeyCode::Char(letter), KeyModifiers::NONE);
                app.key(key, Timestamp::from_millis(now));
            }
        }
        assert_eq!(sent(&mut app), []);
        if random.below(50) == 0 {
            app.frame(SIZE, Timestamp::from_millis(now));
        }
    }
    assert_eq!(app.draft(), typed);
    assert_eq!(app.asks(), asks.len());
}

#[test]
fn a_key_reaches_every_mode_by_the_names_of_the_host() {
    let mut app = app(SessionStatus::Idle);
    let mut seen = Vec::new();
    for seq in 2..6 {
        press(&mut app, KeyCode::BackTab, KeyModifiers::SHIFT);
        let Some(Action::SetMode { mode }) = sent(&mut app).pop() else { panic!("no mode") };
        let mut next = view(seq, SessionStatus::Idle);
        next.mode = recorded(&mode).to_owned();
        seen.push(mode);
        app.view(next, NOW);
    }
    assert_eq!(seen, ["accept-edits", "plan", "auto", "default"]);
}

/// The name that a host records for a mode.
fn recorded(mode: &str) -> &str {
    if mode == "acceptEdits" { "accept-edits" } else { mode }
}

#[test]
fn the_status_shows_the_mode_of_the_settings_until_the_session_has_its_own() {
    let mut setup = Setup::new(Theme::plain(80), "/project");
    setup.mode = "bypass".to_owned();
    let mut app = App::new(setup);
    let mut first = view(1, SessionStatus::Idle);
    first.mode.clear();
    app.opened(first, NOW);
    let status = |app: &mut App| app.frame(SIZE, NOW).live.last().unwrap().clone();
    assert!(status(&mut app).contains("bypass"));
    let mut second = view(2, SessionStatus::Idle);
    second.mode = "plan".to_owned();
    app.view(second, NOW);
    assert!(status(&mut app).contains("plan"));
}
