//! Builds requests from random histories with every protocol's request builder; the strict validators must
//! not reject any.
//!
//! A history looks like after long use: replies of many models, cancelled and crashed turns, compaction,
//! forks, changes of the model (`story`). Each is sent to one random model per protocol, with random
//! parameters (`requests`).
//! Invariant: everything is a function of the seed.

mod generator;
mod replies;
mod requests;

use std::fmt;
use std::sync::Arc;

use lariat_core::message::SharedMessage;
use lariat_core::model::{ModelConfig, RequestMemo, StreamConfig};
use lariat_core::transcript::{Transcript, Window};
use lariat_model::wire::OutgoingRequest;
use lariat_test::SeededRandom;

use super::protocol;
use crate::server::{Wire, validate};

/// A request that its provider would reject, or whose body depends on how it was built.
#[derive(Clone, Debug)]
pub struct Rejection {
    /// Seed of the history.
    pub seed: u64,
    /// Protocol.
    pub wire: Wire,
    /// The model of the request.
    pub model: String,
    /// What is wrong.
    pub problem: String,
    /// The body, if there is one.
    pub body: String,
}

impl fmt::Display for Rejection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, wire, model, problem, body } = self;
        write!(formatter, "seed {seed}, {} with {model}: {problem}\n{body}", wire.name())
    }
}

/// Totals of one history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Requests that were built.
    pub requests: u64,
    /// Messages in the history.
    pub messages: u64,
    /// Bytes of the bodies that were checked.
    pub bytes: u64,
}

/// Generates histories and checks them. Create it once: it decodes the replies that histories consist of.
#[derive(Debug)]
pub struct Histories {
    replies: replies::Replies,
}

impl Default for Histories {
    fn default() -> Self {
        Self { replies: replies::Replies::decoded() }
    }
}

impl Histories {
    /// The history of a seed.
    pub fn transcript(&self, seed: u64) -> Transcript {
        generator::transcript(&self.replies, &mut SeededRandom::new(seed))
    }

    /// The problem of the request that a protocol builds from a conversation for a random model, if any.
    pub fn rejection(&self, wire: Wire, window: Window, seed: u64) -> Option<Rejection> {
        let config = requests::config(wire, window, &mut SeededRandom::new(seed).fork(wire.name()));
        let (problem, body) = fresh(wire, &config).err()?;
        Some(Rejection { seed, wire, model: config.model_config.id.clone(), problem, body })
    }

    /// Builds the history of a seed for every protocol. Returns the rejections, at most one per protocol.
    pub fn check(&self, seed: u64) -> (Tally, Vec<Rejection>) {
        let transcript = self.transcript(seed);
        let mut tally = Tally { messages: transcript.len() as u64, ..Tally::default() };
        let mut rejections = Vec::new();
        for wire in Wire::ALL {
            let mut dice = SeededRandom::new(seed).fork(wire.name());
            let config = requests::config(wire, transcript.window(), &mut dice);
            match ask(wire, &config, &mut dice) {
                Ok((requests, bytes)) => {
                    tally.requests += requests;
                    tally.bytes += bytes;
                }
                Err((problem, body)) => {
                    let model = config.model_config.id.clone();
                    rejections.push(Rejection { seed, wire, model, problem, body });
                }
            }
        }
        (tally, rejections)
    }
}

/// Number of requests built and bytes checked; or the problem and the body.
fn ask(wire: Wire, config: &StreamConfig, dice: &mut SeededRandom) -> Result<(u64, u64), (String, String)> {
    let fresh = fresh(wire, config)?;
    let (built, grown) = grow(wire, config, dice).map_err(refused)?;
    if grown.body != fresh.body {
        let both = format!("at once:  {}\nappended: {}", shown(&fresh), shown(&grown));
        return Err(("the body depends on how it was built".to_owned(), both));
    }
    Ok((built + 1, fresh.body.len() as u64))
}

