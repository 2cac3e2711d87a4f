//! A store that becomes unavailable, recovers, or has another writer.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use lariat_core::event::{AgentEvent, RunOutcome};
use lariat_core::store::StoreError;
use lariat_runtime::drive::{DriveError, JournalConfig};
use lariat_runtime::{Agent, AgentError};
use lariat_test::journal::{Operation, OperationFault};
use lariat_test::{Act, Fault, FaultyStore, Reply};

use super::fixture::{Fixture, call, durable, idle, kinds, rest, until};

fn on(fixture: &Fixture, store: &Arc<FaultyStore>) -> Agent {
    let builder = fixture.agent().session_id("s").store(store.clone());
    builder.tool(fixture.tool("write", || Act::text("ok"))).build().unwrap()
}

#[tokio::test(start_paused = true)]
async fn store_outage_is_reported_and_loses_nothing() {
    for faults in [
        vec![Fault::Refuse, Fault::Refuse],
        vec![Fault::None, Fault::Ambiguous],
        vec![Fault::None, Fault::None, Fault::Torn { written: 1 }, Fault::Refuse, Fault::Torn { written: 1 }],
    ] {
        let fixture = Fixture::new([call("c1", "write"), Reply::text("done")]);
        let store =
            Arc::new(FaultyStore::new(fixture.clock.clone()).through_json().with_faults(faults.clone()));
        let agent = on(&fixture, &store);
        let events = rest(&mut agent.run_stream("go")).await;
        let shown = kinds(&events);
        let at = |kind: &str| shown.iter().position(|other| other == kind);
        assert!(at("JournalUnavailable").unwrap() < at("JournalRestored").unwrap(), "{shown:?}");
        let survivors = store.survivors(&"s".into());
        assert_eq!(durable(&events), survivors);
        assert_eq!(kinds(&survivors).last().unwrap(), "AgentEnd");
        assert_eq!(store.acknowledged(&"s".into()), survivors);
        assert_eq!((fixture.ledger.len(), store.misuses().len()), (1, 0), "{faults:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn tool_does_not_run_before_its_start_is_saved() {
    let fixture = Fixture::new([call("c1", "write"), Reply::text("done")]);
    let store = Arc::new(FaultyStore::new(fixture.clock.clone()).with_plan(|append| {
        let starts =
            |event: &lariat_core::event::Event| matches!(event.event, AgentEvent::ToolExecutionStart { .. });
        if append.events.iter().any(starts) { Fault::Refuse } else { Fault::None }
    }));
    let agent = on(&fixture, &store);
    let mut stream = agent.run_stream("go");
    for _ in 0..5 {
        until(&mut stream, "JournalUnavailable").await;
        assert!(fixture.ledger.is_empty());
    }
    store.heal();
    assert_eq!(stream.finish().await.unwrap().outcome, RunOutcome::Completed);
    assert_eq!(fixture.ledger.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn run_given_up_during_an_outage_is_recovered_by_the_same_agent() {
    // In each case the store is unavailable from the second append on; how much of it is written differs.
    for fault in [Fault::Refuse, Fault::Ambiguous, Fault::Torn { written: 1 }] {
        let fixture = Fixture::new([call("c1", "write"), Reply::text("done"), Reply::text("next")]);
        let planned = fault.clone();
        let store = Arc::new(
            FaultyStore::new(fixture.clock.clone())
                .with_plan(move |append| if append.index == 1 { planned.clone() } else { Fault::None })
                .with_trouble(|operation| match operation {
                    Operation::Read => OperationFault::Unavailable,
                    _ => OperationFault::None,
                }),
        );
        let agent = on(&fixture, &store);
        let mut stream = agent.run_stream("go");
        until(&mut stream, "JournalUnavailable").await;
        agent.follow_up("said during the outage");
        tokio::task::yield_now().await;
        stream.cancel();
        let given_up = stream.finish().await.unwrap_err();
        let unavailable =
            matches!(given_up, AgentError::Drive(DriveError::Journal(StoreError::Unavailable(_))));
        assert!(unavailable && given_up.is_retryable(), "{given_up:?}");

        store.heal();
        assert!(matches!(agent.run("hello?").await, Err(AgentError::Interrupted(_))), "{fault:?}");
        let output = agent.recover().await.unwrap().unwrap();
        assert_eq!(output.outcome, RunOutcome::Completed, "{fault:?}");
        assert!(fixture.ledger.repeated_calls().is_empty());
        agent.run("hello?").await.unwrap();
        let messages = fixture.sent_messages(fixture.model.requests() - 1);
        let times = messages.iter().filter(|message| *message == "user: said during the outage").count();
        assert_eq!(times, 1, "{fault:?}: {messages:?}");
        assert_eq!(store.misuses(), []);
        fixture.assert_valid();
    }
}

#[tokio::test(start_paused = true)]
async fn unavailable_store_ends_the_run_after_the_configured_patience() {
    let fixture = Fixture::new([Reply::text("done")]);
    let store = Arc::new(FaultyStore::new(fixture.clock.clone()).with_plan(|_| Fault::Refuse));
    let patience = JournalConfig { patience: Duration::from_secs(30), ..JournalConfig::default() };
    let agent = fixture.agent().store(store.clone()).journal(patience).build().unwrap();
    let begun = tokio::time::Instant::now();
    let mut stream = agent.run_stream("go");
    assert!(kinds(&rest(&mut stream).await).iter().all(|kind| kind == "JournalUnavailable"));
    let error = stream.finish().await.unwrap_err();
    assert!(matches!(error, AgentError::Drive(_)) && error.is_retryable());
    assert!(begun.elapsed() >= Duration::from_secs(30) && begun.elapsed() < Duration::from_secs(60));
    store.heal();
    assert_eq!(agent.run("go").await.unwrap().text, "done", "no loop began, so none is interrupted");
}

#[tokio::test(start_paused = true)]
async fn unavailable_store_is_retried_with_growing_delays_for_ten_minutes() {
    let fixture = Fixture::new([Reply::text("done")]);
    let (attempts, clock) = (Arc::new(Mutex::new(Vec::new())), fixture.clock.clone());
    let seen = Arc::clone(&attempts);
    let store = Arc::new(FaultyStore::new(fixture.clock.clone()).with_plan(move |_| {
        seen.lock().unwrap().push(clock.now());
        Fault::Refuse
    }));
    let agent = fixture.agent().store(store).build().unwrap();
    assert!(matches!(agent.run("go").await, Err(AgentError::Drive(_))));
    let attempts = attempts.lock().unwrap().clone();
    let waits: Vec<u128> = attempts.windows(2).map(|pair| pair[1].since(pair[0]).as_millis()).collect();
    let growing = [50, 100, 200, 400, 800, 1_600].into_iter().chain(std::iter::repeat(2_000));
    for (wait, expected) in waits.iter().zip(growing) {
        // Timers of tokio are up to a millisecond late.
        assert!((expected..=expected + 2).contains(wait), "{waits:?}");
    }
    let total = attempts.last().unwrap().since(attempts[0]);
    assert!(total >= Duration::from_secs(600) && total <= Duration::from_secs(602), "{total:?}");
}

#[tokio::test(start_paused = true)]
async fn next_prompt_reads_a_session_that_could_not_be_read() {
    let fixture = Fixture::new([Reply::text("hello Ada"), Reply::text("you are Ada")]);
    let store = Arc::new(FaultyStore::new(fixture.clock.clone()));
    on(&fixture, &store).run("I am Ada").await.unwrap();
    let mut failing = true;
    let store = Arc::new(Arc::into_inner(store).unwrap().with_trouble(move |operation| {
        if operation == Operation::Read && std::mem::take(&mut failing) {
            OperationFault::Unavailable
        } else {
            OperationFault::None
        }
    }));
    let agent = on(&fixture, &store);
    assert!(matches!(agent.run("who am I?").await, Err(AgentError::Store(StoreError::Unavailable(_)))));
    agent.run("who am I?").await.unwrap();
    assert_eq!(fixture.sent_messages(1), ["user: I am Ada", "assistant: hello Ada", "user: who am I?"]);
}

#[tokio::test(start_paused = true)]
async fn fenced_writer_gets_a_typed_error_and_writes_nothing() {
    let fixture = Fixture::new([Reply::text("one"), Reply::text("two"), Reply::text("three")]);
    let first = fixture.agent().session_id("s").build().unwrap();
    first.run("first").await.unwrap();
    let second = fixture.agent().session_id("s").build().unwrap();
    second.run("second").await.unwrap();
    let journal = fixture.journal(&"s".into()).await;
    for _ in 0..2 {
        let error = first.run("third").await.unwrap_err();
        let fenced = matches!(error, AgentError::Drive(DriveError::Journal(StoreError::Fenced { .. })));
        assert!(fenced && !error.is_retryable(), "{error:?}");
    }
    assert_eq!(fixture.journal(&"s".into()).await, journal);
    assert_eq!(fixture.model.requests(), 2, "the model was not called");
    second.run("third").await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn message_is_delivered_once_wherever_the_store_fails() {
    for (index, fault) in
        (0..8).flat_map(|index| [Fault::Refuse, Fault::Ambiguous].map(|fault| (index, fault)))
    {
        let fixture = Fixture::new([call("c1", "write"), Reply::text("done")]);
        let planned = fault.clone();
        let store = Arc::new(
            FaultyStore::new(fixture.clock.clone())
                .with_plan(move |append| if append.index == index { planned.clone() } else { Fault::None })
                .with_trouble(move |operation| match operation {
                    Operation::Read => OperationFault::Unavailable,
                    _ => OperationFault::None,
                }),
        );
        let impatient = JournalConfig { patience: Duration::ZERO, ..JournalConfig::default() };
        let tool = fixture.tool("write", || Act::text("ok").after(Duration::from_secs(1)));
        let agent = fixture
            .agent()
            .session_id("s")
            .store(store.clone())
            .journal(impatient)
            .tool(tool)
            .build()
            .unwrap();
        let mut stream = agent.run_stream("go");
        let mut sent = 0;
        while let Some(event) = stream.next().await {
            if matches!(event.event, AgentEvent::ToolExecutionStart { .. }) {
                agent.follow_up("and then?");
                sent += 1;
            }
        }
        let result = stream.finish().await;
        store.heal();
        if result.is_err() {
            agent.recover().await.unwrap();
        }
        agent.run("hello?").await.unwrap();
        let messages = fixture.sent_messages(fixture.model.requests() - 1);
        let times = messages.iter().filter(|message| *message == "user: and then?").count();
        assert_eq!(times, sent, "{index} {fault:?}: {messages:?}");
        assert!(sent == 1 || index < 3, "the third append starts the tool");
        assert_eq!(store.misuses(), []);
        fixture.assert_valid();
    }
}

#[tokio::test(start_paused = true)]
async fn slow_observers_on_a_slow_store_still_receive_every_event() {
    let calls = (0..80).map(|n| call(&format!("c{n}"), "write"));
    let fixture = Fixture::new(calls.chain([Reply::text("done")]));
    let slow = |operation| match operation {
        Operation::Read => OperationFault::Delayed(Duration::from_secs(1)),
        _ => OperationFault::None,
    };
    let store = Arc::new(FaultyStore::new(fixture.clock.clone()).with_trouble(slow));
    let tool = fixture.tool("write", || Act::text("ok"));
    let agent =
        fixture.agent().store(store.clone()).tool(tool).repetition(None).without_limits().build().unwrap();
    let (sender, receiver) = std::sync::mpsc::channel();
    let sender = move |event| sender.send(event).unwrap();
    agent.prompt_with_sender("go", sender).await.unwrap();
    let journal = store.survivors(&agent.session_id());
    assert!(journal.len() > lariat_runtime::observe::DEFAULT_CAPACITY);
    let events: Vec<_> = receiver.try_iter().collect();
    assert_eq!(durable(&events), journal);

    fixture.model.extend((80..160).map(|n| call(&format!("c{n}"), "write")));
    let mut stream = agent.run_stream("again");
    idle(&agent).await;
    let events = rest(&mut stream).await;
    assert_eq!(durable(&events), store.survivors(&agent.session_id())[journal.len()..]);
}
