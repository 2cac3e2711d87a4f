//! Opens the possible disk contents after a power loss, many times; no acknowledged event may be missing.
//!
//! strace records runs of three processes: the first is killed in its first, second, … sync, or that sync fails; two resume
//! and complete. From that recording, images of the disk are built, at every possible moment and at random ones,
//! and each is opened like after a reboot. `lariat_proofs::power_loss` models what a disk may contain.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use lariat_core::event::{AgentEvent, Event, EventRecord, FORMAT_VERSION};
use lariat_core::id::{EventId, SessionId};
use lariat_core::store::{Append, StoreError};
use lariat_core::time::{Minter, Stamp, Timestamp};
use lariat_proofs::power_loss::{Change, Disk, Image, Recording, SYSTEM_CALLS};
use lariat_test::SeededRandom;

use super::check::{PROMPTS, Trial};
use super::crash::workers;
use super::open::{Kind, TempDirectory};
use super::{number, option};

/// Images of a full run.
const IMAGES: u64 = 20_000;
/// One in this many images is also checked by SQLite's own tool.
const INTEGRITY_EVERY: u64 = 50;
/// Number of syncs in which a first process is killed, in a full run: enough to get far into its work.
const RECORDINGS: u64 = 24;
/// Minimum number of images per recording in a short run.
const FEW: u64 = 100;
/// The sync in which the first process of a run with a planted mistake is killed.
const MIDDLE: u64 = 12;
/// Maximum number of images of a run that ignored a failed sync.
const FAILING_IMAGES: u64 = 1000;
/// Maximum attempts to record: a recording is useless if the kill hit a write of another thread.
const ATTEMPTS: usize = 5;
const SESSION: &str = "s";

/// Planted mistakes.
const MISTAKES: [&str; 4] = ["skips-syncs", "forgets-folders", "forgets-renames", IGNORES_FAILURE];
/// A failed sync is treated as a successful one.
const IGNORES_FAILURE: &str = "ignores-failure";

/// What happens to the first process.
#[derive(Clone, Copy, Debug)]
enum Trouble {
    /// It is killed in its Nth sync.
    Kill(u64),
    /// Its Nth sync fails, and it continues.
    FailedSync(u64),
}

pub(crate) fn run(options: &[&str]) -> Result<bool, String> {
    let images = number(options, "--images", IMAGES)?;
    let seed = number(options, "--seed", 1)?;
    let only = option(options, "--image").map(|_| number(options, "--image", 0)).transpose()?;
    let kinds = match option(options, "--store") {
        Some(name) => vec![Kind::named(name)?],
        None => vec![Kind::Sqlite, Kind::Jsonl],
    };
    if options.contains(&"--planted") {
        return all_planted(&kinds, images, seed);
    }
    let mut right = true;
    for kind in kinds {
        if let Some(kept) = option(options, "--recording") {
            let bench = Bench::read(kind, RecordingDirectory::Existing(PathBuf::from(kept)), None)?;
            let (tried, wrong) = bench.walk(images, seed, only)?;
            wrong.iter().for_each(|line| println!("WRONG: {line}"));
            println!("{tried} images, {} wrong", wrong.len());
            right &= wrong.is_empty();
            continue;
        }
        right &= all(kind, images, seed)?;
    }
    Ok(right)
}

/// Records runs and opens images of each.
fn all(kind: Kind, images: u64, seed: u64) -> Result<bool, String> {
    let started = Instant::now();
    let recordings = (images / FEW).clamp(1, RECORDINGS);
    let (mut tried, mut wrong) = (0, 0);
    let (mut changes, mut syncs, mut failed, mut acknowledged) = (0, 0, 0, 0);
    for recording in 0..recordings {
        let killed_at = 1 + recording * RECORDINGS / recordings;
        let trouble =
            if recording % 2 == 0 { Trouble::Kill(killed_at) } else { Trouble::FailedSync(killed_at) };
        let bench = Bench::record(kind, trouble, None)?;
        for op in &bench.recording.ops {
            match op.change {
                Change::Sync(_) => syncs += 1,
                Change::FailedSync(_) => failed += 1,
                Change::Acknowledge { .. } => acknowledged += 1,
                _ => changes += 1,
            }
        }
        let (opened, found) = bench.walk(images.div_ceil(recordings), seed, None)?;
        tried += opened;
        wrong += found.len();
        found.iter().take(5).for_each(|line| println!("WRONG: {trouble:?}, {line}"));
        if !found.is_empty()
            && let RecordingDirectory::New(folder) = bench.folder
        {
            println!("kept the recording; use it with --recording {}", folder.text());
            std::mem::forget(folder);
        }
    }
    println!(
        "{}: {recordings} recordings of {changes} changes, {syncs} syncs, {failed} failed syncs and {acknowledged} \
         acknowledgements; {tried} images, {wrong} wrong, {:.1} s",
        kind.name(),
        started.elapsed().as_secs_f64()
    );
    Ok(wrong == 0)
}

