//! What a rewind left behind: a second, simple fold of a journal, which shares no code with the product.
//!
//! Every message follows the one before it, or the one that the user went back to. The messages on the way back from the newest one
//! are the conversation; all others are left behind.

use std::collections::{HashMap, HashSet};

use lariat_core::event::{AgentEvent, Event};
use lariat_core::id::MessageId;

/// The prompts and replies of a journal that are not part of its conversation any more.
pub(super) fn left_behind(events: &[Event]) -> HashSet<MessageId> {
    if !events.iter().any(|event| matches!(event.event, AgentEvent::Rewound { .. })) {
        return HashSet::new();
    }
    let mut before: HashMap<MessageId, Option<MessageId>> = HashMap::new();
    let mut speakers: HashSet<MessageId> = HashSet::new();
    let mut tip = None;
    for event in events {
        match &event.event {
            AgentEvent::MessageEnd { message } => {
                let id = message.id();
                // The results of a reply stay with it, so only those who speak are compared.
                if message.shared().is_none_or(|message| message.as_tool_result().is_none()) {
                    speakers.insert(id);
                }
                before.entry(id).or_insert(tip);
                tip = Some(id);
            }
            AgentEvent::Rewound { tip: to } => tip = *to,
            _ => {}
        }
    }
    let mut next = tip;
    while let Some(id) = next {
        speakers.remove(&id);
        // A message that no event added has nothing before it.
        next = before.remove(&id).flatten();
    }
    speakers
}
