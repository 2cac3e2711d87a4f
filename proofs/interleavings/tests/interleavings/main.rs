//! Runs each scenario of the program in a few orders. `cargo xtask interleavings` runs many.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "the tests start the program")]

use std::process::Command;

/// Orders per scenario and scheduler: two seconds for the slowest.
const SCHEDULES: &str = "200";

fn check(scenario: &str) {
    let program =
        Command::new(env!("CARGO_BIN_EXE_interleavings")).args(["--schedules", SCHEDULES, scenario]).output();
    let output = program.unwrap();
    let (shown, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && shown.contains("400 orders"), "{shown}{errors}");
}

#[test]
fn hub_delivers_every_durable_event_in_order() {
    check("hub-catches-up");
    check("hub-joins");
}

#[test]
fn mailbox_loses_no_item_and_no_wake_up() {
    check("mailbox-wakes");
    check("mailbox-closes");
}

#[test]
fn pool_is_not_overdrawn_and_admits_every_call() {
    check("pool-waits");
    check("pool-children");
}

#[test]
fn writer_acknowledges_what_is_in_the_database() {
    check("writer-acknowledges");
    check("writer-ends");
}
