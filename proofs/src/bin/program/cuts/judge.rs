//! Judges a conversation that ended: what ran is what the model declared, once.

use std::collections::BTreeMap;

use super::conversation::{Conversation, STAGES, SentCall};

/// What a finished conversation must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    /// All calls ran.
    Everything,
    /// A kill may have prevented calls.
    AtMostOnce,
}

/// Everything that is wrong with a conversation.
pub(crate) fn judge(conversation: &Conversation, expected: Expected) -> Vec<String> {
    let executions = conversation.executions();
    let observed = conversation.observed();
    let mut faults = observed.faults.clone();
    let mut times: BTreeMap<&str, usize> = BTreeMap::new();
    // The attempts whose calls ran, by stage.
    let mut ran: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (id, entry) in &executions {
        let count = times.entry(id).or_default();
        *count += 1;
        if *count > 1 {
            faults.push(format!("{id} ran {count} times"));
        }
        let Some(call) = observed.sent.iter().find(|call| call.id == *id) else {
            faults.push(format!("{id} ran, which the model never sent"));
            continue;
        };
        ran.entry(call.stage).or_default().push(call.attempt);
        if !call.is_declared {
            faults.push(format!("{id} ran although its reply was cut before it was complete"));
        }
        if call.entry != *entry {
            faults.push(format!("{id} ran with {entry} instead of {}", call.entry));
        }
    }
    for stage in 1..=STAGES {
        let mut attempts = ran.remove(&stage).unwrap_or_default();
        let count = attempts.len();
        attempts.dedup();
        let wanted = |attempt: &usize| {
            let of = |call: &&SentCall| call.stage == stage && call.attempt == *attempt;
            observed.sent.iter().filter(of).count()
        };
        match attempts.as_slice() {
            [attempt] if expected == Expected::AtMostOnce || count == wanted(attempt) => {}
            [] if expected == Expected::AtMostOnce => {}
            _ => faults.push(format!("{count} calls of reply {stage} ran, of its attempts {attempts:?}")),
        }
    }
    if expected == Expected::Everything {
        for (at, attempts) in observed.attempts.iter().enumerate() {
            let is_cut = conversation.cut.is_some_and(|cut| cut.stage == at + 1);
            if *attempts == 0 || *attempts > 1 + usize::from(is_cut) {
                faults.push(format!("reply {} was requested {attempts} times", at + 1));
            }
        }
    }
    faults
}
