//! Sessions: saved, restored, rotated, resumed by another agent.

use std::time::Duration;

use lariat_core::event::{AgentEvent, ContinuationKind, SessionFormation};
use lariat_core::hooks::{Flow, Hooks};
use lariat_core::id::SessionId;
use lariat_core::model::{ModelConfig, ThinkingLevel};
use lariat_core::session::Session;
use lariat_core::transcript::Window;
use lariat_runtime::AgentError;
use lariat_test::Reply;

use super::fixture::{Fixture, formatted, kinds, starts};

#[tokio::test(start_paused = true)]
async fn saved_messages_are_restored_in_another_agent_and_its_journal() {
    let fixture =
        Fixture::new([Reply::text("hello Ada"), Reply::text("you are Ada"), Reply::text("still Ada")]);
    let first = fixture.agent().build().unwrap();
    first.run("I am Ada").await.unwrap();
    let saved = first.save_messages().unwrap();

    let second = fixture.agent().build().unwrap();
    second.restore_messages(&saved).unwrap();
    assert_eq!(second.messages(), first.messages());
    assert_eq!(second.save_messages().unwrap(), saved);
    second.run("who am I?").await.unwrap();
    assert_eq!(fixture.sent_messages(1), ["user: I am Ada", "assistant: hello Ada", "user: who am I?"]);
    let journal = fixture.journal(&second.session_id()).await;
    assert_eq!(kinds(&journal)[0], "MessagesImported");

    let third = fixture.agent().session_id(second.session_id()).build().unwrap();
    third.run("and now?").await.unwrap();
    assert_eq!(fixture.sent_messages(2).len(), 5, "the restored messages come from the journal");
    assert_eq!(fixture.sent_messages(2)[..3], fixture.sent_messages(1)[..]);
    fixture.assert_valid();
}

