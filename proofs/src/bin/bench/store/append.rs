//! Compares appends of every store at every durability level with the bare engine: same rows, same batches,
//! same syncs.
//!
//! Our store and the bare engine alternate, so that other load on the machine affects both, and the ratio is
//! computed per round. Our store serializes, checksums and chains the events; the bare engine receives
//! finished bytes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use lariat_core::archive::SessionArchive;
use lariat_core::event::Event;
use lariat_core::id::SessionId;
use lariat_core::store::{Append, Durability, Epoch};
use lariat_proofs::postgres::Server;

use super::location::{Kind, StoreLocation, TempDirectory};
use super::reference_engines::BareEngine;
use super::{Outcome, Size, events, runtime, text};
use crate::measure::median;

/// Wanted share of the bare engine's speed.
const GOAL: f64 = 0.8;

/// Limit for the short form: on a machine that does other work, single rounds say little.
const SHORT_GOAL: f64 = 0.02;

/// The ratio below which a row fails: half of the least that was measured where the goal is not met
/// (`docs/benchmarks.md` says what limits it), and the goal everywhere else.
const fn least(kind: Kind, level: Durability) -> f64 {
    match (kind, level) {
        (Kind::Sqlite, Durability::Durable) => GOAL,
        (Kind::Sqlite, _) | (Kind::Jsonl, Durability::Durable) => 0.25,
        (Kind::Jsonl, Durability::Batched) => 0.02,
        (Kind::Jsonl, _) => 0.03,
        (Kind::Postgres, Durability::Durable) => 0.15,
        (Kind::Postgres, _) => 0.05,
    }
}

const LEVELS: [Durability; 3] = [Durability::Durable, Durability::Batched, Durability::Fast];

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Workload {
    pub(super) kind: Kind,
    pub(super) level: Durability,
    pub(super) sessions: usize,
    /// Events per append.
    pub(super) batch: usize,
}

/// Number and length of the rounds.
struct Rounds {
    count: usize,
    length: Duration,
    /// Appends of a trial session that estimates how many fit into a round, and the minimum per round.
    trial: usize,
    goal: f64,
}

/// What one side achieved in one round.
#[derive(Clone, Copy, Debug)]
pub(super) struct RoundResult {
    pub(super) appends_per_second: f64,
    pub(super) bytes_per_event: f64,
}

pub(super) fn measure(size: Size, server: &Server) -> Outcome<bool> {
    let (rounds, loads): (_, &[(usize, usize)]) = match size {
        Size::Full => {
            let rounds = Rounds { count: 9, length: Duration::from_millis(250), trial: 40, goal: GOAL };
            (rounds, &[(1, 1), (1, 8), (16, 1), (16, 8)])
        }
        Size::Short => {
            let rounds = Rounds { count: 3, length: Duration::from_millis(20), trial: 4, goal: SHORT_GOAL };
            (rounds, &[(1, 1), (16, 8)])
        }
    };
    println!(
        "appends per second; bytes written per event (files: write_bytes of the process; PostgreSQL: WAL)"
    );
    println!(
        "{:<44} {:>9} {:>9} {:>22} {:>9} {:>9}",
        "store, level, sessions × events", "ours", "bare", "ratio (range)", "B ours", "B bare"
    );
    let mut met = true;
    for kind in Kind::ALL {
        for level in LEVELS {
            for &(sessions, batch) in loads {
                met &= row(Workload { kind, level, sessions, batch }, &rounds, server)?;
            }
        }
    }
    Ok(met)
}

