//! Proves that a tool runs at most once, and only as a complete reply says, whatever happens to the connection or the
//! program.
//!
//! A model server on a real socket (`service`, `response`) sends replies with tool calls (`conversation`) and ends the
//! connection after every byte. Most conversations run with an agent of the library (`agent`), some with the program,
//! which is also killed (`kills`). `judge` compares the ledger of executions with what was sent; the proof must notice
//! the planted mistakes (`mistake`).

mod agent;
mod conversation;
mod judge;
mod kills;
mod mistake;
mod response;
mod service;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::{StreamExt as _, stream};
use lariat_model::ProviderRegistry;
use lariat_proofs::proof::number;
use lariat_proofs::server::Wire;

use conversation::{Caller, Conversation, Cut, Ending, STAGES};
use judge::{Expected, judge};
use kills::{Case, Fate};
use mistake::Mistake;
use response::Framing;
use service::Service;

/// The protocols whose replies are cut.
const WIRES: [Wire; 3] = [Wire::AnthropicMessages, Wire::OpenAiChat, Wire::OpenAiResponses];
/// Conversations at the same time.
const AT_ONCE: usize = 48;
/// Programs at the same time.
const PROGRAMS: usize = 4;
/// Longest time of a conversation: a longer one hangs.
const TIME: Duration = Duration::from_secs(30);
/// Runs of the program in a full proof.
const KILLS: u64 = 60;
/// Wrong cases printed in full.
const SHOWN: usize = 20;
/// Places that show every planted mistake.
const PLANTED: usize = 200;
/// Smallest number of places to cut at.
const LEAST: usize = 10_000;

/// A reply to cut.
#[derive(Clone, Copy, Debug)]
struct Place {
    wire: Wire,
    framing: Framing,
    cut: Cut,
}

/// Every byte of every reply with calls, in each framing, with each end of the connection.
fn places() -> Vec<Place> {
    let mut places = Vec::new();
    for wire in WIRES {
        for framing in Framing::ALL {
            let caller = Caller::Library;
            let sample = Conversation::new(0, (wire, framing), None, caller, PathBuf::new());
            for stage in 1..=STAGES {
                for ending in [Ending::Fin, Ending::Reset] {
                    let length = sample.response(stage).bytes.len();
                    places.extend((0..=length).map(|at| Place {
                        wire,
                        framing,
                        cut: Cut { stage, at, ending },
                    }));
                }
            }
        }
    }
    places
}

/// Results of a part of the proof.
#[derive(Default)]
struct Report {
    cases: usize,
    executions: usize,
    faults: Vec<String>,
}