/// Checks that every mistake is noticed in every store that can make it.
fn all_planted(kinds: &[Kind], images: u64, seed: u64) -> Result<bool, String> {
    let mut caught = 0;
    for mistake in MISTAKES {
        let mut is_noticed = true;
        for kind in kinds {
            // SQLite renames nothing.
            if (*kind, mistake) != (Kind::Sqlite, "forgets-renames") {
                is_noticed &= planted(*kind, mistake, images, seed)?;
            }
        }
        caught += usize::from(is_noticed);
    }
    println!("{caught} of {} planted mistakes caught", MISTAKES.len());
    Ok(caught == MISTAKES.len())
}

/// Checks that a run with a mistake is noticed.
fn planted(kind: Kind, mistake: &'static str, images: u64, seed: u64) -> Result<bool, String> {
    let (troubles, images): (Vec<Trouble>, u64) = match mistake {
        // strace counts the syncs of each thread, so which of them belongs to an append differs between runs.
        IGNORES_FAILURE => ((1..=RECORDINGS).map(Trouble::FailedSync).collect(), images.min(FAILING_IMAGES)),
        _ => (vec![Trouble::Kill(MIDDLE)], images),
    };
    for trouble in troubles {
        let bench = Bench::record(kind, trouble, Some(mistake))?;
        if mistake == IGNORES_FAILURE && bench.ignored == 0 {
            continue;
        }
        let (_, wrong) = bench.walk(images, seed, None)?;
        if let Some(first) = wrong.first() {
            println!("{}, {mistake}, {trouble:?}: {first}", kind.name());
            return Ok(true);
        }
    }
    println!("{}, {mistake}: NOT NOTICED", kind.name());
    Ok(false)
}

/// The directory of a recording: `disk` is what was recorded, `life-0`, `life-1`, … are the logs.
enum RecordingDirectory {
    /// Removed on drop, unless a fault was found.
    New(TempDirectory),
    /// From an earlier run.
    Existing(PathBuf),
}

impl RecordingDirectory {
    fn path(&self) -> &Path {
        match self {
            Self::New(folder) => &folder.0,
            Self::Existing(path) => path,
        }
    }
}

/// A recording, and what its run wrote in the end.
struct Bench {
    kind: Kind,
    folder: RecordingDirectory,
    recording: Recording,
    events: Vec<Event>,
    mistake: Option<&'static str>,
    /// Failed appends that the mistake treated as successful.
    ignored: usize,
}

/// Location of the store, in directories that the store has to create.
fn place(disk: &Path) -> String {
    disk.join("home").join("store").to_string_lossy().into_owned()
}

impl Bench {
    fn record(kind: Kind, trouble: Trouble, mistake: Option<&'static str>) -> Result<Self, String> {
        let mut last = String::new();
        for _ in 0..ATTEMPTS {
            let folder = TempDirectory::in_memory()?;
            let Lives { acknowledged, hides_outage, ignored } =
                run_processes(kind, &folder.0, trouble, mistake)?;
            let is_journal = failed_file(&folder.0).is_some_and(|name| is_journal(&name));
            let bench = Self::read(kind, RecordingDirectory::New(folder), mistake);
            let bench = bench.and_then(|bench| {
                let reported: Vec<(u64, &str)> = bench.recording.acknowledged(usize::MAX).collect();
                let heard = acknowledged.iter().map(|(seq, id)| (*seq, id.as_str()));
                if heard.eq(reported) {
                    Ok(Self { ignored, ..bench })
                } else {
                    Err("acknowledgements are missing".to_owned())
                }
            });
            match bench {
                // A user who sees no failure would believe that everything is safe.
                Ok(bench) if hides_outage && is_journal && bench.recording.has_lost_writes() => {
                    return Err(format!(
                        "{trouble:?}: a failed sync of the journal is not visible as an outage"
                    ));
                }
                Ok(bench) => return Ok(bench),
                Err(what) => last = what,
            }
        }
        Err(format!("no recording is complete: {last}"))
    }

