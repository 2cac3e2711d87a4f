//! A random conversation with its journal, and the compaction query for it.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use lariat_core::config::ContextConfig;
use lariat_core::context::{CompactionProposal, CompactionQuery, message_tokens};
use lariat_core::event::{
    AgentEvent, ArgsRef, CompactionCause, CompactionEdit, Event, EventRecord, FORMAT_VERSION, LoopStart,
    MessageRef, RecordedMessage, RunOutcome,
};
use lariat_core::id::{EventId, LoopId, MessageId};
use lariat_core::message::{AgentMessage, Message, Origin, SharedMessage};
use lariat_core::session::SessionFold;
use lariat_core::time::{Minter, Stamp, Timestamp};
use lariat_core::transcript::Transcript;
use lariat_core::usage::Usage;
use lariat_test::SeededRandom;
use serde_json::json;

use crate::wire::histories::Histories;

/// A conversation and its journal.
pub(super) struct Scene {
    pub(super) seed: u64,
    pub(super) transcript: Transcript,
    /// The conversation without any compaction.
    pub(super) originals: Vec<SharedMessage>,
    config: ContextConfig,
    pins: Arc<BTreeSet<MessageId>>,
    events: Vec<Event>,
    /// Events after the compaction.
    later: Vec<Event>,
    /// Earlier compactions, with the journal without any.
    before: Vec<EventId>,
    bare: Vec<Event>,
    /// Runs in the journal.
    loops: u32,
}

impl Scene {
    pub(super) fn new(histories: &Histories, seed: u64) -> Self {
        let mut dice = SeededRandom::new(seed).fork("scene");
        let mut minter = minter(&mut dice);
        let parts = 1 + dice.index(5);
        let messages: Vec<SharedMessage> = (0..parts)
            .flat_map(|part| {
                random_messages(histories, seed.wrapping_mul(8).wrapping_add(part as u64), &mut dice)
            })
            .collect();
        let messages = unique(messages, &mut HashSet::new(), &mut minter);
        let mut writer = Writer { minter, events: Vec::new() };
        writer.write_run(0, None, &messages);
        // Fold the journal, as a session does.
        let fold = SessionFold::of(&writer.events);
        let (transcript, _) = fold.conversation(fold.tip());
        let ids: Vec<MessageId> = transcript.window().iter().map(|message| message.id()).collect();
        let pins = (0..dice.index(4)).filter_map(|_| dice.pick(&ids).copied()).collect();
        let later = writer.later(1, fold.tip());
        let config = config(&transcript, &mut dice);
        let (events, pins) = (writer.events, Arc::new(pins));
        let (originals, bare) = (transcript.window().iter().cloned().collect(), events.clone());
        let before = Vec::new();
        Self { seed, transcript, originals, config, pins, events, later, before, bare, loops: 1 }
    }

    /// The conversation with a compaction and further messages.
    pub(super) fn again(
        &self,
        histories: &Histories,
        edits: &[CompactionEdit],
        dice: &mut SeededRandom,
    ) -> Self {
        let (mut events, compaction) = self.journal(edits);
        events.extend_from_slice(&self.later);
        let mut seen: HashSet<MessageId> = self.originals.iter().map(|message| message.id()).collect();
        let messages = random_messages(histories, dice.bits(), dice);
        let mut writer = Writer { minter: minter(dice), events };
        let messages = unique(messages, &mut seen, &mut writer.minter);
        let (tip, from) = (SessionFold::of(&writer.events).tip(), writer.events.len());
        writer.write_run(self.loops + 1, tip, &messages);
        let mut bare = self.plain_journal_without_compactions();
        bare.extend(writer.events.iter().skip(from).cloned());
        let fold = SessionFold::of(&writer.events);
        let (transcript, _) = fold.conversation(fold.tip());
        let later = writer.later(self.loops + 2, fold.tip());
        let before = self.before.iter().copied().chain([compaction]).collect();
        let (config, originals) = (config(&transcript, dice), conversation(&bare));
        let (seed, pins, events, loops) = (self.seed, Arc::clone(&self.pins), writer.events, self.loops + 2);
        Self { seed, transcript, originals, config, pins, events, later, before, bare, loops }
    }

