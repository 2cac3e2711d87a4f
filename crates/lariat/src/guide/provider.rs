//! Write a provider.
//!
//! A [`StreamProvider`](crate::StreamProvider) turns a request into a stream of events: `Start`, pieces, `Done`. It makes one attempt
//! and says exactly what happened; retries, fallbacks, deadlines and the journal are the loop's.
//!
//! ```no_run
#![doc = include_str!("../../examples/provider.rs")]
//! ```
//!
//! It prints:
//!
//! ```text
//! [Nobody ][is ][here ][but ][us.]
//! 27 tokens, Completed
//! ```
//!
//! - A stream that ends without `Done` is a broken one, and the call is made again: so a provider need not tell a closed
//!   connection apart from anything.
//! - The kind of a [`ProviderError`](crate::ProviderError) decides what is done: the network's and rate limits are tried again, an
//!   overflow is compacted, a refused key ends the run.
//! - A tool call comes whole, as `ToolCallEnd`; pieces of it before that are for people who watch.
//! - [`StreamConfig`](crate::StreamConfig) has everything that is to be sent: conversation, tools, system prompt, the form of the answer.
