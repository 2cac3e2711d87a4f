//! Lets processes compete for one session: one writes, is killed or stopped, and another takes over.
//!
//! Every writer reports what it wrote; the journal must contain exactly that, in one order, and its epochs
//! must never decrease. A dead writer must be replaced within a second. A living one must not be robbed: no other process
//! gets the session while its owner lives, also if the owner is stopped for seconds, and whatever path leads to the store.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use lariat_core::event::{AgentEvent, EventRecord, FORMAT_VERSION};
use lariat_core::id::{EventId, SessionId};
use lariat_core::store::{Append, StoreError};
use lariat_core::time::{Minter, Stamp, Timestamp};
use lariat_test::SeededRandom;

use super::open::{Kind, TempDirectory};
use super::{number, option};

/// Maximum time until a dead writer is replaced.
const REPLACED: Duration = Duration::from_secs(1);
/// One in this many rounds stops the owner for a long time, starting with one that short runs have too.
const LONG_STOP_EVERY: u64 = 250;
const FIRST_LONG_STOP: u64 = 5;
/// The same with a planted mistake: a process that is stopped in a transaction keeps all others out, so one stop is not enough.
const LONG_STOP_EVERY_PLANTED: u64 = 6;
/// How long an owner pauses after every second event. Without it nearly every stop would hit a transaction.
const PAUSE: Duration = Duration::from_millis(3);
/// Planted mistakes of the writers.
const MISTAKES: [&str; 3] = ["acknowledges-early", "robs-owners", "robs-stopped-owners"];

/// One writer: claims the session, writes until it is fenced off or dies, and claims again.
pub(crate) fn writer(options: &[&str]) -> Result<bool, String> {
    let kind = Kind::named(option(options, "--store").unwrap_or_default())?;
    let place = option(options, "--place").ok_or("--place is missing")?.to_owned();
    let who = number(options, "--who", 0)?;
    let mistake = option(options, "--mistake").unwrap_or_default().to_owned();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| error.to_string())?.block_on(write(kind, &place, who, &mistake))
}

async fn write(kind: Kind, place: &str, who: u64, mistake: &str) -> Result<bool, String> {
    let early = mistake == "acknowledges-early";
    let store = kind.open(place).await?;
    let session_id = SessionId::from("s");
    let mut minter = Minter::default();
    minter.stamp(Stamp { now: Timestamp::from_millis(1), entropy: who.wrapping_mul(0x9E37_79B9_7F4A_7C15) });
    loop {
        let epoch = match store.claim(&session_id).await {
            Ok(epoch) => epoch,
            Err(error @ (StoreError::Busy { .. } | StoreError::Unavailable(_))) => {
                if mistake == "robs-owners" || (mistake == "robs-stopped-owners" && is_holder_stopped(&error))
                {
                    remove_locks(place);
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
                continue;
            }
            Err(error) => return Err(error.to_string()),
        };
        let Ok(mut head) = store.head(&session_id).await else { continue };
        say(&format!("owner {}", epoch.0));
        loop {
            let event = EventRecord {
                v: FORMAT_VERSION,
                seq: head,
                id: EventId::new(minter.uuid()),
                timestamp: Timestamp::from_millis(1 + head),
                loop_id: None,
                event: AgentEvent::Checkpoint { label: format!("{} {who}", epoch.0), message_id: None },
            };
            let events = [Arc::new(event)];
            let id = events.first().map(|event| event.id.to_string()).unwrap_or_default();
            let reported = format!("ack {head} {id}");
            if early {
                say(&reported);
            }
            match store.append(Append::new(&session_id, epoch, head, &events)).await {
                Ok(_) => {
                    if !early {
                        say(&reported);
                    }
                    head += 1;
                    if head % 2 == 0 {
                        tokio::time::sleep(PAUSE).await;
                    }
                }
                // Only another process that became the owner meanwhile can cause these.
                Err(error @ (StoreError::Fenced { .. } | StoreError::Conflict { .. })) => {
                    say(&format!("robbed {} {error}", epoch.0));
                    break;
                }
                Err(StoreError::Unavailable(_)) => break,
                Err(error) => return Err(error.to_string()),
            }
        }
    }
}

/// Whether the process that holds the session is stopped.
fn is_holder_stopped(error: &StoreError) -> bool {
    let StoreError::Busy { holder } = error else { return false };
    let pid = holder.trim_start_matches("process ");
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('T'))
}

/// Removes the locks of a store, as a store without locks would ignore them.
fn remove_locks(place: &str) {
    let root = std::path::Path::new(place);
    let _ = std::fs::remove_dir_all(root.join("sessions.db.locks"));
    let _ = std::fs::remove_file(root.join("index").join("s.lock"));
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    if writeln!(out, "{line}").and_then(|()| out.flush()).is_err() {
        // The referee has closed the pipe.
        std::process::exit(0);
    }
}