    fn read(kind: Kind, folder: RecordingDirectory, mistake: Option<&'static str>) -> Result<Self, String> {
        let disk = folder.path().join("disk");
        let mut lives = Vec::new();
        while let Ok(log) = std::fs::read_to_string(folder.path().join(format!("life-{}", lives.len()))) {
            lives.push(log);
        }
        let mut recording = Recording::read(&disk.to_string_lossy(), lives.iter().map(String::as_str))?;
        let mut whole = Disk::new(&recording).whole();
        whole.files.retain(|path, _| survives(path));
        if let Some(path) = differs(&whole, &disk)? {
            return Err(format!("{path} does not match the recording"));
        }
        if let Some(mistake) = mistake {
            forget(&mut recording, mistake);
        }
        // Check a copy, because opening a store changes its files.
        let copy = TempDirectory::in_memory()?;
        build(&whole, &copy.0)?;
        let session_id = SessionId::from(SESSION);
        let events = runtime()?.block_on(async {
            let store = kind.open(&place(&copy.0)).await?;
            store.read(&session_id, 0, usize::MAX).await.map_err(|error| error.to_string())
        })?;
        Ok(Self { kind, folder, recording, events, mistake, ignored: 0 })
    }

    /// Opens images: one for every moment, then at random ones. With a planted mistake, stops at the first
    /// fault.
    fn walk(&self, images: u64, seed: u64, only: Option<u64>) -> Result<(u64, Vec<String>), String> {
        let disk = Disk::new(&self.recording);
        let cuts = disk.cuts();
        let (next, tried) = (AtomicU64::new(only.unwrap_or(0)), AtomicU64::new(0));
        let end = only.map_or(images, |only| only + 1);
        let (found, enough) = (Mutex::new(Vec::new()), AtomicBool::new(false));
        let work = || -> Result<(), String> {
            let runtime = runtime()?;
            loop {
                let at = next.fetch_add(1, Ordering::SeqCst);
                if at >= end || enough.load(Ordering::SeqCst) {
                    return Ok(());
                }
                let mut dice = SeededRandom::new(seed).fork(&format!("image {at}"));
                let cut = moment(&cuts, at, images, &mut dice);
                let mut image = disk.image(cut, &mut dice);
                image.files.retain(|path, _| survives(path));
                let folder = TempDirectory::in_memory()?;
                build(&image, &folder.0)?;
                let acknowledged: Vec<(u64, &str)> = self.recording.acknowledged(cut).collect();
                let place = place(&folder.0);
                let mut checked = runtime.block_on(self.check(&place, &acknowledged));
                if self.kind == Kind::Sqlite && at % INTEGRITY_EVERY == 0 {
                    checked = checked.and_then(|()| integrity(&place));
                }
                tried.fetch_add(1, Ordering::SeqCst);
                if let Err(what) = checked {
                    enough.store(self.mistake.is_some(), Ordering::SeqCst);
                    let what =
                        format!("--seed {seed} --images {images} --image {at}, cut at line {cut}: {what}");
                    found.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(what);
                }
            }
        };
        workers(&work)?;
        Ok((tried.into_inner(), found.into_inner().unwrap_or_default()))
    }

