//! Pages of the program around the client, and the preview of a compaction.

use std::sync::Arc;
use std::time::Duration;

use crossterm::event::{KeyCode, KeyModifiers};
use lariat_api::{
    Action, ChildSession, Delivery, Problem, ProblemCode, PromptContent, SessionStatus, SessionSummary,
    SessionView,
};
use lariat_core::BoxFuture;
use lariat_core::archive;
use lariat_core::event::{AgentEvent, CompactionCause};
use lariat_core::id::SessionId;
use lariat_core::usage::Usage;
use lariat_tui::pages::{Page, Pages};

use crate::fake::{Fake, START};
use crate::kit::Running;

struct Scripted;

impl Pages for Scripted {
    fn page<'a>(
        &'a self,
        page: &'a Page,
        session: Option<&'a SessionView>,
        width: usize,
    ) -> BoxFuture<'a, Result<String, Problem>> {
        Box::pin(async move {
            match page {
                Page::Permissions => {
                    Ok(format!("mode: {}\nwidth: {width}\nhidden\u{1b}[2J\n", session.unwrap().mode))
                }
                Page::Compaction { .. } => {
                    Ok("Frees about 40.0k of 52.0k tokens.\n12 messages:\n".to_owned())
                }
                Page::Export { path } => Ok(format!("wrote 4 KB to {}", path.as_deref().unwrap_or("a file"))),
                _ => Err(Problem::new(ProblemCode::Invalid, "the disk is full")),
            }
        })
    }
}

fn client(fake: &Arc<Fake>, columns: usize, rows: usize) -> Running {
    Running::start_with(fake, columns, rows, |options| options.pages = Some(Arc::new(Scripted)))
}

async fn runs(client: &Running, command: &str) {
    client.settles().await;
    client.types(command);
    client.key(KeyCode::Enter);
    client.settles().await;
}

#[tokio::test(start_paused = true)]
async fn a_page_opens_in_the_pager_and_is_neutralised() {
    let fake = Fake::new();
    let client = client(&fake, 80, 24);
    runs(&client, "/permissions").await;
    let screen = client.screen();
    assert!(screen.contains("mode: default") && screen.contains("width: 80"), "{screen}");
    assert!(screen.contains("hidden⟨U+001B⟩[2J"), "{screen}");
    client.key(KeyCode::Esc);
    runs(&client, "/doctor").await;
    assert!(client.screen().contains("the disk is full"), "{}", client.screen());
    runs(&client, "/share copy.session").await;
    assert!(client.screen().contains("wrote 4 KB to copy.session"), "{}", client.screen());
}

#[tokio::test(start_paused = true)]
async fn a_remote_session_says_that_it_has_no_pages() {
    let fake = Fake::new();
    let client = Running::start(&fake, 80, 24);
    for command in ["permissions", "doctor", "mcp", "share"] {
        runs(&client, &format!("/{command}")).await;
        let words = format!("`/{command}` works only on the machine of the session");
        assert!(client.screen().contains(&words), "{}", client.screen());
    }
    runs(&client, "/compact").await;
    assert!(client.screen().contains("Compact the conversation?"), "{}", client.screen());
}

#[tokio::test(start_paused = true)]
async fn a_compaction_shows_its_preview_and_needs_enter() {
    for (columns, rows) in [(40, 10), (80, 24), (160, 45)] {
        let fake = Fake::new();
        let client = client(&fake, columns, rows);
        runs(&client, "/compact the parser").await;
        client.looks_like("compact");
        assert_eq!(fake.commands(), []);
        client.key(KeyCode::Esc);
        client.settles().await;
        assert_eq!(fake.commands(), []);
        runs(&client, "/compact the parser").await;
        client.key(KeyCode::Enter);
        client.settles().await;
        assert_eq!(fake.commands(), [Action::Compact { focus: Some("the parser".to_owned()) }]);
    }
}

#[tokio::test(start_paused = true)]
async fn escape_interrupts_a_compaction_before_messages_that_wait_for_it() {
    let fake = Fake::new();
    fake.holds_compactions();
    let client = client(&fake, 80, 24);
    runs(&client, "/compact").await;
    client.key(KeyCode::Enter);
    client.settles().await;
    let screen = client.screen();
    assert!(screen.contains("compacting the conversation"), "{screen}");
    assert!(screen.contains("enter sends after the compaction · esc interrupts it"), "{screen}");
    runs(&client, "next").await;
    assert_eq!(fake.commands(), [Action::Compact { focus: None }], "the message waits");
    client.key(KeyCode::Esc);
    client.settles().await;
    let prompt = Action::Prompt { content: PromptContent::text("next"), delivery: Delivery::Steer };
    assert_eq!(fake.commands(), [Action::Interrupt, prompt]);
    let reason = "it was interrupted".to_owned();
    let refused =
        AgentEvent::CompactionRefused { cause: CompactionCause::Manual, reason, usage: Usage::default() };
    fake.happens(refused, |_| {});
    client.settles().await;
    assert!(!client.screen().contains("compacting the conversation"), "{}", client.screen());
}

