//! The three ways to watch a run, and senders.

use std::sync::{Arc, Mutex, mpsc};

use lariat_core::event::{AgentEvent, Event};
use lariat_runtime::observe::Subscription;
use lariat_test::{Act, Reply, ScriptedModel};

use super::fixture::{Fixture, call, durable, idle, kind, kinds, rest};

/// Receives events up to and including the end of a loop.
async fn up_to_end(events: &mut Subscription) -> Vec<Event> {
    let mut seen = Vec::new();
    while let Ok(event) = events.recv().await {
        seen.push(event);
        if matches!(seen.last().unwrap().event, AgentEvent::AgentEnd { .. }) {
            break;
        }
    }
    seen
}

fn ids(events: &[Event]) -> Vec<lariat_core::id::EventId> {
    events.iter().map(|event| event.id).collect()
}

#[tokio::test(start_paused = true)]
async fn stream_yields_events_in_order_and_ends_after_agent_end() {
    let fixture = Fixture::new([call("c1", "write"), Reply::text("done").split(2)]);
    let agent = fixture.agent().tool(fixture.tool("write", || Act::text("ok"))).build().unwrap();
    let mut stream = agent.run_stream("go");
    let events = rest(&mut stream).await;
    assert_eq!(
        kinds(&durable(&events)),
        [
            "AgentStart",
            "TurnStart",
            "MessageEnd",
            "MessageEnd",
            "ToolExecutionStart",
            "ToolExecutionEnd",
            "MessageEnd",
            "TurnEnd",
            "TurnStart",
            "MessageEnd",
            "TurnEnd",
            "AgentEnd"
        ]
    );
    assert_eq!(kind(events.last().unwrap()), "AgentEnd");
    assert!(stream.next().await.is_none(), "the stream stays ended");
    let text: String = events.iter().filter_map(|event| event.event.text_delta()).collect();
    assert_eq!(text, "done");
    assert_eq!(durable(&events), fixture.journal(&agent.session_id()).await);
    assert_eq!(stream.finish().await.unwrap().text, "done");
}

#[tokio::test(start_paused = true)]
async fn agent_end_contains_resolved_messages() {
    let fixture = Fixture::new([Reply::text("done")]);
    let events = rest(&mut fixture.agent().build().unwrap().run_stream("go")).await;
    let AgentEvent::AgentEnd { messages, .. } = &events.last().unwrap().event else { panic!() };
    let texts: Vec<String> =
        messages.iter().map(|message| message.get().unwrap().as_llm().unwrap().text()).collect();
    assert_eq!(texts, ["go", "done"]);
}

#[tokio::test(start_paused = true)]
async fn two_subscribers_both_receive_everything() {
    let fixture = Fixture::new([call("c1", "write"), Reply::text("done")]);
    let agent =
        fixture.agent().tool(fixture.tool("write", || Act::text("ok"))).event_queue(256).build().unwrap();
    let (mut one, mut two) = (agent.subscribe(), agent.subscribe());
    let reading = tokio::spawn(async move { up_to_end(&mut one).await });
    agent.run("go").await.unwrap();
    let (one, two) = (reading.await.unwrap(), up_to_end(&mut two).await);
    assert_eq!(ids(&durable(&one)), ids(&fixture.journal(&agent.session_id()).await));
    assert_eq!(ids(&durable(&one)), ids(&durable(&two)));
    assert!(two.iter().any(|event| event.event.text_delta() == Some("done")));
}

#[tokio::test(start_paused = true)]
async fn slow_subscriber_receives_the_durable_events_later() {
    let calls = (0..20).map(|n| call(&format!("c{n}"), "write"));
    let fixture = Fixture::new(calls.chain([Reply::text("done")]));
    let mut n = 0;
    let tool = fixture.tool("write", || Act::text("ok")).with_script(move |_| {
        n += 1;
        Act::text(format!("result {n}"))
    });
    let agent = fixture.agent().tool(tool).event_queue(2).build().unwrap();
    let mut lagging = agent.subscribe();
    agent.run("go").await.unwrap();
    let seen = durable(&up_to_end(&mut lagging).await);
    let journal = fixture.journal(&agent.session_id()).await;
    assert!(journal.len() > 100);
    assert_eq!(ids(&seen), ids(&journal));
    let AgentEvent::AgentEnd { messages, .. } = &seen.last().unwrap().event else { panic!() };
    assert!(messages.iter().all(|message| message.get().is_some()), "re-read events are resolved, too");
}

