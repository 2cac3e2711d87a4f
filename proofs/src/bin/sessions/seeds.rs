//! The scripts of the suite in simulated worlds: a seed decides how long each call of the store takes, which calls fail,
//! and where the host crashes.

use std::sync::Arc;
use std::time::Instant;

use lariat_test::sessions::{HostFixture, Report, all_scripts, run_seed};

use crate::fixtures::simulated_hosts::SimulatedHosts;
use crate::suite::print;

/// Plays every script with each of these seeds. Stops at the first seed that fails, and says how to repeat it.
pub(crate) fn run(first: u64, count: u64) -> Result<bool, String> {
    let start = Instant::now();
    let mut all = Report::default();
    for seed in first..first.saturating_add(count) {
        let mut scripts = Report::default();
        for script in all_scripts() {
            let mut builder = tokio::runtime::Builder::new_current_thread();
            let runtime =
                builder.enable_all().start_paused(true).build().map_err(|error| error.to_string())?;
            scripts.add(runtime.block_on(async {
                let hosts: Arc<dyn HostFixture> = Arc::new(SimulatedHosts::new(seed));
                run_seed(&hosts, &script, seed).await
            }));
        }
        let has_failed = !scripts.failures.is_empty();
        all.add(scripts);
        if has_failed {
            println!("repeat it with: cargo xtask sessions seeds --seed {seed}");
            break;
        }
    }
    Ok(print(&format!("seeds from {first}"), &all, start))
}