    pub(super) fn query(&self, cause: CompactionCause, dice: &mut SeededRandom) -> CompactionQuery {
        let window = self.transcript.window();
        let fold = SessionFold::of(&self.events);
        let tokens: u64 = window.iter().map(|message| message_tokens(message)).sum();
        // Providers report other numbers than the estimate.
        let tokens = tokens * (50 + dice.below(100)) / 100;
        CompactionQuery::new(window, cause, self.config.clone(), tokens)
            .with_pins(Arc::clone(&self.pins))
            .with_work(Arc::clone(fold.memory().work()))
    }

    /// Gives summaries their ids, like the machine does.
    pub(super) fn name(&self, compacted: &mut CompactionProposal, dice: &mut SeededRandom) {
        let mut minter = minter(dice);
        compacted.name_summaries(Timestamp::from_millis(1), || MessageId::new(minter.uuid()));
    }

    /// The journal with a compaction between the two runs, or at the end of the first.
    pub(super) fn journal(&self, edits: &[CompactionEdit]) -> (Vec<Event>, EventId) {
        let mut minter =
            minter(&mut SeededRandom::new(self.seed).fork(&format!("compaction {}", self.loops)));
        let id = EventId::new(minter.uuid());
        let inside = self.seed.is_multiple_of(2);
        let event = AgentEvent::Compaction {
            cause: CompactionCause::Threshold,
            edits: Arc::new(edits.to_vec()),
            tokens_before: 2,
            tokens_after: 1,
            usage: Usage::default(),
        };
        let compaction = Arc::new(EventRecord {
            v: FORMAT_VERSION,
            seq: 0,
            id,
            timestamp: Timestamp::from_millis(1),
            loop_id: inside.then(|| loop_id(self.loops - 1)),
            event,
        });
        let mut events = self.events.clone();
        let at = if inside { events.len().saturating_sub(1) } else { events.len() };
        events.insert(at, compaction);
        (events, id)
    }

    /// Events after the compaction.
    pub(super) fn later(&self) -> &[Event] {
        &self.later
    }

    /// The journal without the current compaction.
    pub(super) fn plain_journal(&self) -> Vec<Event> {
        self.events.iter().chain(&self.later).cloned().collect()
    }

    /// The journal without any compaction.
    pub(super) fn plain_journal_without_compactions(&self) -> Vec<Event> {
        self.bare.iter().chain(&self.later).cloned().collect()
    }

    /// Earlier compactions, the newest first.
    pub(super) fn before(&self) -> impl Iterator<Item = EventId> {
        self.before.iter().rev().copied()
    }
}

pub(super) fn conversation(events: &[Event]) -> Vec<SharedMessage> {
    let fold = SessionFold::of(events);
    fold.conversation(fold.tip()).0.window().iter().cloned().collect()
}

/// The messages of a random history, and sometimes a note.
fn random_messages(histories: &Histories, seed: u64, dice: &mut SeededRandom) -> Vec<SharedMessage> {
    let part = histories.transcript(seed);
    // Summaries of content outside this journal are excluded, because they could not be recalled.
    let summary =
        |message: &&SharedMessage| message.as_user().is_some_and(|user| user.origin == Origin::Summary);
    let mut messages: Vec<SharedMessage> =
        part.window().iter().filter(|message| !summary(message)).cloned().collect();
    if dice.chance(20) {
        messages.push(Arc::new(AgentMessage::note("date", "It is Monday. ".repeat(dice.index(40) + 1))));
    }
    messages
}

