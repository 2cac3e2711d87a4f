//! Keeps outputs that were too long to show, for `recall`.
//!
//! Bounded by bytes in memory and number of outputs; the oldest are dropped first. Output that a command spilled into a
//! file stays in that file until it is dropped; then the file is removed.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lariat_host::files::{Workspace, WriteCondition};

/// Maximum size of all outputs in memory, in bytes.
const MAX_BYTES: usize = 32 * 1024 * 1024;
/// Maximum number of outputs.
const MAX_OUTPUTS: usize = 256;

/// Outputs by id. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Outputs {
    shared: Arc<Mutex<StoredOutputs>>,
}

#[derive(Debug, Default)]
struct StoredOutputs {
    next: u64,
    bytes: usize,
    outputs: VecDeque<(u64, StoredOutput)>,
    directory: Option<Workspace>,
}

/// Where an output is stored.
#[derive(Clone, Debug)]
pub(crate) enum StoredOutput {
    /// In memory.
    Memory(Arc<[u8]>),
    /// In a file of a directory.
    File(Workspace, String),
}

impl Outputs {
    /// Lets commands spill long outputs into files of a directory.
    pub fn in_directory(directory: Workspace) -> Self {
        let outputs = Self::default();
        outputs.lock().directory = Some(directory);
        outputs
    }

    /// Returns the path of a file that does not exist yet, for an output that may become long.
    pub(crate) fn spill_path(&self) -> Option<PathBuf> {
        let mut stored = self.lock();
        stored.next += 1;
        let name = format!("output-{}-{}", std::process::id(), stored.next);
        stored.directory.as_ref().map(|directory| directory.path().join(name))
    }

    /// Stores bytes and returns their id.
    pub(crate) fn add_output(&self, bytes: impl Into<Arc<[u8]>>) -> String {
        self.add(StoredOutput::Memory(bytes.into()))
    }

    /// Stores a reference to a file that [`spill_path`](Self::spill_path) named, and returns its id.
    pub(crate) fn add_output_file(&self, path: &std::path::Path) -> Option<String> {
        let directory = self.lock().directory.clone()?;
        let name = path.file_name()?.to_str()?.to_owned();
        Some(self.add(StoredOutput::File(directory, name)))
    }

    /// Returns the output with an id.
    pub(crate) fn find(&self, id: &str) -> Option<StoredOutput> {
        let number: u64 = id.trim().trim_start_matches('o').parse().ok()?;
        let stored = self.lock();
        stored.outputs.iter().find(|(known, _)| *known == number).map(|(_, output)| output.clone())
    }

    /// The ids of all stored outputs, oldest first.
    pub(crate) fn ids(&self) -> Vec<String> {
        self.lock().outputs.iter().map(|(id, _)| format!("o{id}")).collect()
    }

    fn add(&self, output: StoredOutput) -> String {
        let mut stored = self.lock();
        stored.next += 1;
        let id = stored.next;
        stored.bytes += output.bytes_here();
        stored.outputs.push_back((id, output));
        while stored.outputs.len() > MAX_OUTPUTS || (stored.bytes > MAX_BYTES && stored.outputs.len() > 1) {
            let Some((_, oldest)) = stored.outputs.pop_front() else { break };
            stored.bytes -= oldest.bytes_here();
            oldest.remove();
        }
        format!("o{id}")
    }

    fn lock(&self) -> MutexGuard<'_, StoredOutputs> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StoredOutput {
    fn bytes_here(&self) -> usize {
        match self {
            Self::Memory(bytes) => bytes.len(),
            Self::File(..) => 0,
        }
    }

    fn remove(&self) {
        if let Self::File(directory, name) = self {
            // The file may already have been removed.
            let _ = directory.remove(name, &WriteCondition::Any);
        }
    }
}

impl Drop for StoredOutputs {
    fn drop(&mut self) {
        for (_, output) in &self.outputs {
            output.remove();
        }
    }
}

#[cfg(test)]
mod tests {
    //! Tests the limits of stored outputs.
    #![expect(clippy::disallowed_methods, reason = "the test checks its own files")]

    use lariat_host::files::Workspace;

    use super::{MAX_BYTES, MAX_OUTPUTS, Outputs};

    #[test]
    fn drops_the_oldest_output_beyond_the_limits() {
        let outputs = Outputs::default();
        let first = outputs.add_output(*b"first");
        for _ in 1..MAX_OUTPUTS {
            outputs.add_output(*b"x");
        }
        assert!(outputs.find(&first).is_some());
        outputs.add_output(*b"one more");
        assert!(outputs.find(&first).is_none());
        let large = outputs.add_output(vec![0; MAX_BYTES]);
        assert_eq!(outputs.ids(), [large]);
        let larger = outputs.add_output(vec![0; MAX_BYTES + 1]);
        assert_eq!(outputs.ids(), [larger]);
    }

    #[test]
    fn removes_output_files_on_drop() {
        let folder = std::env::temp_dir().join(format!("lariat-outputs-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let outputs = Outputs::in_directory(Workspace::open(&folder).unwrap());
        let place = outputs.spill_path().unwrap();
        std::fs::write(&place, "long").unwrap();
        let id = outputs.add_output_file(&place).unwrap();
        assert!(outputs.find(&id).is_some());
        drop(outputs);
        assert!(!place.exists());
        std::fs::remove_dir_all(folder).unwrap();
    }
}
