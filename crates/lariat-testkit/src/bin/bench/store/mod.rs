//! The stores against the engines they stand on, and against their goals: appends, resuming, listing, forking.
//!
//! Owns the order of the parts and the sizes of the two forms. Everything lives in a temporary folder and a PostgreSQL
//! of its own, which are gone at the end. Invariant: a part that could not be measured is a missed goal.

mod append;
mod bare;
mod events;
mod fork;
mod list;
mod place;
mod resume;

use lariat_testkit::postgres::Server;

use self::place::{Folder, Kind, Place};
use super::Size;

/// What went wrong, in words.
type Outcome<T> = Result<T, String>;

/// How much longer the short form may take: it runs beside other work, with few samples.
const SHORT_PATIENCE: f64 = 10.0;

/// A limit as a form of the bench takes it.
fn limit(size: Size, goal: f64) -> f64 {
    if size == Size::Full { goal } else { goal * SHORT_PATIENCE }
}

/// The word with which the bench calls itself as a program that resumes a session.
const CHILD: &str = "resume-in";

/// Runs the bench; `None` when the options are not understood.
pub(crate) fn run(options: &[&str]) -> Option<bool> {
    let (size, part) = match options {
        [CHILD, kind, place, session] => {
            let resumed = Kind::named(kind).and_then(|kind| resume::child(kind, place, session));
            return Some(told(resumed.map(|()| true)));
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
    Some(told(measure(size, &Server::start())))
}

fn all(size: Size, server: &Server) -> Outcome<bool> {
    // All of them, whatever the first ones come to.
    let parts = [append::measure, list::measure, long];
    Ok(parts.into_iter().filter(|measure| !told(measure(size, server))).count() == 0)
}

/// What is measured on one long session: resuming it, then forking it.
fn long(size: Size, server: &Server) -> Outcome<bool> {
    let folder = Folder::new()?;
    let first = resume::Long::generate(size, Place::new(Kind::Sqlite, &folder, server)?)?;
    let mut met = resume::measure(size, &first)? & fork::measure(size, &first)?;
    for kind in [Kind::Jsonl, Kind::Postgres] {
        // One copy at a time: each is as large as the first.
        let folder = Folder::new()?;
        let copy = first.copied(Place::new(kind, &folder, server)?)?;
        if kind == Kind::Postgres {
            // As the server does by itself a little later: what it knows then changes how it reads.
            server.sql(&copy.place.at, "ANALYZE");
        }
        met &= resume::measure(size, &copy)? & fork::measure(size, &copy)?;
    }
    Ok(met)
}

fn told(outcome: Outcome<bool>) -> bool {
    outcome.unwrap_or_else(|why| {
        eprintln!("not measured: {why}");
        false
    })
}

/// A runtime like that of a program which embeds a store.
fn runtime() -> Outcome<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(text)
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
