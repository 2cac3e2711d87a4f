//! Extends agents with skills.
//!
//! - [`skills`]: loads directories of instructions in the Agent Skills format and lists them for a model, which reads them on
//!   demand.

pub mod skills;

pub use skills::{Skill, SkillSet, SkillWarning};
