//! Feeds a stream in all splits: the events must not change.
//!
//! Tries all splits in two, random splits in many, and compares with the stream fed at once.

use lariat_core::model::{ProviderError, StreamConfig, StreamEvent};
use lariat_model::wire::Decoder;
use lariat_test::SeededRandom;

use super::corpus::{Variant, stream};
use super::{protocol, request};
use crate::server::Wire;

/// What a decoder made of a stream: its events, then the failure that ended it, if any.
type Outcome = (Vec<StreamEvent>, Option<ProviderError>);

/// A split that changed the events.
#[derive(Clone, Debug)]
pub struct Difference {
    /// Protocol.
    pub wire: Wire,
    /// Seed of the stream.
    pub seed: u64,
    /// The line format.
    pub variant: Variant,
    /// The positions of the splits.
    pub cuts: Vec<usize>,
}

/// Totals of one stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Number of splits.
    pub splits: u64,
    /// Events of the stream.
    pub events: u64,
    /// 1 if the stream ended in a failure: some scripted turns do (an empty reply).
    pub failures: u64,
}

/// Feeds one stream in all splits in two, and in `random` splits in many.
///
/// # Errors
/// Returns the first split that gives other events than the stream fed at once.
pub fn check(wire: Wire, seed: u64, variant: Variant, random: usize) -> Result<Tally, Box<Difference>> {
    let (body, request) = (stream(wire, seed, variant), request(wire, "http://127.0.0.1"));
    let expected = outcome(decoder(wire, &request), std::iter::once(body.as_slice()));
    let differs = |cuts: Vec<usize>| Box::new(Difference { wire, seed, variant, cuts });
    for at in 0..=body.len() {
        let (left, right) = body.split_at_checked(at).unwrap_or((&body, &[]));
        if !gives(decoder(wire, &request), [left, right].into_iter(), &expected) {
            return Err(differs(vec![at]));
        }
    }
    let mut dice = SeededRandom::new(seed).fork("cuts");
    for _ in 0..random {
        let mut cuts: Vec<usize> = (0..2 + dice.index(30)).map(|_| dice.index(body.len() + 1)).collect();
        cuts.sort_unstable();
        if !gives(decoder(wire, &request), pieces(&body, &cuts), &expected) {
            return Err(differs(cuts));
        }
    }
    if !gives(decoder(wire, &request), body.chunks(1), &expected) {
        return Err(differs((0..body.len()).collect()));
    }
    Ok(Tally {
        splits: body.len() as u64 + random as u64 + 2,
        events: expected.0.len() as u64,
        failures: u64::from(expected.1.is_some()),
    })
}

fn decoder(wire: Wire, request: &StreamConfig) -> Decoder {
    protocol(wire).decoder(request)
}

pub(super) fn pieces<'a>(body: &'a [u8], cuts: &'a [usize]) -> impl Iterator<Item = &'a [u8]> {
    let starts = std::iter::once(0).chain(cuts.iter().copied());
    let ends = cuts.iter().copied().chain(std::iter::once(body.len()));
    starts.zip(ends).map(|(start, end)| body.get(start..end).unwrap_or_default())
}

/// What a decoder makes of a body in chunks.
pub fn outcome<'a>(mut decoder: Decoder, pieces: impl Iterator<Item = &'a [u8]>) -> Outcome {
    let mut events = Vec::new();
    for piece in pieces {
        let fed = decoder.feed(piece);
        while let Some(event) = decoder.next_event() {
            events.push(event);
        }
        if let Err(error) = fed {
            return (events, Some(error));
        }
    }
    let ended = decoder.end();
    events.extend(std::iter::from_fn(|| decoder.next_event()));
    (events, ended.err())
}

/// Whether a decoder makes exactly this of a body in chunks. Compares events as they arrive, without
/// collecting them.
fn gives<'a>(mut decoder: Decoder, pieces: impl Iterator<Item = &'a [u8]>, expected: &Outcome) -> bool {
    let mut left = expected.0.iter();
    let mut failed = None;
    for piece in pieces {
        failed = decoder.feed(piece).err();
        while let Some(event) = decoder.next_event() {
            if left.next() != Some(&event) {
                return false;
            }
        }
        if failed.is_some() {
            break;
        }
    }
    let failed = failed.or_else(|| decoder.end().err());
    while let Some(event) = decoder.next_event() {
        if left.next() != Some(&event) {
            return false;
        }
    }
    left.next().is_none() && failed == expected.1
}

#[cfg(test)]
mod tests {
    //! Tests of `splits`, and a small run of the proof.

    use super::*;

    #[test]
    fn no_split_changes_the_events_of_a_stream() {
        for wire in Wire::ALL {
            for variant in Variant::of(wire) {
                for seed in 0..1 {
                    let tally =
                        check(wire, seed, *variant, 5).unwrap_or_else(|difference| panic!("{difference:?}"));
                    assert!(tally.events > 0, "{wire:?} {seed}");
                }
            }
        }
    }

    #[test]
    fn all_line_ends_give_the_same_events() {
        for wire in Wire::ALL.into_iter().filter(|wire| wire.is_sse()) {
            for seed in 0..8 {
                let made = |variant| {
                    let body = stream(wire, seed, variant);
                    outcome(
                        decoder(wire, &request(wire, "http://127.0.0.1")),
                        std::iter::once(body.as_slice()),
                    )
                };
                let plain = made(Variant::Lf);
                Variant::of(wire)
                    .iter()
                    .for_each(|variant| assert_eq!(made(*variant), plain, "{wire:?} {variant:?}"));
            }
        }
    }
}