pub(crate) fn run(options: &[&str]) -> Result<bool, String> {
    let program = crate::home::program(options)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let folder = std::env::temp_dir().join(format!("lariat-cuts-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let proof = Proof { runtime, folder, program };
    let done = if options.contains(&"--planted") { proof.planted() } else { proof.all(options) };
    let _ = std::fs::remove_dir_all(&proof.folder);
    done
}

struct Proof {
    runtime: tokio::runtime::Runtime,
    /// For the ledgers.
    folder: PathBuf,
    program: PathBuf,
}

impl Proof {
    fn all(&self, options: &[&str]) -> Result<bool, String> {
        let started = Instant::now();
        let places = places();
        if places.len() < LEAST {
            return Err(format!("the replies have only {} places to cut at, not {LEAST}", places.len()));
        }
        let count = number(options, "--cases", places.len() as u64)?;
        let kills = number(options, "--kills", KILLS)?;
        let size = |number: u64| usize::try_from(number).map_err(|error| error.to_string());
        let cuts = self.cut(&thinned(&places, size(count)?), None)?;
        let seconds = started.elapsed().as_secs_f64();
        println!(
            "{} of {} cuts of replies over sockets in {} protocols: {} calls ran; {} wrong; {seconds:.1} s",
            cuts.cases,
            places.len(),
            WIRES.len(),
            cuts.executions,
            cuts.faults.len(),
        );
        let killed = self.kill(&Case::all(size(kills)?, &WIRES, places.len()), None)?;
        let good = print_faults(&cuts.faults) & print_faults(&killed.faults);
        println!(
            "{} cuts of replies, {} cuts and kills of the program: {} calls ran, each once and as declared; {} wrong; {:.1} s",
            cuts.cases,
            killed.cases,
            cuts.executions + killed.executions,
            cuts.faults.len() + killed.faults.len(),
            started.elapsed().as_secs_f64(),
        );
        Ok(good)
    }

    /// Cuts replies of conversations with the library.
    fn cut(&self, places: &[Place], mistake: Option<Mistake>) -> Result<Report, String> {
        self.runtime.block_on(async {
            let service = Arc::new(Service::start().await.map_err(|error| error.to_string())?);
            let provider = ProviderRegistry::default();
            let tasks = places.iter().copied().enumerate().map(|(number, place)| {
                let ledger = self.folder.join(format!("{number}-{mistake:?}"));
                let (service, provider) = (Arc::clone(&service), provider.clone());
                tokio::spawn(
                    async move { converse(number, place, ledger, &service, &provider, mistake).await },
                )
            });
            let mut report = Report { cases: places.len(), ..Report::default() };
            let mut done = stream::iter(tasks).buffer_unordered(AT_ONCE);
            while let Some(ended) = done.next().await {
                let (executions, faults) = ended.map_err(|error| error.to_string())?;
                report.executions += executions;
                report.faults.extend(faults);
            }
            Ok(report)
        })
    }

    /// Cuts and kills runs of the program.
    fn kill(&self, cases: &[Case], mistake: Option<Mistake>) -> Result<Report, String> {
        let service = self.runtime.block_on(Service::start()).map_err(|error| error.to_string())?;
        let next = AtomicUsize::new(0);
        let work = || {
            let mut report = Report::default();
            while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                report.cases += 1;
                match kills::run(*case, &self.program, &service, mistake) {
                    Ok((executions, faults)) => {
                        report.executions += executions;
                        report.faults.extend(faults.into_iter().map(|fault| format!("{case:?}: {fault}")));
                    }
                    Err(error) => report.faults.push(format!("{case:?}: {error}")),
                }
            }
            report
        };
        let mut all = Report::default();
        std::thread::scope(|scope| {
            let lanes: Vec<_> = (0..PROGRAMS).map(|_| scope.spawn(work)).collect();
            for lane in lanes {
                let done = lane.join().map_err(|_| "a lane panicked".to_owned())?;
                all.cases += done.cases;
                all.executions += done.executions;
                all.faults.extend(done.faults);
            }
            Ok(all)
        })
    }

    fn planted(&self) -> Result<bool, String> {
        let places = thinned(&places(), PLANTED);
        let kills: Vec<Case> = Case::all(30, &WIRES, 0)
            .into_iter()
            .filter(|case| case.fate == Fate::KilledInCall)
            .take(4)
            .collect();
        let mut caught = 0;
        for mistake in Mistake::ALL {
            let report = if mistake.is_about_kills() {
                self.kill(&kills, Some(mistake))?
            } else {
                self.cut(&places, Some(mistake))?
            };
            match report.faults.iter().find(|fault| fault.contains(mistake.trace())) {
                Some(fault) => {
                    caught += 1;
                    println!("{mistake:?}: noticed {} times: {fault}", report.faults.len());
                }
                None => println!("{mistake:?}: NOT NOTICED, {:?}", report.faults.first()),
            }
        }
        println!("{caught} of {} planted mistakes caught", Mistake::ALL.len());
        Ok(caught == Mistake::ALL.len())
    }
}

/// Every n-th place, so that there are `count`.
fn thinned(places: &[Place], count: usize) -> Vec<Place> {
    let count = count.min(places.len());
    (0..count).filter_map(|number| places.get(number * places.len() / count).copied()).collect()
}

/// Runs a conversation. Returns how many calls ran, and what is wrong.
async fn converse(
    number: usize,
    place: Place,
    ledger: PathBuf,
    service: &Service,
    provider: &ProviderRegistry,
    mistake: Option<Mistake>,
) -> (usize, Vec<String>) {
    let kind = (place.wire, place.framing);
    let conversation = Arc::new(Conversation::new(number, kind, Some(place.cut), Caller::Library, ledger));
    let base_url = service.add(&conversation);
    let run = agent::run(&conversation, &base_url, provider, mistake);
    let ran = tokio::time::timeout(TIME, run).await.unwrap_or_else(|_| Err("hangs".to_owned()));
    service.remove(&conversation);
    let mut faults = judge(&conversation, Expected::Everything);
    faults.extend(ran.err());
    let executions = conversation.executions().len();
    remove(&conversation.ledger);
    (executions, faults.into_iter().map(|fault| format!("{place:?}: {fault}")).collect())
}

fn remove(ledger: &Path) {
    // There is none if nothing ran.
    let _ = std::fs::remove_file(ledger);
}

fn print_faults(faults: &[String]) -> bool {
    for fault in faults.iter().take(SHOWN) {
        println!("  {fault}");
    }
    if faults.len() > SHOWN {
        println!("  … and {} more", faults.len() - SHOWN);
    }
    faults.is_empty()
}
