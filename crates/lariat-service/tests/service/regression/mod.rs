//! Tests for bugs that lay between the crates of a session and were fixed; each says the fault.

mod patches;
mod tools;
