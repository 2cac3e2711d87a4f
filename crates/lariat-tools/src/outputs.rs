//! Keeps outputs that were too long to show, for `recall`.
//!
//! Bounded by bytes in memory and number of outputs; the oldest are dropped first. Output that a command spilled into a
//! file stays in that file until it is dropped; then the file is removed.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lariat_host::files::{Expected, Workspace};

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
    outputs: VecDeque<(u64, Output)>,
    directory: Option<Workspace>,
}

/// Where an output is stored.
#[derive(Clone, Debug)]
pub(crate) enum Output {
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
    pub(crate) fn place(&self) -> Option<PathBuf> {
        let mut stored = self.lock();
        stored.next += 1;
        let name = format!("output-{}-{}", std::process::id(), stored.next);
        stored.directory.as_ref().map(|directory| directory.path().join(name))
    }

    /// Stores bytes and returns their id.
    pub(crate) fn keep(&self, bytes: impl Into<Arc<[u8]>>) -> String {
        self.add(Output::Memory(bytes.into()))
    }

    /// Stores a reference to a file that [`place`](Self::place) named, and returns its id.
    pub(crate) fn keep_file(&self, path: &std::path::Path) -> Option<String> {
        let directory = self.lock().directory.clone()?;
        let name = path.file_name()?.to_str()?.to_owned();
        Some(self.add(Output::File(directory, name)))
    }

    /// Returns the output with an id.
    pub(crate) fn find(&self, id: &str) -> Option<Output> {
        let number: u64 = id.trim().trim_start_matches('o').parse().ok()?;
        let stored = self.lock();
        stored.outputs.iter().find(|(known, _)| *known == number).map(|(_, output)| output.clone())
    }

    /// The ids of all stored outputs, oldest first.
    pub(crate) fn ids(&self) -> Vec<String> {
        self.lock().outputs.iter().map(|(id, _)| format!("o{id}")).collect()
    }

    fn add(&self, output: Output) -> String {
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

impl Output {
    fn bytes_here(&self) -> usize {
        match self {
            Self::Memory(bytes) => bytes.len(),
            Self::File(..) => 0,
        }
    }

    fn remove(&self) {
        if let Self::File(directory, name) = self {
            // The file may already have been removed.
            let _ = directory.remove(name, &Expected::Any);
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
#[path = "outputs_tests.rs"]
mod tests;
