//! lariat-runtime

pub mod memory;
pub mod system;
