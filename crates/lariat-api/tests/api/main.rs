//! Tests of the protocol's types: what crosses a process boundary, and what must survive it.

#![allow(clippy::disallowed_methods, reason = "the test reads and writes the checked-in schemas")]

mod schemas;
mod unknown_variants;
