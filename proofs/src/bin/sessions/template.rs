//! A recorded run of a host that can be repeated in a journal under new ids.
//!
//! The recording has a prompt, a tool call, an approval with the command that gave it, a second tool call and a reply, so
//! that a journal of repetitions has the mix of events of a real session.

use std::sync::Arc;

use lariat_api::{Action, Answer, Delivery};
use lariat_core::event::{AgentEvent, Event, EventRecord};
use lariat_core::permission::PermissionDecision;
use lariat_core::time::Timestamp;
use lariat_test::Reply;

use crate::fixtures::host::{Fixture, call};

/// Stands for the number of the repetition in ids that the recording chooses.
const NUMBER: &str = "0000000";
/// The result of the tools of the recording, and what the repetitions have instead.
const RESULT: &str = "\"written\"";
const RESULT_LINES: usize = 24;
/// The time of the first event.
const START_MS: u64 = 1_800_000_000_000;

/// The events of a run, with places for ids.
pub(crate) struct Template {
    events: Vec<Vec<Part>>,
}

enum Part {
    Text(String),
    /// The number of the repetition.
    Number,
    /// An id of this repetition.
    Id(usize),
    /// The last message of the repetition before.
    Base(usize),
    /// The number of the loop.
    Loop,
}

impl Template {
    /// Records a run.
    pub(crate) async fn record() -> Result<Self, String> {
        let replies = [
            Reply::text("Hello."),
            call(&format!("call-{NUMBER}-a"), "slow"),
            call(&format!("call-{NUMBER}-b"), "write"),
            Reply::text("The tests pass."),
        ];
        let fixture = Fixture::new(replies).await;
        let failed = |problem: lariat_api::Problem| problem.to_string();
        fixture.prompt("hello", "hello", Delivery::Queue).await.map_err(failed)?;
        fixture.until_idle().await;
        let first = fixture.journal().await;
        let id = format!("prompt-{NUMBER}");
        fixture.prompt(&id, "Fix the test that fails.", Delivery::Queue).await.map_err(failed)?;
        let view = fixture.until(|view| !view.asks.is_empty()).await;
        let ask = view.asks.first().ok_or("no ask waits")?;
        let answer = Answer::Approval { decision: PermissionDecision::Allow };
        let action = Action::Answer { ask_id: ask.id.clone(), digest: ask.digest.clone(), answer };
        fixture.send(&format!("answer-{NUMBER}"), action).await.map_err(failed)?;
        fixture.until_idle().await;
        let journal = fixture.journal().await;
        Self::of(&first, journal.get(first.len()..).unwrap_or_default())
    }

    fn of(first: &[Event], events: &[Event]) -> Result<Self, String> {
        let base = last_message(first).ok_or("the recording has no message")?;
        let tip = last_message(events).ok_or("the recording has no message")?;
        let loop_id = events.iter().find_map(|event| event.loop_id.as_ref()).ok_or("no loop")?.to_string();
        let (prefix, _) = loop_id.rsplit_once('.').ok_or("the loop has no number")?;
        let loop_place = (format!("\"{loop_id}"), format!("\"{prefix}."));
        let result: String = (0..RESULT_LINES)
            .map(|n| format!("{n:>6}  src/module_{n}/file.rs: ok, nothing to do\\n"))
            .collect();
        let mut ids = vec![tip];
        let mut parts = Vec::new();
        for event in events {
            let text = serde_json::to_string(&**event).map_err(|error| error.to_string())?;
            let text = text.replace(RESULT, &format!("\"{result}\""));
            parts.push(split(&text, &base, &loop_place, &mut ids));
        }
        Ok(Self { events: parts })
    }

    /// Returns the number of events of a repetition.
    pub(crate) fn len(&self) -> u64 {
        self.events.len() as u64
    }

    /// Returns the events of a repetition, which begins at a position.
    pub(crate) fn repeat(&self, number: u64, first_seq: u64) -> Result<Vec<Event>, String> {
        let id = |number: u64, place: usize| {
            let text = format!("{number:032x}{place:04x}");
            let hex = text.get(4..).unwrap_or_default();
            let group = |from: usize, to: usize| hex.get(from..to).unwrap_or_default().to_owned();
            [group(0, 8), group(8, 12), group(12, 16), group(16, 20), group(20, 32)].join("-")
        };
        let events = self.events.iter().zip(first_seq..).map(|(parts, seq)| {
            let text: String = parts
                .iter()
                .map(|part| match part {
                    Part::Text(text) => text.clone(),
                    Part::Number => format!("{number:07}"),
                    Part::Id(place) => id(number, *place),
                    Part::Base(place) => id(number - 1, *place),
                    Part::Loop => number.to_string(),
                })
                .collect();
            let mut record: EventRecord = serde_json::from_str(&text).map_err(|error| error.to_string())?;
            (record.seq, record.timestamp) = (seq, Timestamp::from_millis(START_MS + seq * 40));
            Ok(Arc::new(record))
        });
        events.collect()
    }
}

fn last_message(events: &[Event]) -> Option<String> {
    events.iter().rev().find_map(|event| match &event.event {
        AgentEvent::MessageEnd { message } => Some(message.id().to_string()),
        _ => None,
    })
}

/// Splits the text of an event at the places where repetitions differ.
fn split(text: &str, base: &str, (loop_id, prefix): &(String, String), ids: &mut Vec<String>) -> Vec<Part> {
    let mut parts = Vec::new();
    let (mut plain, mut rest) = (String::new(), text);
    while let Some(next) = rest.chars().next() {
        let (part, length) = if let Some(id) = uuid(rest) {
            let place = ids.iter().position(|known| known == id);
            let part = match place {
                _ if id == base => Part::Base(0),
                Some(place) => Part::Id(place),
                None => {
                    ids.push(id.to_owned());
                    Part::Id(ids.len() - 1)
                }
            };
            (part, id.len())
        } else if rest.starts_with(NUMBER) {
            (Part::Number, NUMBER.len())
        } else if rest.starts_with(loop_id.as_str()) {
            plain.push_str(prefix);
            (Part::Loop, loop_id.len())
        } else {
            plain.push(next);
            rest = rest.get(next.len_utf8()..).unwrap_or_default();
            continue;
        };
        parts.push(Part::Text(std::mem::take(&mut plain)));
        parts.push(part);
        rest = rest.get(length..).unwrap_or_default();
    }
    parts.push(Part::Text(plain));
    parts
}

/// Returns the id that a text starts with.
fn uuid(text: &str) -> Option<&str> {
    let id = text.get(..36)?;
    let fits = |(place, byte): (usize, u8)| match place {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    };
    id.bytes().enumerate().all(fits).then_some(id)
}
