//! Exports a whole session with its blobs to one file and imports it, to keep it, send it or move it between stores.
//!
//! The file starts with a line that names the format. Frames follow: one byte for the kind, eight for the length (little
//! endian), the content, and four for a CRC-32 of kind, length and content.
//!
//! | kind | content |
//! | --- | --- |
//! | `H` | JSON: the session's id and its number of events |
//! | `B` | a blob: 32 bytes of BLAKE3, then its bytes; before the first record that references it |
//! | `R` | a record as [`crate::record`] seals it: position (8), chain (16), checksum (4), body |
//! | `E` | the end: BLAKE3 of everything before it |
//!
//! The file of a fork also contains the events that the fork shares with its parent, so that the file is self-contained.
//! Bodies are the same bytes in every store, so exports from different stores have the same chain.
//! The import writes [`AgentEvent::SessionImported`] before any event of the file: even if the import stops halfway, no
//! decision in the file applies here. The import leaves out learnings, which would otherwise affect later sessions.
//! Invariant: the import rejects a file that was cut, extended or changed anywhere, with the offset, before it writes
//! anything.

mod frame;

use std::collections::HashMap;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::Arc;

use lariat_core::archive::SessionArchive;
use lariat_core::event::{AgentEvent, Event, EventRecord, FORMAT_VERSION, Import};
use lariat_core::id::{EventId, SessionId};
use lariat_core::store::{Append, BlobHash, Epoch, StoreError};

use self::frame::{ArchiveItem, FrameReader, FrameWriter};
use crate::content;
use crate::record::{Chain, SealedRecord, event_of};

/// Number of events that are read or appended at once.
const BATCH: usize = 64;

/// Describes what a session file contains.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Contents {
    /// The session's id in the store that exported it.
    pub session_id: SessionId,
    /// Number of events.
    pub events: u64,
    /// Number of blobs.
    pub blobs: u64,
    /// The chain hash over all events.
    pub chain: Chain,
}

