//! Tests of `failure`.
