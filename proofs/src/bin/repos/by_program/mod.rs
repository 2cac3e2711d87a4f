//! Drives the program `lariat` in hostile repositories, before and after the user trusts them, and judges by the system
//! calls that `strace` records.
//!
//! Before trust, the program and everything below it may start git and the programs of read-only calls, and connect to
//! the scripted model, and nothing else. After trust, a changed byte must require trust again.

mod model;
mod session;
mod trace;
mod trust;

use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use lariat_proofs::proof::{number, option};
use lariat_proofs::server::{Server, Wire};

use super::fixture::Fixture;
use super::repository::Repository;
use model::Leaks;
use session::Session;
use trust::TrustedReport;

/// Number of programs at the same time.
const LANES: usize = 3;

/// What the program runs in each untrusted repository, before and after a session exists.
const COMMANDS: &[&[&str]] = &[
    &["run", "What is this?"],
    &["run", "--continue", "And what is that?"],
    &["sessions", "list"],
    &["doctor"],
    &["mcp", "list"],
    &["trust", "--json"],
    &["permissions", "list"],
    &["config", "show"],
    &["agents", "list"],
    &["commands", "list"],
    &["context", "show"],
];

/// Calls that an untrusted repository must never run without approval: `permissions test` exits with 8, or fails.
const NEVER: &[&[&str]] = &[&["./payload.sh"], &["git status"], &["Write", "new.txt"]];

/// A mistake that the program could have. It is imitated by what the program is started with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProgramMistake {
    /// Treats every repository as trusted.
    TrustsEverything,
    /// Runs every call without approval.
    ApprovesEverything,
    /// Sends requests to another address.
    SendsElsewhere,
    /// Keeps its trust after a change.
    KeepsTrust,
}

impl ProgramMistake {
    const ALL: [Self; 4] =
        [Self::TrustsEverything, Self::ApprovesEverything, Self::SendsElsewhere, Self::KeepsTrust];

    /// A part of the fault that must be found.
    const fn trace(self) -> &'static str {
        match self {
            Self::TrustsEverything | Self::ApprovesEverything => "started",
            Self::SendsElsewhere => "connected",
            Self::KeepsTrust => "still trusted",
        }
    }
}

/// Results of all repositories.
#[derive(Debug, Default)]
struct ProgramReport {
    faults: Vec<String>,
    runs: usize,
    started: usize,
    helpers: usize,
    requests: usize,
    trust: TrustedReport,
}

impl ProgramReport {
    fn add(&mut self, other: Self) {
        self.faults.extend(other.faults);
        self.runs += other.runs;
        self.started += other.started;
        self.helpers += other.helpers;
        self.requests += other.requests;
        self.trust.trusted += other.trust.trusted;
        self.trust.changes += other.trust.changes;
        self.trust.runs += other.trust.runs;
        self.trust.effects += other.trust.effects;
    }
}

/// The program that the options name, or the one beside this proof.
fn program(options: &[&str]) -> Result<PathBuf, String> {
    let path = match option(options, "--program") {
        Some(path) => PathBuf::from(path),
        None => std::env::current_exe().map_err(|error| error.to_string())?.with_file_name("lariat"),
    };
    path.canonicalize().map_err(|error| format!("{}: {error}; build lariat-cli first", path.display()))
}

pub(crate) fn run(options: &[&str]) -> Result<bool, String> {
    let program = program(options)?;
    if options.contains(&"--planted") {
        return planted(&program);
    }
    let start = Instant::now();
    let all = super::select(options)?;
    let repositories = match option(options, "--sample") {
        Some(_) => sample(&all, number(options, "--sample", 0)?),
        None => all,
    };
    let report = test(&program, &repositories, None)?;
    let good = super::print_faults(&report.faults);
    println!(
        "{} runs of the program in {} hostile repositories before trust: {} launch helpers, {} programs started, {} \
         connections to the model; after trust: {} trusted, {} payloads ran, {} changes and {} runs after them; {} wrong; {:.1} s; {}",
        report.runs,
        repositories.len(),
        report.helpers,
        report.started,
        report.requests,
        report.trust.trusted,
        report.trust.effects,
        report.trust.changes,
        report.trust.runs,
        report.faults.len(),
        start.elapsed().as_secs_f64(),
        if good { "nothing took effect before it was trusted" } else { "FAILED" },
    );
    // Otherwise nothing was prevented.
    let is_real = report.trust.effects > 0 || option(options, "--only").is_some();
    if !is_real {
        println!("no trusted repository had an effect: FAILED");
    }
    Ok(good && is_real)
}

/// Every n-th repository.
fn sample(all: &[Repository], count: u64) -> Vec<Repository> {
    let count = usize::try_from(count).unwrap_or(usize::MAX).min(all.len());
    (0..count).filter_map(|number| all.get(number * all.len() / count).cloned()).collect()
}

