//! Sends requests for all protocols: moves bytes, enforces deadlines and attaches keys.
//!
//! [`HttpProvider`] runs a [`Protocol`](crate::Protocol) on a [`Transport`]; [`HttpClient`] of `lariat-http` is the
//! real transport. Each request is an `exchange`: open, read and decode until the reply is complete or one of the
//! [`Deadlines`] passes.
//! Invariant: every exchange ends, and a key leaves this module only in a request header.

#[cfg(feature = "aws")]
pub mod aws;
mod clock;
mod credentials;
mod deadlines;
mod exchange;
#[cfg(feature = "google")]
pub mod google;
mod json_post;
mod provider;
mod redact;
#[cfg(feature = "bedrock")]
mod sign;

pub use credentials::{AwsKeys, ConfiguredKey, CredentialSource, Secret};
pub use deadlines::Deadlines;
pub use json_post::{Post, PostError, post};
pub use lariat_http::{BodyStream, ClientConfig, HttpClient, HttpResponse, Transport, TransportError};
pub use provider::HttpProvider;
