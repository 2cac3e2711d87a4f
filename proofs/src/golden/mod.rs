//! The golden corpus: sessions in the stored formats of each version, which every later version must open and fold to the
//! same state.
//!
//! `proofs/golden/N` has the corpus of version N: a SQLite database, a JSONL store and archives, packed and compressed, and
//! `states.txt` with a line for each session: its store, its name, its number of events, and a hash of each part of
//! its state. `cargo xtask golden` checks all of them; `cargo xtask golden --write N` makes a new one.
//! Invariant: a corpus is never written again once it is committed; a change of a format adds one.

#![expect(clippy::disallowed_methods, reason = "reads and writes the corpus and temporary directories")]

mod history;
mod pack;
mod state;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lariat_core::archive::SessionArchive;
use lariat_core::event::{AgentEvent, EventRecord};
use lariat_core::id::SessionId;
use lariat_core::run::ViewSnapshot;
use lariat_core::session::{ClientState, SessionFold};
use lariat_core::store::{Append, Durability, Snapshot};
use lariat_store::StoreOptions;
use lariat_store::archive_file;
use lariat_store::jsonl::JsonlStore;
use lariat_store::sqlite::SqliteStore;

use history::History;
use state::SessionState;

/// Sessions in each store.
const SESSIONS_PER_STORE: u64 = 200;
/// Archives.
const ARCHIVES: u64 = 100;
/// Each session whose number is a multiple of this is a fork of the one before it.
const FORK_EVERY: u64 = 9;
/// Each session whose number is a multiple of this has a snapshot.
const SNAPSHOT_EVERY: u64 = 15;
/// Each session whose number is a multiple of this continues when the corpus is checked.
const CONTINUE_EVERY: u64 = 10;
/// The list of sessions and their states.
const STATES: &str = "states.txt";

/// Which part of a corpus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Sqlite,
    Jsonl,
    Archives,
}

impl Part {
    const ALL: [Self; 3] = [Self::Sqlite, Self::Jsonl, Self::Archives];

    const fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Jsonl => "jsonl",
            Self::Archives => "archives",
        }
    }

    const fn sessions(self) -> u64 {
        match self {
            Self::Sqlite | Self::Jsonl => SESSIONS_PER_STORE,
            Self::Archives => ARCHIVES,
        }
    }

    /// Seeds of the parts do not overlap.
    const fn first_seed(self) -> u64 {
        match self {
            Self::Sqlite => 0,
            Self::Jsonl => 1_000,
            Self::Archives => 2_000,
        }
    }

    async fn open(self, root: &Path) -> Result<Arc<dyn SessionArchive>, String> {
        let options = StoreOptions::with_durability(Durability::Fast);
        let store: Result<Arc<dyn SessionArchive>, _> = match self {
            Self::Jsonl => JsonlStore::open(root, options).await.map(|store| Arc::new(store) as _),
            Self::Sqlite => {
                SqliteStore::open(root.join("sessions.db"), options).await.map(|store| Arc::new(store) as _)
            }
            Self::Archives => SqliteStore::in_memory().await.map(|store| Arc::new(store) as _),
        };
        store.map_err(|error| format!("{}: {error}", self.name()))
    }
}

/// What a check found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Corpora that were opened.
    pub versions: u64,
    /// Sessions with the expected state.
    pub sessions: u64,
    /// Sessions that this version continued.
    pub continued: u64,
}

/// A directory that is removed on drop.
struct TempDirectory(PathBuf);

