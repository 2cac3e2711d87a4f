//! Runs hostile programs in the sandbox: none may escape, and the controls must work.
//!
//! Runs all backends and users, and prints the table. The corpus is text in `cases/`; [`case`] parses it,
//! [`trial`] runs one case, [`scene`] is the environment that must not change. Each backend and user has its
//! own process, so that a connection to a listener can be attributed to it.

mod case;
mod listeners;
mod network_namespace;
mod overhead;
mod scene;
mod trial;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use lariat_host::process::Environment;
use lariat_host::sandbox::Backend;
use lariat_host::sandbox_probe::probe;

use super::{number, option, runtime, words_of};
use case::Case;
use scene::Scene;
pub(crate) use scene::carriers;
use trial::{Bench, PLANTS, PlantedMistake};

/// The unprivileged user.
const NOBODY: &str = "65534";
const BACKENDS: [&str; 2] = ["bubblewrap", "landlock"];
/// Measured starts per kind of sandbox.
const STARTS: u64 = 60;
/// Minimum number of cases and controls in the corpus, for every backend and user.
const CASES: usize = 150;
const CONTROLS: usize = 15;

/// Results of the corpus on one backend, as one user.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    cases: usize,
    contained: usize,
    escaped: usize,
    controls: usize,
    controls_ok: usize,
    faults: usize,
}

pub(crate) fn run(options: &[&str]) -> Result<bool, String> {
    let is_root = rustix::process::geteuid().is_root();
    let backends: Vec<&str> = match option(options, "--backend") {
        Some(name) => vec![
            *BACKENDS
                .iter()
                .find(|known| **known == name)
                .ok_or_else(|| format!("unknown backend `{name}`"))?,
        ],
        None => BACKENDS.to_vec(),
    };
    let users: &[&str] = if is_root { &["root", "nobody"] } else { &["nobody"] };
    if options.contains(&"--planted") {
        return planted(&backends);
    }
    let started = Instant::now();
    let mut rows = Vec::new();
    // Run all concurrently: they share nothing, and some of them wait.
    let mut children = Vec::new();
    for backend in &backends {
        for user in users {
            children.push((*backend, *user, start(backend, user, is_root, None, option(options, "--case"))?));
        }
    }
    for (backend, user, child) in children {
        let output = child.wait_with_output().map_err(words_of)?;
        let _ = std::fs::remove_dir_all(place(backend, user));
        let text = String::from_utf8_lossy(&output.stdout);
        text.lines().filter(|line| !line.starts_with("TALLY")).for_each(|line| println!("{line}"));
        rows.push((backend, user, Tally::read(&text)));
    }
    let corpus = case::all()?;
    println!("backend      user     cases  contained  escaped  not held  controls  work  faults");
    for (backend, user, tally) in &rows {
        // Known gaps of this backend: documented, and not run.
        let unheld = corpus.iter().filter(|case| case.not.as_deref() == Some(*backend)).count();
        println!(
            "{backend:12} {user:7} {:>6} {:>10} {:>8} {unheld:>9} {:>9} {:>5} {:>7}",
            tally.cases, tally.contained, tally.escaped, tally.controls, tally.controls_ok, tally.faults
        );
    }
    let whole = option(options, "--case").is_none();
    let good = rows.iter().all(|(_, _, tally)| tally.is_good(whole));
    println!(
        "{} in {:.1} s",
        if good { "all cases contained" } else { "NOT contained" },
        started.elapsed().as_secs_f64()
    );
    let starts = number(options, "--starts", STARTS)?;
    if whole && starts > 0 {
        runtime()?.block_on(overhead::measure(starts))?;
    }
    Ok(good)
}

