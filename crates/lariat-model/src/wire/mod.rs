//! What all protocols have in common on the wire.
//!
//! [`Outgoing`] and [`Failure`] are the two ends of an HTTP exchange; [`Decoder`] turns a body into events through a
//! framing ([`sse`] or the binary [`frames`] of AWS) and a protocol's [`Interpret`]; [`Reply`] is where an interpreter
//! puts what it understood; [`Body`] builds a request by appending to the last one; [`CallIds`] fits ids to a service.
//! Owns no protocol. Invariant: everything here is bounded and costs linear time.

mod body;
mod call_ids;
pub(crate) mod counting;
mod decoder;
mod failure;
pub mod frames;
mod outgoing;
mod overflow;
mod reply;
pub mod sse;

pub use body::{Body, Conversation, Opened, own_reply};
pub use call_ids::{CallIds, IdRule};
pub use decoder::{Decoder, Frame, FrameKind, Framing, Interpret};
pub use failure::{Failure, retry_after, words};
pub use outgoing::{Auth, ListedModel, Outgoing};
pub use overflow::is_overflow;
pub use reply::Reply;
