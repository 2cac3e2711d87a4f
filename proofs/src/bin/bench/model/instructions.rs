//! Counts instructions per event with valgrind, which is exact where the clock of a shared machine is not.
//!
//! Starts this binary again as the reader, under valgrind. To exclude the cost of starting up, it reads a
//! short reply and a long one and takes the difference. Without valgrind nothing is counted, which is not a
//! failure.

use std::process::{Command, Stdio};

use lariat_proofs::server::Wire;

use super::super::Size;
use super::super::measure::figure;
use super::service::{Delivery, Service};
use super::{WIRES, frames};

pub(super) fn measure(size: Size) {
    let (short, long) = match size {
        Size::Full => (1_000, 11_000),
        // A count takes seconds, and the short form checks only what can fail.
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

/// Returns the number of frames and the instructions that a new process needed to read them. Uses large
/// writes, so that the number of system calls does not depend on which client is faster.
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
    let report = String::from_utf8_lossy(&output.stderr);
    let line = report.lines().find(|line| line.contains("I refs:") || line.contains("I   refs:"))?;
    let number = line.rsplit(' ').next()?.replace(',', "");
    Some((frames.len(), number.parse().ok()?))
}
