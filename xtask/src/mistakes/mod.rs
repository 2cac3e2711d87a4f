//! Plants deliberate mistakes in a copy of the sources. Proofs and tests must catch each.
//!
//! The files in `xtask/mistakes` list the mistakes (`patch`). The product contains none of them: `copy` plants them
//! all at once in a copy under the target directory, each behind a switch, so that one build of the copy serves every
//! mistake. A switch is on if the environment variable [`SWITCH`] has the mistake's name.
//!
//! - `in_proofs`: `cargo xtask simulate --planted` and the like. The proof must find a fault.
//! - `in_tests`: `cargo xtask mistakes`. The named tests must fail.

mod copy;
mod in_proofs;
mod in_tests;
mod patch;

pub(crate) use in_proofs::{is_planted, prove};
pub(crate) use in_tests::run;

/// The environment variable that switches one mistake on.
const SWITCH: &str = "PLANTED_MISTAKE";