/// Checks that each planted hole is noticed, on each backend.
fn planted(backends: &[&str]) -> Result<bool, String> {
    let is_root = rustix::process::geteuid().is_root();
    let user = if is_root { "root" } else { "nobody" };
    let mut good = true;
    for backend in backends {
        let mut children = Vec::new();
        for (name, plant) in PLANTS {
            children.push((name, plant, start(backend, user, is_root, Some(name), None)?));
        }
        for (name, plant, child) in children {
            let output = child.wait_with_output().map_err(words_of)?;
            let _ = std::fs::remove_dir_all(place(backend, name));
            let tally = Tally::read(&String::from_utf8_lossy(&output.stdout));
            // Without a sandbox, every case marked as escaping must be seen to escape.
            let noticed = if plant == PlantedMistake::NoSandbox {
                tally.cases > 0 && tally.escaped == tally.cases
            } else {
                tally.escaped > 0
            };
            if !noticed {
                print!("{}", String::from_utf8_lossy(&output.stdout));
            }
            good &= noticed;
            let word = if noticed { "noticed" } else { "NOT NOTICED" };
            println!("{backend:12} {name:26} {word}: {} of {} cases escaped", tally.escaped, tally.cases);
        }
    }
    Ok(good)
}

/// Starts the corpus in a process of that user.
fn start(
    backend: &str,
    user: &str,
    is_root: bool,
    plant: Option<&str>,
    only: Option<&str>,
) -> Result<std::process::Child, String> {
    let place = place(backend, plant.unwrap_or(user));
    let _ = std::fs::remove_dir_all(&place);
    std::fs::create_dir_all(&place).map_err(words_of)?;
    let own = std::env::current_exe().map_err(words_of)?;
    let mut command = if is_root && user == "nobody" {
        // The other user must be able to execute the program and to write to its directory.
        let program = place.join("host");
        std::fs::copy(&own, &program).map_err(words_of)?;
        let id = NOBODY.parse().ok();
        std::os::unix::fs::chown(&place, id, id).map_err(words_of)?;
        let mut command = Command::new("setpriv");
        command.args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"]).arg(program);
        command
    } else {
        Command::new(own)
    };
    command.args(["corpus", "--backend", backend, "--user", user, "--place"]).arg(place);
    for (name, value) in [("--plant", plant), ("--case", only)] {
        value.into_iter().for_each(|value| {
            command.args([name, value]);
        });
    }
    // Programs that can read our environment find this secret.
    command.env("SECRET", canary());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().map_err(words_of)
}

/// Directory in which the corpus runs, for a user or with a planted hole.
fn place(backend: &str, who: &str) -> PathBuf {
    std::env::temp_dir().join(format!("lariat-sandbox-{}-{backend}-{who}", std::process::id()))
}

/// A random word that no program can guess.
fn canary() -> String {
    use std::hash::{BuildHasher, Hasher};
    let random = || std::collections::hash_map::RandomState::new().build_hasher().finish();
    format!("canary-{:016x}{:016x}", random(), random())
}

/// Runs the corpus on one backend, as the user of this process.
pub(crate) fn corpus(options: &[&str]) -> Result<bool, String> {
    let backend = option(options, "--backend").unwrap_or("landlock");
    let user = option(options, "--user").unwrap_or("nobody");
    let place = PathBuf::from(option(options, "--place").ok_or("where?")?);
    let plant = option(options, "--plant")
        .map(|name| {
            PLANTS
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, plant)| *plant)
                .ok_or("unknown planted hole")
        })
        .transpose()?;
    let secret = std::env::var("SECRET").map_err(words_of)?;
    let mut scene = Scene::set(&place.join("scene"), &secret, user == "root")?;
    let cases = select_cases(backend, user, plant, option(options, "--case"), &scene)?;
    let tally = runtime()?.block_on(run_cases(backend, user, plant, &place, &mut scene, &cases));
    drop(scene);
    let _ = std::fs::remove_dir_all(&place);
    let tally = tally?;
    println!(
        "TALLY {} {} {} {} {} {}",
        tally.cases, tally.contained, tally.escaped, tally.controls, tally.controls_ok, tally.faults
    );
    Ok(tally.is_good(false))
}

