//! Code that all protocols share: building requests, decoding streams and classifying failures.
//!
//! [`OutgoingRequest`] is an HTTP request and [`Failure`] a response that is not a stream. A [`Decoder`] turns a
//! body into events: a framing ([`sse`] or the binary `frames` of AWS) splits it into frames, a protocol's
//! [`StreamInterpreter`] reads each frame and adds what it read to a [`Reply`]. [`Body`] builds a request by
//! appending to the previous one. [`CallIds`] converts tool call ids to the form that a provider accepts.
//! Invariant: everything here has bounded memory and runs in linear time.

mod body;
mod call_ids;
pub(crate) mod counting;
mod decoder;
mod failure;
#[cfg(feature = "bedrock")]
pub mod frames;
mod outgoing;
mod overflow;
mod reply;
pub mod sse;

pub use body::{Body, Conversation, ItemWriter, is_own_reply};
pub use call_ids::{CallIds, IdRule};
pub use decoder::{Decoder, Frame, FrameKind, Framing, StreamInterpreter};
pub use failure::{Failure, error_message, retry_after};
pub use outgoing::{Auth, ListedModel, OutgoingRequest};
pub use overflow::is_overflow;
pub use reply::Reply;
