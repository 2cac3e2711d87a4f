//! Stores blobs as files named by their hash: `blobs/ab/abcd…`.
//!
//! Invariants: a blob file is complete or absent; reading verifies the hash; storing an existing blob again updates its
//! time, so that garbage collection does not remove it.

use std::io;
use std::path::{Path, PathBuf};

use lariat_core::event::EventRecord;
use lariat_core::store::{BlobHash, StoreError};

use super::unavailable;
use crate::content::{address, address_of, hash_of, unpack};
use crate::files::{self, FileDurability};
use crate::record::event_of;

/// The blob directory of a store.
#[derive(Clone, Debug)]
pub(super) struct Blobs {
    dir: PathBuf,
    level: FileDurability,
}

impl Blobs {
    pub(super) const fn new(dir: PathBuf, level: FileDurability) -> Self {
        Self { dir, level }
    }

    fn path(&self, hash: &[u8; 32]) -> PathBuf {
        let digits = blake3::Hash::from_bytes(*hash).to_hex();
        self.dir.join(digits.get(..2).unwrap_or_default()).join(digits.as_str())
    }

    /// Stores bytes.
    pub(super) fn put(&self, bytes: &[u8]) -> Result<BlobHash, StoreError> {
        let hash = *blake3::hash(bytes).as_bytes();
        let path = self.path(&hash);
        self.put_at(&path, bytes).map_err(|error| unavailable(&path, &error))?;
        Ok(address_of(&hash))
    }

    fn put_at(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        if files::read(path)?.is_some_and(|kept| kept == bytes) {
            // The process that stored it may have used a lower durability level.
            return files::refresh(path, self.level);
        }
        let dir = path.parent().unwrap_or(&self.dir);
        match self.level {
            FileDurability::Durable => files::create_dir_durably(dir).and_then(|()| files::put(path, bytes)),
            FileDurability::Cache => {
                files::create_cache_dir(dir).and_then(|()| files::put_cache(path, bytes))
            }
        }
    }

    /// Reads a blob and verifies its hash.
    pub(super) fn read(&self, hash: &BlobHash) -> Result<Vec<u8>, StoreError> {
        let missing = || StoreError::NotFound(format!("blob {}", hash.0));
        let path = self.path(&hash_of(hash).ok_or_else(missing)?);
        let bytes = files::read(&path).map_err(|error| unavailable(&path, &error))?.ok_or_else(missing)?;
        if address(&bytes) != *hash {
            return Err(StoreError::Damaged(format!("blob {} does not match its hash", hash.0)));
        }
        Ok(bytes)
    }

    /// Returns the event of a stored body, with moved text restored.
    pub(super) fn event(&self, seq: u64, body: &[u8]) -> Result<EventRecord, StoreError> {
        let whole = unpack(body, |hash| match self.read(hash) {
            Err(StoreError::NotFound(what)) => {
                Err(StoreError::Damaged(format!("event {seq}: a part of its text is missing: {what}")))
            }
            other => other,
        })?;
        event_of(seq, whole.as_deref().unwrap_or(body))
    }

    /// Lists all blobs.
    pub(super) fn list(&self) -> io::Result<Vec<([u8; 32], PathBuf)>> {
        let mut found = Vec::new();
        for dir in files::list(&self.dir)? {
            for path in files::list(&dir)? {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                if let Ok(hash) = blake3::Hash::from_hex(name.as_bytes()) {
                    found.push((*hash.as_bytes(), path));
                }
            }
        }
        Ok(found)
    }
}
