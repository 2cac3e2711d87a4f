//! The guard from outside: settings and calls in, judgements out.
#![expect(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers outside of `#[test]` are tests too, and one of them measures time"
)]

mod cost;
mod properties;
mod rules;
