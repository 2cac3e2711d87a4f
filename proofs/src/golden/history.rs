//! Generates the journals of the golden corpus: runs with tool calls, cut or ended, and every durable kind of event.
//!
//! Runs are built from the types. The other kinds come from `kinds.jsonl`, one line each in its stored form, in which
//! message ids stand for messages of the journal. Invariant: a journal is a function of its seed.

use std::sync::Arc;

use lariat_core::content::Content;
use lariat_core::event::{
    AgentEvent, ArgsRef, ContinuationKind, Event, EventRecord, FORMAT_VERSION, LoopConfigSnapshot, LoopStart,
    MessageRef, RecordedMessage, RunOutcome, TurnTrigger,
};
use lariat_core::id::{EventId, LoopId, MessageId, SessionId, ToolCallId};
use lariat_core::message::{
    AgentMessage, AssistantMessage, Message, StopReason, ToolResultMessage, UserMessage,
};
use lariat_core::time::{Minter, Stamp, Timestamp};
use lariat_core::usage::Usage;
use lariat_test::SeededRandom;
use serde_json::{Value, json};

/// Every durable kind that a run does not consist of, in its stored form.
const KINDS: &str = include_str!("kinds.jsonl");

/// The id in `kinds.jsonl` that stands for a message of the journal, without its last digit.
const PLACEHOLDER: &str = "00000000-0000-0000-0000-00000000000";

/// Placeholders from this digit on stand for messages that the line itself contains.
const FIRST_NEW: usize = 6;

/// Bytes of a text that becomes a blob.
const LARGE_TEXT: usize = 40_000;

/// The parts that a journal is made of: where it starts, and how many runs it has.
pub(super) struct History {
    pub(super) seed: u64,
    pub(super) session: SessionId,
    pub(super) runs: usize,
}

impl History {
    /// The events of the journal that follow `shared`, which it may have in common with the session it was forked from.
    pub(super) fn events(&self, shared: &[Event]) -> Result<Vec<Event>, String> {
        let mut writer = HistoryWriter::new(self, shared);
        for _ in 0..self.runs {
            writer.run()?;
        }
        Ok(writer.events.split_off(shared.len()))
    }
}

struct HistoryWriter<'a> {
    session: &'a SessionId,
    seed: u64,
    dice: SeededRandom,
    minter: Minter,
    now: u64,
    loop_id: Option<LoopId>,
    events: Vec<Event>,
    messages: Vec<MessageId>,
    loops: u64,
    calls: u64,
}

impl<'a> HistoryWriter<'a> {
    fn new(history: &'a History, shared: &[Event]) -> Self {
        let now = 1_763_000_000_000 + history.seed * 86_400_000;
        let mut minter = Minter::default();
        minter.stamp(Stamp { now: Timestamp::from_millis(now), entropy: history.seed });
        let recorded = shared.iter().filter_map(|event| match &event.event {
            AgentEvent::MessageEnd { message } => Some(message.id()),
            _ => None,
        });
        Self {
            session: &history.session,
            seed: history.seed,
            dice: SeededRandom::new(history.seed).fork("golden"),
            minter,
            now,
            loop_id: None,
            messages: recorded.collect(),
            events: shared.to_vec(),
            loops: shared.iter().filter(|event| matches!(event.event, AgentEvent::AgentStart(_))).count()
                as u64,
            calls: 0,
        }
    }

    fn record(&mut self, event: AgentEvent) {
        self.now += 1 + self.dice.below(90_000);
        let record = EventRecord {
            v: FORMAT_VERSION,
            seq: self.events.len() as u64,
            id: EventId::new(self.minter.uuid()),
            timestamp: Timestamp::from_millis(self.now),
            loop_id: self.loop_id.clone(),
            event,
        };
        self.events.push(Event::new(record));
    }

    fn message(&mut self, message: Message) -> MessageId {
        let mut message = AgentMessage::from(message);
        message.assign_id(|| MessageId::new(self.minter.uuid()));
        let id = message.id();
        self.messages.push(id);
        self.record(AgentEvent::MessageEnd { message: RecordedMessage::Full(Arc::new(message)) });
        id
    }

