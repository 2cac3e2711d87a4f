//! Tests the guard through its public interface: settings and tool calls in, decisions out.
#![expect(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers outside `#[test]` are tests too, and one of them measures time"
)]

mod cost;
mod properties;
mod rules;