/// The cases for this backend, user and planted hole.
fn select_cases(
    backend: &str,
    user: &str,
    plant: Option<PlantedMistake>,
    only: Option<&str>,
    scene: &Scene,
) -> Result<Vec<Case>, String> {
    let mut cases = case::all()?;
    for case in cases.iter().filter(|case| case.not.as_deref() == Some(backend) && plant.is_none()) {
        println!("not contained by {backend}, skipped: {}: {}", case.family, case.name);
    }
    cases.retain(|case| case.is_for(backend, user));
    cases.retain(|case| only.is_none_or(|only| case.name.contains(only) || case.family == only));
    match plant {
        // Cases that would do real damage are not run without a sandbox.
        Some(PlantedMistake::NoSandbox) => cases.retain(|case| case.bare && case.prints.is_none()),
        Some(plant) => cases.retain(|case| case.prints.is_none() && case.family == plant.family()),
        None => {}
    }
    if let Err(reason) = &scene.namespace {
        if user == "root" {
            println!("could not create a network namespace: {reason}");
        }
        cases.retain(|case| !case.wants("namespace"));
    }
    Ok(cases)
}

async fn run_cases(
    backend: &str,
    user: &str,
    plant: Option<PlantedMistake>,
    place: &Path,
    scene: &mut Scene,
    cases: &[Case],
) -> Result<Tally, String> {
    let environment = Environment::from_inherited(std::env::vars_os());
    let found = probe(&place.join("probe"), &environment).await;
    let known = found.backends.iter().find(|known| known.name() == backend);
    let chosen: Backend =
        known.cloned().ok_or_else(|| format!("{backend} is not available: {:?}", found.refused))?;
    let bench = Bench::new(chosen, plant);
    let mut tally = Tally::default();
    for case in cases {
        let started = Instant::now();
        let verdict = bench.judge(scene, case).await?;
        let took = started.elapsed();
        tally.count(case, &verdict);
        if plant.is_some_and(|plant| plant != PlantedMistake::NoSandbox || !verdict.escapes.is_empty()) {
            continue;
        }
        let title = format!("{backend} as {user}: {}: {}", case.family, case.name);
        verdict.escapes.iter().for_each(|escape| println!("ESCAPED {title}: {escape}"));
        verdict.faults.iter().for_each(|fault| println!("FAULT {title}: {fault}"));
        if plant.is_some() {
            println!("HARMLESS {title}: does not escape even without a sandbox");
        }
        if took.as_secs() >= 4 {
            println!("slow: {title}: {:.1} s", took.as_secs_f64());
        }
    }
    Ok(tally)
}

impl Tally {
    fn count(&mut self, case: &Case, verdict: &trial::Verdict) {
        let faultless = verdict.faults.is_empty();
        self.faults += usize::from(!faultless);
        if case.prints.is_some() {
            self.controls += 1;
            self.controls_ok += usize::from(faultless);
        } else {
            self.cases += 1;
            let contained = verdict.escapes.is_empty();
            self.contained += usize::from(contained);
            self.escaped += usize::from(!contained);
        }
    }

    fn read(text: &str) -> Self {
        let line = text.lines().rev().find_map(|line| line.strip_prefix("TALLY "));
        let numbers: Vec<usize> =
            line.into_iter().flat_map(|line| line.split(' ').filter_map(|word| word.parse().ok())).collect();
        match numbers[..] {
            [cases, contained, escaped, controls, controls_ok, faults] => {
                Self { cases, contained, escaped, controls, controls_ok, faults }
            }
            _ => Self::default(),
        }
    }

    /// Whether no case escaped, every control worked and, for the whole corpus, no case was missing.
    fn is_good(&self, whole: bool) -> bool {
        let enough = !whole || (self.cases >= CASES && self.controls >= CONTROLS);
        enough && self.escaped == 0 && self.faults == 0 && self.cases + self.controls > 0
    }
}
