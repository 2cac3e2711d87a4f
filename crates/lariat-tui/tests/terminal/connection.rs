//! Connections that are lost, and terminals that change.

use std::time::Duration;

use crossterm::event::{Event, KeyCode, KeyModifiers};
use lariat_api::{Action, Delivery, PromptContent};
use lariat_tui::client::EndReason;

use crate::fake::Fake;
use crate::kit::Running;
use crate::story::{ends, replies, starts};

#[tokio::test(start_paused = true)]
async fn a_lost_connection_is_shown_and_nothing_is_missed_or_repeated() {
    let fake = Fake::new();
    let client = Running::start(&fake, 80, 24);
    client.settles().await;
    starts(&fake, "Count");
    client.settles().await;
    fake.goes_down();
    client.settles().await;
    assert!(client.screen().contains("reconnecting"), "{}", client.screen());
    replies(&fake, 2, "One.");
    ends(&fake);
    client.passes(Duration::from_secs(5)).await;
    fake.comes_back();
    client.passes(Duration::from_secs(20)).await;
    let screen = client.screen();
    assert!(screen.contains("idle") && !screen.contains("connection lost"), "{screen}");
    let all = client.all();
    assert_eq!(all.iter().filter(|row| row.contains("Count")).count(), 1, "{all:#?}");
    assert_eq!(all.iter().filter(|row| row.contains("One.")).count(), 1, "{all:#?}");
}

#[tokio::test(start_paused = true)]
async fn the_composer_works_while_the_session_opens() {
    let fake = Fake::new();
    let client = Running::start(&fake, 80, 24);
    client.types("early");
    client.key(KeyCode::Enter);
    client.settles().await;
    let content = PromptContent::text("early");
    assert_eq!(fake.commands(), [Action::Prompt { content, delivery: Delivery::Steer }]);
}

#[tokio::test(start_paused = true)]
async fn a_message_is_sent_when_the_host_responds_again() {
    let fake = Fake::new();
    let client = Running::start(&fake, 80, 24);
    client.settles().await;
    fake.goes_down();
    client.types("later");
    client.key(KeyCode::Enter);
    client.passes(Duration::from_millis(500)).await;
    fake.comes_back();
    client.passes(Duration::from_secs(5)).await;
    assert_eq!(fake.commands().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_message_that_no_host_takes_is_in_the_draft_again() {
    let fake = Fake::new();
    let client = Running::start(&fake, 80, 24);
    client.settles().await;
    fake.goes_down();
    client.types("keep me");
    client.key(KeyCode::Enter);
    client.passes(Duration::from_secs(30)).await;
    let screen = client.screen();
    assert!(screen.contains("keep me▏") && screen.contains("not sent"), "{screen}");
}

#[tokio::test(start_paused = true)]
async fn a_session_that_cannot_be_opened_ends_the_client() {
    let fake = Fake::new();
    fake.goes_down();
    let client = Running::start(&fake, 80, 24);
    let problem = client.ends().await.unwrap_err();
    assert_eq!(problem.message, "the host does not respond");
}

#[tokio::test(start_paused = true)]
async fn quitting_a_run_of_this_process_says_so_and_interrupts_it() {
    let fake = Fake::new();
    let client = Running::start(&fake, 80, 24);
    client.settles().await;
    starts(&fake, "Work");
    client.settles().await;
    client.press(KeyCode::Char('c'), KeyModifiers::CONTROL);
    client.settles().await;
    assert!(client.screen().contains("this stops the run"), "{}", client.screen());
    client.press(KeyCode::Char('c'), KeyModifiers::CONTROL);
    assert_eq!(client.ends().await.unwrap().reason, EndReason::Quit);
    assert_eq!(fake.commands(), [Action::Interrupt]);
}

#[tokio::test(start_paused = true)]
async fn the_editor_returns_the_draft() {
    let fake = Fake::new();
    let client = Running::start(&fake, 80, 24);
    client.settles().await;
    client.types("draft");
    client.press(KeyCode::Char('g'), KeyModifiers::CONTROL);
    client.settles().await;
    assert!(client.screen().contains("draft (edited)▏"), "{}", client.screen());
}

#[tokio::test(start_paused = true)]
async fn user_is_notified_when_a_run_ends_in_an_unfocused_window() {
    let fake = Fake::new();
    let client = Running::start(&fake, 80, 24);
    client.settles().await;
    starts(&fake, "Work");
    client.event(Event::FocusLost);
    client.settles().await;
    let before = client.writes();
    ends(&fake);
    client.settles().await;
    assert!(client.writes() > before + 1);
}

#[tokio::test(start_paused = true)]
async fn a_long_session_shows_its_end_and_reads_the_rest_on_demand() {
    let fake = Fake::new();
    starts(&fake, "First words");
    for number in 2..60_002 {
        replies(&fake, number, &format!("Reply {number}."));
    }
    ends(&fake);
    let client = Running::start(&fake, 80, 24);
    client.settles().await;
    let screen = client.screen();
    assert!(screen.contains("Reply 60001.") && screen.contains("idle"), "{screen}");
    let all = client.all();
    let notes: Vec<_> = all.iter().filter(|row| row.contains("not shown")).collect();
    assert_eq!(notes, ["58004 earlier events not shown: /pager all"]);
    assert!(!all.iter().any(|row| row.contains("First words")));
    client.types("/pager all");
    client.key(KeyCode::Enter);
    // Rendering uses a thread, which the paused clock does not wait for.
    while !client.screen().contains("Transcript") {
        client.settles().await;
    }
    client.key(KeyCode::Char('g'));
    client.settles().await;
    assert!(client.screen().contains("First words"), "{}", client.screen());
    client.key(KeyCode::Char('q'));
    replies(&fake, 70_000, "Something new.");
    client.settles().await;
    assert!(client.screen().contains("Something new."), "{}", client.screen());
}
