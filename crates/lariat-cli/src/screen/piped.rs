//! The answer for another program: what a model says, as it comes.
//!
//! Owns what is left out: a short remark before a tool call is not the answer. A reply is held back until it has a second
//! paragraph or [`HELD`] letters; a reply that ends in tool calls before that is dropped, the others flow from there on.
//! The text passes as it is: it is data.

use lariat_core::content::joined_text;
use lariat_core::event::{AgentEvent, EventRecord, StreamDelta};
use lariat_core::id::LoopId;

/// Letters of a reply that are held back.
const HELD: usize = 160;

/// Folds the events of a run into what another program reads.
#[derive(Debug, Default)]
pub(crate) struct Piped {
    /// The loop that is watched.
    root: Option<LoopId>,
    /// The reply so far.
    reply: String,
    /// Bytes of the reply that were given out.
    written: usize,
    /// Whether anything was given out before this reply.
    has_written: bool,
}

impl Piped {
    /// What is to be written for an event.
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

    /// The end: what was not given out of the answer, with a line end.
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

    /// Another reply begins.
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
    use crate::screen::samples::*;

    fn written(events: &[lariat_core::event::Event], answer: &str) -> Vec<String> {
        let mut piped = Piped::default();
        let mut pieces: Vec<String> = events.iter().map(|event| piped.event(event)).collect();
        pieces.push(piped.finish(answer));
        pieces.retain(|piece| !piece.is_empty());
        pieces
    }

    #[test]
    fn a_remark_before_a_call_is_not_the_answer() {
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
    fn a_long_answer_flows_word_by_word() {
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
    fn a_reply_that_is_asked_for_again_is_set_apart() {
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
    fn an_answer_without_pieces_is_written_once() {
        assert_eq!(written(&[loop_start(0), reply_end(1, "All.")], "All."), ["All.\n"]);
        assert_eq!(written(&[loop_start(0)], ""), Vec::<String>::new());
    }
}
