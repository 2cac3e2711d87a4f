//! The rules for every compaction. They examine the conversation itself, not the code that decided.

use std::collections::HashMap;

use lariat_core::config::ContextConfig;
use lariat_core::content::Content;
use lariat_core::context::{CompactionQuery, Recall, message_tokens};
use lariat_core::event::{AgentEvent, CompactionEdit, Event, EventRecord};
use lariat_core::id::{EventId, MessageId};
use lariat_core::message::{AgentMessage, Message, Origin, SharedMessage};
use lariat_core::session::SessionFold;
use lariat_core::transcript::Transcript;

use super::mistake::Mistake;
use super::scene::{Scene, conversation};
use crate::server::Wire;
use crate::wire::histories::Histories;

/// An applied compaction.
pub(super) struct AppliedCompaction<'a> {
    pub(super) scene: &'a Scene,
    pub(super) query: &'a CompactionQuery,
    pub(super) edits: &'a [CompactionEdit],
    pub(super) transcript: &'a Transcript,
}

/// Checks that a proposal was rejected only because it saves too little.
pub(super) fn refusal(reason: &str) -> Result<(), String> {
    let fair = reason.starts_with("it would shrink only") || reason.starts_with("there is nothing left");
    if fair { Ok(()) } else { Err(format!("a proposal was rejected: {reason}")) }
}

impl AppliedCompaction<'_> {
    fn before(&self) -> Vec<SharedMessage> {
        self.scene.transcript.window().iter().cloned().collect()
    }

    fn after(&self) -> HashMap<MessageId, SharedMessage> {
        self.transcript.window().iter().map(|message| (message.id(), message.clone())).collect()
    }

    pub(super) fn is_smaller(&self) -> Result<(), String> {
        let system = self.query.config.system_prompt_tokens as u64;
        let tokens = |transcript: &Transcript| {
            system + transcript.window().iter().map(|message| message_tokens(message)).sum::<u64>()
        };
        let (before, after) = (tokens(&self.scene.transcript), tokens(self.transcript));
        let fits = after * 5 <= before * 4;
        if fits { Ok(()) } else { Err(format!("it went from {before} to {after} tokens only")) }
    }

    pub(super) fn keeps_what_must_stay(&self) -> Result<(), String> {
        let (before, config) = (self.before(), &self.query.config);
        let tail = recent_tail(&before, config);
        let stays = |at: usize, message: &AgentMessage| {
            let origin = message.as_user().map(|user| &user.origin);
            origin == Some(&Origin::Person)
                || self.query.pins.contains(&message.id())
                || at >= tail
                || at < config.keep_first && origin != Some(&Origin::Summary)
        };
        let must =
            before.iter().enumerate().filter(|(at, message)| stays(*at, message)).map(|(_, message)| message);
        let left = self.transcript.window();
        let mut rest: Vec<&SharedMessage> = left.iter().collect();
        rest.reverse();
        for message in must {
            // In the same order, each unchanged.
            loop {
                match rest.pop() {
                    Some(kept) if kept == message => break,
                    Some(_) => {}
                    None => return Err(format!("{} must not be changed: {message:?}", message.id())),
                }
            }
        }
        Ok(())
    }

    /// Checks that remaining replies are unchanged, including thinking and signatures, and so are their
    /// results unless cleared.
    pub(super) fn keeps_replies_and_results(&self) -> Result<(), String> {
        let before: HashMap<MessageId, SharedMessage> =
            self.before().into_iter().map(|message| (message.id(), message)).collect();
        for message in self.transcript.window().iter() {
            let same = before.get(&message.id()).is_some_and(|old| old == message);
            let cleared = self.edits.iter().any(
                |edit| matches!(edit, CompactionEdit::ClearToolOutput { message: id } if *id == message.id()),
            );
            match message.as_llm() {
                Some(Message::Assistant(_)) if !same => {
                    return Err(format!("reply {} was changed: {message:?}", message.id()));
                }
                Some(Message::ToolResult(_)) if !same && !cleared => {
                    return Err(format!("result {} was changed: {message:?}", message.id()));
                }
                _ => {}
            }
        }
        Ok(())
    }

    pub(super) fn is_valid_everywhere(&self, histories: &Histories) -> Result<u64, String> {
        let mut transcript = self.transcript.clone();
        if transcript.request().is_err() {
            transcript
                .push_user(std::sync::Arc::new(AgentMessage::user("Go on.")))
                .map_err(|why| why.to_string())?;
        }
        for wire in Wire::ALL {
            if let Some(rejection) = histories.rejection(wire, transcript.window(), self.scene.seed) {
                return Err(format!("rejected: {rejection}"));
            }
        }
        Ok(Wire::ALL.len() as u64)
    }

    /// Checks that the journal with the compaction gives the compacted conversation, and after the undo the
    /// original one, including later messages.
    pub(super) fn is_undone_exactly(&self, mistake: Option<Mistake>) -> Result<(), String> {
        let (mut events, id) = self.scene.journal(self.edits);
        let replayed = conversation(&events);
        let applied: Vec<SharedMessage> = self.transcript.window().iter().cloned().collect();
        if replayed != applied && mistake.is_none() {
            return Err("the conversation in the journal differs from the compacted one".to_owned());
        }
        events.extend_from_slice(self.scene.later());
        events.extend(undoing(&events, id));
        let mut replayed = conversation(&events);
        if mistake == Some(Mistake::UndoForgets) {
            replayed.pop();
        }
        let plain = conversation(&self.scene.plain_journal());
        if replayed != plain {
            return Err("the undo did not restore the conversation".to_owned());
        }
        // Also undo the earlier compactions, the newest first: then it is as if there had never been one.
        for compaction in self.scene.before() {
            let newest = SessionFold::of(&events).last_compaction(SessionFold::of(&events).tip());
            if newest != Some(compaction) {
                return Err(format!("{newest:?} is reported as the newest compaction, not {compaction:?}"));
            }
            events.extend(undoing(&events, compaction));
        }
        let mut replayed = conversation(&events);
        if mistake == Some(Mistake::UndoesOnlyTheNewest) {
            replayed = plain;
        }
        let bare = conversation(&self.scene.plain_journal_without_compactions());
        if replayed == bare {
            Ok(())
        } else {
            Err("undoing both did not restore the conversation".to_owned())
        }
    }

    /// Checks that every dropped message can be recalled, by its own id and as part of the range that the
    /// summary names.
    pub(super) fn is_recalled_exactly(&self, mistake: Option<Mistake>) -> Result<u64, String> {
        let (events, _) = self.scene.journal(self.edits);
        let after = self.after();
        let mut gone: Vec<SharedMessage> = self.scene.originals.clone();
        // The placeholder for a lost beginning was never recorded.
        gone.retain(|message| {
            after.get(&message.id()) != Some(message) && message.as_llm().is_some() && !message.id().is_nil()
        });
        let window = self.transcript.window();
        let ranges = window.iter().filter_map(|message| range_in(message));
        let mut whole = ranges.map(|range| recalled(&events, &range)).collect::<Result<Vec<_>, _>>()?;
        if mistake == Some(Mistake::LosesEarlierRange) {
            whole.retain(|_| self.scene.before().next().is_none());
        }
        for (at, message) in gone.iter().enumerate() {
            let asked = match mistake {
                Some(Mistake::RecallsWrong) => gone.get(at + 1).unwrap_or(message),
                _ => message,
            };
            let text = recalled(&events, &asked.id().short())?;
            let expected = text_of(message);
            if text != expected {
                return Err(format!("{} came back as {text:?}, not as {expected:?}", message.id()));
            }
            let summarised = !after.contains_key(&message.id());
            if summarised && !whole.iter().any(|whole| whole.contains(&expected)) {
                return Err(format!("{} is not in the range that the summary names", message.id()));
            }
        }
        Ok(gone.len() as u64)
    }
}