    /// Checks that acknowledged events are present, that all events are as written, and that the session can
    /// continue.
    async fn check(&self, place: &str, acknowledged: &[(u64, &str)]) -> Result<(), String> {
        let session_id = SessionId::from(SESSION);
        let text = |error: StoreError| error.to_string();
        let store = self.kind.open(place).await?;
        let before = match store.read(&session_id, 0, usize::MAX).await {
            Err(StoreError::NotFound(_)) if acknowledged.is_empty() => Vec::new(),
            read => read.map_err(|error| format!("cannot read the session: {error}"))?,
        };
        for (seq, id) in acknowledged {
            let there = usize::try_from(*seq).ok().and_then(|seq| before.get(seq));
            match there {
                Some(event) if event.id.to_string() == *id => {}
                Some(event) => return Err(format!("position {seq} has {}, acknowledged was {id}", event.id)),
                None => return Err(format!("event {seq} was acknowledged and is lost")),
            }
        }
        if let Some((there, _)) = before.iter().zip(&self.events).find(|(there, written)| there != written) {
            return Err(format!("event {} differs from what was written", there.seq));
        }
        if before.len() > self.events.len() {
            return Err("the journal has events that were never written".to_owned());
        }
        let epoch =
            store.claim(&session_id).await.map_err(|error| format!("cannot claim the session: {error}"))?;
        let head = store.head(&session_id).await.map_err(text)?;
        let mut minter = Minter::default();
        minter.stamp(Stamp { now: Timestamp::from_millis(1), entropy: head });
        let event = Arc::new(EventRecord {
            v: FORMAT_VERSION,
            seq: head,
            id: EventId::new(minter.uuid()),
            timestamp: Timestamp::from_millis(1 + head),
            loop_id: None,
            event: AgentEvent::Checkpoint { label: "the power is back".to_owned(), message_id: None },
        });
        let added = [event];
        let append = Append::new(&session_id, epoch, head, &added);
        store.append(append).await.map_err(|error| format!("cannot append: {error}"))?;
        let after = store.read(&session_id, 0, usize::MAX).await.map_err(text)?;
        if !after.iter().eq(before.iter().chain(&added)) {
            return Err(format!("{} events became {} by an append", before.len(), after.len()));
        }
        let verdict = store.verify(&session_id).await.map_err(text)?;
        if !verdict.is_sound() {
            return Err(format!("the journal is damaged: {:?}", verdict.damage));
        }
        Ok(())
    }
}

/// Runs the three processes below strace and returns what they acknowledged.
fn run_processes(
    kind: Kind,
    folder: &Path,
    trouble: Trouble,
    mistake: Option<&str>,
) -> Result<Lives, String> {
    let disk = folder.join("disk");
    std::fs::create_dir_all(&disk).map_err(|error| error.to_string())?;
    let mut trial = Trial::new(kind, place(&disk), SESSION.to_owned(), folder);
    trial.large = true;
    trial.mistake = mistake.map(str::to_owned);
    let trace = format!("trace={SYSTEM_CALLS}");
    let mut hides_outage = false;
    for life in 0..3 {
        let log = folder.join(format!("life-{life}")).to_string_lossy().into_owned();
        let strace = ["strace", "-f", "-qq", "-xx", "-s", "16777216", "-o", &log, "-e", &trace];
        let mut wrapper: Vec<String> = strace.map(str::to_owned).into();
        trial.prompts = PROMPTS.min(2 + life / 2);
        if life == 0 {
            let inject = match trouble {
                Trouble::Kill(at) => format!("inject=fsync,fdatasync:signal=KILL:when={at}"),
                Trouble::FailedSync(at) => format!("inject=fsync,fdatasync:error=EIO:when={at}"),
            };
            wrapper.extend(["-e".to_owned(), inject]);
        }
        wrapper.push("--".to_owned());
        let child = trial.start(&wrapper)?;
        let is_done = trial.read_output(child)?;
        if !is_done && life > 0 {
            return Err(format!("process {life} did not complete"));
        }
        if life == 0 && matches!(trouble, Trouble::FailedSync(_)) && mistake.is_none() {
            hides_outage = is_done && trial.outages == 0;
        }
    }
    Ok(Lives { acknowledged: trial.acknowledged, hides_outage, ignored: trial.ignored })
}

/// What the processes reported.
struct Lives {
    acknowledged: Vec<(u64, String)>,
    /// Whether the first process completed without an outage, although a sync failed.
    hides_outage: bool,
    /// Failed appends that a planted mistake treated as successful.
    ignored: usize,
}