fn row(load: Workload, rounds: &Rounds, server: &Server) -> Outcome<bool> {
    let (folder, bare_folder) = (TempDirectory::new()?, TempDirectory::new()?);
    let place = StoreLocation::new(load.kind, &folder, server)?;
    let runtime = runtime()?;
    let mut ours = runtime.block_on(OurStore::open(&place, load))?;
    let trial = runtime.block_on(ours.round(rounds.trial, server))?;
    let per_session = trial.appends_per_second * rounds.length.as_secs_f64() / load.sessions as f64;
    let count = (per_session as usize).clamp(rounds.trial, 20_000);
    let mut bare = BareEngine::open(load, &bare_folder, &place, server)?;
    bare.round(rounds.trial)?;
    let (mut mine, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..rounds.count {
        mine.push(runtime.block_on(ours.round(count, server))?);
        theirs.push(bare.round(count)?);
    }
    let ratio =
        |(ours, bare): (&RoundResult, &RoundResult)| ours.appends_per_second / bare.appends_per_second;
    let mut ratios: Vec<f64> = mine.iter().zip(&theirs).map(ratio).collect();
    ratios.sort_by(f64::total_cmp);
    let middle = median(ratios.clone());
    let of =
        |side: &[RoundResult], figure: fn(&RoundResult) -> f64| median(side.iter().map(figure).collect());
    let (low, high) =
        (ratios.first().copied().unwrap_or_default(), ratios.last().copied().unwrap_or_default());
    let met = middle >= rounds.goal;
    let passes = middle >= rounds.goal.min(least(load.kind, load.level));
    let name = format!("{}, {:?}, {} × {}", load.kind.name(), load.level, load.sessions, load.batch);
    println!(
        "{name:<44} {:>9.0} {:>9.0} {:>22} {:>9.0} {:>9.0} {}",
        of(&mine, |done| done.appends_per_second),
        of(&theirs, |done| done.appends_per_second),
        format!("{middle:.2} ({low:.2}–{high:.2})"),
        of(&mine, |done| done.bytes_per_event),
        of(&theirs, |done| done.bytes_per_event),
        if met { "met" } else { "MISSED" },
    );
    Ok(passes)
}

/// A store with open sessions to append to.
struct OurStore {
    store: Arc<dyn SessionArchive>,
    place: StoreLocation,
    load: Workload,
    writers: Vec<Writer>,
}

struct Writer {
    session: SessionId,
    epoch: Epoch,
    next_seq: u64,
}

impl OurStore {
    async fn open(place: &StoreLocation, load: Workload) -> Outcome<Self> {
        let store = place.open(load.level).await?;
        let mut writers = Vec::new();
        for number in 0..load.sessions {
            let session = SessionId::from(format!("s{number}"));
            let epoch = store.claim(&session).await.map_err(text)?;
            writers.push(Writer { session, epoch, next_seq: 0 });
        }
        Ok(Self { store, place: place.clone(), load, writers })
    }

    /// Makes `appends` appends in each session, all sessions concurrently.
    async fn round(&mut self, appends: usize, server: &Server) -> Outcome<RoundResult> {
        let mut tasks = Vec::new();
        let gate = Arc::new(tokio::sync::Barrier::new(self.writers.len()));
        let meter = Meter::start(&self.place, server)?;
        for writer in &mut self.writers {
            let made = events::events(writer.next_seq, appends * self.load.batch);
            let (session, epoch, batch) = (writer.session.clone(), writer.epoch, self.load.batch);
            writer.next_seq += made.len() as u64;
            let (store, gate) = (Arc::clone(&self.store), Arc::clone(&gate));
            tasks.push(tokio::spawn(async move {
                gate.wait().await;
                let started = Instant::now();
                write(&*store, &session, epoch, made.chunks(batch)).await?;
                Ok::<_, String>((started, Instant::now()))
            }));
        }
        let mut spans = Vec::new();
        for task in tasks {
            spans.push(task.await.map_err(text)??);
        }
        meter.done(self.load, appends, seconds(&spans))
    }
}

/// Time from the first start to the last end, by the clients' own clocks, because the task that waits for
/// them may be woken late.
pub(super) fn seconds(spans: &[(Instant, Instant)]) -> f64 {
    let first = spans.iter().map(|(start, _)| *start).min();
    let last = spans.iter().map(|(_, end)| *end).max();
    first.zip(last).map_or(f64::NAN, |(first, last)| (last - first).as_secs_f64())
}

async fn write(
    store: &dyn SessionArchive,
    session: &SessionId,
    epoch: Epoch,
    batches: impl Iterator<Item = &[Event]>,
) -> Outcome<()> {
    for batch in batches {
        let first = batch.first().map_or(0, |event| event.seq);
        store.append(Append::new(session, epoch, first, batch)).await.map_err(text)?;
    }
    Ok(())
}

/// Measures the bytes written between two points.
pub(super) struct Meter<'a> {
    place: StoreLocation,
    server: &'a Server,
    before: u64,
}

impl<'a> Meter<'a> {
    pub(super) fn start(place: &StoreLocation, server: &'a Server) -> Outcome<Self> {
        Ok(Self { place: place.clone(), server, before: bytes_written(place, server)? })
    }

    pub(super) fn done(self, load: Workload, appends: usize, seconds: f64) -> Outcome<RoundResult> {
        let bytes = bytes_written(&self.place, self.server)?.saturating_sub(self.before);
        let appends = (appends * load.sessions) as f64;
        let bytes_per_event = bytes as f64 / (appends * load.batch as f64);
        Ok(RoundResult { appends_per_second: appends / seconds, bytes_per_event })
    }
}

/// Bytes written so far: by this process to disk, or by a server to its WAL.
fn bytes_written(place: &StoreLocation, server: &Server) -> Outcome<u64> {
    if place.kind == Kind::Postgres {
        let position = server.sql(&place.at, "SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn");
        return position.trim().parse().map_err(text);
    }
    let io = std::fs::read_to_string("/proc/self/io").map_err(text)?;
    let line = io.lines().find_map(|line| line.strip_prefix("write_bytes: "));
    line.ok_or("no write_bytes in /proc/self/io")?.trim().parse().map_err(text)
}
