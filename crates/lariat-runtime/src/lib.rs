//! lariat-runtime

pub mod memory;
pub mod observe;
pub mod system;
