//! Loops of an actor and a critic: the actor works on a task, the critic judges the result, and its feedback goes back to the
//! actor, until the critic says that the task is done or a limit is reached.
//!
//! The session of the loop is the session of the actor: each iteration is a prompt in it, so that approvals, undo and resume work
//! as in any session. The critic has a session of its own for each iteration, and can only read. [`LoopRecord`] is the loop as
//! the session records it; [`LoopRun`] carries out its steps. A front end sends the prompts to the actor, because it shows the
//! run and asks for approvals:
//!
//! 1. [`LoopPlan`] resolves the agents and the limits. 2. The front end opens the session. 3. [`LoopRun::start`] saves the state
//!    of the files. 4. For each [`LoopRun::step`]: prompt the actor, or [`LoopRun::act`], then [`LoopRun::review`].
//!
//! - `settings`: what is asked. `decision`: what critics answer. `prompts`: what both read. `critic`: asks Lariat as a critic.
//! - `plan`: agents and limits. `run`: carries out the steps. `snapshot_directory`: where the states of the files are. `metrics`: what many
//!   loops achieved.
//! - `external`, `known_agents`: names of other agents. `programs`: starts them. `acp`: drives those that speak ACP.

mod acp;
mod critic;
mod decision;
mod external;
mod known_agents;
mod metrics;
mod plan;
mod programs;
mod prompts;
mod record;
mod run;
mod settings;
mod snapshot_directory;
mod workflow_span;

pub use acp::{ExternalEvent, ReportedCall};
pub(crate) use critic::{Answer, ReadingSession};
pub use decision::CriticDecision;
pub use external::ExternalAgent;
pub(crate) use external::Role;
pub use metrics::{LoopMetrics, MeasuredLoop};
pub use plan::{LoopPlan, LoopSession};
pub(crate) use plan::{limit_cost, pool};
pub(crate) use programs::{ExternalPrograms, LoopLimits};
pub(crate) use prompts::fenced;
pub use record::{ActorOutput, ActorProgress, LoopEnd, LoopIteration, LoopOutcome, LoopRecord, LoopStep};
pub use run::{Deadline, ExternalWatch, LoopRun, Review};
pub use settings::{
    DEFAULT_COST_USD, DEFAULT_ITERATIONS, DEFAULT_TIME, LoopAgent, LoopSettings, UnknownAgent,
};
pub(crate) use snapshot_directory::{SnapshotDirectory, remove_leftovers};
pub(crate) use workflow_span::export_workflow;

/// The tag of sessions that are loops.
pub const LOOP_TAG: &str = "loop";

#[cfg(test)]
mod tests;
