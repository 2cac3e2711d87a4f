//! Write a provider, to connect a model that Lariat does not support.
//!
//! A [`StreamProvider`](crate::StreamProvider) turns a request into a stream of events: `Start`, chunks,
//! `Done`. It makes one attempt and reports exactly what happened. The loop does the rest: retries, fallback
//! models, deadlines and the journal.
//!
//! ```no_run
#![doc = include_str!("../../examples/provider.rs")]
//! ```
//!
//! It prints:
//!
//! ```text
//! Repeat these words to me.
//! 30 tokens, Completed
//! ```
//!
//! - The loop treats a stream that ends without `Done` as broken and retries the request. A provider need not
//!   tell a closed connection from any other failure.
//! - The kind of a [`ProviderError`](crate::model::ProviderError) decides what the loop does: it retries network
//!   errors and rate limits, compacts the conversation after an overflow, and ends the run if the provider
//!   rejects the key.
//! - Send each tool call complete, as `ToolCallEnd`. Chunks of it before that are only for observers.
//! - [`StreamConfig`](crate::model::StreamConfig) contains everything to send: conversation, tools, system prompt
//!   and the schema of the answer.
