//! Tests of `body`.
