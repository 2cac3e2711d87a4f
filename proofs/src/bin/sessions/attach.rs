//! Attaches to a long session in a new process, and measures time and memory.
//!
//! To attach means what a front end does first: read the view, read the newest events, and follow. The session has a
//! snapshot, and after it as many events as a run writes before it stores the next. Before it has one, an attach reads all
//! events: that shows that the limits can be missed.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use futures_util::StreamExt as _;
use lariat_api::{LogItem, LogRequest, Principal, Problem, ProblemCode, SessionView, Sessions};
use lariat_core::BoxFuture;
use lariat_core::id::SessionId;
use lariat_sessions::{AgentFactory, AgentRequest, HostOptions, HostedAgent, Local};
use serde::{Deserialize, Serialize};

use crate::long_session::{self, LongSession};
use crate::served::{self, Place};
use crate::{memory, option, suite};

const SESSION: &str = "long";
/// The newest events that a front end shows.
const NEWEST: u64 = 200;
/// The events that a run writes between two snapshots.
const AFTER_SNAPSHOT: u64 = 4_096;

/// The size of the session, and what an attach may cost.
pub(crate) struct Limits {
    pub(crate) events: u64,
    pub(crate) millis: u64,
    pub(crate) megabytes: u64,
}

/// One attach.
#[derive(Serialize, Deserialize)]
struct Attach {
    view: SessionView,
    newest: u64,
    millis: f64,
    /// The most resident memory during the attach, beyond what the process had before it.
    kib: u64,
}

pub(crate) fn run(limits: &Limits) -> Result<bool, String> {
    let place = Place::new("attach")?;
    let (session, slow, was_right) = create(place.path(), limits.events)?;
    let is_noticed = slow.millis > limits.millis as f64 || slow.kib > limits.megabytes * 1024;
    println!("attach: reading all events exceeds the limits: {is_noticed}");
    let mut passed = was_right;
    for over in ["local", "socket"] {
        let attached = attach(place.path(), over)?;
        passed &= check(&format!("attach, {over}"), &attached, &session, Some(limits));
    }
    Ok(passed)
}

/// Writes a long session as `run` does, for another program to open.
pub(crate) fn write(options: &[&str], events: u64) -> Result<bool, String> {
    let place = Path::new(option(options, "--place").ok_or("--place is missing")?);
    std::fs::create_dir_all(place).map_err(|error| error.to_string())?;
    create(place, events).map(|(_, _, was_right)| was_right)
}

/// Writes a session with a snapshot. Returns it with the attach that read all events, and whether that one was right.
fn create(place: &Path, events: u64) -> Result<(LongSession, Attach, bool), String> {
    let runtime = suite::runtime()?;
    let start = Instant::now();
    let after = AFTER_SNAPSHOT.min(events / 8);
    let mut session = runtime.block_on(LongSession::create(&place.join("sessions.db"), SESSION))?;
    runtime.block_on(session.grow(events - after))?;
    println!("attach: wrote {} events in {:.0} s", session.view().seq, start.elapsed().as_secs_f64());

    let slow = attach(place, "local")?;
    let was_right = check("attach without a snapshot", &slow, &session, None);
    let (seq, bytes) = runtime.block_on(session.enlarge_snapshot())?;
    runtime.block_on(session.grow(events))?;
    let rest = session.view().seq - seq;
    println!("attach: snapshot of {} KiB, {rest} events after it", bytes / 1024);
    Ok((session, slow, was_right))
}

/// Prints an attach, and compares it with what the session has and with the limits.
fn check(name: &str, attached: &Attach, session: &LongSession, limits: Option<&Limits>) -> bool {
    let megabytes = attached.kib as f64 / 1024.0;
    println!("{name}: {} events in {:.1} ms and {megabytes:.1} MB", attached.view.seq, attached.millis);
    let expected = session.view();
    let is_right = attached.view == expected && attached.newest == NEWEST;
    if !is_right {
        println!(
            "{name}: {} newest events and {:#?}\nexpected {expected:#?}",
            attached.newest, attached.view
        );
    }
    let is_within = limits.is_none_or(|limits| {
        attached.millis <= limits.millis as f64 && attached.kib <= limits.megabytes * 1024
    });
    if let (false, Some(limits)) = (is_within, limits) {
        println!("{name}: exceeds {} ms or {} MB", limits.millis, limits.megabytes);
    }
    is_right && is_within
}

/// Attaches in a new process.
fn attach(place: &Path, over: &str) -> Result<Attach, String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(own);
    command.arg("attach-child").arg("--over").arg(over).arg("--place").arg(place);
    let output = command.output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    serde_json::from_slice(&output.stdout).map_err(|error| format!("the attach: {error}"))
}

/// The new process: a host that attaches once.
pub(crate) fn child(options: &[&str]) -> Result<bool, String> {
    let place = Path::new(option(options, "--place").ok_or("--place is missing")?);
    let is_served = option(options, "--over") == Some("socket");
    suite::runtime()?.block_on(async {
        let store = Arc::new(long_session::open(&place.join("sessions.db")).await?);
        let local = Local::new(store, Arc::new(NoAgents), Principal::new("me"), HostOptions::default());
        let mut host: Arc<dyn Sessions> = Arc::new(local);
        if is_served {
            host = Arc::new(served::serve(host, &place.join("host.sock")).await?.0);
        }
        let before = memory::resident()?;
        let start = Instant::now();
        let (view, newest) = read(&*host).await.map_err(|problem| problem.to_string())?;
        let millis = start.elapsed().as_secs_f64() * 1000.0;
        let kib = memory::peak()?.saturating_sub(before);
        let attached = Attach { view, newest, millis, kib };
        println!("{}", serde_json::to_string(&attached).map_err(|error| error.to_string())?);
        Ok(true)
    })
}

/// Reads the view and the newest events, and follows.
async fn read(host: &dyn Sessions) -> Result<(SessionView, u64), Problem> {
    let session_id = SessionId::from(SESSION);
    let view = host.view(&session_id).await?;
    let mut log = host.log(&session_id, LogRequest::follow_last(NEWEST)).await?;
    let mut newest = 0;
    while let Some(item) = log.next().await {
        match item? {
            LogItem::Event { .. } => newest += 1,
            _ => break,
        }
    }
    Ok((view, newest))
}

/// The host runs nothing.
struct NoAgents;

impl AgentFactory for NoAgents {
    fn build<'a>(&'a self, _: AgentRequest<'a>) -> BoxFuture<'a, Result<HostedAgent, Problem>> {
        Box::pin(async { Err(Problem::new(ProblemCode::Unsupported, "this host runs nothing")) })
    }
}
