//! lariat-runtime
