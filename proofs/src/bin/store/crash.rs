//! Kills a run at each of its writes and at random times; each time it must resume as if nothing happened.
//!
//! To kill at a system call it uses strace. It also kills the PostgreSQL server.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use lariat_proofs::postgres::Server;
use lariat_test::SeededRandom;

use super::check::Trial;
use super::open::{Kind, TempDirectory};
use super::{number, option};

/// System calls that change data on disk or send data.
const CALLS: [&str; 16] = [
    "write",
    "pwrite64",
    "writev",
    "pwritev",
    "sendto",
    "sendmsg",
    "fdatasync",
    "fsync",
    "ftruncate",
    "fallocate",
    "rename",
    "renameat",
    "renameat2",
    "unlink",
    "unlinkat",
    "mkdir",
];
/// Planted mistakes.
const MISTAKES: [&str; 3] = ["acknowledges-early", "runs-twice", "never-recovers"];
/// Threads that test kill points in parallel.
const WORKERS: usize = 2;

pub(crate) fn run(options: &[&str]) -> Result<bool, String> {
    let kind = Kind::named(option(options, "--store").unwrap_or("sqlite"))?;
    let most = number(options, "--points", u64::MAX)?;
    let random = number(options, "--random", 1_000)?;
    let seed = number(options, "--seed", 1)?;
    let started = Instant::now();
    let mut bench = Bench::new(kind)?;
    if options.contains(&"--planted") {
        return bench.planted();
    }
    let normal = bench.normal()?;
    println!("{}: one run takes {} ms", kind.name(), normal.as_millis());
    let (mut points, mut wrong) = (0, Vec::new());
    for call in CALLS {
        let tried = bench.walk(call, most, &mut wrong)?;
        if tried > 0 {
            println!("{:>8} kills at {call}", tried);
        }
        points += tried;
    }
    let killed = bench.random(random, seed, normal, &mut wrong)?;
    println!("{killed:>8} kills at random times");
    if kind == Kind::Postgres {
        let restarts = bench.server_kills((random / 20).max(2), seed, normal, &mut wrong)?;
        println!("{restarts:>8} kills of the server");
        points += restarts;
    }
    points += killed;
    wrong.iter().take(20).for_each(|line| println!("WRONG: {line}"));
    println!(
        "{points} points, {} wrong, 100 % of the others resumed and completed, {:.1} s",
        wrong.len(),
        started.elapsed().as_secs_f64()
    );
    Ok(wrong.is_empty())
}

/// The fixture of the trials.
struct Bench {
    kind: Kind,
    /// The server, and the address of a database in it.
    server: Option<(Mutex<Server>, String)>,
    next: AtomicU64,
    mistake: Option<&'static str>,
}

impl Bench {
    fn new(kind: Kind) -> Result<Self, String> {
        let server = match kind {
            Kind::Postgres => {
                let server = Server::start();
                let database = server.database();
                Some((Mutex::new(server), database))
            }
            _ => None,
        };
        Ok(Self { kind, server, next: AtomicU64::new(0), mistake: None })
    }

    fn trial(&self) -> Result<(Trial, TempDirectory), String> {
        let folder = TempDirectory::new()?;
        let session = format!("session {}", self.next.fetch_add(1, Ordering::Relaxed));
        let place = match &self.server {
            Some((_, database)) => database.clone(),
            None => folder.text(),
        };
        let mut trial = Trial::new(self.kind, place, session, &folder.0);
        trial.mistake = self.mistake.map(str::to_owned);
        Ok((trial, folder))
    }

    /// Checks that runs with a planted mistake are noticed.
    fn planted(&mut self) -> Result<bool, String> {
        let mut caught = 0;
        for mistake in MISTAKES {
            self.mistake = Some(mistake);
            let mut wrong = Vec::new();
            for call in ["pwrite64", "sendto", "fdatasync"] {
                if wrong.is_empty() {
                    self.walk(call, u64::MAX, &mut wrong)?;
                }
            }
            let first = wrong.first().map_or("NOT NOTICED", String::as_str);
            println!("{mistake}: {first}");
            caught += usize::from(!wrong.is_empty());
        }
        println!("{caught} of {} planted mistakes caught", MISTAKES.len());
        Ok(caught == MISTAKES.len())
    }

    /// Runs without interruption; this must succeed.
    fn normal(&self) -> Result<Duration, String> {
        let (mut trial, _folder) = self.trial()?;
        let started = Instant::now();
        trial.finish()?;
        let took = started.elapsed();
        check_completed(&trial)?;
        Ok(took)
    }

