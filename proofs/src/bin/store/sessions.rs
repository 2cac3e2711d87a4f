//! Opens many sessions in one process, and hands one session from process to process.
//!
//! Measures file descriptors and memory while sessions are opened, run and closed under a limit of 256 open
//! files, and the time from the moment a process begins to close a session until another one has claimed it.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use lariat_core::id::SessionId;
use lariat_core::store::{SessionStore, StoreError};
use lariat_runtime::Agent;
use lariat_test::{Reply, ScriptedModel};

use super::open::{Kind, TempDirectory};
use super::{number, option};

/// Maximum number of open files of the process.
const DESCRIPTORS: u64 = 256;
/// Maximum memory growth after the first tenth of the sessions, in KiB.
const GROWTH_KIB: u64 = 32 * 1024;
/// Maximum time of a hand-over.
const HAND_OVER: Duration = Duration::from_millis(100);
/// Planted mistakes: sessions stay open; a session is released before its end, or too late.
const MISTAKES: [&str; 3] = [KEEPS_OPEN, RELEASES_EARLY, RELEASES_LATE];
const KEEPS_OPEN: &str = "keeps-open";
const RELEASES_EARLY: &str = "releases-early";
const RELEASES_LATE: &str = "releases-late";

pub(crate) fn run(options: &[&str]) -> Result<bool, String> {
    let kind = Kind::named(option(options, "--store").unwrap_or_default())?;
    let sessions = number(options, "--sessions", 2_000)?;
    let rounds = number(options, "--hand-overs", 20)?;
    if options.contains(&"--planted") {
        return planted(kind, sessions, rounds);
    }
    Ok(opens_many(kind, sessions, "")? && hand_overs(kind, rounds, "")?)
}

/// Checks that each mistake is noticed.
fn planted(kind: Kind, sessions: u64, rounds: u64) -> Result<bool, String> {
    let mut caught = 0;
    for mistake in MISTAKES {
        let found = match mistake {
            KEEPS_OPEN => opens_many(kind, sessions, mistake),
            _ => hand_overs(kind, rounds, mistake),
        };
        let is_noticed = found.as_ref().map_or(true, |passed| !passed);
        caught += usize::from(is_noticed);
        let word = if is_noticed { "noticed" } else { "NOT NOTICED" };
        println!("{mistake}: {word}{}", found.err().map(|error| format!(": {error}")).unwrap_or_default());
    }
    println!("{caught} of {} planted mistakes caught", MISTAKES.len());
    Ok(caught == MISTAKES.len())
}

/// Whether a process can open, run and close so many sessions with few file descriptors.
fn opens_many(kind: Kind, sessions: u64, mistake: &str) -> Result<bool, String> {
    let folder = TempDirectory::in_memory()?;
    let many = child(kind, &folder.text(), "sessions-child", &[("--sessions", sessions)], mistake)?;
    let many = many.wait_with_output().map_err(|error| error.to_string())?;
    print!("{}", String::from_utf8_lossy(&many.stdout));
    Ok(many.status.success())
}

/// Starts this program again with few file descriptors.
fn child(
    kind: Kind,
    place: &str,
    what: &str,
    numbers: &[(&str, u64)],
    mistake: &str,
) -> Result<std::process::Child, String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("ulimit -n {DESCRIPTORS}; exec \"$@\"")).arg("sh").arg(own);
    command.args([what, "--store", kind.name(), "--place", place]);
    for (name, number) in numbers {
        command.arg(name).arg(number.to_string());
    }
    if !mistake.is_empty() {
        command.args(["--mistake", mistake]);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(|error| error.to_string())
}

/// Opens, runs and closes sessions, one after another; drops every tenth without closing it.
pub(crate) fn open_many(options: &[&str]) -> Result<bool, String> {
    let kind = Kind::named(option(options, "--store").unwrap_or_default())?;
    let place = option(options, "--place").ok_or("--place is missing")?.to_owned();
    let sessions = number(options, "--sessions", 2_000)?;
    let leaks = option(options, "--mistake") == Some(KEEPS_OPEN);
    block_on(async move {
        let store: Arc<dyn SessionStore> = kind.open(&place).await?;
        let (began, mut warm, mut files) = (Instant::now(), 0, 0);
        let mut kept = Vec::new();
        for at in 0..sessions {
            let agent = agent(&store, &format!("session {at}"))?;
            let output = agent.run("go").await.map_err(|error| format!("session {at}: {error}"))?;
            if output.text != "done" {
                return Err(format!("session {at} ended with {:?}", output.text));
            }
            if leaks {
                kept.push(agent);
                continue;
            }
            if at % 10 != 9 {
                agent.close().await;
            }
            drop(agent);
            tokio::task::yield_now().await;
            if at == sessions / 10 {
                warm = resident_kib();
            }
            if at % 100 == 99 {
                files = files.max(descriptors());
            }
        }
        let (took, grown) = (began.elapsed(), resident_kib().saturating_sub(warm));
        println!(
            "{}: {sessions} sessions opened, run and closed in {:.1} s ({:.2} ms each); at most {files} open files of {DESCRIPTORS}; memory {warm} KiB after a tenth, {grown} KiB more at the end",
            kind.name(),
            took.as_secs_f64(),
            took.as_secs_f64() * 1_000.0 / sessions.max(1) as f64,
        );
        Ok(files < DESCRIPTORS / 2 && grown < GROWTH_KIB)
    })
}

