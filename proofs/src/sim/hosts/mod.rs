//! A world of a session host: `Local` on a store that fails, with several clients that use it at the same time through
//! `trait Sessions`.
//!
//! - `life` has the lives of the process, `process` what one life runs, `setting` what stays the same in all of them.
//! - `agents` and `ports` are what the host runs: agents, their model, tools and permission check.
//! - `clients` decide what to do and `requests` send it; `followers` read the logs; `rest` brings every session to rest at the end.
//! - `commands` is the book of what clients sent and what the host replied. Like `watch`, it survives the process and knows nothing
//!   of the store, so a host that loses or repeats a command is caught by comparison. `conversation` says what a rewind left behind.
//! - `check`, `queues` and `views` compare all of that with the journals.
//!
//! See [`super::steps`] for how the seed decides the order.

mod agents;
mod check;
mod clients;
mod commands;
mod conversation;
mod followers;
mod life;
mod ports;
mod process;
mod queues;
mod requests;
mod rest;
mod setting;
mod views;
mod watch;

use lariat_test::SeededRandom;

use super::choice::Choices;
use super::report::{Failure, Report};

/// Runs one seed.
pub(super) fn play(seed: u64, choices: Choices) -> Result<Report, Box<Failure>> {
    let mut hosts = life::Hosts::new(&SeededRandom::new(seed), choices);
    let played = super::guarded(|| hosts.play().and_then(|()| check::finished(&hosts)));
    match played {
        Ok(()) => Ok(hosts.report()),
        Err(violation) => Err(Box::new(hosts.failure(violation))),
    }
}
