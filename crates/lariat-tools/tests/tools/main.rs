//! The tools from outside: what a model sends, what it gets back, what the files are afterwards.

mod commands;
#[cfg(feature = "fetch")]
mod fetching;
mod finding;
mod ground;
mod scenarios;
mod speed;
mod talking;
