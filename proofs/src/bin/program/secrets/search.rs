//! Finds canaries in everything that the program left, printed or sent.
//!
//! A canary is found as it is and in base64. It may be where it belongs; every other sighting is a fault.

use lariat_proofs::server::base64;

use super::canary::Canary;
use super::recorder::Part;

/// Characters of base64 that a canary determines, wherever in the encoded text it begins.
const CERTAIN: usize = 24;

/// The canaries that are where they do not belong.
pub(super) fn sightings(all: &[Canary], parts: &[Part]) -> Vec<String> {
    let mut found = Vec::new();
    for canary in all {
        let forms = forms(&canary.core);
        for (place, bytes) in parts {
            if canary.belongs.iter().any(|belongs| place.starts_with(belongs)) {
                continue;
            }
            if let Some(at) = forms.iter().find_map(|form| position(bytes, form.as_bytes())) {
                let before = bytes.get(at.saturating_sub(60)..at).unwrap_or_default();
                let before = String::from_utf8_lossy(before).replace('\n', " ");
                found.push(format!("{} ({}) in {place}, after `{before}`", canary.core, canary.name));
            }
        }
    }
    found
}

/// The canary itself, and the inner part of its base64 at each of the three alignments.
fn forms(core: &str) -> Vec<String> {
    let mut forms = vec![core.to_owned()];
    for shift in 0..3 {
        let coded = base64::encode(format!("{}{core}", "x".repeat(shift)).as_bytes());
        forms.extend(coded.get(4..4 + CERTAIN).map(str::to_owned));
    }
    forms
}

fn position(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    let first = *wanted.first()?;
    let mut from = 0;
    while let Some(at) = bytes.get(from..)?.iter().position(|byte| *byte == first) {
        if bytes.get(from + at..).is_some_and(|rest| rest.starts_with(wanted)) {
            return Some(from + at);
        }
        from += at + 1;
    }
    None
}