/// A context window that the conversation fills once to three times.
fn config(transcript: &Transcript, dice: &mut SeededRandom) -> ContextConfig {
    let total: u64 = transcript.window().iter().map(|message| message_tokens(message)).sum();
    let window = 1 + usize::try_from(total).unwrap_or_default() / (1 + dice.index(3));
    let mut config = ContextConfig::with_window(window);
    config.system_prompt_tokens = dice.index(100);
    config.keep_first = dice.index(3);
    config.keep_recent = dice.index(6);
    config.tool_output_max_lines = dice.index(20);
    config
}

fn loop_id(number: u32) -> LoopId {
    LoopId::from(format!("s.c.{number}"))
}

fn minter(dice: &mut SeededRandom) -> Minter {
    let mut minter = Minter::default();
    minter.stamp(Stamp { now: Timestamp::from_millis(1_770_000_000_000), entropy: dice.bits() });
    minter
}

/// The same messages, each with a unique id.
fn unique(
    messages: Vec<SharedMessage>,
    seen: &mut HashSet<MessageId>,
    minter: &mut Minter,
) -> Vec<SharedMessage> {
    let named = |message: SharedMessage| {
        if !message.id().is_nil() && seen.insert(message.id()) {
            return message;
        }
        let mut again = AgentMessage::clone(&message);
        let id = MessageId::new(minter.uuid());
        match &mut again {
            AgentMessage::Llm(llm) => llm.id = id,
            AgentMessage::Extension(extension) => extension.id = id,
        }
        seen.insert(id);
        Arc::new(again)
    };
    messages.into_iter().map(named).collect()
}

/// Writes a journal.
struct Writer {
    minter: Minter,
    events: Vec<Event>,
}

impl Writer {
    /// Writes a run with these messages.
    fn write_run(&mut self, number: u32, base: Option<MessageId>, messages: &[SharedMessage]) {
        let loop_id = &loop_id(number);
        let mut start = LoopStart::new("agent".into(), "s".into(), loop_id.clone());
        start.base = base;
        self.write(loop_id, AgentEvent::AgentStart(Box::new(start)));
        for message in messages {
            if let Some(Message::ToolResult(result)) = message.as_llm() {
                let (tool_call_id, tool_name) = (result.tool_call_id.clone(), result.tool_name.clone());
                let start = AgentEvent::ToolExecutionStart {
                    tool_call_id: tool_call_id.clone(),
                    tool_name: tool_name.clone(),
                    args: ArgsRef::Unresolved,
                };
                self.write(loop_id, start);
                let end = AgentEvent::ToolExecutionEnd {
                    tool_call_id,
                    tool_name,
                    message: MessageRef::unresolved(message.id()),
                    details: json!({"exit_code": 0}),
                    is_error: result.is_error,
                    child_loop_id: None,
                };
                self.write(loop_id, end);
            }
            self.write(
                loop_id,
                AgentEvent::MessageEnd { message: RecordedMessage::Full(Arc::clone(message)) },
            );
        }
        let end = AgentEvent::AgentEnd {
            messages: Vec::new(),
            usage: Usage::default(),
            outcome: RunOutcome::Completed,
            rejection: None,
        };
        self.write(loop_id, end);
    }

    /// Events of a short later run, not yet in the journal.
    fn later(&mut self, number: u32, base: Option<MessageId>) -> Vec<Event> {
        let later = [AgentMessage::user("And then?"), AgentMessage::note("n", "Later.")];
        let later = later.into_iter().map(Arc::new).collect();
        let later = unique(later, &mut HashSet::new(), &mut self.minter);
        let from = self.events.len();
        self.write_run(number, base, &later);
        self.events.split_off(from)
    }

    fn write(&mut self, loop_id: &LoopId, event: AgentEvent) {
        self.events.push(Arc::new(EventRecord {
            v: FORMAT_VERSION,
            seq: self.events.len() as u64,
            id: EventId::new(self.minter.uuid()),
            timestamp: Timestamp::from_millis(1),
            loop_id: Some(loop_id.clone()),
            event,
        }));
    }
}