fn agent(store: &Arc<dyn SessionStore>, session: &str) -> Result<Agent, String> {
    let model = ScriptedModel::from_fn(|_, _| Reply::text("done"));
    let built = Agent::builder().model(model).store(Arc::clone(store)).session_id(session).build();
    built.map_err(|error| error.to_string())
}

/// Runs a session, waits for a line, closes the session and reports when it began to close it.
pub(crate) fn holder(options: &[&str]) -> Result<bool, String> {
    let kind = Kind::named(option(options, "--store").unwrap_or_default())?;
    let place = option(options, "--place").ok_or("--place is missing")?.to_owned();
    let mistake = option(options, "--mistake").unwrap_or_default().to_owned();
    block_on(async move {
        let store: Arc<dyn SessionStore> = kind.open(&place).await?;
        let mut line = String::new();
        loop {
            let agent = agent(&store, "handed over")?;
            while let Err(error) = agent.run("go").await {
                if !error.is_session_taken() {
                    return Err(error.to_string());
                }
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            if mistake == RELEASES_EARLY {
                agent.close().await;
            }
            say("running");
            line.clear();
            if std::io::stdin().lock().read_line(&mut line).unwrap_or_default() == 0 {
                return Ok(true);
            }
            let at = now();
            if mistake == RELEASES_LATE {
                tokio::time::sleep(HAND_OVER * 2).await;
            }
            agent.close().await;
            say(&format!("closing {at}"));
            line.clear();
            // Wait until the other process has claimed the session.
            if std::io::stdin().lock().read_line(&mut line).unwrap_or_default() == 0 {
                return Ok(true);
            }
        }
    })
}

/// Another process closes a session and keeps running; this one claims the session.
fn hand_overs(kind: Kind, rounds: u64, mistake: &str) -> Result<bool, String> {
    let folder = TempDirectory::in_memory()?;
    let mut other = child(kind, &folder.text(), "sessions-holder", &[], mistake)?;
    let mut input = other.stdin.take().ok_or("no standard input")?;
    let mut lines = BufReader::new(other.stdout.take().ok_or("no standard output")?).lines();
    let mut next = move || lines.next().transpose().map_err(|error| error.to_string());
    let place = folder.text();
    let took: Vec<Duration> = block_on(async {
        let store: Arc<dyn SessionStore> = kind.open(&place).await?;
        let session = SessionId::from("handed over");
        let mut took = Vec::new();
        for _ in 0..rounds {
            next()?.ok_or("the other process ended")?;
            if !matches!(store.claim(&session).await, Err(StoreError::Busy { .. })) {
                return Err("a session that runs in another process is not reported as busy".to_owned());
            }
            writeln!(input, "close").map_err(|error| error.to_string())?;
            let (epoch, claimed) = loop {
                match store.claim(&session).await {
                    Ok(epoch) => break (epoch, now()),
                    Err(StoreError::Busy { .. }) => tokio::time::sleep(Duration::from_millis(1)).await,
                    Err(error) => return Err(error.to_string()),
                }
            };
            let line = next()?.ok_or("the other process ended")?;
            let began: u64 = line.rsplit(' ').next().and_then(|at| at.parse().ok()).ok_or("no time")?;
            took.push(Duration::from_nanos(claimed.saturating_sub(began)));
            store.release(&session, epoch).await.map_err(|error| error.to_string())?;
            writeln!(input, "had it").map_err(|error| error.to_string())?;
        }
        Ok(took)
    })?;
    drop(input);
    let _ = other.wait();
    let mut sorted = took;
    sorted.sort_unstable();
    let (median, longest) = (sorted.get(sorted.len() / 2), sorted.last());
    let (Some(median), Some(longest)) = (median, longest) else { return Ok(true) };
    println!(
        "{}: a session is handed to another process in {:.1} ms (median of {}), {:.1} ms at most",
        kind.name(),
        median.as_secs_f64() * 1_000.0,
        sorted.len(),
        longest.as_secs_f64() * 1_000.0,
    );
    Ok(*longest < HAND_OVER)
}

fn block_on<T>(work: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| error.to_string())?.block_on(work)
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// Nanoseconds on a clock that all processes of this machine share.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

fn descriptors() -> u64 {
    std::fs::read_dir("/proc/self/fd").map_or(0, |entries| entries.count() as u64)
}

fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").trim().parse().ok()).unwrap_or_default()
}