    /// One run: started, a few turns, ended or cut anywhere.
    fn run(&mut self) -> Result<(), String> {
        let loop_id = LoopId::from(format!("{}.c.{}", self.session, self.loops));
        let mut start = LoopStart::new("golden".into(), self.session.clone(), loop_id.clone());
        if self.loops > 0 {
            start.parent_loop_id = Some(format!("{}.c.{}", self.session, self.loops - 1).into());
            start.continuation_kind = Some(ContinuationKind::Default);
            start.base = self.messages.last().copied();
        }
        let mut config = LoopConfigSnapshot::default();
        (config.model, config.provider, config.context_window) =
            (format!("model-{}", self.dice.below(5)), "golden".to_owned(), 200_000);
        start.config = Some(Arc::new(config));
        self.loops += 1;
        self.loop_id = Some(loop_id);
        self.record(AgentEvent::AgentStart(Box::new(start)));
        let cut = self.dice.chance(20).then(|| self.dice.index(4));
        let (first, turns) = (self.messages.len(), 1 + self.dice.index(3));
        let mut usage = Usage::default();
        for turn in 0..turns {
            let is_cut = cut == Some(turn);
            usage += self.turn(turn, turn + 1 == turns, is_cut)?;
            if is_cut {
                return Ok(());
            }
        }
        let produced = self.messages.get(first..).unwrap_or_default().iter().copied();
        let messages = produced.map(MessageRef::unresolved).collect();
        let outcome = match self.dice.index(4) {
            0 => RunOutcome::Aborted,
            1 => RunOutcome::Failed { error: "the provider closed the connection".to_owned() },
            _ => RunOutcome::Completed,
        };
        self.record(AgentEvent::AgentEnd { messages, usage, outcome, rejection: None });
        self.loop_id = None;
        self.extras(2)
    }

    fn turn(&mut self, index: usize, is_last: bool, is_cut: bool) -> Result<Usage, String> {
        let triggered_by = if index == 0 { TurnTrigger::User } else { TurnTrigger::Continuation };
        self.record(AgentEvent::TurnStart { turn_index: index as u32, triggered_by });
        if index == 0 {
            let prompt = vec![self.text(), self.picture()].into_iter().flatten().collect();
            self.message(Message::User(UserMessage::new(prompt).at(Timestamp::from_millis(self.now))));
        }
        let calls = if is_last { 0 } else { 1 + self.dice.index(2) };
        let usage = Usage::new(self.dice.below(9_000), self.dice.below(900));
        let ids: Vec<ToolCallId> = (0..calls).map(|_| self.call_id()).collect();
        let mut content = vec![Content::Thinking {
            thinking: "First the tests.".to_owned(),
            signature: self.dice.chance(50).then(|| "c2lnbmVk".to_owned()),
        }];
        content.extend(self.text());
        let path = |n: u64| json!({"path": format!("src/file_{n}.rs"), "lines": [n, n + 9]});
        let seed = self.seed;
        content.extend(ids.iter().map(|id| Content::tool_call(id.as_str(), "read", path(seed))));
        let stop_reason = if calls > 0 { StopReason::ToolUse } else { StopReason::Stop };
        let requested_model = self.dice.chance(30).then(|| "model-1-latest".to_owned());
        let timestamp = Timestamp::from_millis(self.now);
        let reply = self.message(Message::Assistant(AssistantMessage {
            content,
            stop_reason,
            model: "model-1".to_owned(),
            provider: "golden".to_owned(),
            requested_model,
            usage,
            timestamp,
            error_message: None,
        }));
        let mut results = Vec::new();
        for id in ids {
            let tool_name = "read".to_owned();
            let args = match self.dice.index(5) {
                0 => ArgsRef::Rewritten(Arc::new(path(seed + 1))),
                _ => ArgsRef::Unresolved,
            };
            self.record(AgentEvent::ToolExecutionStart {
                tool_call_id: id.clone(),
                tool_name: tool_name.clone(),
                args,
            });
            if is_cut {
                return Ok(usage);
            }
            let text = self.output();
            let is_error = self.dice.chance(20);
            let result = ToolResultMessage {
                tool_call_id: id.clone(),
                tool_name: tool_name.clone(),
                content: vec![Content::text(text)],
                is_error,
                timestamp: Timestamp::from_millis(self.now),
            };
            let result = self.message(Message::ToolResult(result));
            let (message, details) = (MessageRef::unresolved(result), json!({"lines": seed % 100}));
            self.record(AgentEvent::ToolExecutionEnd {
                tool_call_id: id,
                tool_name,
                message,
                details,
                is_error,
                child_loop_id: None,
            });
            results.push(MessageRef::unresolved(result));
        }
        self.extras(1)?;
        self.record(AgentEvent::TurnEnd {
            message: MessageRef::unresolved(reply),
            usage,
            tool_results: results,
        });
        Ok(usage)
    }

