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
                outcome(decoder(wire, &request(wire, "http://127.0.0.1")), std::iter::once(body.as_slice()))
            };
            let plain = made(Variant::Lf);
            Variant::of(wire)
                .iter()
                .for_each(|variant| assert_eq!(made(*variant), plain, "{wire:?} {variant:?}"));
        }
    }
}
