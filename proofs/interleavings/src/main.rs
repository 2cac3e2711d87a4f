//! Runs the concurrent parts of Lariat in many orders of their steps and checks what they promise.
//!
//! The modules below are the sources of the product. They are compiled here a second time, with a `std` whose locks, channels and threads let
//! shuttle decide after each of their operations which thread runs next. The product itself knows nothing of it. A lost wake-up is a
//! deadlock, which shuttle reports. A failure prints a schedule that repeats it.
//!
//! Limits: the channels and semaphores of tokio take one step here, because tokio proves them itself. Memory orderings are not explored;
//! our atomics are counters. The owner of a session (`lariat-sessions`) is not here: it is one task of tokio, so what interleaves are its
//! messages, which `cargo xtask sessions seeds` orders by a seed.

#![expect(
    dead_code,
    unreachable_pub,
    unused_imports,
    reason = "the modules are parts of libraries, and the scenarios use a part of each"
)]
#![expect(clippy::panic, reason = "a scenario fails by a panic, for which shuttle prints the schedule")]
#![expect(
    clippy::disallowed_methods,
    reason = "a command-line tool reads its arguments and the wall clock itself"
)]

// What `use std::…` means in the modules below.
extern crate lariat_interleavings as std;

// Modules of the product: the same names and paths as in their crates.
#[path = "../../../crates/lariat-store/src/content.rs"]
mod content;
#[path = "../../../crates/lariat-store/src/files.rs"]
mod files;
#[path = "../../../crates/lariat-runtime/src/memory.rs"]
mod memory;
#[path = "../../../crates/lariat-runtime/src/observe/mod.rs"]
mod observe;
#[path = "../../../crates/lariat-runtime/src/budget/pool.rs"]
mod pool;
#[path = "../../../crates/lariat-store/src/record.rs"]
mod record;

mod drive;
mod hub_scenarios;
mod pool_scenarios;
mod run;
mod sqlite;

use ::std::process::ExitCode;

/// What the store's modules take from the root of their crate.
pub(crate) const SUMMARY_INTERVAL: u64 = 512;

/// The options of the store, as its crate has them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StoreOptions {
    pub(crate) durability: lariat_core::store::Durability,
    pub(crate) batch_window: ::std::time::Duration,
}

/// A scenario: its name, and what runs once in each order.
type Scenario = (&'static str, fn());

/// All scenarios.
const SCENARIOS: &[Scenario] = &[
    ("hub-catches-up", hub_scenarios::slow_subscriber_gets_every_durable_event_in_order),
    ("hub-joins", hub_scenarios::subscriber_that_joins_misses_nothing_after_its_position),
    ("mailbox-wakes", drive::scenarios::every_item_reaches_the_reader_in_the_order_of_its_sender),
    ("mailbox-closes", drive::scenarios::an_item_is_read_left_over_or_returned_to_its_sender),
    ("pool-waits", pool_scenarios::calls_share_a_pool_without_overdraft_and_all_are_admitted),
    ("pool-children", pool_scenarios::children_share_what_their_parent_has),
    ("writer-acknowledges", sqlite::scenarios::what_is_acknowledged_is_in_the_database),
    ("writer-ends", sqlite::scenarios::tasks_before_the_end_are_answered),
];

fn main() -> ExitCode {
    let words: Vec<String> = ::std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match run::run(SCENARIOS, &words) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("{message}\n\nusage: interleavings [--schedules N] [--seed N] [SCENARIO]...");
            ExitCode::from(2)
        }
    }
}
