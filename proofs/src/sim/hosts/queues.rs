//! Checks the messages of a session: which prompts arrived, in which order the queue was delivered, and who changed it.

use std::collections::HashMap;

use lariat_api::Action;
use lariat_core::content::joined_text;
use lariat_core::event::{AgentEvent, Event, QueueKind};
use lariat_core::id::MessageId;
use lariat_core::message::AgentMessage;

use super::super::violation::Violation;
use super::commands::{SentCommand, command_of};

/// How often a prompt of a client occurs in a journal.
#[derive(Default)]
struct Tally {
    /// As the prompt of a run.
    direct: usize,
    queued: usize,
    removed: usize,
    /// From a queue.
    delivered: usize,
}

/// Checks a session at rest. `sent` are the commands that clients sent to it.
pub(super) fn check(events: &[Event], sent: &[SentCommand]) -> Result<(), Violation> {
    let mut tallies: HashMap<String, Tally> = HashMap::new();
    let mut texts: HashMap<MessageId, String> = HashMap::new();
    let mut waiting: Vec<(QueueKind, MessageId)> = Vec::new();
    for (at, event) in events.iter().enumerate() {
        match &event.event {
            AgentEvent::MessageQueued { queue, message } => {
                waiting.push((*queue, message.id()));
                let Some(text) = prompt_text(message) else { continue };
                tallies.entry(text.clone()).or_default().queued += 1;
                texts.insert(message.id(), text);
            }
            AgentEvent::MessageUnqueued { message_id } => {
                check_edit(events, at)?;
                waiting.retain(|(_, id)| id != message_id);
                if let Some(text) = texts.get(message_id) {
                    tallies.entry(text.clone()).or_default().removed += 1;
                }
            }
            AgentEvent::MessageEnd { message } => {
                let place = waiting.iter().position(|(_, id)| *id == message.id());
                if let Some(place) = place {
                    let (queue, id) = waiting.remove(place);
                    let overtaken = waiting.iter().take(place).any(|(other, _)| *other == queue);
                    if overtaken {
                        return Err(Violation::WrongOrder(format!("{id} was delivered before its turn")));
                    }
                    if let Some(text) = texts.get(&id) {
                        tallies.entry(text.clone()).or_default().delivered += 1;
                    }
                } else if let Some(text) = message.shared().and_then(|message| prompt_text(message)) {
                    tallies.entry(text).or_default().direct += 1;
                }
            }
            _ => {}
        }
    }
    for (text, tally) in &tallies {
        if tally.direct + tally.delivered > 1 {
            return Err(Violation::CommandTwice(format!("the prompt {text} is in the conversation twice")));
        }
        if tally.queued != tally.removed + tally.delivered {
            return Err(Violation::LostText(format!("{text} left the queue and was not delivered")));
        }
    }
    let acknowledged = sent.iter().filter(|sent| sent.receipt.is_some());
    acknowledged.into_iter().try_for_each(|sent| {
        if let Action::Prompt { content, .. } = &sent.command.action {
            let text = joined_text(&content.0);
            if tallies.get(&text).is_none_or(|tally| tally.direct + tally.queued == 0) {
                return Err(Violation::LostText(format!("{text} of {} never arrived", sent.command.id)));
            }
        }
        check_order(events, sent)
    })
}

/// Checks that a message leaves the queue because a command changed the queue: both are one write.
fn check_edit(events: &[Event], at: usize) -> Result<(), Violation> {
    let before = events.iter().take(at).rev();
    let cause = before.into_iter().find(|event| !is_edit(event));
    if cause.and_then(command_of).is_some_and(|command| command.action == "editQueue") {
        return Ok(());
    }
    Err(Violation::WrongJournal(format!("event {at}: a message left the queue without a command")))
}

fn is_edit(event: &Event) -> bool {
    matches!(event.event, AgentEvent::MessageQueued { .. } | AgentEvent::MessageUnqueued { .. })
}

/// Checks that the queue has the order that an acknowledged command asked for.
fn check_order(events: &[Event], sent: &SentCommand) -> Result<(), Violation> {
    let Some(seq) = sent.receipt.filter(|_| !sent.order.is_empty()) else { return Ok(()) };
    let place = usize::try_from(seq).unwrap_or(usize::MAX);
    let edits = events.iter().skip(place.saturating_add(1)).take_while(|event| is_edit(event));
    let mut queued: Vec<(bool, String)> = edits
        .take(2 * sent.order.len())
        .filter_map(|event| match &event.event {
            AgentEvent::MessageQueued { queue, message } => {
                Some((*queue != QueueKind::Steering, prompt_text(message)?))
            }
            _ => None,
        })
        .collect();
    queued.sort_by_key(|(is_later, _)| *is_later);
    let order: Vec<String> = queued.into_iter().map(|(_, text)| text).collect();
    if order == sent.order {
        return Ok(());
    }
    let id = &sent.command.id;
    Err(Violation::WrongOrder(format!("{id} asked for {:?}, the queue is {order:?}", sent.order)))
}

/// The text of a prompt of a client. All of them are unique.
fn prompt_text(message: &AgentMessage) -> Option<String> {
    let text = joined_text(&message.as_user()?.content);
    text.starts_with("[p").then_some(text)
}