/// The event that undoes a compaction.
fn undoing(events: &[Event], compaction: EventId) -> Option<Event> {
    let last = EventRecord::clone(events.last()?);
    let event = AgentEvent::CompactionUndone { compaction };
    Some(Event::new(EventRecord { loop_id: None, event, ..last }))
}

/// Start of the tail that must stay: the newest messages, up to the configured number and a quarter of the
/// context window, and everything after the last reply.
fn recent_tail(messages: &[SharedMessage], config: &ContextConfig) -> usize {
    let most = messages.len().saturating_sub(config.keep_recent);
    let newest_reply = messages.iter().rposition(|message| message.as_assistant().is_some()).unwrap_or(0);
    let tokens = |from: usize| messages.iter().skip(from).map(|message| message_tokens(message)).sum::<u64>();
    let fits = |from: &usize| *from >= newest_reply || tokens(*from) <= config.max_context_tokens as u64 / 4;
    (most..=messages.len()).find(fits).unwrap_or(messages.len())
}

fn recalled(events: &[Event], name: &str) -> Result<String, String> {
    let mut recall = Recall::new(name).ok_or_else(|| format!("`{name}` is not a valid id"))?;
    events.iter().for_each(|event| recall.take(&event.event));
    recall.text()?.ok_or_else(|| format!("`{name}` is not found"))
}

/// The range named in a summary of this compaction.
fn range_in(message: &AgentMessage) -> Option<String> {
    let user = message.as_user().filter(|user| user.origin == Origin::Summary)?;
    let text = user.content.iter().find_map(Content::as_text)?;
    Some(text.rsplit_once("the id `")?.1.split_once('`')?.0.to_owned())
}

/// The text of a message, computed independently of the code under test.
fn text_of(message: &AgentMessage) -> String {
    let mut parts = Vec::new();
    for block in message.as_llm().map(Message::content).unwrap_or_default() {
        match block {
            Content::Text { text } => parts.push(text.to_owned()),
            Content::Image { mime_type, .. } => parts.push(format!("[{mime_type}]")),
            Content::ToolCall(call) => parts.push(format!("[call of {}: {}]", call.name, call.arguments)),
            _ => {}
        }
    }
    parts.join("\n")
}
