//! Runs the real program with an empty home, a clean environment, and a scripted model behind a real socket.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests inspect the program from outside"
)]

mod acp;
mod acp_agents;
mod actor_critic;
mod actor_critic_programs;
mod actor_critic_snapshots;
mod agents;
mod background;
mod background_kills;
mod background_upgrade;
mod capabilities;
mod collector;
mod commands;
mod controlling;
mod credentials;
#[cfg(all(feature = "keyring", target_os = "linux"))]
mod desktop;
mod errors;
mod five_minutes;
mod fixture;
mod help;
#[cfg(all(feature = "keyring", target_os = "linux"))]
mod keyring;
mod kills;
mod kit;
mod management_commands;
mod mcp;
mod mcp_hostile;
mod mcp_login;
mod mcp_offered;
mod mcp_questions;
mod mcp_serve;
mod mcp_start;
mod memory;
mod openapi;
mod pty;
mod race;
mod regression;
mod repair;
mod run;
mod session_state;
mod sessions;
mod stores;
mod terminal;
mod terminal_prompts;
mod ui;
mod ui_limits;
mod ui_pages;
mod ui_two_terminals;
mod wire;
