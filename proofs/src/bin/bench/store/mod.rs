//! Compares the stores with the engines they are built on, and with their goals: append, resume, list and
//! fork.
//!
//! All data is in a temporary directory and a private PostgreSQL server, which are removed at the end.
//! Invariant: a part that could not be measured is a missed goal.

mod append;
mod events;
mod fork;
mod list;
mod location;
mod reference_engines;
mod resume;

use lariat_proofs::postgres::Server;

use self::location::{Kind, StoreLocation, TempDirectory};
use super::Size;

/// A result whose error is a message.
type Outcome<T> = Result<T, String>;

/// How much longer the short form may take: it runs while the machine does other work and takes few samples.
const SHORT_PATIENCE: f64 = 10.0;

/// Returns the limit for this form of the benchmark.
fn limit(size: Size, goal: f64) -> f64 {
    if size == Size::Full { goal } else { goal * SHORT_PATIENCE }
}

/// Argument with which the benchmark starts itself as a process that resumes a session.
const CHILD: &str = "resume-in";

/// Runs the benchmark. Returns `None` if the options are invalid.
pub(crate) fn run(options: &[&str]) -> Option<bool> {
    let (size, part) = match options {
        [CHILD, kind, place, session] => {
            let resumed = Kind::named(kind).and_then(|kind| resume::child(kind, place, session));
            return Some(print_outcome(resumed.map(|()| true)));
        }
        ["--short", part @ ..] => (Size::Short, part),
        part => (Size::Full, part),
    };
    let measure: fn(Size, &Server) -> Outcome<bool> = match part {
        [] => all,
        ["append"] => append::measure,
        ["list"] => list::measure,
        ["long"] => long,
        _ => return None,
    };
    Some(print_outcome(measure(size, &Server::start())))
}

fn all(size: Size, server: &Server) -> Outcome<bool> {
    // Run all parts even if an earlier one missed its goal.
    let parts = [append::measure, list::measure, long];
    Ok(parts.into_iter().filter(|measure| !print_outcome(measure(size, server))).count() == 0)
}

/// Measures one long session: resumes it, then forks it.
fn long(size: Size, server: &Server) -> Outcome<bool> {
    let folder = TempDirectory::new()?;
    let first = resume::LongSession::generate(size, StoreLocation::new(Kind::Sqlite, &folder, server)?)?;
    let mut met = resume::measure(size, &first)? & fork::measure(size, &first)?;
    for kind in [Kind::Jsonl, Kind::Postgres] {
        // Keep one copy at a time, because each is as large as the original.
        let folder = TempDirectory::new()?;
        let copy = first.copy_to(StoreLocation::new(kind, &folder, server)?)?;
        if kind == Kind::Postgres {
            // PostgreSQL would do this by itself a little later; the statistics change its query plans.
            server.sql(&copy.place.at, "ANALYZE");
        }
        met &= resume::measure(size, &copy)? & fork::measure(size, &copy)?;
    }
    Ok(met)
}

fn print_outcome(outcome: Outcome<bool>) -> bool {
    outcome.unwrap_or_else(|why| {
        eprintln!("not measured: {why}");
        false
    })
}

/// A runtime like the one of a program that embeds a store.
fn runtime() -> Outcome<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(text)
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