    /// Records a few events of the other kinds: in turn, so that every journal has some and the corpus has all.
    fn extras(&mut self, count: usize) -> Result<(), String> {
        let lines: Vec<&str> = KINDS.lines().collect();
        for n in 0..count + self.dice.index(3) {
            let at = (self.seed as usize * 7 + self.events.len() + n) % lines.len().max(1);
            let mut line = lines.get(at).copied().unwrap_or_default().to_owned();
            for number in 0..10 {
                let placeholder = format!("{PLACEHOLDER}{number}\"");
                if line.contains(&placeholder) {
                    line = line.replace(&placeholder, &format!("{}\"", self.message_id(number)));
                }
            }
            let event = parse(&line)?;
            self.record(event);
        }
        Ok(())
    }

    /// The message that a placeholder stands for: one of the last, or a new one.
    fn message_id(&mut self, placeholder: usize) -> MessageId {
        if placeholder >= FIRST_NEW {
            return MessageId::new(self.minter.uuid());
        }
        let count = self.messages.len();
        let at = count.saturating_sub(1 + placeholder);
        self.messages.get(at).copied().unwrap_or_default()
    }

    fn text(&mut self) -> Option<Content> {
        let words = ["fix", "the", "tests", "naïve", "日本語", "\u{1f980}", "a\tb", "\"quoted\"", "…", "\\"];
        let count = 1 + self.dice.index(12);
        let text: Vec<&str> = (0..count).filter_map(|_| self.dice.pick(&words).copied()).collect();
        Some(Content::text(text.join(" ")))
    }

    fn picture(&mut self) -> Option<Content> {
        match self.dice.index(10) {
            0 => Some(Content::Image { data: "iVBORw0KGgo=".to_owned(), mime_type: "image/png".to_owned() }),
            1 => match json!({"type": "hologram", "beams": [1, 2.5, {"deep": null}]}) {
                Value::Object(fields) => Some(Content::Unknown(fields)),
                _ => None,
            },
            _ => None,
        }
    }

    /// The output of a tool: rarely so large that it becomes a blob.
    fn output(&mut self) -> String {
        let lines = if self.dice.chance(4) { LARGE_TEXT / 20 } else { 1 + self.dice.index(5) };
        (0..lines).map(|n| format!("{n:>6}  line of {}\n", self.seed % 97)).collect()
    }

    fn call_id(&mut self) -> ToolCallId {
        self.calls += 1;
        format!("call_{}_{}", self.seed, self.calls).into()
    }
}

/// Parses the event of a line in `kinds.jsonl`.
fn parse(line: &str) -> Result<AgentEvent, String> {
    let event: AgentEvent = serde_json::from_str(line).map_err(|error| format!("{error}: {line}"))?;
    match &event {
        AgentEvent::Unknown(_) => Err(format!("no kind that this version knows: {line}")),
        _ => Ok(event),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_seeds_give_equal_journals_and_all_kinds_occur() {
        let journal = |seed| {
            History { seed, session: SessionId::from(format!("s{seed}")), runs: 2 }.events(&[]).unwrap()
        };
        assert_eq!(journal(3), journal(3));
        let name =
            |line: &str| serde_json::from_str::<Value>(line).unwrap()["type"].as_str().unwrap().to_owned();
        let mut missing: std::collections::BTreeSet<String> = KINDS.lines().map(name).collect();
        assert!(missing.len() > 40, "{missing:?}");
        for seed in 0..100 {
            for event in journal(seed) {
                missing.remove(event.event.name());
            }
        }
        assert!(missing.is_empty(), "{missing:?}");
    }
}