#[tokio::test(start_paused = true)]
async fn a_compaction_is_undone_by_a_command() {
    let fake = Fake::new();
    let client = client(&fake, 80, 24);
    runs(&client, "/compact undo").await;
    assert!(client.screen().contains("no compaction to undo"), "{}", client.screen());
    client.press(KeyCode::Char('c'), KeyModifiers::CONTROL);
    let compaction = AgentEvent::Compaction {
        cause: CompactionCause::Manual,
        edits: Arc::default(),
        tokens_before: 9_000,
        tokens_after: 5_000,
        usage: Usage::default(),
    };
    fake.happens(compaction, |_| {});
    runs(&client, "/compact undo").await;
    assert!(matches!(fake.commands().as_slice(), [Action::UndoCompaction { .. }]), "{}", client.screen());
}

#[tokio::test(start_paused = true)]
async fn sub_agents_are_listed() {
    let fake = Fake::new();
    let client = client(&fake, 80, 24);
    runs(&client, "/agents").await;
    assert!(client.screen().contains("no sub-agents"), "{}", client.screen());
    client.press(KeyCode::Char('c'), KeyModifiers::CONTROL);
    fake.happens(AgentEvent::AbortRequested, |view| {
        let id = SessionId::new("0c0ffee0-child");
        view.children = vec![ChildSession::running(id, "Read the parser".to_owned())];
    });
    runs(&client, "/agents").await;
    let screen = client.screen();
    assert!(screen.contains("Read the parser") && screen.contains("0c0ffee0 running"), "{screen}");
}

fn listed(id: &str, parent: Option<&str>, status: SessionStatus) -> SessionSummary {
    let mut archived = archive::SessionSummary::new(SessionId::from(id));
    archived.title = Some(format!("task of {id}"));
    archived.parent = parent.map(SessionId::from);
    archived.last_active_at = START;
    SessionSummary::new(archived, status)
}

#[tokio::test(start_paused = true)]
async fn the_list_of_sessions_is_a_tree_and_stays_up_to_date() {
    let fake = Fake::new();
    fake.lists(vec![
        listed("fork", Some("first"), SessionStatus::Idle),
        listed("first", None, SessionStatus::Idle),
    ]);
    let client = client(&fake, 100, 24);
    runs(&client, "/sessions").await;
    let screen = client.screen();
    let rows: Vec<&str> = screen.lines().filter(|row| row.contains("task of")).map(str::trim_end).collect();
    assert!(rows[0].contains("task of first") && !rows[0].contains('└'), "{screen}");
    assert!(rows[1].contains("└ task of fork"), "{screen}");
    assert_eq!(fake.list_followers(), 1);

    // The selected session stays selected when another one appears before it.
    client.key(KeyCode::Down);
    fake.lists(vec![
        listed("third", None, SessionStatus::Idle),
        listed("fork", Some("first"), SessionStatus::Running),
        listed("first", None, SessionStatus::Idle),
    ]);
    tokio::time::sleep(Duration::from_secs(1)).await;
    client.settles().await;
    let screen = client.screen();
    assert!(screen.contains("task of third"), "{screen}");
    let selected = screen.lines().find(|row| row.starts_with('❯')).unwrap();
    assert!(selected.contains("└ task of fork") && selected.contains("running"), "{screen}");

    fake.lists_unannounced(vec![
        listed("fork", Some("first"), SessionStatus::Interrupted),
        listed("first", None, SessionStatus::Idle),
    ]);
    tokio::time::sleep(Duration::from_secs(4)).await;
    client.settles().await;
    let screen = client.screen();
    assert!(screen.contains("interrupted") && !screen.contains("third"), "{screen}");

    // A filter lists what matches, without the tree.
    client.types("fork");
    client.settles().await;
    let screen = client.screen();
    assert!(screen.contains("❯ task of fork"), "{screen}");
    client.key(KeyCode::Esc);
    client.settles().await;
    assert_eq!(fake.list_followers(), 0, "the list is closed:\n{}", client.screen());
}
