//! Tests of `sse`.
