//! The bare engines to compare with: inserts through `rusqlite`, appends to files, `pgbench`.
//!
//! Each does the same work as our store: it writes the rows that our store keeps for the same events, with
//! one transaction or write per batch, and syncs as the level requires. At `Batched`, a thread syncs every
//! [`WINDOW`].

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use lariat_core::id::SessionId;
use lariat_core::store::Durability;
use lariat_proofs::postgres::Server;
use lariat_store::record::SealedRecord;
use rusqlite::{Connection, params};

use super::append::{Meter, RoundResult, Workload, seconds};
use super::location::{Kind, StoreLocation, TempDirectory};
use super::{Outcome, events, text};

/// Maximum delay of a batched sync: the default of our stores.
const WINDOW: Duration = Duration::from_millis(20);

/// How long a connection waits while another one writes.
const BUSY: Duration = Duration::from_secs(10);

/// Bytes that a line of our files has in addition to the event: length, checksum and chain as text.
const SEAL_BYTES: usize = 57;

const TABLE: &str =
    "CREATE TABLE events (place INTEGER PRIMARY KEY, no INTEGER NOT NULL, seq INTEGER NOT NULL,
    chain BLOB NOT NULL, crc INTEGER NOT NULL, body BLOB NOT NULL)";

const SERVER_TABLE: &str =
    "CREATE TABLE bare (session bigint NOT NULL, seq bigint NOT NULL, crc integer NOT NULL,
    chain bytea NOT NULL, body bytea NOT NULL, PRIMARY KEY (session, seq))";

/// An engine with one client per session.
pub(super) struct BareEngine<'a> {
    load: Workload,
    engine: Engine,
    place: StoreLocation,
    server: &'a Server,
    next_seq: u64,
}

enum Engine {
    Sqlite { connections: Vec<Connection>, wal: PathBuf },
    Files(Vec<Arc<File>>),
    Server { script: PathBuf },
}

impl<'a> BareEngine<'a> {
    pub(super) fn open(
        load: Workload,
        folder: &TempDirectory,
        place: &StoreLocation,
        server: &'a Server,
    ) -> Outcome<Self> {
        let engine = match load.kind {
            Kind::Sqlite => {
                let path = folder.0.join("bare.db");
                let connect = |_| connection(&path, load.level);
                let connections = (0..load.sessions).map(connect).collect::<Outcome<Vec<_>>>()?;
                Engine::Sqlite { connections, wal: folder.0.join("bare.db-wal") }
            }
            Kind::Jsonl => {
                let file =
                    |number| File::create(folder.0.join(format!("{number}"))).map(Arc::new).map_err(text);
                Engine::Files((0..load.sessions).map(file).collect::<Outcome<_>>()?)
            }
            Kind::Postgres => {
                server.sql(&place.at, SERVER_TABLE);
                let script = folder.0.join("script.sql");
                std::fs::write(&script, sql_script(load.batch)).map_err(text)?;
                Engine::Server { script }
            }
        };
        Ok(Self { load, engine, place: place.clone(), server, next_seq: 0 })
    }

    /// Makes `appends` appends with each client, all clients concurrently.
    pub(super) fn round(&mut self, appends: usize) -> Outcome<RoundResult> {
        let made = events::events(self.next_seq, appends * self.load.batch);
        self.next_seq += made.len() as u64;
        let rows = events::records(&SessionId::from("s0"), &made)?;
        let batches: Vec<&[SealedRecord]> = rows.chunks(self.load.batch).collect();
        let batched = self.load.level == Durability::Batched;
        let meter = Meter::start(&self.place, self.server)?;
        let seconds = match &mut self.engine {
            Engine::Sqlite { connections, wal } => {
                let synced = File::options().write(true).open(wal).map(Arc::new).map_err(text)?;
                let insert = |(no, connection): (usize, &mut Connection)| insert(connection, no, &batches);
                run_clients(batched.then(|| vec![synced]), connections.iter_mut().enumerate(), insert)?
            }
            Engine::Files(files) => {
                let lines: Vec<Vec<u8>> = batches.iter().map(|batch| lines(batch)).collect();
                let durable = self.load.level == Durability::Durable;
                let synced = batched.then(|| files.clone());
                run_clients(synced, files.iter(), |file| write(file, &lines, durable))?
            }
            Engine::Server { script } => {
                let body = rows.first().map(|row| row.body.clone()).unwrap_or_default();
                pgbench(self.load, &self.place, script, (appends, self.next_seq), &body)?
            }
        };
        meter.done(self.load, appends, seconds)
    }
}