/// A writer process, from the referee's point of view.
struct WriterProcess {
    child: Child,
    said: Arc<std::sync::Mutex<Vec<String>>>,
    /// Reads what the process says, until it has ended.
    reader: Option<std::thread::JoinHandle<()>>,
}

pub(crate) fn run(options: &[&str]) -> Result<bool, String> {
    let kind = Kind::named(option(options, "--store").unwrap_or("sqlite"))?;
    if !options.contains(&"--planted") {
        return Ok(compete(kind, options, None)?.is_empty());
    }
    let mut caught = 0;
    for mistake in MISTAKES {
        let wrong = compete(kind, options, Some(mistake))?;
        caught += usize::from(!wrong.is_empty());
        println!("{mistake}: {}", wrong.first().map_or("NOT NOTICED", String::as_str));
    }
    println!("{caught} of {} planted mistakes caught", MISTAKES.len());
    Ok(caught == MISTAKES.len())
}

/// Other paths to the same store: with detours, and through links.
fn aliases(folder: &TempDirectory) -> Result<Vec<String>, String> {
    let store = folder.0.join("store");
    std::fs::create_dir_all(&store).map_err(|error| error.to_string())?;
    let link = folder.0.join("link");
    std::os::unix::fs::symlink(&store, &link).map_err(|error| error.to_string())?;
    let text = |path: std::path::PathBuf| path.to_string_lossy().into_owned();
    Ok(vec![text(store.clone()), text(link), text(store.join(".")), text(store.join("..").join("store"))])
}

/// Lets writers compete. Returns what went wrong.
fn compete(kind: Kind, options: &[&str], mistake: Option<&str>) -> Result<Vec<String>, String> {
    let rounds = number(options, "--rounds", if mistake.is_some() { 200 } else { 10_000 })?;
    let writers = number(options, "--writers", 4)?.clamp(2, 16);
    let seed = number(options, "--seed", 1)?;
    let folder = TempDirectory::new()?;
    let places = aliases(&folder)?;
    let place = |who: u64| places.get(who as usize % places.len()).cloned().unwrap_or_default();
    let started = Instant::now();
    let mut dice = SeededRandom::new(seed).fork("writers");
    let acks = Arc::new(AtomicU64::new(0));
    let owner = Arc::new(AtomicU64::new(u64::MAX));
    let mut seats = Vec::new();
    for who in 0..writers {
        seats.push(seat((kind, mistake), &place(who), who, who, &acks, &owner)?);
    }
    let (mut slowest, mut wrong, mut replaced) = (Duration::ZERO, Vec::new(), Vec::new());
    let (mut kills, mut stops, mut long_stops) = (0_u64, 0_u64, 0_u64);
    for round in 0..rounds {
        if mistake.is_some() && !wrong.is_empty() {
            break;
        }
        wait_for_ack(&acks, REPLACED * 5).ok_or("no process writes")?;
        let at = owner.load(Ordering::SeqCst);
        let every = if mistake.is_some() { LONG_STOP_EVERY_PLANTED } else { LONG_STOP_EVERY };
        let is_long = round % every == FIRST_LONG_STOP;
        let is_any = !is_long && dice.below(4) == 0;
        let at = if at < writers && !is_any { at } else { dice.below(writers) };
        let Some(seat_of) = usize::try_from(at).ok().and_then(|at| seats.get_mut(at)) else { continue };
        if is_long || dice.below(5) == 0 {
            // No other process may take the session while its owner lives, and the owner continues afterwards.
            let pid = seat_of.child.id().to_string();
            let _ = Command::new("kill").args(["-STOP", &pid]).status();
            let is_owner = owner.load(Ordering::SeqCst) == at;
            let time =
                Duration::from_millis(if is_long { 1_000 + dice.below(2_000) } else { dice.below(10) });
            std::thread::sleep(time);
            if is_owner && owner.load(Ordering::SeqCst) != at {
                let seconds = time.as_secs_f64();
                wrong.push(format!("round {round}: robbed while stopped for {seconds:.3} s, --seed {seed}"));
            }
            let _ = Command::new("kill").args(["-CONT", &pid]).status();
            stops += 1;
            long_stops += u64::from(is_long);
            continue;
        }
        let _ = seat_of.child.kill();
        let _ = seat_of.child.wait();
        // What it said last must not seem to be said by its successor.
        if let Some(reader) = seat_of.reader.take() {
            let _ = reader.join();
        }
        kills += 1;
        let begun = Instant::now();
        acks.store(0, Ordering::SeqCst);
        let who = writers + round;
        let fresh = seat((kind, mistake), &place(who), at, who, &acks, &owner)?;
        replaced.push(std::mem::replace(seat_of, fresh));
        match wait_for_ack(&acks, REPLACED * 5) {
            Some(()) => slowest = slowest.max(begun.elapsed()),
            None => wrong.push(format!("round {round}: no process writes after a kill, --seed {seed}")),
        }
        if begun.elapsed() > REPLACED {
            wrong.push(format!("round {round}: replaced after {:?}, --seed {seed}", begun.elapsed()));
        }
    }
    for seat in &mut seats {
        let _ = seat.child.kill();
        let _ = seat.child.wait();
    }
    std::thread::sleep(Duration::from_millis(100));
    let lines: Vec<String> =
        replaced.iter().chain(&seats).flat_map(|seat| lock(&seat.said).clone()).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let robbed = lines.iter().filter(|line| line.starts_with("robbed "));
    wrong.extend(robbed.map(|line| format!("a living owner lost the session: {line}, --seed {seed}")));
    let judged = runtime.map_err(|error| error.to_string())?.block_on(judge(kind, &place(0), &lines));
    let events = judged.unwrap_or_else(|what| {
        wrong.push(what);
        0
    });
    if mistake.is_none() {
        wrong.iter().take(20).for_each(|line| println!("WRONG: {line}"));
        println!(
            "{}: {rounds} rounds of {writers} writers by {} paths, {kills} killed, {stops} stopped, {long_stops} of them \
             for seconds, {events} events, {} wrong, slowest replacement {} ms, {:.1} s",
            kind.name(),
            places.len(),
            wrong.len(),
            slowest.as_millis(),
            started.elapsed().as_secs_f64()
        );
    }
    Ok(wrong)
}

