//! Stores file contents by their hash.
//!
//! Files are written to `blobs/aa/…` under a temporary name and renamed, so a name always means a complete content.
//! Reading checks the hash, so damaged content is never restored. Nothing is synced: content lost in a power failure
//! is missing, and reported as such.
#![expect(
    clippy::disallowed_methods,
    reason = "accesses only the store's directory, outside every workspace"
)]

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::error::UndoError;

/// Stored contents, with reference counts and sizes.
#[derive(Debug)]
pub(super) struct Store {
    directory: PathBuf,
    blobs: HashMap<String, StoredBlob>,
    bytes: u64,
}

#[derive(Debug)]
struct StoredBlob {
    size: u64,
    references: u64,
}

impl Store {
    /// Opens a store and indexes its contents.
    pub(super) fn open(directory: PathBuf) -> Result<Self, UndoError> {
        create_private_directory(&directory).map_err(UndoError::store(&directory))?;
        let mut store = Self { directory, blobs: HashMap::new(), bytes: 0 };
        for bucket in fs::read_dir(&store.directory).map_err(UndoError::store(&store.directory))?.flatten() {
            for file in fs::read_dir(bucket.path()).into_iter().flatten().flatten() {
                let name = file.file_name().to_string_lossy().into_owned();
                match file.metadata() {
                    Ok(data) if name.len() == 64 => {
                        store.bytes += data.len();
                        store.blobs.insert(name, StoredBlob { size: data.len(), references: 0 });
                    }
                    // Left behind by a process that died while writing.
                    _ => drop(fs::remove_file(file.path())),
                }
            }
        }
        Ok(store)
    }

    fn blob_path(&self, hash: &str) -> PathBuf {
        self.directory.join(hash.get(..2).unwrap_or("00")).join(hash)
    }

    /// Size of all contents in bytes.
    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn has(&self, hash: &str) -> bool {
        self.blobs.contains_key(hash)
    }

    /// Stores a content and returns its hash.
    pub(super) fn store(&mut self, content: &[u8]) -> Result<String, UndoError> {
        let hash = blake3::hash(content).to_hex().to_string();
        if self.has(&hash) {
            return Ok(hash);
        }
        let blob_path = self.blob_path(&hash);
        let bucket = blob_path.parent().unwrap_or(&self.directory);
        let temporary = bucket.join("new");
        write(bucket, &temporary, content)
            .and_then(|()| fs::rename(&temporary, &blob_path))
            .map_err(UndoError::store(&blob_path))?;
        let size = content.len() as u64;
        self.bytes += size;
        self.blobs.insert(hash.clone(), StoredBlob { size, references: 0 });
        Ok(hash)
    }

    /// Returns a content, if it exists and is undamaged.
    pub(super) fn read(&self, hash: &str) -> Option<Vec<u8>> {
        let content = fs::read(self.blob_path(hash)).ok()?;
        (blake3::hash(&content).to_hex().as_str() == hash).then_some(content)
    }

    /// Adds a reference.
    pub(super) fn add_reference(&mut self, hash: &str) {
        if let Some(blobs) = self.blobs.get_mut(hash) {
            blobs.references += 1;
        }
    }

    /// Removes a reference, and the content with its last one.
    pub(super) fn release(&mut self, hash: &str) {
        let Some(blobs) = self.blobs.get_mut(hash) else { return };
        blobs.references = blobs.references.saturating_sub(1);
        if blobs.references == 0 {
            self.remove(hash);
        }
    }

    /// Removes contents without references.
    pub(super) fn sweep(&mut self) {
        let unneeded: Vec<_> = self
            .blobs
            .iter()
            .filter(|(_, blobs)| blobs.references == 0)
            .map(|(hash, _)| hash.clone())
            .collect();
        for hash in unneeded {
            self.remove(&hash);
        }
    }

    fn remove(&mut self, hash: &str) {
        if let Some(blobs) = self.blobs.remove(hash) {
            self.bytes = self.bytes.saturating_sub(blobs.size);
            let _ = fs::remove_file(self.blob_path(hash));
        }
    }
}

/// Creates a directory that only its owner can read, because contents may be secret.
pub(super) fn create_private_directory(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;

    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

fn write(bucket: &Path, file: &Path, content: &[u8]) -> std::io::Result<()> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;

    create_private_directory(bucket)?;
    fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(file)?.write_all(content)
}
