//! Proves that a repository has no effect before the user trusts it, and only the trusted effects afterwards.
//! Called by `cargo xtask hostile-repos`.
//!
//! Traced processes (`worker`, `trace`) open hostile repositories (`families`, `repository`) and check what
//! took effect (`privilege`); then each repository is trusted and changed (`trust`). The proof must notice
//! the planted mistakes (`mistake`).
#![expect(
    clippy::disallowed_methods,
    reason = "a command-line tool looks at the world from outside: files, processes and the wall clock"
)]

mod by_program;
mod families;
mod fixture;
mod lanes;
mod mistake;
mod privilege;
mod repository;
mod trace;
mod trust;
mod worker;

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use lariat::host::files::Workspace;
use lariat::local::WorkspaceLoader;
use lariat::permission::trust::TrustStore;
use lariat::permission::{Format, Level};
use lariat_proofs::proof::{ended, number, option};

use lanes::{UntrustedReport, run_untrusted};
use mistake::Mistake;
use repository::{Layout, Repository};

const USAGE: &str = "\
usage: repos [--count N] [--seed N]   test N hostile repositories: those of the tables, then random combinations
       repos --only WORDS             test the repositories whose names contain these words
       repos --by-program [--sample N | --count N | --only WORDS] [--program PATH]
                                      drive the program in all of them, or in N that are spread over the tables
       repos --by-program --planted   check that every planted mistake of the program is noticed
       repos --list                   list the names of the repositories
       repos --planted                check that every planted mistake is noticed";

/// Minimum number of repositories in the tables.
const LEAST: usize = 250;
/// Random combinations that a full run adds.
const MIXTURES: usize = 60;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let ran = match words.as_slice() {
        ["--worker", base, port, list, mistake] => lanes::work(base, port, list, mistake),
        ["--by-program", options @ ..] => by_program::run(options),
        ["--planted"] => planted(),
        ["--list"] => {
            families::all().iter().for_each(|repository| println!("{}", repository.name));
            Ok(true)
        }
        options => select(options).and_then(|repositories| prove(&repositories, options)),
    };
    ended(ran, USAGE)
}

fn select(options: &[&str]) -> Result<Vec<Repository>, String> {
    let all = families::all();
    if all.len() < LEAST {
        return Err(format!("the tables contain only {} repositories, not {LEAST}", all.len()));
    }
    if let Some(words) = option(options, "--only") {
        return Ok(all.into_iter().filter(|repository| repository.name.contains(words)).collect());
    }
    let count = number(options, "--count", (all.len() + MIXTURES) as u64)?;
    let seed = number(options, "--seed", 1)?;
    let count = usize::try_from(count).map_err(|error| error.to_string())?;
    Ok(families::sample(count, seed))
}

/// Opens the workspace of a repository as a user without settings does.
fn opening(layout: &Layout, path: &Path, book: &TrustStore) -> Result<WorkspaceLoader, String> {
    let workspace = Workspace::open(path).map_err(|error| error.to_string())?;
    let home = layout.home();
    Ok(WorkspaceLoader::new(&workspace, &home, book.clone())
        .with_file(Level::User, Format::Json, home.join(".claude/settings.json"))
        .with_file(Level::User, Format::Toml, home.join(".config/lariat/config.toml")))
}

fn prove(repositories: &[Repository], options: &[&str]) -> Result<bool, String> {
    let start = Instant::now();
    let fixture = fixture::Fixture::make(repositories)?;
    let untrusted = run_untrusted(&fixture, repositories, None)?;
    let seconds = start.elapsed().as_secs_f64();
    let trusted = lanes::trust(&fixture, repositories, None)?;
    let good = print_faults(&untrusted.faults) & print_faults(&trusted.faults);
    println!(
        "{} hostile repositories, opened, listed and run untrusted: {} tool calls ran, {} needed approval and were denied, {} programs started; \
         {} started unapproved, {} payloads ran, {} connections, {} raised permissions; {seconds:.1} s",
        repositories.len(),
        untrusted.ran,
        untrusted.asked,
        untrusted.started,
        untrusted.forbidden,
        untrusted.payloads,
        untrusted.connections,
        untrusted.raised,
    );
    let asked = trusted.changes + trusted.moves;
    let missed = trusted.faults.len().min(asked);
    println!(
        "trust: {} trusted, {} that cannot be trusted; {} changes of {} files and {} moves, {:.1} % required trust again; {:.1} s in all; {}",
        trusted.trusted,
        trusted.unlistable,
        trusted.changes,
        trusted.files,
        trusted.moves,
        100.0 * (asked - missed) as f64 / asked.max(1) as f64,
        start.elapsed().as_secs_f64(),
        if good { "nothing took effect before it was trusted" } else { "FAILED" },
    );
    if !good {
        let seed = option(options, "--seed").unwrap_or("1");
        println!(
            "reproduce with --seed {seed} --count {}, or --only with the name of one",
            repositories.len()
        );
    }
    Ok(good)
}

fn print_faults(faults: &[String]) -> bool {
    for fault in faults.iter().take(30) {
        println!("  {fault}");
    }
    if faults.len() > 30 {
        println!("  … and {} more", faults.len() - 30);
    }
    faults.is_empty()
}

/// The repositories to look for each mistake in, by parts of their names.
const SUBJECTS: &[(Mistake, &[&str])] = &[
    (Mistake::TrustsEverything, &["hook PreToolUse", "mode "]),
    (Mistake::CountsInFull, &["allow ", "directory "]),
    (Mistake::RunsHooksFirst, &["hook P", "exec form"]),
    (Mistake::TakesVariables, &["variable "]),
    (Mistake::PassesOver, &["pipe ", "half a file", "link: "]),
    (Mistake::ForgetsGit, &["git: ", "git hook"]),
    (Mistake::SaysYes, &["git: ", "git hook", "yarn"]),
    (Mistake::TrustsByName, &["hook P", "server"]),
    (Mistake::ForgetsScripts, &["hook P", "server"]),
    (Mistake::SeesOnlyNewFiles, &["hook P", "server"]),
];

fn planted() -> Result<bool, String> {
    let all = families::all();
    let mut good = SUBJECTS.len() == Mistake::ALL.len();
    for (mistake, words) in SUBJECTS {
        let fits = |repository: &&Repository| words.iter().any(|word| repository.name.contains(word));
        let subjects: Vec<Repository> = all.iter().filter(fits).cloned().collect();
        let fixture = fixture::Fixture::make(&subjects)?;
        let (faults, more) = if mistake.is_about_trust() {
            (lanes::trust(&fixture, &subjects, Some(*mistake))?.faults, String::new())
        } else {
            let UntrustedReport { faults, payloads, connections, .. } =
                run_untrusted(&fixture, &subjects, Some(*mistake))?;
            (faults, format!(", {payloads} payloads ran, {connections} connections"))
        };
        let subjects = subjects.len();
        match faults.first() {
            Some(fault) => {
                println!(
                    "{mistake:?}: noticed {} times in {subjects} repositories{more}: {fault}",
                    faults.len()
                );
            }
            None => {
                good = false;
                println!("{mistake:?}: NOT NOTICED in {subjects} repositories");
            }
        }
    }
    Ok(good)
}