impl TempDirectory {
    fn new(name: &str) -> Result<Self, String> {
        let path = std::env::temp_dir().join(format!("lariat-golden-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for TempDirectory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The directory of the corpora in this repository.
pub fn corpora() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden")
}

/// Writes the corpus of a version.
///
/// # Errors
/// When it exists already, or cannot be written.
pub async fn write(corpora: &Path, version: u32) -> Result<Tally, String> {
    let target = corpora.join(version.to_string());
    if target.exists() {
        return Err(format!("{} exists; a corpus is never written again", target.display()));
    }
    std::fs::create_dir_all(&target).map_err(|error| error.to_string())?;
    let (mut states, mut tally) = (String::new(), Tally { versions: 1, ..Tally::default() });
    for part in Part::ALL {
        let place = TempDirectory::new(&format!("write-{}", part.name()))?;
        let store = part.open(&place.0).await?;
        let names = fill(part, &*store).await?;
        for name in &names {
            let id = SessionId::from(name.as_str());
            if part == Part::Archives {
                let mut bytes = Vec::new();
                archive_file::export(&*store, &id, &mut bytes).await.map_err(|error| error.to_string())?;
                std::fs::write(place.0.join(name), bytes).map_err(|error| error.to_string())?;
            }
            // Archives are compared as a store has them after the import.
            let state = match part {
                Part::Archives => imported(&place.0.join(name)).await?,
                _ => SessionState::read(&*store, &id).await?,
            };
            let _ = writeln!(states, "{} {name} {state}", part.name());
            tally.sessions += 1;
        }
        drop(store);
        wait_until_closed(&place.0).await;
        let packed = pack::pack(&place.0)?;
        std::fs::write(target.join(format!("{}.gz", part.name())), packed)
            .map_err(|error| error.to_string())?;
    }
    std::fs::write(target.join(STATES), states).map_err(|error| error.to_string())?;
    Ok(tally)
}

/// The database is complete in one file when its writer has closed it.
async fn wait_until_closed(place: &Path) {
    for _ in 0..200 {
        if !place.join("sessions.db-wal").exists() {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(25)).await;
    }
}

/// Writes the sessions of a part. Returns their names.
async fn fill(part: Part, store: &dyn SessionArchive) -> Result<Vec<String>, String> {
    let mut names: Vec<String> = Vec::new();
    for number in 0..part.sessions() {
        let name = format!("{}-{number}", part.name());
        let id = SessionId::from(name.as_str());
        let failed = |error: lariat_core::store::StoreError| format!("{name}: {error}");
        let mut shared = Vec::new();
        if let (Some(parent), true) = (names.last(), number % FORK_EVERY == FORK_EVERY - 1) {
            let parent = SessionId::from(parent.as_str());
            let at = store.head(&parent).await.map_err(failed)? / 2;
            store.fork(&parent, at, &id).await.map_err(failed)?;
            shared = store.read(&parent, 0, at as usize).await.map_err(failed)?;
        }
        let history = History {
            seed: part.first_seed() + number,
            session: id.clone(),
            runs: 1 + usize::from(number % 4 == 0) + usize::from(number % 16 == 0),
        };
        let events = history.events(&shared)?;
        let epoch = store.claim(&id).await.map_err(failed)?;
        let first = shared.len() as u64;
        store.append(Append::new(&id, epoch, first, &events)).await.map_err(failed)?;
        if number % SNAPSHOT_EVERY == 0 {
            let mut clients = ClientState::default();
            let all: Vec<_> = shared.iter().chain(&events).cloned().collect();
            all.iter().for_each(|event| clients.apply(event));
            let snapshot = ViewSnapshot::new(SessionFold::of(&all).memory().clone(), clients).to_bytes();
            let snapshot = Snapshot::new(all.len() as u64, snapshot.unwrap_or_default());
            store.put_snapshot(&id, snapshot).await.map_err(failed)?;
        }
        store.release(&id, epoch).await.map_err(failed)?;
        names.push(name);
    }
    Ok(names)
}

/// The state of an archive after its import into an empty store.
async fn imported(path: &Path) -> Result<SessionState, String> {
    let failed = |error: String| format!("{}: {error}", path.display());
    let bytes = std::fs::read(path).map_err(|error| failed(error.to_string()))?;
    let store = SqliteStore::in_memory().await.map_err(|error| error.to_string())?;
    let import = archive_file::import(&store, std::io::Cursor::new(bytes), None).await;
    let contents = import.map_err(|error| failed(error.to_string()))?;
    SessionState::read(&store, &contents.session_id).await
}

/// Opens every corpus and compares the state of every session.
///
/// # Errors
/// When a session does not open, has another state or cannot be continued. Names each.
pub async fn check(corpora: &Path) -> Result<Tally, String> {
    let mut tally = Tally::default();
    let mut faults = Vec::new();
    let listed = std::fs::read_dir(corpora).map_err(|error| format!("{}: {error}", corpora.display()))?;
    let mut versions: Vec<PathBuf> = listed.filter_map(|entry| Some(entry.ok()?.path())).collect();
    versions.sort_unstable();
    for version in versions.iter().filter(|path| path.is_dir()) {
        tally.versions += 1;
        let states = std::fs::read_to_string(version.join(STATES))
            .map_err(|error| format!("{}: {error}", version.display()))?;
        for part in Part::ALL {
            let expected: BTreeMap<&str, &str> = states
                .lines()
                .filter_map(|line| line.strip_prefix(part.name())?.strip_prefix(' ')?.split_once(' '))
                .collect();
            check_part(part, version, &expected, &mut tally, &mut faults).await?;
        }
    }
    match faults.as_slice() {
        [] => Ok(tally),
        _ => Err(faults.join("\n")),
    }
}

async fn check_part(
    part: Part,
    version: &Path,
    expected: &BTreeMap<&str, &str>,
    tally: &mut Tally,
    faults: &mut Vec<String>,
) -> Result<(), String> {
    let packed =
        std::fs::read(version.join(format!("{}.gz", part.name()))).map_err(|error| error.to_string())?;
    let number = version.file_name().unwrap_or_default().to_string_lossy();
    let place = TempDirectory::new(&format!("check-{number}-{}", part.name()))?;
    pack::unpack(&packed, &place.0)?;
    let store = part.open(&place.0).await?;
    if part != Part::Archives {
        let listed = store.list(&Default::default()).await.map_err(|error| error.to_string())?;
        let listed: BTreeSet<&str> = listed.iter().map(|summary| summary.session_id.as_str()).collect();
        if !listed.iter().eq(expected.keys()) {
            faults.push(format!("version {number}, {}: the store lists other sessions", part.name()));
        }
    }
    for (at, (name, state)) in expected.iter().enumerate() {
        let id = SessionId::from(*name);
        let found = match part {
            Part::Archives => imported(&place.0.join(name)).await,
            _ => SessionState::read(&*store, &id).await,
        };
        let mut outcome = found.and_then(|found| match found.to_string() {
            found if found == *state => Ok(()),
            found => Err(format!("expected {state}\n     found {found}")),
        });
        if outcome.is_ok() && part != Part::Archives {
            outcome = check_soundness(&*store, &id).await;
            if outcome.is_ok() && (at as u64).is_multiple_of(CONTINUE_EVERY) {
                outcome = continue_session(&*store, &id).await;
                tally.continued += 1;
            }
        }
        match outcome {
            Ok(()) => tally.sessions += 1,
            Err(fault) => faults.push(format!("version {number}, {} {name}: {fault}", part.name())),
        }
    }
    Ok(())
}

async fn check_soundness(store: &dyn SessionArchive, id: &SessionId) -> Result<(), String> {
    let verdict = store.verify(id).await.map_err(|error| error.to_string())?;
    match verdict.damage.first() {
        None => Ok(()),
        Some(damage) => Err(format!("damaged: {}", damage.note)),
    }
}

/// Appends an event with today's version, and reads it back after the old ones.
async fn continue_session(store: &dyn SessionArchive, id: &SessionId) -> Result<(), String> {
    let failed = |error: lariat_core::store::StoreError| error.to_string();
    let epoch = store.claim(id).await.map_err(failed)?;
    let before = store.read(id, 0, usize::MAX).await.map_err(failed)?;
    let last = before.last().ok_or("no events")?;
    let next = EventRecord {
        seq: last.seq + 1,
        loop_id: None,
        event: AgentEvent::Checkpoint { label: "continued".to_owned(), message_id: None },
        ..EventRecord::clone(last)
    };
    let appended = [Arc::new(next)];
    store.append(Append::new(id, epoch, last.seq + 1, &appended)).await.map_err(failed)?;
    let after = store.read(id, 0, usize::MAX).await.map_err(failed)?;
    store.release(id, epoch).await.map_err(failed)?;
    let is_same = after.len() == before.len() + 1 && after.starts_with(&before) && after.ends_with(&appended);
    if is_same { check_soundness(store, id).await } else { Err("changed by an append".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn every_golden_session_opens_with_the_same_state() {
        let tally = check(&corpora()).await.unwrap_or_else(|faults| panic!("{faults}"));
        let expected = SESSIONS_PER_STORE * 2 + ARCHIVES;
        assert!(tally.versions >= 1 && tally.sessions >= expected && tally.continued >= 40, "{tally:?}");
    }

    #[tokio::test]
    async fn a_corpus_is_never_written_again() {
        assert!(write(&corpora(), 1).await.unwrap_err().contains("never written again"));
    }
}
