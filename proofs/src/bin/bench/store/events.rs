//! Makes events of about a kilobyte, the usual size for tool results, and the records that stores keep of
//! them.

use std::sync::Arc;

use lariat_core::content::Content;
use lariat_core::event::{AgentEvent, Event, EventRecord, FORMAT_VERSION, RecordedMessage};
use lariat_core::id::{EventId, MessageId, SessionId};
use lariat_core::message::{AgentMessage, Message, ToolResultMessage};
use lariat_core::time::{Minter, Stamp, Timestamp};
use lariat_store::content;
use lariat_store::record::{Chain, SealedRecord};

use super::{Outcome, text};

/// Text of a tool's result; the rest of an event makes it about a kilobyte.
const TEXT_BYTES: usize = 640;

/// Text of this many bytes that looks like a directory listing.
pub(super) fn listing(bytes: usize, seed: u64) -> String {
    let line =
        |n: u64| format!("{:>6}  src/module_{}/file_{}.rs: ok\n", n, (n + seed) % 97, (n * seed) % 9_973);
    let mut text: String = (0..).map(line).take(bytes / 32 + 1).collect();
    text.truncate(bytes);
    text
}

/// Events of a session, starting at a position.
pub(super) fn events(from_seq: u64, count: usize) -> Vec<Event> {
    (from_seq..).take(count).map(|seq| event(seq, 0)).collect()
}

/// The first events of a session that started this many minutes later than others.
pub(super) fn later(minutes: u64, count: usize) -> Vec<Event> {
    (0..).take(count).map(|seq| event(seq, minutes * 60_000)).collect()
}

fn event(seq: u64, later_ms: u64) -> Event {
    let now = Timestamp::from_millis(1_800_000_000_000 + later_ms + seq);
    let mut minter = Minter::default();
    minter.stamp(Stamp { now, entropy: seq });
    let mut message = AgentMessage::from(Message::ToolResult(ToolResultMessage {
        tool_call_id: format!("call-{seq}").into(),
        tool_name: "read".to_owned(),
        content: vec![Content::text(listing(TEXT_BYTES, seq))],
        is_error: false,
        timestamp: now,
    }));
    message.assign_id(|| MessageId::new(minter.uuid()));
    Event::new(EventRecord {
        v: FORMAT_VERSION,
        seq,
        id: EventId::new(minter.uuid()),
        timestamp: now,
        loop_id: Some("session.scripted-model-off.0".into()),
        event: AgentEvent::MessageEnd { message: RecordedMessage::Full(Arc::new(message)) },
    })
}

/// What a store writes for these events.
pub(super) fn records(session: &SessionId, events: &[Event]) -> Outcome<Vec<SealedRecord>> {
    let mut chain = Chain::start(session);
    let mut records = Vec::with_capacity(events.len());
    for event in events {
        let record = SealedRecord::new(event.seq, chain, content::pack(event).map_err(text)?.body);
        chain = record.chain;
        records.push(record);
    }
    Ok(records)
}