#[tokio::test(start_paused = true)]
async fn stream_that_is_read_late_still_has_every_durable_event() {
    let calls = (0..80).map(|n| call(&format!("c{n}"), "write"));
    let fixture = Fixture::new(calls.chain([Reply::text("done")]));
    let tool = fixture.tool("write", || Act::text("ok"));
    let agent = fixture.agent().tool(tool).without_limits().repetition(None).build().unwrap();
    let mut stream = agent.run_stream("go");
    idle(&agent).await;
    let journal = fixture.journal(&agent.session_id()).await;
    assert!(journal.len() > lariat_runtime::observe::DEFAULT_CAPACITY);
    assert_eq!(ids(&durable(&rest(&mut stream).await)), ids(&journal));
}

#[tokio::test(start_paused = true)]
async fn callback_receives_every_event_of_every_run() {
    let fixture = Fixture::new([Reply::text("one"), Reply::text("two")]);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    let agent =
        fixture.agent().on_event(move |event| log.lock().unwrap().push(event.clone())).build().unwrap();
    agent.run("first").await.unwrap();
    let mut streamed: Vec<AgentEvent> = seen.lock().unwrap().clone();
    assert!(
        matches!(streamed.last(), Some(AgentEvent::AgentEnd { .. })),
        "all events were passed on when run returns"
    );
    streamed.extend(rest(&mut agent.run_stream("second")).await.iter().map(|event| event.event.clone()));
    assert_eq!(*seen.lock().unwrap(), streamed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn blocking_callback_does_not_delay_the_run() {
    let fixture = Fixture::without_time(
        ScriptedModel::new([call("c1", "write"), Reply::text("done").split(1)]).with_yields(),
    );
    let (release, blocked) = mpsc::channel::<()>();
    let blocked = Mutex::new(blocked);
    let seen = Arc::new(Mutex::new(0));
    let count = Arc::clone(&seen);
    let agent = fixture
        .agent()
        .tool(fixture.tool("write", || Act::text("ok")))
        .event_queue(256)
        .on_event(move |_| {
            // The first event waits until the sender is dropped; all later ones pass immediately.
            let _ = blocked.lock().unwrap().recv();
            *count.lock().unwrap() += 1;
        })
        .build()
        .unwrap();
    let mut watching = agent.subscribe();
    let stream = agent.run_stream("go");
    let events = up_to_end(&mut watching).await;
    let journal = fixture.journal(&agent.session_id()).await;
    assert_eq!(ids(&durable(&events)), ids(&journal));
    assert_eq!(kinds(&journal).last().unwrap(), "AgentEnd");
    assert_eq!(
        *seen.lock().unwrap(),
        0,
        "the journal is complete before the callback has received one event"
    );
    assert!(agent.is_streaming(), "the run is done only after the callback has received them all");
    drop(release);
    stream.finish().await.unwrap();
    assert!(*seen.lock().unwrap() >= journal.len());
}

#[tokio::test(start_paused = true)]
async fn panicking_callback_does_not_affect_the_run() {
    let fixture = Fixture::new([Reply::text("one"), Reply::text("two")]);
    let agent =
        fixture.agent().on_event(|_| std::panic::resume_unwind(Box::new("callback"))).build().unwrap();
    assert_eq!(agent.run("go").await.unwrap().text, "one");
    assert_eq!(agent.run("go").await.unwrap().text, "two");
}

#[tokio::test(start_paused = true)]
async fn sender_receives_every_event_before_the_prompt_returns() {
    let fixture = Fixture::new([Reply::text("done").split(1)]);
    let agent = fixture.agent().build().unwrap();
    let (sender, receiver) = mpsc::channel();
    let output = agent
        .prompt_with_sender("go", move |event| {
            let _ = sender.send(event);
        })
        .await
        .unwrap();
    let events: Vec<Event> = receiver.try_iter().collect();
    assert_eq!(durable(&events), fixture.journal(&agent.session_id()).await);
    assert_eq!(events.iter().filter_map(|event| event.event.text_delta()).collect::<String>(), output.text);
}
