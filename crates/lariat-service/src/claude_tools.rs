//! The names and arguments of Lariat's tools on the wires of Claude Code, in both directions.

pub use lariat_guard::hooks::{claude_input, claude_name, own_input};
