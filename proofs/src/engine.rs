//! Parts of the engine for end-to-end tests of crates that must not depend on it, such as the command line: they look at the
//! stores and claims that a program left, start programs in a terminal, and connect to its MCP server.

pub use lariat_connect::mcp;
pub use lariat_guard::Claims;
pub use lariat_host::process;
pub use lariat_model::http;
pub use lariat_runtime::Agent;
pub use lariat_sessions::ViewFold;
pub use lariat_store::sqlite::SqliteStore;
pub use lariat_store::{StoreOptions, archive_file};
