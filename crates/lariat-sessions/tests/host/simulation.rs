//! The scripts of the conformance suite in simulated worlds: a few seeds each. `cargo xtask sessions seeds` plays many.

use std::sync::Arc;

use lariat_test::sessions::{HostFixture, Report, Script, all_scripts, run_seed};

use crate::simulated_hosts::SimulatedHosts;

/// Seeds of each script. The proof plays more.
const SEEDS: u64 = 3;

async fn play(script: &Script, seed: u64) -> (Report, Vec<String>) {
    let hosts = Arc::new(SimulatedHosts::new(seed));
    let fixture: Arc<dyn HostFixture> = hosts.clone();
    let report = run_seed(&fixture, script, seed).await;
    (report, hosts.trace())
}

#[test]
fn scripts_pass_in_simulated_worlds() {
    let mut all = Report::default();
    for script in all_scripts() {
        for seed in 0..SEEDS {
            let (report, trace) = in_virtual_time(play(&script, seed));
            if !report.failures.is_empty() {
                println!("{}, seed {seed}: {trace:#?}", script.name());
            }
            all.add(report);
        }
    }
    println!("{all}");
    all.check();
    assert!(all.crashes > 30 && all.commands > 100, "{all}");
}

#[test]
fn same_seed_gives_the_same_run() {
    for script in all_scripts().iter().step_by(5) {
        let [(first, one), (second, two)] = [(); 2].map(|()| in_virtual_time(play(script, 11)));
        assert_eq!(one, two, "{}", script.name());
        assert!(one.len() > 3, "{one:?}");
        assert_eq!((first.views, first.reconnects), (second.views, second.reconnects), "{}", script.name());
    }
}

/// Runs a future in one thread, under a clock that moves only when every task waits.
fn in_virtual_time<T>(future: impl Future<Output = T>) -> T {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().start_paused(true).build().unwrap().block_on(future)
}
