//! The terminal UI: a client of `trait Sessions` and of nothing else, so that the same screen works on a session in
//! this process, in the background host or on another machine.
//!
//! - [`app`]: the state of the screen. Items of the session and keys go in, a [`frame::Frame`] and [`app::AppEffect`]s come
//!   out. Pure code without I/O or clock.
//! - [`transcript`]: what happened, as blocks that render to rows.
//! - [`composer`]: the draft of the next message: editing, history, completion.
//! - [`asks`]: the questions that wait. Typed text never answers one.
//! - [`overlay`]: pickers, pagers and help above the composer.
//! - [`keymap`]: which key does what.
//! - [`history`], [`drafts`]: messages sent before and unsent drafts, on disk; [`files`]: the files that `@` offers.
//! - [`slash`]: the table of `/` commands.
//! - [`pages`]: texts that the program around the client provides.
//! - [`status`]: the status line.
//! - [`screen`]: writes frames to a terminal. Finished rows are printed once, and only the live region is redrawn.
//! - [`feed`]: durable and live items of a session in one order.
//! - [`client`]: the loop: reads keys and items, draws, carries out effects.
//!
//! A *row* is painted text without a line break, at most as wide as the terminal, with SGR and OSC 8 sequences only.
//! Invariants: untrusted text is neutralised by `lariat_terminal` before it is part of a row; nothing is written while
//! nothing changes; the draft is on disk before the program can lose it.

pub mod app;
pub mod asks;
mod attachments;
pub mod client;
pub mod composer;
mod disk;
pub mod drafts;
pub mod feed;
pub mod files;
pub mod frame;
mod fuzzy;
pub mod history;
pub mod keymap;
mod machine;
pub mod overlay;
pub mod pages;
mod resources;
pub mod screen;
pub mod slash;
pub mod status;
pub mod symbols;
#[cfg(test)]
mod test_folder;
pub mod transcript;