/// Why an export or import failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveFileError {
    /// The file is incomplete or was changed.
    #[error("the file is damaged at byte {offset}: {what}")]
    Damaged {
        /// Byte offset of the damage.
        offset: u64,
        /// Description of the damage.
        what: String,
    },
    /// The file could not be read or written.
    #[error("could not read or write the file: {0}")]
    Io(#[from] io::Error),
    /// The store rejected a request or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Writes a session to a file. Events appended during the export are not included.
///
/// # Errors
/// When the session does not exist, the store cannot return one of its events or blobs, or writing fails.
pub async fn export(
    store: &dyn SessionArchive,
    session_id: &SessionId,
    writer: impl Write + Send,
) -> Result<Contents, ArchiveFileError> {
    let events = store.head(session_id).await?;
    if events == 0 {
        return Err(StoreError::NotFound(format!("session {session_id}")).into());
    }
    let mut file = FrameWriter::begin(writer, session_id, events)?;
    let mut chain = Chain::start(session_id);
    let mut seq = 0;
    while seq < events {
        let limit = usize::try_from(events - seq).unwrap_or(BATCH).min(BATCH);
        let batch = store.read(session_id, seq, limit).await?;
        if batch.is_empty() {
            return Err(StoreError::Damaged(format!("event {seq} of {events} cannot be read")).into());
        }
        for event in &batch {
            let packed = content::pack(event)?;
            for (hash, bytes) in &packed.blobs {
                file.blob(hash, bytes)?;
            }
            for hash in content::mentions(&packed.body) {
                if !file.has(&hash) {
                    write_mentioned(store, &mut file, &hash).await?;
                }
            }
            let record = SealedRecord::new(seq, chain, packed.body);
            chain = record.chain;
            file.record(&record)?;
            seq += 1;
        }
    }
    let blobs = file.end()?;
    Ok(Contents { session_id: session_id.clone(), events, blobs, chain })
}

async fn write_mentioned<W: Write + Send>(
    store: &dyn SessionArchive,
    file: &mut FrameWriter<W>,
    hash: &BlobHash,
) -> Result<(), ArchiveFileError> {
    match store.blob(hash).await {
        Ok(bytes) => Ok(file.blob(hash, &bytes)?),
        // A text that looks like an address does not have to be a blob of this session.
        Err(StoreError::NotFound(_)) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Reads a file to its end, verifies it and returns what it contains.
///
/// # Errors
/// When the file is damaged or cannot be read.
pub fn check(reader: impl Read) -> Result<Contents, ArchiveFileError> {
    let mut file = FrameReader::begin(reader)?;
    while file.next()?.is_some() {}
    Ok(file.contents())
}

/// Imports the session of a file into a store, under its own id or another. Verifies the whole file first. Repeating an
/// interrupted import continues it, repeating a complete one changes nothing, and so does importing a file of a session
/// that this store already has.
///
/// # Errors
/// When the file is damaged, another session has this id, or the store fails.
pub async fn import(
    store: &dyn SessionArchive,
    mut reader: impl Read + Seek + Send,
    session_id: Option<SessionId>,
) -> Result<Contents, ArchiveFileError> {
    let start = reader.stream_position()?;
    let contents = check(&mut reader)?;
    let session_id = session_id.unwrap_or_else(|| contents.session_id.clone());
    let existing = store.head(&session_id).await?;
    let import = Import::new(contents.chain.to_string(), "lariat", contents.session_id.clone());
    let first = match existing {
        0 => None,
        _ => store.read(&session_id, 0, 1).await?.into_iter().next(),
    };
    let is_this = |event: &Event| event.event == AgentEvent::SessionImported(Box::new(import.clone()));
    let marked = existing == 0 || first.as_ref().is_some_and(is_this);
    // The store's own session may only be compared with its export; an import never appends to it.
    let whole = contents.events + u64::from(marked);
    if existing > whole || (!marked && existing < whole) {
        return Err(StoreError::Conflict { expected: whole, actual: existing }.into());
    }
    reader.seek(SeekFrom::Start(start))?;
    let mut file = FrameReader::begin(reader)?;
    let epoch = store.claim(&session_id).await?;
    let mut target = ImportTarget { store, session_id, epoch, existing, batch: Vec::new(), next: 0 };
    let mut mark = marked.then_some(import);
    let mut blobs = HashMap::new();
    while let Some(item) = file.next()? {
        match item {
            ArchiveItem::Blob(hash, bytes) => {
                let kept = store.put_blob(&bytes).await?;
                if kept != hash {
                    let what = format!("the store returned address {1} for blob {0}", hash.0, kept.0);
                    return Err(StoreError::Damaged(what).into());
                }
                blobs.insert(hash, bytes);
            }
            ArchiveItem::Record(record) => {
                let event = unpack_event(store, &record, &blobs).await?;
                // Most blobs are referenced once, by the record after them. Other blobs are read from the store.
                blobs.clear();
                if let Some(import) = mark.take() {
                    target.push(import_event(import, &event)).await?;
                }
                target
                    .push(if marked { without_learning(event) } else { EventRecord::clone(&event) })
                    .await?;
            }
        }
    }
    target.flush().await?;
    Ok(contents)
}

/// Returns the event that precedes the first event of a file. It is the same on every attempt.
fn import_event(import: Import, first: &EventRecord) -> EventRecord {
    let digits = blake3::hash(format!("lariat import {}", import.import_id).as_bytes());
    let mut bytes = [0; 16];
    bytes.iter_mut().zip(digits.as_bytes()).for_each(|(byte, digit)| *byte = *digit);
    EventRecord {
        v: FORMAT_VERSION,
        seq: 0,
        id: EventId::new(uuid::Builder::from_custom_bytes(bytes).into_uuid()),
        timestamp: first.timestamp,
        loop_id: None,
        event: AgentEvent::SessionImported(Box::new(import)),
    }
}

/// Replaces learnings from elsewhere: they must not reach a session here, and must not remove learnings made here.
fn without_learning(event: Event) -> EventRecord {
    let mut record = EventRecord::clone(&event);
    if matches!(record.event, AgentEvent::Learned(_) | AgentEvent::Unlearned { .. }) {
        record.event =
            AgentEvent::EventLost { note: "the import left out a learning from another machine".to_owned() };
    }
    record
}

/// Returns the event of a record, with moved text restored.
async fn unpack_event(
    store: &dyn SessionArchive,
    record: &SealedRecord,
    near: &HashMap<BlobHash, Vec<u8>>,
) -> Result<Event, StoreError> {
    let mut blobs = HashMap::new();
    for hash in content::moved_out(&record.body) {
        let bytes = match near.get(&hash) {
            Some(bytes) => bytes.clone(),
            None => store.blob(&hash).await?,
        };
        blobs.insert(hash, bytes);
    }
    let take = |hash: &BlobHash| {
        blobs.get(hash).cloned().ok_or_else(|| StoreError::NotFound(format!("blob {}", hash.0)))
    };
    let body = content::unpack(&record.body, take)?;
    Ok(Arc::new(event_of(record.seq, body.as_deref().unwrap_or(&record.body))?))
}

/// The session that the import writes.
struct ImportTarget<'a> {
    store: &'a dyn SessionArchive,
    session_id: SessionId,
    epoch: Epoch,
    /// Number of events that the session had before. They must equal those of the file.
    existing: u64,
    batch: Vec<Event>,
    /// Position of the next event.
    next: u64,
}

impl ImportTarget<'_> {
    async fn push(&mut self, record: EventRecord) -> Result<(), StoreError> {
        let seq = self.next;
        self.next += 1;
        let full = self.batch.len() >= BATCH || seq == self.existing;
        if full {
            self.flush().await?;
        }
        self.batch.push(Arc::new(EventRecord { seq, ..record }));
        Ok(())
    }

    async fn flush(&mut self) -> Result<(), StoreError> {
        let events = std::mem::take(&mut self.batch);
        let Some(first) = events.first().map(|event| event.seq) else { return Ok(()) };
        if first >= self.existing {
            self.store.append(Append::new(&self.session_id, self.epoch, first, &events)).await?;
            return Ok(());
        }
        let known = self.store.read(&self.session_id, first, events.len()).await?;
        if known == events {
            return Ok(());
        }
        let same = known.iter().zip(&events).take_while(|(known, event)| known == event).count() as u64;
        Err(StoreError::Conflict { expected: first + same, actual: self.existing })
    }
}
