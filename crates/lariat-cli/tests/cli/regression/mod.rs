//! Regression tests: each runs the real program, and failed before its bug was fixed.

mod commands;
mod embed;
mod files;
mod hooks;
mod running;
mod sandbox;
mod secrets;
mod settings;
mod shell;
