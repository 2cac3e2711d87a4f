//! Guides: one complete program each, shorter than forty lines, with its output.
//!
//! The programs are the files in `crates/lariat/examples`. The checks build and run each of them, without an
//! API key and without a network. Learn to [`embed`] an agent, write a [`tool`], ask for a typed answer
//! ([`typed`]), write a [`provider`], write a [`store`], intercept with [`hooks`], delegate to sub-agents ([`sub_agent`]),
//! let several agents answer at once ([`branches`]), and let one agent judge the work of another ([`actor_critic`]).

#[cfg(feature = "typed")]
pub mod actor_critic;
pub mod branches;
pub mod embed;
pub mod hooks;
pub mod provider;
pub mod store;
pub mod sub_agent;
#[cfg(feature = "typed")]
pub mod tool;
#[cfg(feature = "typed")]
pub mod typed;
