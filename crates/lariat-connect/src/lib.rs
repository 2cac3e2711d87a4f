//! Extends agents with skills and commands.
//!
//! - [`commands`]: loads the `/` commands of a user or a project, which are prompts in files.
//! - [`skills`]: loads directories of instructions in the Agent Skills format and lists them for a model, which reads them on
//!   demand.

pub mod commands;
pub mod skills;

pub use commands::{Command, CommandSet, CommandWarning};
pub use skills::{Skill, SkillSet, SkillWarning};