/// The file whose sync failed between two acknowledgements of the first process, as far as its log shows. A failure before the
/// first one fails the opening of the store, and what a store writes at its end only makes the next start faster.
fn failed_file(folder: &Path) -> Option<String> {
    let log = std::fs::read_to_string(folder.join("life-0")).ok()?;
    let failed = log.lines().find(|line| line.contains("(INJECTED)"))?;
    let (before, after) = log.split_once(failed)?;
    if ![before, after].iter().all(|part| part.contains(" write(1, ")) {
        return None;
    }
    let descriptor = failed.split_once("sync(")?.1.split(')').next()?.to_owned();
    let opened =
        before.lines().rfind(|line| line.ends_with(&format!(" = {descriptor}")) && line.contains("open"))?;
    let path = opened.split('"').nth(1)?;
    let bytes: Vec<u8> = path.split("\\x").filter_map(|digits| u8::from_str_radix(digits, 16).ok()).collect();
    String::from_utf8(bytes).ok()
}

/// Whether a file has only events. The WAL of SQLite also has blobs and snapshots, which a run writes again without an outage.
fn is_journal(path: &str) -> bool {
    path.ends_with(".jsonl")
}

/// Removes from a recording what a store with this mistake would not do.
///
/// `forgets-renames` removes every sync of a directory after the first rename in it. Removing only the next one would not
/// do: a claim syncs the directory of the journal again, and whether a run has other renames that matter depends on which
/// of its threads is killed.
fn forget(recording: &mut Recording, mistake: &str) {
    let mut folders = std::collections::HashSet::from([lariat_proofs::power_loss::ROOT]);
    let mut renamed = std::collections::HashSet::new();
    recording.ops.retain(|op| {
        match &op.change {
            Change::Enter { node, is_folder: true, .. } => drop(folders.insert(*node)),
            Change::Move { to, .. } => drop(renamed.insert(to.0)),
            Change::Sync(node) if mistake == "forgets-folders" => return !folders.contains(node),
            Change::Sync(node) if mistake == "forgets-renames" => return !renamed.contains(node),
            _ => {}
        }
        true
    });
}

/// The moment of an image: first each moment in order, or evenly distributed if there are fewer images; then
/// random ones.
fn moment(cuts: &[usize], at: u64, images: u64, dice: &mut SeededRandom) -> usize {
    let moments = cuts.len() as u64;
    let walked = if images < moments { at * moments / images.max(1) } else { at };
    let chosen = usize::try_from(walked).ok().and_then(|walked| cuts.get(walked));
    chosen.or_else(|| dice.pick(cuts)).copied().unwrap_or_default()
}

/// SQLite's `-shm` file is shared memory: it is never synced, and SQLite recreates it.
fn survives(path: &str) -> bool {
    !path.ends_with("-shm")
}

/// The first file that differs between an image and a directory.
fn differs(image: &Image, folder: &Path) -> Result<Option<String>, String> {
    let mut there = std::collections::BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(path) = open.pop() {
        for entry in std::fs::read_dir(&path).map_err(|error| error.to_string())? {
            let path = entry.map_err(|error| error.to_string())?.path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap_or(&path).to_string_lossy().into_owned();
                there.insert(name, std::fs::read(&path).map_err(|error| error.to_string())?);
            }
        }
    }
    there.retain(|path, _| survives(path));
    let mut all = there.keys().chain(image.files.keys());
    Ok(all.find(|path| there.get(*path) != image.files.get(*path)).cloned())
}

/// Writes the files of an image.
fn build(image: &Image, root: &Path) -> Result<(), String> {
    let text = |error: std::io::Error| error.to_string();
    image.folders.iter().try_for_each(|folder| std::fs::create_dir(root.join(folder))).map_err(text)?;
    image.files.iter().try_for_each(|(path, bytes)| std::fs::write(root.join(path), bytes)).map_err(text)
}

/// Checks the database with SQLite's own tool, if it is installed.
fn integrity(place: &str) -> Result<(), String> {
    let database = Path::new(place).join("sessions.db");
    match Command::new("sqlite3").arg(database).arg("PRAGMA integrity_check").output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Ok(output) if output.stdout == b"ok\n" => Ok(()),
        Ok(output) => Err(format!("integrity_check: {}", String::from_utf8_lossy(&output.stdout))),
        Err(error) => Err(error.to_string()),
    }
}

fn runtime() -> Result<tokio::runtime::Runtime, String> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| error.to_string())
}
