//! Lists many sessions: the first page, all at once, and page by page.

use std::sync::Arc;
use std::time::Instant;

use lariat_core::archive::{ListQuery, SessionArchive};
use lariat_core::event::Event;
use lariat_core::id::SessionId;
use lariat_core::store::{Append, Durability};
use lariat_proofs::postgres::Server;

use super::location::{Kind, StoreLocation, TempDirectory};
use super::{Outcome, Size, events, runtime, text};
use crate::measure::{figure, goal, median};

const GOAL_MS: f64 = 100.0;

/// Sessions on the first page that a user sees.
const PAGE: usize = 50;

/// Sessions that one open store creates: each holds a lock, which is an open file.
const AT_ONCE: usize = 500;

/// Events per session.
const EVENTS: usize = 3;

pub(super) fn measure(size: Size, server: &Server) -> Outcome<bool> {
    let count = if size == Size::Full { 10_000 } else { 300 };
    let runtime = runtime()?;
    let mut met = true;
    for kind in Kind::ALL {
        let folder = TempDirectory::new()?;
        let place = StoreLocation::new(kind, &folder, server)?;
        met &= runtime.block_on(measure_store(&place, count))?;
    }
    Ok(met)
}

async fn measure_store(place: &StoreLocation, count: usize) -> Outcome<bool> {
    for first in (0..count).step_by(AT_ONCE) {
        let store = place.open(Durability::Fast).await?;
        let mut tasks = Vec::new();
        for number in first..count.min(first + AT_ONCE) {
            tasks.push(tokio::spawn(fill(Arc::clone(&store), number, events::later(number as u64, EVENTS))));
        }
        for task in tasks {
            task.await.map_err(text)??;
        }
    }
    let name = place.kind.name();
    // The first listing builds what later listings reuse.
    let store = place.open(Durability::Durable).await?;
    let once = timed(&store, PAGE, PAGE.min(count)).await?;
    figure(&format!("{name}: first page of {count}, never listed before"), format!("{once:.1} ms"));
    drop(store);
    let store = place.open(Durability::Durable).await?;
    let first = timed(&store, PAGE, PAGE.min(count)).await?;
    let mut met =
        goal(&format!("{name}: first page of {PAGE} of {count}, store just opened"), first, "ms", GOAL_MS);
    for (what, limit) in [("first page, again (median)", PAGE), ("all at once (median)", 0)] {
        let mut samples = Vec::new();
        for _ in 0..5 {
            let expected = if limit == 0 { count } else { limit.min(count) };
            samples.push(timed(&store, limit, expected).await?);
        }
        met &= goal(&format!("{name}: {what}"), median(samples), "ms", GOAL_MS);
    }
    let walked = page_through(&store, count).await?;
    figure(&format!("{name}: all in pages of {PAGE}"), format!("{walked:.1} ms"));
    Ok(met)
}

async fn fill(store: Arc<dyn SessionArchive>, number: usize, events: Vec<Event>) -> Outcome<()> {
    let session = SessionId::from(format!("session-{number}"));
    let epoch = store.claim(&session).await.map_err(text)?;
    store.append(Append::new(&session, epoch, 0, &events)).await.map(drop).map_err(text)
}

/// Milliseconds of one listing. Fails if the listing is incomplete.
async fn timed(store: &Arc<dyn SessionArchive>, limit: usize, expected: usize) -> Outcome<f64> {
    let mut query = ListQuery::default();
    query.limit = limit;
    let started = Instant::now();
    let found = store.list(&query).await.map_err(text)?.len();
    let spent = started.elapsed().as_secs_f64() * 1e3;
    if found == expected { Ok(spent) } else { Err(format!("{found} sessions are listed, not {expected}")) }
}

/// Milliseconds of reading all pages.
async fn page_through(store: &Arc<dyn SessionArchive>, expected: usize) -> Outcome<f64> {
    let mut query = ListQuery::default();
    query.limit = PAGE;
    let (started, mut found) = (Instant::now(), 0);
    loop {
        let page = store.list(&query).await.map_err(text)?;
        found += page.len();
        query.after = page.last().map(lariat_core::archive::SessionSummary::cursor);
        if page.len() < PAGE {
            break;
        }
    }
    let spent = started.elapsed().as_secs_f64() * 1e3;
    if found == expected {
        Ok(spent)
    } else {
        Err(format!("the pages have {found} sessions, not {expected}"))
    }
}
