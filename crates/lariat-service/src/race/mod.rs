//! Races: several agents work on the same task at the same time, each in a copy of the directory, and the changes of one of
//! them are applied.
//!
//! The session of a race is only its record: the copies start from one snapshot of the files, each branch ends with another,
//! and the difference of the selected one is applied to the directory as one step that can be undone. So the copies are removed
//! as soon as a branch ends, and the changes of every branch can still be shown and taken later. A branch in which Lariat
//! works has a session of its own.
//!
//! 1. [`RacePlan`] resolves agents, limits and the directory. 2. [`RaceRun::start`] saves the state of the files.
//!    3. [`RaceRun::work`] lets all branches work. 4. [`RaceRun::select`] chooses one. 5. [`RaceRun::take`] applies it.
//!
//! - `settings`: what is asked. `record`: what the session records. `plan`: agents and limits. `copies`: the directories of the
//!   branches. `run`: carries out the steps. `work`: one branch. `judge`: asks a model which branch is the best.

mod copies;
mod judge;
mod plan;
mod record;
mod run;
mod settings;
mod work;

pub use plan::RacePlan;
pub use record::{BranchEnd, RaceRecord, RaceSelection, UnfinishedTake};
pub use run::{RaceRun, TakenBranch};
pub use settings::{MAX_BRANCHES, RaceJudge, RaceSettings, branch_name};
pub use work::BranchProgress;

/// The tag of sessions that are races.
pub const RACE_TAG: &str = "race";

#[cfg(test)]
mod tests;
