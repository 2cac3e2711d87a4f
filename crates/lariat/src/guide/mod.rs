//! Guides: one program each, shorter than forty lines, and what it prints.
//!
//! The programs are the files of `crates/lariat/examples`; every one of them is built and run by the checks, without a key
//! and without a network. [`embed`] an agent, write a [`tool`], ask for an answer of a type ([`typed`]), write a [`provider`],
//! write a [`store`], step in with [`hooks`].

pub mod embed;
pub mod hooks;
pub mod provider;
pub mod store;
#[cfg(feature = "typed")]
pub mod tool;
#[cfg(feature = "typed")]
pub mod typed;
