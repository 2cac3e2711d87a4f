//! Writes the frames of a session file, and verifies them while reading.

use std::collections::HashSet;
use std::io::{self, Read, Write};

use lariat_core::id::SessionId;
use lariat_core::store::{BlobHash, StoreError};
use serde::{Deserialize, Serialize};

use super::{ArchiveFileError, Contents};
use crate::content;
use crate::record::{Chain, SealedRecord, check_format};

/// The first line of a file: the name of the format and its version.
const MAGIC: &[u8] = b"LARIAT SESSION 1\n";
const NAME: &[u8] = b"LARIAT SESSION ";
const VERSION: u64 = 1;

const HEADER: u8 = b'H';
const BLOB: u8 = b'B';
const RECORD: u8 = b'R';
const END: u8 = b'E';

/// Bytes of a record before its body: position, chain hash, checksum.
const RECORD_HEAD: usize = 8 + 16 + 4;

#[derive(Serialize, Deserialize)]
struct Header {
    session_id: SessionId,
    events: u64,
}

/// Writes a session file.
pub(super) struct FrameWriter<W> {
    out: W,
    hasher: blake3::Hasher,
    blobs: HashSet<BlobHash>,
}

impl<W: Write> FrameWriter<W> {
    pub(super) fn begin(out: W, session_id: &SessionId, events: u64) -> io::Result<Self> {
        let mut file = Self { out, hasher: blake3::Hasher::new(), blobs: HashSet::new() };
        file.write(MAGIC)?;
        let header = serde_json::to_vec(&Header { session_id: session_id.clone(), events })?;
        file.frame(HEADER, &[&header])?;
        Ok(file)
    }

    pub(super) fn has(&self, blob: &BlobHash) -> bool {
        self.blobs.contains(blob)
    }

    /// Writes a blob, unless the file already has it.
    pub(super) fn blob(&mut self, hash: &BlobHash, bytes: &[u8]) -> io::Result<()> {
        match content::hash_of(hash) {
            Some(digits) if self.blobs.insert(hash.clone()) => self.frame(BLOB, &[&digits, bytes]),
            _ => Ok(()),
        }
    }

    pub(super) fn record(&mut self, record: &SealedRecord) -> io::Result<()> {
        let (seq, check) = (record.seq.to_le_bytes(), record.check.to_le_bytes());
        self.frame(RECORD, &[&seq, record.chain.as_bytes(), &check, &record.body])
    }

    /// Ends the file and returns its number of blobs.
    pub(super) fn end(mut self) -> io::Result<u64> {
        let hash = self.hasher.finalize();
        self.frame(END, &[hash.as_bytes()])?;
        self.out.flush()?;
        Ok(self.blobs.len() as u64)
    }

    fn frame(&mut self, kind: u8, parts: &[&[u8]]) -> io::Result<()> {
        let length: u64 = parts.iter().map(|part| part.len() as u64).sum();
        let mut crc = crc32fast::Hasher::new();
        for part in [&[kind][..], &length.to_le_bytes()].iter().chain(parts) {
            crc.update(part);
            self.write(part)?;
        }
        self.write(&crc.finalize().to_le_bytes())
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hasher.update(bytes);
        self.out.write_all(bytes)
    }
}

/// One element of a session file, in file order.
pub(super) enum ArchiveItem {
    Blob(BlobHash, Vec<u8>),
    Record(SealedRecord),
}

/// Reads a session file and verifies it: each item must continue those before it, and the file must be complete.
pub(super) struct FrameReader<R> {
    input: R,
    offset: u64,
    hasher: blake3::Hasher,
    header: Header,
    chain: Chain,
    seq: u64,
    blobs: HashSet<BlobHash>,
}

struct RawFrame {
    kind: u8,
    content: Vec<u8>,
    offset: u64,
    /// The hash of everything before this frame.
    before: blake3::Hash,
}

impl<R: Read> FrameReader<R> {
    pub(super) fn begin(input: R) -> Result<Self, ArchiveFileError> {
        let none = SessionId::from("");
        let mut file = Self {
            input,
            offset: 0,
            hasher: blake3::Hasher::new(),
            chain: Chain::start(&none),
            header: Header { session_id: none, events: 0 },
            seq: 0,
            blobs: HashSet::new(),
        };
        let magic = file.take(MAGIC.len() as u64)?;
        if magic != MAGIC {
            return Err(match version_of(&magic) {
                Some(found) if found > VERSION => {
                    let what = "the session file".to_owned();
                    ArchiveFileError::Store(StoreError::Newer { what, found, supported: VERSION })
                }
                _ => damaged(0, "not a session file"),
            });
        }
        let frame = file.frame()?;
        let header = serde_json::from_slice(&frame.content).ok().filter(|_| frame.kind == HEADER);
        file.header = header.ok_or_else(|| damaged(frame.offset, "missing header"))?;
        file.chain = Chain::start(&file.header.session_id);
        Ok(file)
    }

