//! The conformance suite and the races, with the host in this process and behind a socket.

use std::sync::Arc;
use std::time::Instant;

use lariat_test::sessions::{self, HostFixture, Report};

use crate::fixtures::local_hosts::LocalHosts;
use crate::served::Served;

/// Events between snapshots: views come from the whole journal, or from a snapshot of almost every position.
const SNAPSHOTS: [(&str, u64); 2] = [("whole journals", 4096), ("snapshots", 1)];

/// Runs the suite. The short form leaves out the host in this process: its tests are the same suite.
pub(crate) fn conformance(is_short: bool) -> Result<bool, String> {
    let mut passed = true;
    for (views, every) in SNAPSHOTS.into_iter().filter(|_| !is_short) {
        let start = Instant::now();
        let local: Arc<dyn HostFixture> = Arc::new(LocalHosts::new(every));
        let report = runtime()?.block_on(sessions::run_all(&local, 1));
        passed &= print(&format!("conformance, in this process, views from {views}"), &report, start);
    }
    let start = Instant::now();
    let report = runtime()?.block_on(async { Ok::<_, String>(sessions::run_all(&served()?, 1).await) })?;
    passed &= print("conformance, over a socket", &report, start);
    Ok(passed)
}

/// Lets two clients answer one ask this many times.
pub(crate) fn races(count: u64) -> Result<bool, String> {
    let count = usize::try_from(count).map_err(|error| error.to_string())?;
    let start = Instant::now();
    let local: Arc<dyn HostFixture> = Arc::new(LocalHosts::new(4096));
    let report = runtime()?.block_on(sessions::race_answers(&local, count));
    let mut passed = print("races, in this process", &report, start) && report.races == count;
    let start = Instant::now();
    let report =
        runtime()?.block_on(async { Ok::<_, String>(sessions::race_answers(&served()?, count).await) })?;
    passed &= print("races, over a socket", &report, start) && report.races == count;
    Ok(passed)
}

fn served() -> Result<Arc<dyn HostFixture>, String> {
    Ok(Arc::new(Served::new(LocalHosts::new(4096))?))
}

pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, String> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(2).enable_all().build().map_err(|error| error.to_string())
}

/// Prints what a part did. Returns whether it passed.
pub(crate) fn print(part: &str, report: &Report, start: Instant) -> bool {
    println!("{part}: {report} ({:.1} s)", start.elapsed().as_secs_f64());
    report.failures.is_empty()
}