    /// Kills at the first, second, … call of this system call, until a run no longer makes that many.
    fn walk(&self, call: &str, most: u64, wrong: &mut Vec<String>) -> Result<u64, String> {
        let (next, tried) = (AtomicU64::new(1), AtomicU64::new(0));
        let end = AtomicU64::new(most);
        let found = Mutex::new(Vec::new());
        let work = || -> Result<(), String> {
            loop {
                let at = next.fetch_add(1, Ordering::SeqCst);
                // One failure is enough to show that a planted mistake is noticed.
                let noticed = self.mistake.is_some() && !lock(&found).is_empty();
                if noticed || at > end.load(Ordering::SeqCst) {
                    return Ok(());
                }
                let (mut trial, _folder) = self.trial()?;
                let inject = format!("inject={call}:signal=KILL:when={at}");
                let trace = format!("trace={call}");
                let strace = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", &trace, "-e", &inject, "--"];
                let child = trial.start(&strace.map(str::to_owned))?;
                if trial.read_output(child)? {
                    end.fetch_min(at - 1, Ordering::SeqCst);
                    return Ok(());
                }
                tried.fetch_add(1, Ordering::SeqCst);
                if let Err(what) = trial.finish().and_then(|()| check_completed(&trial)) {
                    lock(&found).push(format!("killed at {call} number {at}: {what}"));
                }
            }
        };
        workers(&work)?;
        wrong.extend(found.into_inner().unwrap_or_default());
        Ok(tried.into_inner())
    }

    /// Kills after a random time, and sometimes also the process that resumes.
    fn random(
        &self,
        count: u64,
        seed: u64,
        normal: Duration,
        wrong: &mut Vec<String>,
    ) -> Result<u64, String> {
        let (next, found) = (AtomicU64::new(0), Mutex::new(Vec::new()));
        let work = || -> Result<(), String> {
            loop {
                let at = next.fetch_add(1, Ordering::SeqCst);
                if at >= count {
                    return Ok(());
                }
                let mut dice = SeededRandom::new(seed).fork(&format!("kill {at}"));
                let (mut trial, _folder) = self.trial()?;
                for _ in 0..1 + dice.below(3) {
                    let mut child = trial.start(&[])?;
                    let most = u64::try_from(normal.as_micros()).unwrap_or(1_000_000);
                    std::thread::sleep(Duration::from_micros(dice.below(most)));
                    let _ = child.kill();
                    if trial.read_output(child)? {
                        break;
                    }
                }
                if let Err(what) = trial.finish().and_then(|()| check_completed(&trial)) {
                    lock(&found).push(format!("killed at random, --seed {seed}, kill {at}: {what}"));
                }
            }
        };
        workers(&work)?;
        wrong.extend(found.into_inner().unwrap_or_default());
        Ok(count)
    }

    /// Kills PostgreSQL during a run and restarts it; the run must continue.
    fn server_kills(
        &self,
        count: u64,
        seed: u64,
        normal: Duration,
        wrong: &mut Vec<String>,
    ) -> Result<u64, String> {
        let Some((server, _)) = &self.server else { return Ok(0) };
        let mut dice = SeededRandom::new(seed).fork("server");
        for at in 0..count {
            let (mut trial, _folder) = self.trial()?;
            let child = trial.start(&[])?;
            let most = u64::try_from(normal.as_micros()).unwrap_or(1_000_000);
            std::thread::sleep(Duration::from_micros(dice.below(most)));
            let server = lock(server);
            server.kill();
            server.resume();
            drop(server);
            let heard = trial.read_output(child).and_then(|done| if done { Ok(()) } else { trial.finish() });
            if let Err(what) = heard.and_then(|()| check_completed(&trial)) {
                wrong.push(format!("server killed, --seed {seed}, kill {at}: {what}"));
            }
        }
        Ok(count)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Runs the same work on all workers and returns the first failure.
pub(crate) fn workers(work: &(impl Fn() -> Result<(), String> + Sync)) -> Result<(), String> {
    std::thread::scope(|scope| {
        let working: Vec<_> = (0..WORKERS).map(|_| scope.spawn(work)).collect();
        working
            .into_iter()
            .try_for_each(|worker| worker.join().map_err(|_| "a worker panicked".to_owned())?)
    })
}

/// Checks a trial that completed.
pub(crate) fn check_completed(trial: &Trial) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| error.to_string())?.block_on(trial.check())
}