/// Runs each client on its own thread while another thread syncs, if there is something to sync. Returns the
/// seconds it took.
fn run_clients<C: Send>(
    synced: Option<Vec<Arc<File>>>,
    clients: impl Iterator<Item = C>,
    work: impl Fn(C) -> Outcome<()> + Sync,
) -> Outcome<f64> {
    let clients: Vec<C> = clients.collect();
    let (ended, gate) = (AtomicBool::new(false), Barrier::new(clients.len()));
    let (ended, gate, work) = (&ended, &gate, &work);
    let timed = move |client| {
        gate.wait();
        let started = Instant::now();
        work(client).map(|()| (started, Instant::now()))
    };
    std::thread::scope(|scope| {
        let syncing = synced.map(|files| {
            scope.spawn(move || {
                while !ended.load(Ordering::Acquire) {
                    std::thread::park_timeout(WINDOW);
                    files.iter().try_for_each(|file| file.sync_data().map_err(text))?;
                }
                Ok(())
            })
        });
        let threads: Vec<_> = clients.into_iter().map(|client| scope.spawn(move || timed(client))).collect();
        let panicked = "a client panicked";
        let spans: Outcome<Vec<_>> = threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|_| Err(panicked.to_owned())))
            .collect();
        ended.store(true, Ordering::Release);
        if let Some(syncing) = syncing {
            syncing.thread().unpark();
            syncing.join().unwrap_or_else(|_| Err(panicked.to_owned()))?;
        }
        spans.map(|spans| seconds(&spans))
    })
}

fn connection(path: &Path, level: Durability) -> Outcome<Connection> {
    let connection = Connection::open(path).map_err(text)?;
    connection.busy_timeout(BUSY).map_err(text)?;
    let synchronous = if level == Durability::Durable { "FULL" } else { "NORMAL" };
    for (name, value) in [("journal_mode", "WAL"), ("synchronous", synchronous)] {
        connection
            .pragma_update_and_check(None, name, value, |_| Ok(()))
            .or_else(ignore_missing_row)
            .map_err(text)?;
    }
    let there = connection.prepare("SELECT 1 FROM events").is_ok();
    if !there {
        connection.execute_batch(TABLE).map_err(text)?;
    }
    Ok(connection)
}

/// Treats "no rows" as success, because only some pragmas return a row.
fn ignore_missing_row(error: rusqlite::Error) -> rusqlite::Result<()> {
    if error == rusqlite::Error::QueryReturnedNoRows { Ok(()) } else { Err(error) }
}

fn insert(connection: &Connection, no: usize, batches: &[&[SealedRecord]]) -> Outcome<()> {
    let execute = |sql| connection.prepare_cached(sql).and_then(|mut statement| statement.execute([]));
    for batch in batches {
        execute("BEGIN IMMEDIATE").map_err(text)?;
        for row in *batch {
            let mut statement = connection
                .prepare_cached("INSERT INTO events (no, seq, chain, crc, body) VALUES (?, ?, ?, ?, ?)")
                .map_err(text)?;
            let values = params![no as i64, row.seq as i64, row.chain.as_bytes(), row.check, row.body];
            statement.execute(values).map_err(text)?;
        }
        execute("COMMIT").map_err(text)?;
    }
    Ok(())
}

/// Lines with as many bytes as ours have.
fn lines(batch: &[SealedRecord]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for row in batch {
        bytes.resize(bytes.len() + SEAL_BYTES, b' ');
        bytes.extend_from_slice(&row.body);
        bytes.push(b'\n');
    }
    bytes
}

fn write(mut file: &File, batches: &[Vec<u8>], durable: bool) -> Outcome<()> {
    for batch in batches {
        file.write_all(batch).map_err(text)?;
        if durable {
            file.sync_data().map_err(text)?;
        }
    }
    Ok(())
}

/// A statement that inserts a batch at the client's next positions.
fn sql_script(batch: usize) -> String {
    let row = |n: usize| {
        format!(
            "(:client_id::bigint, :at::bigint + {n}, 1, '\\x000102030405060708090a0b0c0d0e0f'::bytea, \
             convert_to(:body::text, 'UTF8'))"
        )
    };
    let rows: Vec<String> = (0..batch).map(row).collect();
    format!(
        "\\set at :at + {batch}\nINSERT INTO bare (session, seq, crc, chain, body) VALUES {};\n",
        rows.join(", ")
    )
}

/// Runs `pgbench` and returns the seconds that the appends took, without the time to connect.
fn pgbench(
    load: Workload,
    place: &StoreLocation,
    script: &Path,
    (appends, at): (usize, u64),
    body: &[u8],
) -> Outcome<f64> {
    let level = if load.level == Durability::Durable { "on" } else { "off" };
    let clients = load.sessions.to_string();
    let output = Command::new(Server::program("pgbench"))
        .args(["--no-vacuum", "--protocol=prepared", "--jobs=2", "--client", &clients])
        .args(["--transactions", &appends.to_string(), "--file"])
        .arg(script)
        .args(["--define", &format!("at={at}"), "--define"])
        .arg(format!("body={}", String::from_utf8_lossy(body)))
        .arg(&place.at)
        .env("PGOPTIONS", format!("-c synchronous_commit={level}"))
        .output()
        .map_err(text)?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let rate =
        said.lines().find_map(|line| line.strip_prefix("tps = ")?.split(' ').next()?.parse::<f64>().ok());
    let rate = rate.ok_or_else(|| format!("pgbench: {said}{}", String::from_utf8_lossy(&output.stderr)))?;
    Ok((appends * load.sessions) as f64 / rate)
}