/// Runs the program in all repositories.
fn test(
    program: &Path,
    repositories: &[Repository],
    mistake: Option<ProgramMistake>,
) -> Result<ProgramReport, String> {
    let fixture = Fixture::make(repositories)?;
    let leaks = Leaks::default();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let server = runtime
        .block_on(Server::start(model::script(Leaks::clone(&leaks))))
        .map_err(|error| error.to_string())?;
    let (next, leaks) = (AtomicUsize::new(0), &leaks);
    let mut all = ProgramReport::default();
    let work = |lane: usize| -> Result<ProgramReport, String> {
        let session = Session {
            layout: &fixture.layout,
            program: program.to_owned(),
            model: server.address(),
            mistake,
            lane,
        };
        let base_url = server.base_url(Wire::AnthropicMessages);
        session.prepare(&base_url).map_err(|error| error.to_string())?;
        let mut report = ProgramReport::default();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(repository) = repositories.get(number) else { return Ok(report) };
            let one = check(&session, number, leaks)
                .unwrap_or_else(|error| ProgramReport { faults: vec![error], ..ProgramReport::default() });
            let faults = one.faults.iter().map(|fault| format!("{}: {fault}", repository.name)).collect();
            report.add(ProgramReport { faults, ..one });
        }
    };
    std::thread::scope(|scope| {
        let lanes: Vec<_> = (0..LANES).map(|lane| scope.spawn(move || work(lane))).collect();
        for lane in lanes {
            all.add(lane.join().map_err(|_| "a lane panicked".to_owned())??);
        }
        Ok::<_, String>(())
    })?;
    Ok(all)
}

/// Runs every command in one repository, then trusts it.
fn check(session: &Session<'_>, number: usize, leaks: &Leaks) -> Result<ProgramReport, String> {
    let (root, mark) = (session.layout.repository(number), session.layout.mark(number));
    let mut report = ProgramReport::default();
    let probes = NEVER.iter().map(|call| [&["permissions", "test"], *call].concat());
    let commands = COMMANDS.iter().map(|command| command.to_vec()).chain(probes);
    for command in commands {
        let ran = session.run(&root, &command)?;
        let name = format!("`lariat {}`", command.join(" "));
        report.runs += 1;
        report.started += ran.trace.started;
        report.helpers += ran.trace.helpers;
        report.requests += ran.trace.requests;
        report.faults.extend(ran.trace.forbidden.iter().map(|what| format!("{name} {what}")));
        match ran.code {
            None | Some(124 | 137) => report.faults.push(format!("{name} hangs or was killed")),
            Some(101) => report.faults.push(format!("{name} panicked: {}", ran.stderr.trim_end())),
            Some(0) if command.first() == Some(&"permissions") && command.get(1) == Some(&"test") => {
                report.faults.push(format!("{name}: would run without approval"));
            }
            Some(_) => {}
        }
        if mark.exists() {
            report.faults.push(format!("{name}: the payload ran"));
            let _ = std::fs::remove_file(&mark);
        }
        if root.join(model::WRITTEN).exists() {
            report.faults.push(format!("{name}: wrote a file without approval"));
            let _ = std::fs::remove_file(root.join(model::WRITTEN));
        }
    }
    if leaks.lock().unwrap_or_else(PoisonError::into_inner).contains(&number) {
        report.faults.push("the model received a file beside the repository".to_owned());
    }
    let mut trusted = trust::check(session, &root, &mark)?;
    report.faults.append(&mut trusted.faults);
    report.trust = trusted;
    Ok(report)
}

fn planted(program: &Path) -> Result<bool, String> {
    let all = super::families::all();
    let words = ["hook PreToolUse", "hook SessionStart", "exec form"];
    let fits = |repository: &&Repository| words.iter().any(|word| repository.name.contains(word));
    let subjects: Vec<Repository> = all.iter().filter(fits).take(4).cloned().collect();
    let clean = test(program, &subjects, None)?;
    if !super::print_faults(&clean.faults) {
        return Err("the proof fails without a mistake".to_owned());
    }
    let mut caught = 0;
    for mistake in ProgramMistake::ALL {
        let report = test(program, &subjects, Some(mistake))?;
        match report.faults.iter().find(|fault| fault.contains(mistake.trace())) {
            Some(fault) => {
                caught += 1;
                println!("{mistake:?}: noticed {} times: {fault}", report.faults.len());
            }
            None => println!("{mistake:?}: NOT NOTICED, {:?}", report.faults.first()),
        }
    }
    println!("{caught} of {} planted mistakes caught", ProgramMistake::ALL.len());
    Ok(caught == ProgramMistake::ALL.len())
}
