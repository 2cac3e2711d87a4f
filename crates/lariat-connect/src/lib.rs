//! What agents are connected with. Today: skills.
//!
//! - [`skills`]: folders of instructions in the Agent Skills format, found, listed for a model, and read by it on demand.

pub mod skills;

pub use skills::{Skill, SkillSet, SkillWarning};
