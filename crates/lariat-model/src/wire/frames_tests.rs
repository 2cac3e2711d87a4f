//! Tests of `frames`.