#[tokio::test(start_paused = true)]
async fn messages_restored_into_a_resumed_session_replace_its_conversation() {
    let fixture = Fixture::new([Reply::text("old"), Reply::text("new"), Reply::text("newer")]);
    let first = fixture.agent().session_id("s").build().unwrap();
    first.run("before").await.unwrap();
    let second = fixture.agent().session_id("s").build().unwrap();
    second
        .restore_messages(r#"[{"role": "user", "content": [{"type": "text", "text": "restored"}]}]"#)
        .unwrap();
    second.run("after").await.unwrap();
    assert_eq!(fixture.sent_messages(1), ["user: restored", "user: after"]);
    let third = fixture.agent().session_id("s").build().unwrap();
    third.run("later").await.unwrap();
    assert_eq!(fixture.sent_messages(2), ["user: restored", "user: after", "assistant: new", "user: later"]);
    let begun = starts(&fixture.journal(&"s".into()).await);
    assert_ne!(begun[0].loop_id, begun[1].loop_id);
}

#[tokio::test(start_paused = true)]
async fn restoring_anything_but_a_list_of_messages_fails() {
    let fixture = Fixture::new([Reply::text("hi")]);
    let agent = fixture.agent().build().unwrap();
    agent.run("hello").await.unwrap();
    assert!(matches!(agent.restore_messages("{}"), Err(AgentError::Messages(_))));
    assert_eq!(agent.messages().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn new_session_has_its_own_journal_and_no_messages() {
    let fixture = Fixture::new([Reply::text("one"), Reply::text("two")]);
    let agent = fixture.agent().config_id("main").build().unwrap();
    let old = agent.session_id();
    agent.run("first").await.unwrap();
    let new = agent.new_session().unwrap();
    assert_eq!(agent.session_id(), new);
    assert!(agent.messages().is_empty());
    agent.run("second").await.unwrap();
    assert_eq!(fixture.sent_messages(1), ["user: second"]);
    let (old, new) = (starts(&fixture.journal(&old).await), starts(&fixture.journal(&new).await));
    assert_eq!((old.len(), new.len()), (1, 1));
    assert_eq!(old[0].agent_id, new[0].agent_id);
    assert!(
        new[0].loop_id.as_str().ends_with(".main.0"),
        "the loop number starts at zero: {}",
        new[0].loop_id
    );
}

#[tokio::test(start_paused = true)]
async fn agent_idle_for_longer_than_the_threshold_rotates() {
    let fixture = Fixture::new([Reply::text("one")]);
    let agent = fixture.agent().build().unwrap();
    let hour = Duration::from_secs(3_600);
    assert_eq!(agent.check_and_rotate(hour).unwrap(), None, "no prompt was ever run");
    agent.run("first").await.unwrap();
    tokio::time::advance(hour).await;
    assert_eq!(agent.check_and_rotate(hour).unwrap(), None);
    tokio::time::advance(Duration::from_secs(1)).await;
    let rotated = agent.check_and_rotate(hour).unwrap();
    assert_eq!(rotated, Some(agent.session_id()));
}

#[tokio::test(start_paused = true)]
async fn new_session_records_why_it_replaced_the_previous_one() {
    let fixture = Fixture::new(["one", "two", "three"].map(Reply::text));
    let agent = fixture.agent().build().unwrap();
    let formed = async |session: &SessionId| {
        let events = fixture.journal(session).await;
        let session = Session::of(&events).unwrap();
        let formed = events.iter().find_map(|event| match &event.event {
            AgentEvent::SessionFormed { formation, previous } => Some((formation.clone(), previous.clone())),
            _ => None,
        });
        assert_eq!(
            session.formation,
            formed.clone().map_or_else(Default::default, |(formation, _)| formation)
        );
        formed
    };
    agent.run("first").await.unwrap();
    let first = agent.session_id();
    assert_eq!(formed(&first).await, None, "it began with its first loop");
    let second = agent.new_session().unwrap();
    agent.run("second").await.unwrap();
    assert_eq!(formed(&second).await, Some((SessionFormation::Explicit, Some(first))));
    tokio::time::advance(Duration::from_secs(61)).await;
    let third = agent.check_and_rotate(Duration::from_secs(60)).unwrap().unwrap();
    agent.run("third").await.unwrap();
    let idle = SessionFormation::InactivityTimeout { idle_secs: 61 };
    assert_eq!(formed(&third).await, Some((idle, Some(second))));
    fixture.assert_valid();
}

#[tokio::test(start_paused = true)]
async fn agent_that_continued_a_loop_is_not_idle() {
    let fixture = Fixture::new([Reply::text("one"), Reply::text("two")]);
    let agent = fixture.agent().build().unwrap();
    let hour = Duration::from_secs(3_600);
    agent.run("first").await.unwrap();
    tokio::time::advance(hour).await;
    let rerun = ContinuationKind::Rerun { tag: "2025-01-01T00:00:00Z".into() };
    agent.continue_loop_with_sender(|_| {}, rerun).await.unwrap();
    tokio::time::advance(hour).await;
    assert_eq!(agent.check_and_rotate(hour).unwrap(), None);
    tokio::time::advance(Duration::from_secs(1)).await;
    assert!(agent.check_and_rotate(hour).unwrap().is_some());
}

#[tokio::test(start_paused = true)]
async fn loop_id_names_provider_model_and_thinking_level_unless_a_config_id_is_given() {
    let fixture = Fixture::new(["one", "two", "three"].map(Reply::text));
    let model = || ModelConfig::new("openai-chat", "Vendor/Model 4.5");
    let agents = [
        fixture.agent().session_id("a").model_config(model()),
        fixture.agent().session_id("b").model_config(model()).thinking_level(ThinkingLevel::High),
        fixture.agent().session_id("c").model_config(model()).config_id("mine"),
    ];
    let mut loops = Vec::new();
    for agent in agents {
        // The scripted model stays the provider.
        let agent = agent.provider(fixture.model.clone()).build().unwrap();
        agent.run("hello").await.unwrap();
        loops.push(starts(&fixture.journal(&agent.session_id()).await)[0].loop_id.to_string());
    }
    assert_eq!(
        loops,
        ["a.openai-chat-vendor_model_4_5-off.0", "b.openai-chat-vendor_model_4_5-high.0", "c.mine.0"]
    );
}

#[tokio::test(start_paused = true)]
async fn second_agent_resumes_a_session_of_the_store() {
    let fixture = Fixture::new([Reply::text("hello Ada"), Reply::text("you are Ada"), Reply::text("again")]);
    fixture.agent().session_id("s").build().unwrap().run("I am Ada").await.unwrap();
    let second = fixture.agent().session_id("s").build().unwrap();
    second.run("who am I?").await.unwrap();
    assert_eq!(fixture.sent_messages(1), ["user: I am Ada", "assistant: hello Ada", "user: who am I?"]);

    let third = fixture.agent().session_id("s").build().unwrap();
    assert!(third.recover().await.unwrap().is_none(), "nothing was interrupted");
    let read: Vec<String> = third.messages().iter().map(|message| formatted(message)).collect();
    assert_eq!(read.len(), 4, "the conversation was read");
    let rerun = ContinuationKind::Rerun { tag: "2025-01-01T00:00:00Z".into() };
    third.continue_loop_with_sender(|_| {}, rerun).await.unwrap();
    assert_eq!(fixture.sent_messages(2), fixture.sent_messages(1));
    let begun = starts(&fixture.journal(&"s".into()).await);
    assert_eq!(begun[2].parent_loop_id.as_ref(), Some(&begun[1].loop_id));
    fixture.assert_valid();
}

/// Stops every loop before it begins.
struct StopEveryLoop;

impl Hooks for StopEveryLoop {
    fn before_loop(&self, _messages: &Window, _loop_index: u64) -> Flow {
        Flow::Stop
    }
}

#[tokio::test(start_paused = true)]
async fn loop_stopped_before_it_began_keeps_its_number() {
    let fixture = Fixture::new([Reply::text("hi")]);
    fixture.agent().hooks(StopEveryLoop).session_id("s").build().unwrap().run("hello").await.unwrap();
    fixture.agent().session_id("s").build().unwrap().run("hello").await.unwrap();
    let journal = fixture.journal(&"s".into()).await;
    let ends = journal.iter().filter(|event| matches!(event.event, AgentEvent::AgentEnd { .. }));
    let mut loops: Vec<_> = ends.map(|event| event.loop_id.clone().unwrap()).collect();
    loops.dedup();
    assert_eq!(loops.len(), 2);
}
