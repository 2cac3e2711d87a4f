//! Opening a long session needs little memory. `cargo xtask editors` chooses its length.

use std::collections::HashMap;
use std::sync::Arc;

use lariat_core::event::{AgentEvent, Event, EventRecord};
use lariat_core::id::SessionId;
use lariat_core::store::{Append, SessionStore as _};
use lariat_proofs::server::{Script, Turn};
use serde_json::json;

use super::{Editor, of_kind};
use crate::fixture::Fixture;

/// Memory that opening the session may add, in kB.
const LIMIT: u64 = 48 * 1024;
/// Events per append.
const BATCH: usize = 2_000;

/// The newest run of a journal, to be repeated.
struct Template(Vec<String>);

impl Template {
    fn new(journal: &[Event]) -> Self {
        let ends = journal.iter().enumerate();
        let ends = ends.filter(|(_, event)| matches!(event.event, AgentEvent::AgentEnd { .. }));
        let ends: Vec<usize> = ends.map(|(at, _)| at).collect();
        let run = &journal[ends[ends.len() - 2] + 1..=ends[ends.len() - 1]];
        Self(run.iter().map(|event| serde_json::to_string(&**event).unwrap()).collect())
    }

    /// The run with other ids, from a position on.
    fn repeat(&self, number: u64, first: u64) -> Vec<Event> {
        let mut known = HashMap::new();
        let events = self.0.iter().zip(first..).map(|(line, seq)| {
            let line = with_new_ids(line, number, &mut known);
            let mut record: EventRecord = serde_json::from_str(&line).unwrap();
            record.seq = seq;
            Arc::new(record)
        });
        events.collect()
    }
}

/// Replaces every UUID by one that the number makes unique.
fn with_new_ids(line: &str, number: u64, known: &mut HashMap<String, String>) -> String {
    let is_uuid = |text: &str| {
        text.len() == 36
            && text.bytes().enumerate().all(|(at, byte)| match at {
                8 | 13 | 18 | 23 => byte == b'-',
                _ => byte.is_ascii_hexdigit(),
            })
    };
    let parts = line.split('"').map(|part| {
        if !is_uuid(part) {
            return part.to_owned();
        }
        let count = known.len() as u64;
        let id = known.entry(part.to_owned());
        id.or_insert_with(|| format!("{}-{:012x}", &part[..23], number * 1_000 + count)).clone()
    });
    parts.collect::<Vec<String>>().join("\"")
}

/// Adds runs to a session until it has this many events.
async fn grow(fixture: &Fixture, session: &str, events: u64) -> u64 {
    let store = fixture.store().await.unwrap();
    let session = SessionId::from(session);
    let template = Template::new(&fixture.journal().await);
    let epoch = store.claim(&session).await.unwrap();
    let (mut head, mut number) = (store.head(&session).await.unwrap(), 1);
    while head < events {
        let mut batch = Vec::new();
        while batch.len() < BATCH && head + (batch.len() as u64) < events {
            batch.extend(template.repeat(number, head + batch.len() as u64));
            number += 1;
        }
        store.append(Append::new(&session, epoch, head, &batch)).await.unwrap();
        head += batch.len() as u64;
    }
    store.release(&session, epoch).await.unwrap();
    head
}

/// The most memory that a process ever had, in kB.
fn peak(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn acp_load_of_a_long_session_needs_little_memory() {
    let events = std::env::var("LARIAT_EVENTS").ok().and_then(|text| text.parse().ok()).unwrap_or(20_000);
    let call = |id: &str| Turn::new().call(id, "bash", &json!({ "command": "seq 1 500" }));
    let reply = || Turn::new().text("what the model says about it. ".repeat(40));
    let fixture = Fixture::new(Script::queue([call("call_1"), reply(), call("call_2"), reply()])).await;
    let mut editor = Editor::direct(&fixture);
    let session = editor.new_session(&fixture);
    for text in ["first", "again and again"] {
        let prompt = editor.prompt(&session, text);
        assert_eq!(editor.stop_reason(prompt), "end_turn");
    }
    assert_eq!(editor.close(), Some(0));
    let events = grow(&fixture, &session, events).await;

    let mut editor = Editor::direct(&fixture);
    editor.new_session(&fixture);
    let before = peak(editor.child.id());
    let begun = std::time::Instant::now();
    let updates = editor.load(&fixture, &session);
    let (took, after) = (begun.elapsed(), peak(editor.child.id()));
    let added = after - before;
    let size: usize = updates.iter().map(|update| update.to_string().len()).sum();
    println!(
        "| session/load of {events} events ({} updates, {:.1} MB) | {:.1} MB in {:.1} s | memory added |",
        updates.len(),
        size as f64 / 1e6,
        added as f64 / 1_024.0,
        took.as_secs_f64(),
    );
    let prompts = of_kind(&updates, "user_message_chunk").len();
    assert!(prompts as u64 > events / 50, "{prompts} prompts of {events} events");
    assert!(added < LIMIT, "{added} kB for {events} events");
}
