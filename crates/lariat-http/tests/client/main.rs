//! Tests the client on real sockets.
#![expect(clippy::indexing_slicing, clippy::unwrap_used, reason = "helpers outside `#[test]` are tests too")]

mod addresses;
