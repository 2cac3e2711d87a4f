//! Tests tools made of OpenAPI documents: exact requests against a server on this machine, hostile documents, and real
//! documents of public APIs.

#![allow(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests check the system without going through the crate"
)]

mod credentials;
mod hostile;
mod real_documents;
mod requests;
mod support;
