//! Tests several repositories in parallel: with traced workers for the first half of the proof, with threads
//! for the second.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use lariat::serde_json::{self, Value};

use super::fixture::Fixture;
use super::mistake::Mistake;
use super::repository::{Layout, Repository};
use super::trust::{self, TrustReport};
use super::{trace, worker};

/// Number of parallel workers.
const LANES: usize = 2;

/// Results of the untrusted repositories.
#[derive(Debug, Default)]
pub(crate) struct UntrustedReport {
    pub(crate) faults: Vec<String>,
    /// Tool calls that ran.
    pub(crate) ran: u64,
    /// Tool calls that needed approval.
    pub(crate) asked: u64,
    /// Programs that were started.
    pub(crate) started: usize,
    /// Programs that should not have been started, and attempted connections.
    pub(crate) forbidden: usize,
    /// Marks that payloads left.
    pub(crate) payloads: usize,
    /// Payloads that reached the listener.
    pub(crate) connections: usize,
    /// Settings that took effect without trust.
    pub(crate) raised: usize,
}

/// Lets workers open and run the repositories.
pub(crate) fn run_untrusted(
    fixture: &Fixture,
    repositories: &[Repository],
    mistake: Option<Mistake>,
) -> Result<UntrustedReport, String> {
    let lanes: Vec<Result<Lane, String>> = std::thread::scope(|scope| {
        let start =
            |lane: usize| scope.spawn(move || Lane::run(&fixture.layout, repositories, lane, mistake));
        let lanes: Vec<_> = (0..LANES).map(start).collect();
        lanes
            .into_iter()
            .map(|lane| lane.join().unwrap_or_else(|_| Err("a lane panicked".to_owned())))
            .collect()
    });
    let mut met = UntrustedReport::default();
    let mut said: BTreeMap<usize, Value> = BTreeMap::new();
    let name = |number: usize| repositories.get(number).map_or("?", |repository| repository.name.as_str());
    for lane in lanes {
        let lane = lane?;
        met.started += lane.trace.started;
        met.forbidden += lane.trace.forbidden.len();
        met.faults.extend(
            lane.trace.forbidden.iter().map(|action| format!("{}: {}", name(action.number), action.what)),
        );
        if !lane.trace.is_whole {
            met.faults.push(format!("a worker did not finish: {}", lane.errors.trim()));
        }
        said.extend(lane.said);
    }
    for number in 0..repositories.len() {
        let Some(line) = said.get(&number) else {
            met.faults.push(format!("{}: no worker tested it", name(number)));
            continue;
        };
        let count = |key: &str| line.get(key).and_then(Value::as_u64).unwrap_or_default();
        met.ran += count("ran");
        met.asked += count("asked");
        let faults = line.get("faults").and_then(Value::as_array).into_iter().flatten();
        for fault in faults {
            met.raised += 1;
            met.faults.push(format!("{}: {}", name(number), fault.as_str().unwrap_or_default()));
        }
        if fixture.layout.mark(number).exists() {
            met.payloads += 1;
            met.faults.push(format!("{}: its payload ran", name(number)));
        }
    }
    met.connections = fixture.connections();
    if met.connections > 0 {
        met.faults.push(format!("{} payloads reached the listener", met.connections));
    }
    Ok(met)
}

/// Results of one worker.
struct Lane {
    said: Vec<(usize, Value)>,
    trace: trace::Trace,
    errors: String,
}

impl Lane {
    fn run(
        layout: &Layout,
        repositories: &[Repository],
        lane: usize,
        mistake: Option<Mistake>,
    ) -> Result<Self, String> {
        let words = |error: std::io::Error| error.to_string();
        let numbered = repositories.iter().enumerate().filter(|(number, _)| number % LANES == lane);
        let tasks: Vec<(usize, bool)> =
            numbered.map(|(number, repository)| (number, repository.is_unreadable)).collect();
        let list = layout.base.join(format!("tasks-{lane}"));
        let log = layout.base.join(format!("trace-{lane}"));
        std::fs::write(&list, serde_json::to_vec(&tasks).map_err(|error| error.to_string())?)
            .map_err(words)?;
        let mistake = mistake.map_or("none".to_owned(), |mistake| format!("{mistake:?}"));
        let output = Command::new("strace")
            .args(
                "-f --seccomp-bpf -s 300 -e trace=execve,execveat,socket,connect,chdir -e signal=none -qq -o"
                    .split(' '),
            )
            .arg(&log)
            .arg(std::env::current_exe().map_err(words)?)
            .arg("--worker")
            .arg(&layout.base)
            .arg(layout.port.to_string())
            .arg(&list)
            .arg(mistake)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("cannot run strace: {error}"))?;
        let text = std::fs::read(&log).map_err(words)?;
        let trace = trace::read(&String::from_utf8_lossy(&text), &layout.base.join("repositories"));
        let lines = String::from_utf8_lossy(&output.stdout).into_owned();
        let lines = lines.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let said = lines.filter_map(|line| {
            let number = usize::try_from(line.get("number")?.as_u64()?).ok()?;
            Some((number, line))
        });
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        Ok(Self { said: said.collect(), trace, errors })
    }
}

/// The other side of [`Lane::run`]: runs a worker with the arguments of its command line.
pub(crate) fn work(base: &str, port: &str, list: &str, mistake: &str) -> Result<bool, String> {
    let port = port.parse().map_err(|_| format!("`{port}` is not a port"))?;
    let layout = Layout { base: PathBuf::from(base), port };
    let text = std::fs::read_to_string(list).map_err(|error| error.to_string())?;
    worker::run(&layout, &worker::tasks(&text)?, Mistake::named(mistake))
}

/// Trusts each repository, then changes and moves it.
pub(crate) fn trust(
    fixture: &Fixture,
    repositories: &[Repository],
    mistake: Option<Mistake>,
) -> Result<TrustReport, String> {
    let work = |lane: usize| -> TrustReport {
        let mut all = TrustReport::default();
        for (number, repository) in
            repositories.iter().enumerate().filter(|(number, _)| number % LANES == lane)
        {
            match trust::run(&fixture.layout, number, mistake) {
                Ok(done) => {
                    all.trusted += done.trusted;
                    all.unlistable += done.unlistable;
                    all.files += done.files;
                    all.changes += done.changes;
                    all.moves += done.moves;
                    let faults = done.faults.into_iter();
                    all.faults.extend(faults.map(|fault| format!("{}: {fault}", repository.name)));
                }
                Err(error) => all.faults.push(format!("{}: {error}", repository.name)),
            }
        }
        all
    };
    std::thread::scope(|scope| {
        let lanes: Vec<_> = (0..LANES).map(|lane| scope.spawn(move || work(lane))).collect();
        let mut all = TrustReport::default();
        for lane in lanes {
            let done = lane.join().map_err(|_| "a lane panicked".to_owned())?;
            all.trusted += done.trusted;
            all.unlistable += done.unlistable;
            all.files += done.files;
            all.changes += done.changes;
            all.moves += done.moves;
            all.faults.extend(done.faults);
        }
        Ok(all)
    })
}
