//! Compares our model client with other crates: each reads the same long reply, in one run, alternating.
//!
//! The server is `bench model --serve` of `lariat-proofs`, started as a separate process; it sends the same
//! bytes to every client. A client that cannot be measured is listed with the reason.
//! Invariant: a client is measured only on a stream that it read to its end.

mod clients;

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Instant;

use clients::Client;

/// A stream that the server offers.
struct Offer {
    wire: String,
    delivery: String,
    events: usize,
    url: String,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (server, events, rounds) = match words.as_slice() {
        [server] => (server, "100000", 7),
        [server, "--short"] => (server, "10000", 3),
        _ => {
            eprintln!("usage: lariat-peers BENCH [--short]   BENCH is the binary `bench` of lariat-proofs");
            return ExitCode::from(2);
        }
    };
    match offers(server, events).and_then(|(server, offers)| {
        let measured = measure(&offers, rounds);
        stop(server);
        measured
    }) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn offers(server: &str, events: &str) -> Result<(Child, Vec<Offer>), String> {
    let mut child = Command::new(server)
        .args(["model", "--serve", events])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("cannot start {server}: {error}"))?;
    let output = child.stdout.take().ok_or("no output")?;
    let mut offers = Vec::new();
    for line in BufReader::new(output).lines() {
        let line = line.map_err(|error| error.to_string())?;
        let [wire, delivery, events, url] = line.split(' ').collect::<Vec<_>>()[..] else { break };
        let events = events.parse().map_err(|_| format!("not a number: {events}"))?;
        offers.push(Offer {
            wire: wire.to_owned(),
            delivery: delivery.to_owned(),
            events,
            url: url.to_owned(),
        });
    }
    Ok((child, offers))
}

/// Closes the server's input, which makes it exit.
fn stop(mut server: Child) {
    drop(server.stdin.take());
    let _ = server.wait();
}

fn measure(offers: &[Offer], rounds: usize) -> Result<(), String> {
    println!(
        "{:<12} {:<8} {:<12} {:>14} {:>14} {:>12}",
        "protocol", "writes", "client", "wall/event", "CPU/event", "events out"
    );
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    for offer in offers {
        let mut samples = Client::ALL.map(|client| (client, Vec::new(), None));
        // The first round only warms up caches and connections.
        for round in 0..=rounds {
            for (client, samples, last) in &mut samples {
                let (started, before) = (Instant::now(), cpu_ns());
                let read = runtime.block_on(client.read(&offer.wire, &offer.url));
                let took = (started.elapsed().as_nanos() as f64, (cpu_ns() - before) as f64);
                *last = Some(read);
                if round > 0 {
                    samples.push(took);
                }
            }
        }
        for (client, samples, last) in samples {
            let events = match last {
                Some(Ok(events)) => events,
                Some(Err(reason)) => {
                    println!("{:<12} {:<8} {:<12} {reason}", offer.wire, offer.delivery, client.name());
                    continue;
                }
                None => continue,
            };
            let middle = |of: fn(&(f64, f64)) -> f64| {
                let mut values: Vec<f64> = samples.iter().map(of).collect();
                values.sort_by(f64::total_cmp);
                values.get(values.len() / 2).copied().unwrap_or_default() / offer.events as f64
            };
            let (wall, cpu) = (middle(|took| took.0), middle(|took| took.1));
            println!(
                "{:<12} {:<8} {:<12} {wall:>11.0} ns {cpu:>11.0} ns {events:>12}",
                offer.wire,
                offer.delivery,
                client.name()
            );
        }
    }
    Ok(())
}

/// CPU time of this thread in nanoseconds, as the kernel counts it.
fn cpu_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|number| number.parse().ok()).unwrap_or_default()
}
