//! The number of writes of a run: each write waits for a disk, so events are written together where possible.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use lariat_core::BoxFuture;
use lariat_core::context::{ContextSource, Note, NotesQuery};
use lariat_core::event::{Description, RunOutcome};
use lariat_runtime::drive::JournalConfig;
use lariat_runtime::prompt::{Section, SectionStability};
use lariat_runtime::{Agent, AgentBuilder, AgentError};
use lariat_test::{Act, Fault, FaultyStore, Reply};

use super::fixture::{Fixture, call, kinds};

/// A source with one note, at the beginning.
struct FactSource {
    looks: bool,
}

impl ContextSource for FactSource {
    fn notes(&self, query: NotesQuery) -> BoxFuture<'_, Vec<Note>> {
        let first = query.turn_index == 0;
        Box::pin(std::future::ready(first.then(|| Note::new("facts", "It rains.")).into_iter().collect()))
    }

    fn is_read_only(&self) -> bool {
        self.looks
    }
}

/// The events of each write.
type Writes = Arc<Mutex<Vec<String>>>;

fn watched(fixture: &Fixture, fault: impl Fn(u64) -> Fault + Send + 'static) -> (Arc<FaultyStore>, Writes) {
    let writes = Writes::default();
    let seen = Arc::clone(&writes);
    let store = FaultyStore::new(fixture.clock.clone()).with_plan(move |append| {
        seen.lock().unwrap().push(kinds(append.events).join(" "));
        fault(append.index)
    });
    (Arc::new(store), writes)
}

fn agent(fixture: &Fixture, store: &Arc<FaultyStore>, looks: bool) -> AgentBuilder {
    let mut description = Description::default();
    description.cwd = Some("/work".to_owned());
    let builder = fixture.agent().session_id("s").store(store.clone()).description(description);
    let builder = builder.section(Section::new("memory", SectionStability::SemiStatic, "Use tabs."));
    builder.context_source(FactSource { looks }).tool(fixture.tool("write", || Act::text("ok")))
}

async fn written(looks: bool) -> Vec<String> {
    let fixture = Fixture::new([call("c1", "write"), call("c2", "write"), Reply::text("done")]);
    let (store, writes) = watched(&fixture, |_| Fault::None);
    agent(&fixture, &store, looks).build().unwrap().run("go").await.unwrap();
    std::mem::take(&mut *writes.lock().unwrap())
}

#[tokio::test(start_paused = true)]
async fn session_start_takes_one_write_and_a_turn_takes_two() {
    assert_eq!(
        written(true).await,
        [
            "SessionDescribed PromptAssembled AgentStart TurnStart MessageEnd MessageEnd",
            "MessageEnd ToolExecutionStart",
            "ToolExecutionEnd MessageEnd TurnEnd TurnStart",
            "MessageEnd ToolExecutionStart",
            "ToolExecutionEnd MessageEnd TurnEnd TurnStart",
            "MessageEnd TurnEnd AgentEnd",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn source_with_side_effects_is_asked_after_earlier_events_are_written() {
    let written = written(false).await;
    assert_eq!(written[0], "SessionDescribed PromptAssembled AgentStart TurnStart MessageEnd");
    assert_eq!(written[1], "MessageEnd");
}

/// The end of a run that is stopped while its write with this number waits for its acknowledgement.
async fn stopped_during_write(number: u64) -> (Fixture, RunOutcome) {
    let fixture = Fixture::new([call("c1", "write"), Reply::text("done")]);
    let late = Fault::Late(Duration::from_secs(5));
    let (store, _) = watched(&fixture, move |index| if index == number { late.clone() } else { Fault::None });
    let agent = agent(&fixture, &store, true).build().unwrap();
    let stop = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        agent.abort();
    };
    let (ended, ()) = tokio::join!(agent.run("go"), stop);
    (fixture, ended.unwrap().outcome)
}

#[tokio::test(start_paused = true)]
async fn run_stopped_during_a_write_starts_neither_a_request_nor_a_tool_after_it() {
    let (fixture, outcome) = stopped_during_write(0).await;
    assert_eq!((outcome, fixture.model.recorded_requests().len()), (RunOutcome::Aborted, 0));
    let (fixture, outcome) = stopped_during_write(1).await;
    assert_eq!((outcome, fixture.model.recorded_requests().len()), (RunOutcome::Aborted, 1));
    assert!(fixture.ledger.all().is_empty(), "{:?}", fixture.ledger.all());
}

async fn run(agent: &Agent) -> Result<(), AgentError> {
    agent.run("go").await.map(drop)
}

#[tokio::test(start_paused = true)]
async fn events_of_a_failed_first_write_are_in_the_next() {
    for fault in [Fault::Refuse, Fault::Torn { written: 1 }, Fault::Torn { written: 2 }] {
        let fixture = Fixture::new([Reply::text("done")]);
        let planned = fault.clone();
        let (store, _) =
            watched(&fixture, move |index| if index == 0 { planned.clone() } else { Fault::None });
        let impatient = JournalConfig { patience: Duration::ZERO, ..JournalConfig::default() };
        let agent = agent(&fixture, &store, true).journal(impatient).build().unwrap();
        run(&agent).await.unwrap_err();
        run(&agent).await.unwrap();
        let journal = kinds(&store.survivors(&"s".into()));
        let expected = ["SessionDescribed", "PromptAssembled", "AgentStart"];
        assert_eq!(journal[..3], expected, "{fault:?}: {journal:?}");
        for kind in expected {
            assert_eq!(journal.iter().filter(|other| *other == kind).count(), 1, "{fault:?}: {journal:?}");
        }
    }
}