    /// Returns the next item, or `None` after the end of a valid file.
    pub(super) fn next(&mut self) -> Result<Option<ArchiveItem>, ArchiveFileError> {
        let RawFrame { kind, content, offset, before } = self.frame()?;
        match kind {
            BLOB => self.blob(&content, offset).map(Some),
            RECORD => self.record(&content, offset).map(Some),
            END => self.end(&content, offset, before).map(|()| None),
            other => Err(damaged(offset, format!("unknown frame kind `{}`", other.escape_ascii()))),
        }
    }

    pub(super) fn contents(&self) -> Contents {
        Contents {
            session_id: self.header.session_id.clone(),
            events: self.seq,
            blobs: self.blobs.len() as u64,
            chain: self.chain,
        }
    }

    fn blob(&mut self, content: &[u8], offset: u64) -> Result<ArchiveItem, ArchiveFileError> {
        let split = content.split_first_chunk::<32>();
        let (hash, bytes) = split.ok_or_else(|| damaged(offset, "blob frame without a hash"))?;
        let address = content::address_of(hash);
        if content::address(bytes) != address {
            return Err(damaged(offset, format!("blob content does not match its hash {}", address.0)));
        }
        self.blobs.insert(address.clone());
        Ok(ArchiveItem::Blob(address, bytes.to_vec()))
    }

    fn record(&mut self, content: &[u8], offset: u64) -> Result<ArchiveItem, ArchiveFileError> {
        let short = || damaged(offset, "record is too short");
        let (head, body) = content.split_at_checked(RECORD_HEAD).ok_or_else(short)?;
        let (seq, rest) = head.split_first_chunk::<8>().ok_or_else(short)?;
        let (chain, check) = rest.split_first_chunk::<16>().ok_or_else(short)?;
        let (check, _) = check.split_first_chunk::<4>().ok_or_else(short)?;
        let record = SealedRecord {
            seq: u64::from_le_bytes(*seq),
            chain: Chain::from_bytes(*chain),
            check: u32::from_le_bytes(*check),
            body: body.to_vec(),
        };
        if record.seq != self.seq || !record.is_whole() || !record.follows(self.chain) {
            return Err(damaged(offset, format!("event {} is missing, changed or out of order", self.seq)));
        }
        if let Some(missing) =
            content::moved_out(&record.body).into_iter().find(|hash| !self.blobs.contains(hash))
        {
            return Err(damaged(offset, format!("blob {} of event {} is missing", missing.0, self.seq)));
        }
        check_format(record.seq, &record.body)?;
        self.chain = record.chain;
        self.seq += 1;
        Ok(ArchiveItem::Record(record))
    }

    fn end(&mut self, content: &[u8], offset: u64, before: blake3::Hash) -> Result<(), ArchiveFileError> {
        if content != before.as_bytes() {
            return Err(damaged(offset, "the hash of the file does not match its content"));
        }
        if self.seq != self.header.events {
            return Err(damaged(
                offset,
                format!("found {} events, expected {}", self.seq, self.header.events),
            ));
        }
        match self.input.read(&mut [0])? {
            0 => Ok(()),
            _ => Err(damaged(self.offset, "unexpected data after the end")),
        }
    }

    fn frame(&mut self) -> Result<RawFrame, ArchiveFileError> {
        let (offset, before) = (self.offset, self.hasher.finalize());
        let head = self.take(9)?;
        let (kind, length) = match head.split_first_chunk::<1>() {
            Some(([kind], rest)) => (*kind, rest.first_chunk::<8>().copied().unwrap_or_default()),
            None => (0, [0; 8]),
        };
        let content = self.take(u64::from_le_bytes(length))?;
        let mut crc = crc32fast::Hasher::new();
        crc.update(&head);
        crc.update(&content);
        if self.take(4)? != crc.finalize().to_le_bytes() {
            return Err(damaged(offset, "frame checksum does not match"));
        }
        Ok(RawFrame { kind, content, offset, before })
    }

    /// Reads exactly `length` bytes. Memory grows with the bytes that the file has, not with what its length fields claim.
    fn take(&mut self, length: u64) -> Result<Vec<u8>, ArchiveFileError> {
        let mut bytes = Vec::new();
        self.input.by_ref().take(length).read_to_end(&mut bytes)?;
        self.hasher.update(&bytes);
        self.offset += bytes.len() as u64;
        if bytes.len() as u64 != length {
            return Err(damaged(self.offset, "unexpected end of file"));
        }
        Ok(bytes)
    }
}

/// Returns the version in the first line of a file, whose end may be missing.
fn version_of(line: &[u8]) -> Option<u64> {
    let rest = line.strip_prefix(NAME)?;
    let digits = rest.strip_suffix(b"\n").unwrap_or(rest);
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(digits).ok().filter(|_| is_number)?.parse().ok()
}

fn damaged(offset: u64, what: impl Into<String>) -> ArchiveFileError {
    ArchiveFileError::Damaged { offset, what: what.into() }
}

#[cfg(test)]
#[path = "frame_tests.rs"]
mod tests;
