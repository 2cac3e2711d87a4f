//! Stores file contents by their hash.
//!
//! Files are written to `blobs/aa/…` under a temporary name and renamed, so a name always means a complete content. Reading
//! checks the hash, so damaged content is never restored. Nothing is synced: content lost in a power failure is missing,
//! and reported as such.
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
    kept: HashMap<String, Kept>,
    bytes: u64,
}

#[derive(Debug)]
struct Kept {
    size: u64,
    needed: u64,
}

impl Store {
    /// Opens a store and indexes its contents.
    pub(super) fn open(directory: PathBuf) -> Result<Self, UndoError> {
        make_folder(&directory).map_err(UndoError::store(&directory))?;
        let mut store = Self { directory, kept: HashMap::new(), bytes: 0 };
        for shelf in fs::read_dir(&store.directory).map_err(UndoError::store(&store.directory))?.flatten() {
            for file in fs::read_dir(shelf.path()).into_iter().flatten().flatten() {
                let name = file.file_name().to_string_lossy().into_owned();
                match file.metadata() {
                    Ok(data) if name.len() == 64 => {
                        store.bytes += data.len();
                        store.kept.insert(name, Kept { size: data.len(), needed: 0 });
                    }
                    // Left behind by a process that died while writing.
                    _ => drop(fs::remove_file(file.path())),
                }
            }
        }
        Ok(store)
    }

    fn place(&self, hash: &str) -> PathBuf {
        self.directory.join(hash.get(..2).unwrap_or("00")).join(hash)
    }

    /// Size of all contents in bytes.
    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn has(&self, hash: &str) -> bool {
        self.kept.contains_key(hash)
    }

    /// Stores a content and returns its hash.
    pub(super) fn keep(&mut self, content: &[u8]) -> Result<String, UndoError> {
        let hash = blake3::hash(content).to_hex().to_string();
        if self.has(&hash) {
            return Ok(hash);
        }
        let place = self.place(&hash);
        let shelf = place.parent().unwrap_or(&self.directory);
        let temporary = shelf.join("new");
        write(shelf, &temporary, content)
            .and_then(|()| fs::rename(&temporary, &place))
            .map_err(UndoError::store(&place))?;
        let size = content.len() as u64;
        self.bytes += size;
        self.kept.insert(hash.clone(), Kept { size, needed: 0 });
        Ok(hash)
    }

    /// Returns a content, if it exists and is undamaged.
    pub(super) fn read(&self, hash: &str) -> Option<Vec<u8>> {
        let content = fs::read(self.place(hash)).ok()?;
        (blake3::hash(&content).to_hex().as_str() == hash).then_some(content)
    }

    /// Adds a reference.
    pub(super) fn need(&mut self, hash: &str) {
        if let Some(kept) = self.kept.get_mut(hash) {
            kept.needed += 1;
        }
    }

    /// Removes a reference, and the content with its last one.
    pub(super) fn release(&mut self, hash: &str) {
        let Some(kept) = self.kept.get_mut(hash) else { return };
        kept.needed = kept.needed.saturating_sub(1);
        if kept.needed == 0 {
            self.remove(hash);
        }
    }

    /// Removes contents without references.
    pub(super) fn sweep(&mut self) {
        let unneeded: Vec<_> =
            self.kept.iter().filter(|(_, kept)| kept.needed == 0).map(|(hash, _)| hash.clone()).collect();
        for hash in unneeded {
            self.remove(&hash);
        }
    }

    fn remove(&mut self, hash: &str) {
        if let Some(kept) = self.kept.remove(hash) {
            self.bytes = self.bytes.saturating_sub(kept.size);
            let _ = fs::remove_file(self.place(hash));
        }
    }
}

/// Creates a directory that only its owner can read, because contents may be secret.
pub(super) fn make_folder(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;

    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

fn write(shelf: &Path, file: &Path, content: &[u8]) -> std::io::Result<()> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;

    make_folder(shelf)?;
    fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(file)?.write_all(content)
}
