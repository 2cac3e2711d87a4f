//! The simulator: runs the product in worlds generated from a seed.
//!
//! The seed decides everything: what models reply and how their streams break, what tools do, who approves when or never, which
//! calls of the store fail, when users send messages or cancel, when the clock jumps, where the process dies. After every step
//! the invariants are checked. The same seed gives the same run.
//!
//! - `loops` is a world of one session below the SDK: the machine and its driver, loops and branches.
//! - `agents` is a world of a tree of agents: an `Agent`, its sub-agents and theirs, each with a session of its own. It runs on
//!   tokio, as in production; `steps`, `wall_clock` and `process_store` make that repeatable.
//! - `hosts` is a world of a session host with several clients at the same time, through `trait Sessions`. It runs on tokio too.
//! - `choice`, `shrink` and `story` explain a seed that fails: the fewest disturbances that still fail, in sentences.
//! - `witness` keeps what the store reported to its callers, and `disk` makes the store fail.

mod agents;
mod choice;
mod disk;
mod hosts;
mod lineage;
mod loops;
mod process_archive;
mod process_store;
mod report;
mod shrink;
mod steps;
mod story;
mod violation;
mod wall_clock;
mod witness;

use choice::{Choices, LeftOut};

pub use report::{Failure, Report};
pub use violation::Violation;

/// A world of the simulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum World {
    /// Loops and branches of one session, without an agent.
    Loops,
    /// An agent and its sub-agents.
    Agents,
    /// A session host and its clients.
    Hosts,
}

impl World {
    /// All worlds.
    pub const ALL: [Self; 3] = [Self::Loops, Self::Agents, Self::Hosts];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Loops => "loops",
            Self::Agents => "agents",
            Self::Hosts => "hosts",
        }
    }

    /// The world with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|world| world.name() == name)
    }

    fn play(self, seed: u64, choices: Choices) -> Result<Report, Box<Failure>> {
        match self {
            Self::Loops => loops::play(seed, choices),
            Self::Agents => agents::play(seed, choices),
            Self::Hosts => hosts::play(seed, choices),
        }
    }
}

/// Runs one seed.
///
/// # Errors
/// Fails if an invariant is broken.
pub fn simulate(world: World, seed: u64) -> Result<Report, Box<Failure>> {
    world.play(seed, Choices::new(LeftOut::default(), choice::Telling::Silent))
}

/// Runs a seed that fails again and again with fewer disturbances, and tells the shortest run that still fails in the same way.
pub fn explain(failure: &Failure) -> Failure {
    shrink::shrink(failure, |left_out, telling| {
        failure.world.play(failure.seed, Choices::new(left_out.clone(), telling)).err()
    })
}

/// Plays a world; a panic of the code is a violation like any other.
fn guarded<T>(play: impl FnOnce() -> Result<T, Violation>) -> Result<T, Violation> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(play)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(Violation::Panicked(text.unwrap_or_default()))
    })
}
