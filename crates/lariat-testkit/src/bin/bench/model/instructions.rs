//! Instructions per event, counted by valgrind: exact where a shared machine's clock is not.
//!
//! Owns starting this binary again as the reader, under the counter. What starting up costs is taken out by reading a
//! short reply and a long one. Without valgrind there is no count, which fails nothing.

use std::process::{Command, Stdio};

use lariat_testkit::server::Wire;

use super::super::Size;
use super::super::measure::figure;
use super::service::{Delivery, Service};
use super::{WIRES, frames};

pub(super) fn measure(size: Size) {
    let (short, long) = match size {
        Size::Full => (1_000, 11_000),
        // A count takes seconds; a short run is for what can fail.
        Size::Short => return,
    };
    for wire in WIRES {
        let per_event = |client: &str| per_event(client, wire, short, long);
        match (per_event("bare"), per_event("ours")) {
            (Some(bare), Some(ours)) => {
                let text = format!("{bare:.0} / {ours:.0}");
                figure(&format!("{}: instructions per event, bare / ours", wire.name()), text);
            }
            _ => figure(&format!("{}: instructions per event", wire.name()), "no valgrind"),
        }
    }
}

fn per_event(client: &str, wire: Wire, short: usize, long: usize) -> Option<f64> {
    let (few, of_few) = count(client, wire, short)?;
    let (many, of_many) = count(client, wire, long)?;
    Some(of_many.checked_sub(of_few)? as f64 / (many - few) as f64)
}

/// Number of frames, and the instructions it took a fresh process to read them. In large writes, so that the number
/// of system calls does not depend on who is faster.
fn count(client: &str, wire: Wire, events: usize) -> Option<(usize, u64)> {
    let frames = frames(wire, events);
    let service = Service::start(wire, &frames, Delivery::Large).ok()?;
    let output = Command::new("valgrind")
        .args(["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"])
        .arg(std::env::current_exe().ok()?)
        .args(["model", "--read", client, wire.name(), &service.url()])
        .stdin(Stdio::null())
        .output()
        .ok()?;
    if !output.status.success() {
        return None;
    }
    let told = String::from_utf8_lossy(&output.stderr);
    let line = told.lines().find(|line| line.contains("I refs:") || line.contains("I   refs:"))?;
    let number = line.rsplit(' ').next()?.replace(',', "");
    Some((frames.len(), number.parse().ok()?))
}
