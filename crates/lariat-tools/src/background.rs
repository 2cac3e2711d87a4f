//! The background commands of an agent, and how much of each command's output was shown.
//!
//! Ended commands stay in the list until others need their place.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lariat_core::tool::ToolError;
use lariat_host::process::Process;

/// Maximum number of commands that run in the background at a time.
const MAX_RUNNING: usize = 16;
/// Maximum number of commands in the list, including ended ones.
const MAX_LISTED: usize = 64;

/// The background commands. Clones share the list.
#[derive(Clone, Debug, Default)]
pub(crate) struct Background {
    known: Arc<Mutex<BTreeMap<u64, BackgroundCommand>>>,
}

#[derive(Clone, Debug)]
pub(crate) struct BackgroundCommand {
    pub(crate) process: Process,
    pub(crate) terminal: bool,
    /// How much of its output was shown.
    pub(crate) mark: u64,
}

impl Background {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, BackgroundCommand>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fails if too many commands are running.
    pub(crate) fn has_room(&self) -> Result<(), ToolError> {
        let running = self.lock().values().filter(|known| known.process.exit().is_none()).count();
        if running < MAX_RUNNING {
            return Ok(());
        }
        Err(ToolError::Failed(format!(
            "{running} commands are already running in the background; the limit is {MAX_RUNNING}. End one with `bash_stop`."
        )))
    }

    pub(crate) fn add(&self, process: Process, terminal: bool) -> String {
        let mut known = self.lock();
        while known.len() >= MAX_LISTED {
            let ended = known.iter().find(|(_, known)| known.process.exit().is_some()).map(|(id, _)| *id);
            let Some(ended) = ended else { break };
            known.remove(&ended);
        }
        let number = known.last_key_value().map_or(1, |(last, _)| last + 1);
        known.insert(number, BackgroundCommand { process, terminal, mark: 0 });
        format!("b{number}")
    }

    pub(crate) fn find(&self, id: &str) -> Result<(u64, BackgroundCommand), ToolError> {
        let known = self.lock();
        let number = id.trim().trim_start_matches('b').parse().ok();
        if let Some((number, found)) = number.and_then(|number: u64| known.get_key_value(&number)) {
            return Ok((*number, found.clone()));
        }
        let list: Vec<_> = known.iter().map(|(id, known)| format!("`b{id}` ({})", known.state())).collect();
        let list = if list.is_empty() { "none was started".to_owned() } else { list.join(", ") };
        Err(ToolError::Failed(format!("Unknown background command `{id}`. Background commands: {list}.")))
    }

    /// Returns the output since the last call, and whether some of it is missing.
    pub(crate) fn new_output(&self, number: u64, known: &BackgroundCommand) -> (String, bool) {
        let reading = known.process.read(known.mark);
        if let Some(known) = self.lock().get_mut(&number) {
            known.mark = known.mark.max(reading.mark);
        }
        (String::from_utf8_lossy(&reading.bytes).into_owned(), reading.gap)
    }
}

impl BackgroundCommand {
    fn state(&self) -> &'static str {
        if self.process.exit().is_some() { "ended" } else { "running" }
    }
}
