//! Measures what a sandbox costs at the start of a command.

use std::time::{Duration, Instant};

use lariat_core::cancel::CancellationToken;
use lariat_host::process::{Environment, Launch, Supervisor};
use lariat_host::sandbox::{Network, Policy, Sandbox};
use lariat_host::sandbox_probe::probe;

use super::super::words_of;

/// Prints the median time of `bash -c true`, bare and in each kind of sandbox. The kinds alternate, so that
/// load affects all of them.
pub(super) async fn measure(starts: u64) -> Result<(), String> {
    let place = std::env::temp_dir().join(format!("lariat-starts-{}", std::process::id()));
    std::fs::create_dir_all(place.join("workspace")).map_err(words_of)?;
    let workspace = place.join("workspace").canonicalize().map_err(words_of)?;
    let environment = Environment::from_inherited(std::env::vars_os());
    let found = probe(&place, &environment).await;
    std::fs::create_dir_all(&workspace).map_err(words_of)?;
    let mut kinds: Vec<(String, Option<Sandbox>)> = vec![("no sandbox".to_owned(), None)];
    for backend in &found.backends {
        let policy = Policy::workspace(&workspace, None);
        kinds.push((backend.name().to_owned(), Some(Sandbox::new(policy.clone(), backend.clone()))));
        // Measured separately, because the network namespace adds to the cost.
        let policy = policy.with_network(Network::On);
        kinds.push((format!("{}, network on", backend.name()), Some(Sandbox::new(policy, backend.clone()))));
    }
    let supervisor = Supervisor::new();
    let cancel = CancellationToken::new();
    let mut bare = Vec::new();
    let mut times: Vec<Vec<Duration>> = kinds.iter().map(|_| Vec::new()).collect();
    for _ in 0..starts {
        let start = Instant::now();
        let mut command = std::process::Command::new("bash");
        command.args(["-c", "true"]).current_dir(&workspace).output().map_err(words_of)?;
        bare.push(start.elapsed());
        for ((_, sandbox), times) in kinds.iter().zip(&mut times) {
            let mut launch = Launch::shell("true", &workspace).with_environment(environment.clone());
            launch.sandbox = sandbox.clone();
            let start = Instant::now();
            supervisor.run(launch, &cancel).await.map_err(words_of)?;
            times.push(start.elapsed());
        }
    }
    let _ = std::fs::remove_dir_all(&place);
    let bare = median(&mut bare);
    println!("start of `bash -c true`, median of {starts} in turns:");
    println!("{:22} {bare:>6.1} ms", "bare");
    for ((name, _), times) in kinds.iter().zip(&mut times) {
        let median = median(times);
        println!("{name:22} {median:>6.1} ms, {:.1} ms more than bare", median - bare);
    }
    Ok(())
}

/// In milliseconds.
fn median(times: &mut [Duration]) -> f64 {
    times.sort();
    times.get(times.len() / 2).map_or(0.0, |time| time.as_secs_f64() * 1000.0)
}
