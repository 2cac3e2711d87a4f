//! Writes the answer for a pipe, as the model streams it.
//!
//! A short remark before a tool call is not the answer. A reply is therefore held back until it has a second paragraph or
//! [`HELD`] characters, then streamed; a reply that reaches its tool calls before that is dropped. The text is data and
//! passes unchanged.

use lariat_core::content::joined_text;
use lariat_core::event::{AgentEvent, EventRecord, StreamDelta};
use lariat_core::id::LoopId;

/// Characters of a reply to hold back.
const HELD: usize = 160;

/// Folds run events into the text that a pipe reads.
#[derive(Debug, Default)]
pub(crate) struct PipedAnswer {
    /// The loop to follow.
    root: Option<LoopId>,
    /// The reply so far.
    reply: String,
    /// Bytes of the reply that were written.
    written: usize,
    /// Whether an earlier reply was written.
    has_written: bool,
}

impl PipedAnswer {
    /// Handles an event and returns the text to write.
    pub(crate) fn event(&mut self, record: &EventRecord) -> String {
        if let AgentEvent::AgentStart(_) = &record.event {
            self.root.get_or_insert_with(|| record.loop_id.clone().unwrap_or_else(|| "".into()));
        }
        let is_other = |root: &LoopId| record.loop_id.as_ref().is_some_and(|of| of != root);
        if self.root.as_ref().is_some_and(is_other) {
            return String::new();
        }
        match &record.event {
            AgentEvent::MessageUpdate { delta: StreamDelta::Text { delta }, .. } => {
                self.reply.push_str(delta);
                let flows = self.written > 0
                    || self.reply.trim_start().contains("\n\n")
                    || self.reply.chars().count() >= HELD;
                if flows { self.rest() } else { String::new() }
            }
            AgentEvent::MessageEnd { message } => {
                let message = message.shared();
                let Some(reply) = message.and_then(|message| message.as_assistant()) else {
                    return String::new();
                };
                let text = joined_text(&reply.content);
                if self.written > 0 && text.starts_with(&self.reply) {
                    self.reply = text;
                    return self.rest();
                }
                String::new()
            }
            AgentEvent::TurnStart { .. } | AgentEvent::ModelRetry { .. } => {
                self.next_reply();
                String::new()
            }
            AgentEvent::AgentEnd { .. } => {
                self.root = None;
                String::new()
            }
            _ => String::new(),
        }
    }

    /// Returns the rest of the answer, with a line ending.
    pub(crate) fn finish(&mut self, answer: &str) -> String {
        if self.written == 0 {
            answer.clone_into(&mut self.reply);
        }
        let mut shown = self.rest();
        let ends = if shown.is_empty() { self.reply.ends_with('\n') } else { shown.ends_with('\n') };
        if self.written > 0 && !ends {
            shown.push('\n');
        }
        shown
    }

    /// Starts another reply.
    fn next_reply(&mut self) {
        self.has_written |= self.written > 0;
        self.reply.clear();
        self.written = 0;
    }

    fn rest(&mut self) -> String {
        let rest = self.reply.get(self.written..).unwrap_or_default().to_owned();
        let is_first = self.written == 0 && !rest.is_empty();
        self.written = self.reply.len();
        if is_first && self.has_written { format!("\n\n{rest}") } else { rest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::screen::test_data::*;

    fn written(events: &[lariat_core::event::Event], answer: &str) -> Vec<String> {
        let mut piped = PipedAnswer::default();
        let mut pieces: Vec<String> = events.iter().map(|event| piped.event(event)).collect();
        pieces.push(piped.finish(answer));
        pieces.retain(|piece| !piece.is_empty());
        pieces
    }

    #[test]
    fn drops_remark_before_tool_call() {
        let events = [
            loop_start(0),
            turn_start(0, 0),
            text_delta(1, "I look first."),
            reply_end(2, "I look first."),
            turn_start(3, 1),
            text_delta(4, "It is "),
            text_delta(5, "4."),
            reply_end(6, "It is 4."),
        ];
        assert_eq!(written(&events, "It is 4."), ["It is 4.\n"]);
    }

    #[test]
    fn streams_long_answer() {
        let long = "word ".repeat(40);
        let events = [
            loop_start(0),
            turn_start(0, 0),
            text_delta(1, &long),
            text_delta(2, "more "),
            text_delta(3, "end"),
        ];
        let whole = format!("{long}more end");
        assert_eq!(written(&events, &whole), [long.as_str(), "more ", "end", "\n"]);
    }

    #[test]
    fn separates_retried_reply() {
        let events = [
            loop_start(0),
            text_delta(1, "One.\n\nTwo "),
            event(2, AgentEvent::ModelRetry { attempt: 1, delay_ms: 1, error: "cut".to_owned() }),
            text_delta(3, "One.\n\nTwo and three."),
        ];
        assert_eq!(
            written(&events, "One.\n\nTwo and three.").concat(),
            "One.\n\nTwo \n\nOne.\n\nTwo and three.\n"
        );
    }

    #[test]
    fn writes_unstreamed_answer_once() {
        assert_eq!(written(&[loop_start(0), reply_end(1, "All.")], "All."), ["All.\n"]);
        assert_eq!(written(&[loop_start(0)], ""), Vec::<String>::new());
    }
}