fn seat(
    (kind, mistake): (Kind, Option<&str>),
    place: &str,
    at: u64,
    who: u64,
    acks: &Arc<AtomicU64>,
    owner: &Arc<AtomicU64>,
) -> Result<WriterProcess, String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut child = Command::new(own)
        .args(["writer", "--store", kind.name(), "--place", place, "--who", &who.to_string()])
        .args(mistake.map(|mistake| ["--mistake", mistake]).into_iter().flatten())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .map_err(|error| error.to_string())?;
    let out = child.stdout.take().ok_or("no pipe")?;
    let said = Arc::new(std::sync::Mutex::new(Vec::new()));
    let (heard, acks, owner) = (Arc::clone(&said), Arc::clone(acks), Arc::clone(owner));
    let reader = std::thread::spawn(move || {
        for line in BufReader::new(out).lines().map_while(Result::ok) {
            if line.starts_with("ack") {
                acks.fetch_add(1, Ordering::SeqCst);
                owner.store(at, Ordering::SeqCst);
            }
            lock(&heard).push(line);
        }
    });
    Ok(WriterProcess { child, said, reader: Some(reader) })
}

fn wait_for_ack(acks: &AtomicU64, most: Duration) -> Option<()> {
    let begun = Instant::now();
    while acks.load(Ordering::SeqCst) == 0 {
        if begun.elapsed() > most {
            return None;
        }
        std::thread::sleep(Duration::from_micros(200));
    }
    Some(())
}

/// Checks that the journal has everything that was acknowledged, and that its epochs never decrease.
async fn judge(kind: Kind, place: &str, lines: &[String]) -> Result<u64, String> {
    let store = kind.open(place).await?;
    let session_id = SessionId::from("s");
    let events = store.read(&session_id, 0, usize::MAX).await.map_err(|error| error.to_string())?;
    for line in lines {
        let mut words = line.split(' ');
        let (Some("ack"), Some(seq), Some(id)) = (words.next(), words.next(), words.next()) else { continue };
        let there = seq.parse::<usize>().ok().and_then(|seq| events.get(seq));
        if there.is_none_or(|event| event.id.to_string() != id) {
            return Err(format!("{line} is not in the journal"));
        }
    }
    let mut newest = 0;
    for event in &events {
        let AgentEvent::Checkpoint { label, .. } = &event.event else { continue };
        let epoch: u64 = label.split(' ').next().and_then(|epoch| epoch.parse().ok()).unwrap_or_default();
        if epoch < newest {
            return Err(format!("event {} was written by epoch {epoch} after epoch {newest}", event.seq));
        }
        newest = epoch;
    }
    let verdict = store.verify(&session_id).await.map_err(|error| error.to_string())?;
    if !verdict.is_sound() {
        return Err(format!("the journal is damaged: {:?}", verdict.damage));
    }
    Ok(events.len() as u64)
}

fn lock<T>(mutex: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
