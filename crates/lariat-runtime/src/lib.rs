//! lariat-runtime

pub mod memory;
