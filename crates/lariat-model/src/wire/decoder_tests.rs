//! Tests of `decoder`.
