//! A whole session as one file, with its blobs: to keep it, to send it, to move it from one store to another.
//!
//! The file is a line that names the format, then frames: one byte for the kind, eight for the length (little endian),
//! the content, four for a CRC-32 of all that.
//!
//! | kind | content |
//! | --- | --- |
//! | `H` | JSON: the session's id and its number of events |
//! | `B` | a blob: 32 bytes of BLAKE3, then its bytes; before the first record that mentions it |
//! | `R` | a record as [`crate::record`] seals it: position (8), chain (16), checksum (4), body |
//! | `E` | the end: BLAKE3 of everything before it |
//!
//! A fork is written with what it shares, so that the file stands alone. Bodies are the same bytes in every store, so a
//! file from one has the chain of a file from another.
//! An imported session begins with [`AgentEvent::SessionImported`], which is written before anything of the file: whatever
//! becomes of the import, no decision in the file applies here. What the file learned for later sessions stays out.
//! Invariant: a file that is cut, longer or changed anywhere is refused, with the place, before anything is written.

mod frame;

use std::collections::HashMap;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::Arc;

use lariat_core::archive::SessionArchive;
use lariat_core::event::{AgentEvent, Event, EventRecord, FORMAT_VERSION, Import};
use lariat_core::id::{EventId, SessionId};
use lariat_core::store::{Append, BlobHash, Epoch, StoreError};

use self::frame::{Checked, Item, Writer};
use crate::content;
use crate::record::{Chain, Sealed, event_of};

/// Events that are read or appended at once.
const BATCH: usize = 64;

/// What is in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Contents {
    /// The session's id where it was exported.
    pub session_id: SessionId,
    /// Number of events.
    pub events: u64,
    /// Number of blobs.
    pub blobs: u64,
    /// The chain of all events.
    pub chain: Chain,
}

/// Why a session was not exported or imported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveFileError {
    /// The file is not whole or was changed.
    #[error("the file is damaged at byte {offset}: {what}")]
    Damaged {
        /// Where.
        offset: u64,
        /// What is wrong there.
        what: String,
    },
    /// The file could not be read or written.
    #[error("the file could not be read or written: {0}")]
    Io(#[from] io::Error),
    /// The store refused or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Writes a session to a file. Events that come while it is written are not part of it.
///
/// # Errors
/// When there is no such session, the store cannot give an event or a blob that belongs to it, or writing fails.
pub async fn export(
    store: &dyn SessionArchive,
    session_id: &SessionId,
    writer: impl Write + Send,
) -> Result<Contents, ArchiveFileError> {
    let events = store.head(session_id).await?;
    if events == 0 {
        return Err(StoreError::NotFound(format!("session {session_id}")).into());
    }
    let mut file = Writer::begin(writer, session_id, events)?;
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
            let record = Sealed::new(seq, chain, packed.body);
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
    file: &mut Writer<W>,
    hash: &BlobHash,
) -> Result<(), ArchiveFileError> {
    match store.blob(hash).await {
        Ok(bytes) => Ok(file.blob(hash, &bytes)?),
        // Somebody wrote about a hash; that does not make it a blob of this session.
        Err(StoreError::NotFound(_)) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Reads a file to its end and says what is in it.
///
/// # Errors
/// When it is damaged or cannot be read.
pub fn check(reader: impl Read) -> Result<Contents, ArchiveFileError> {
    let mut file = Checked::begin(reader)?;
    while file.next()?.is_some() {}
    Ok(file.contents())
}

/// Brings a session of a file into a store, under its own id or another. The file is checked to its end before. An
/// import that was interrupted goes on when it is made again; one that is complete is not made twice, and a file of a
/// session that is here already changes nothing.
///
/// # Errors
/// When the file is damaged, when there is another session of this id, or when the store fails.
pub async fn import(
    store: &dyn SessionArchive,
    mut reader: impl Read + Seek + Send,
    session_id: Option<SessionId>,
) -> Result<Contents, ArchiveFileError> {
    let start = reader.stream_position()?;
    let contents = check(&mut reader)?;
    let session_id = session_id.unwrap_or_else(|| contents.session_id.clone());
    let there = store.head(&session_id).await?;
    let import = Import::new(contents.chain.to_string(), "lariat", contents.session_id.clone());
    let first = match there {
        0 => None,
        _ => store.read(&session_id, 0, 1).await?.into_iter().next(),
    };
    let is_this = |event: &Event| event.event == AgentEvent::SessionImported(Box::new(import.clone()));
    let marked = there == 0 || first.as_ref().is_some_and(is_this);
    // A session of this store's own can be compared with a file of it, and never grows by one.
    let whole = contents.events + u64::from(marked);
    if there > whole || (!marked && there < whole) {
        return Err(StoreError::Conflict { expected: whole, actual: there }.into());
    }
    reader.seek(SeekFrom::Start(start))?;
    let mut file = Checked::begin(reader)?;
    let epoch = store.claim(&session_id).await?;
    let mut target = Target { store, session_id, epoch, there, batch: Vec::new(), next: 0 };
    let mut mark = marked.then_some(import);
    let mut blobs = HashMap::new();
    while let Some(item) = file.next()? {
        match item {
            Item::Blob(hash, bytes) => {
                let kept = store.put_blob(&bytes).await?;
                if kept != hash {
                    let what = format!("the store calls blob {} by {}", hash.0, kept.0);
                    return Err(StoreError::Damaged(what).into());
                }
                blobs.insert(hash, bytes);
            }
            Item::Record(record) => {
                let event = opened(store, &record, &blobs).await?;
                // Most blobs are mentioned once, by the record after them; the store has them all.
                blobs.clear();
                if let Some(import) = mark.take() {
                    target.push(marking(import, &event)).await?;
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

/// What is written before the first event of a file: the same each time.
fn marking(import: Import, first: &EventRecord) -> EventRecord {
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

/// What was learned elsewhere is told to no session here, and takes nothing away that was learned here.
fn without_learning(event: Event) -> EventRecord {
    let mut record = EventRecord::clone(&event);
    if matches!(record.event, AgentEvent::Learned(_) | AgentEvent::Unlearned { .. }) {
        record.event =
            AgentEvent::EventLost { note: "a learning of another machine was left out".to_owned() };
    }
    record
}

/// The event of a record, with its text put back.
async fn opened(
    store: &dyn SessionArchive,
    record: &Sealed,
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

/// The session that is being written.
struct Target<'a> {
    store: &'a dyn SessionArchive,
    session_id: SessionId,
    epoch: Epoch,
    /// Events that were there before: they must be those of the file.
    there: u64,
    batch: Vec<Event>,
    /// The position of the next event.
    next: u64,
}

impl Target<'_> {
    async fn push(&mut self, record: EventRecord) -> Result<(), StoreError> {
        let seq = self.next;
        self.next += 1;
        let full = self.batch.len() >= BATCH || seq == self.there;
        if full {
            self.flush().await?;
        }
        self.batch.push(Arc::new(EventRecord { seq, ..record }));
        Ok(())
    }

    async fn flush(&mut self) -> Result<(), StoreError> {
        let events = std::mem::take(&mut self.batch);
        let Some(first) = events.first().map(|event| event.seq) else { return Ok(()) };
        if first >= self.there {
            self.store.append(Append::new(&self.session_id, self.epoch, first, &events)).await?;
            return Ok(());
        }
        let known = self.store.read(&self.session_id, first, events.len()).await?;
        if known == events {
            return Ok(());
        }
        let same = known.iter().zip(&events).take_while(|(known, event)| known == event).count() as u64;
        Err(StoreError::Conflict { expected: first + same, actual: self.there })
    }
}
