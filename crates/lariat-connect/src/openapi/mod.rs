//! Turns the operations of an OpenAPI document into tools.
//!
//! - [`OpenApiDocument`]: a document of OpenAPI 3.0 or 3.1, in JSON or YAML. [`OpenApiDocument::operations`] lists what it
//!   offers, and why some operations cannot be tools.
//! - [`Operation`]: one operation, with everything that a request needs. It no longer needs the document.
//! - [`OpenApiAdapter`]: one operation as a tool of an agent.
//! - [`OpenApiConfig`], [`OpenApiAuth`], [`OperationFilter`]: where requests go, with which credential, and which operations
//!   become tools.
//!
//! A document is untrusted: its size, its references and its schemas are bounded, its text is neutralised, and it never
//! decides where a credential goes. Invariant: every request goes to the scheme, host and port of the base address, and
//! beneath its path, except where that server redirects a request that reads; no redirect leads to another server.

mod adapter;
mod address;
mod config;
mod document;
mod download;
mod error;
mod filter;
mod names;
mod operation;
mod request;
mod schema;
mod send;
mod style;

pub use adapter::OpenApiAdapter;
pub use address::{InternalAddresses, is_same_host};
pub use config::{OpenApiAuth, OpenApiConfig, OperationEffects};
pub use document::{MAX_DOCUMENT, OpenApiDocument};
pub use error::OpenApiError;
pub use filter::OperationFilter;
pub use operation::{Operation, OperationList};