fn refused(error: lariat_core::model::ProviderError) -> (String, String) {
    (error.to_string(), String::new())
}

/// The request, if its provider accepts it; or the problem and the body.
fn fresh(wire: Wire, config: &StreamConfig) -> Result<OutgoingRequest, (String, String)> {
    let fresh = protocol(wire).request(config).map_err(refused)?;
    let body = serde_json::from_slice(&fresh.body).map_err(|error| (error.to_string(), shown(&fresh)))?;
    match validate::body(wire, &config.model_config.id, &body).first() {
        Some(problem) => Err((problem.to_string(), format!("{body:#}"))),
        None => Ok(fresh),
    }
}

fn shown(outgoing: &OutgoingRequest) -> String {
    String::from_utf8_lossy(&outgoing.body).into_owned()
}

/// Builds the same request after earlier requests of the growing conversation, all with one memo.
fn grow(
    wire: Wire,
    config: &StreamConfig,
    dice: &mut SeededRandom,
) -> Result<(u64, OutgoingRequest), lariat_core::model::ProviderError> {
    let memo = RequestMemo::default();
    let mut growing = Transcript::new();
    let mut built = 0;
    let ask = |window: Window, dice: &mut SeededRandom| {
        let mut earlier = requests::config(wire, window, dice);
        if dice.chance(80) {
            // Usually the same model, so that the memo is used.
            earlier.model_config = Arc::clone(&config.model_config);
        }
        earlier.memo = memo.clone();
        protocol(wire).request(&earlier)
    };
    for (first, results) in steps(&config.messages) {
        push(&mut growing, first, results);
        if dice.chance(40)
            && let Ok(window) = growing.request()
        {
            ask(window, dice)?;
            built += 1;
        }
    }
    // The last messages are the same objects only if the conversation was grown to its end.
    let mut config = config.clone();
    (config.messages, config.memo) = (growing.window(), memo);
    Ok((built + 1, protocol(wire).request(&config)?))
}

/// A conversation as the steps in which it was made: a message, and the results of its tool calls.
fn steps(window: &Window) -> Vec<(SharedMessage, Vec<SharedMessage>)> {
    let mut steps: Vec<(SharedMessage, Vec<SharedMessage>)> = Vec::new();
    for message in window.iter() {
        match steps.last_mut() {
            Some((_, results)) if message.as_tool_result().is_some() => results.push(Arc::clone(message)),
            _ => steps.push((Arc::clone(message), Vec::new())),
        }
    }
    steps
}

fn push(transcript: &mut Transcript, first: SharedMessage, results: Vec<SharedMessage>) {
    let pushed = if first.as_user().is_some() {
        transcript.push_user(first)
    } else if first.as_assistant().is_some() {
        transcript.push_exchange(first, results)
    } else {
        transcript.push_extension(first)
    };
    debug_assert!(pushed.is_ok(), "a step of a transcript fits one: {pushed:?}");
}

/// The identity of the model that wrote a reply or receives a request.
fn model_config(author: &requests::Author) -> ModelConfig {
    let mut model = super::model(author.wire, "http://127.0.0.1");
    (model.id, model.name) = (author.id.to_owned(), author.id.to_owned());
    model.provider = author.provider.to_owned();
    model.reasoning = author.reasoning;
    model
}

#[cfg(test)]
mod tests {
    use super::Histories;

    #[test]
    fn no_random_history_is_rejected_by_any_protocol() {
        let histories = Histories::default();
        for seed in 0..150 {
            let (tally, rejections) = histories.check(seed);
            assert!(rejections.is_empty(), "{}", rejections[0]);
            assert!(tally.requests >= 14, "{tally:?}");
        }
    }

    #[test]
    fn equal_seeds_give_equal_histories() {
        let histories = Histories::default();
        assert_eq!(histories.check(7).0, Histories::default().check(7).0);
    }
}
