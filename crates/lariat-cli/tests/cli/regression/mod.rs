//! One test for each bug that the program had, named after what went wrong.
//!
//! Each test runs the real program, and failed before the fix it belongs to.

mod commands;
mod embed;
mod files;
mod hooks;
mod running;
mod sandbox;
mod settings;
mod shell;
