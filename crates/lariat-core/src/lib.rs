//! lariat-core
