//! One cell of the matrix: a protocol, a position, and the scripted reply to which the fault applies.
//!
//! The reply has thinking, text and one tool call. This module also finds each position in its frames.
//! Invariant: the arguments are nested so deeply that they are not valid JSON if a chunk is lost, doubled or
//! swapped: whatever parses is what was scripted (`cell_tests.rs` proves it).

use serde_json::{Value, json};

use super::plan::{Answer, BodyStep, Completeness, Plan};
use crate::server::{Turn, Wire, render};

/// The output of the scripted tool; a request that contains it was sent after the tool ran.
pub const TOOL_OUTPUT: &str = "ledger-output-4711";
/// The scripted tool.
pub const TOOL: &str = "look";
/// The model's reply to the tool's output.
pub const FINAL_TEXT: &str = "All is well.";
/// The model's text before the tool call.
pub const TEXT: &str = "I will look at it now: 日本語, naïve.";
/// The model's thinking.
pub const THINKING: &str = "The user wants to know, so I had better look.";
/// Characters per delta.
const PIECE: usize = 6;

/// Arguments of the scripted tool call.
pub fn arguments() -> Value {
    json!({"a": {"b": {"c": {"d": 1}}}})
}

/// The scripted reply.
pub fn turn() -> Turn {
    Turn::new().model("m-1").piece(PIECE).thinking(THINKING).text(TEXT).call("call_1", TOOL, &arguments())
}

/// A position in a stream, or in another body by fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// Before the first frame.
    Start,
    /// After the first frame.
    AfterFirst,
    /// After a quarter of the frames.
    Quarter,
    /// Inside the frame in the middle.
    InsideHalf,
    /// After three quarters of the frames.
    ThreeQuarters,
    /// Before the last frame.
    BeforeLast,
    /// After the last frame.
    End,
}

impl Position {
    /// All positions, in order.
    pub const ALL: [Self; 7] = [
        Self::Start,
        Self::AfterFirst,
        Self::Quarter,
        Self::InsideHalf,
        Self::ThreeQuarters,
        Self::BeforeLast,
        Self::End,
    ];

    /// Its number.
    pub fn index(self) -> usize {
        Self::ALL.iter().position(|position| *position == self).unwrap_or_default()
    }

    /// Chooses one of seven values by the position.
    pub fn choose<T: Copy>(self, of: [T; 7]) -> T {
        let [first, second, third, fourth, fifth, sixth, seventh] = of;
        match self {
            Self::Start => first,
            Self::AfterFirst => second,
            Self::Quarter => third,
            Self::InsideHalf => fourth,
            Self::ThreeQuarters => fifth,
            Self::BeforeLast => sixth,
            Self::End => seventh,
        }
    }

    /// The position in something of this length.
    pub fn of(self, length: usize) -> usize {
        let place = match self {
            Self::Start => 0,
            Self::AfterFirst => 1,
            Self::Quarter => length / 4,
            Self::InsideHalf => length / 2,
            Self::ThreeQuarters => length * 3 / 4,
            Self::BeforeLast => length.saturating_sub(1),
            Self::End => length,
        };
        place.min(length)
    }
}

/// One protocol and one position.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The protocol.
    pub wire: Wire,
    /// The position.
    pub position: Position,
    frames: Vec<Vec<u8>>,
}

impl Cell {
    /// A cell.
    pub fn new(wire: Wire, position: Position) -> Self {
        Self { wire, position, frames: render::stream(wire, &turn()) }
    }

    /// The frames of the scripted reply.
    pub fn frames(&self) -> &[Vec<u8>] {
        &self.frames
    }

    /// Number of whole frames before the position.
    pub fn before(&self) -> usize {
        self.position.of(self.frames.len())
    }

    /// The frame to which the fault applies: the next one, or the last.
    pub fn victim(&self) -> usize {
        self.before().min(self.frames.len().saturating_sub(1))
    }

    /// The stream before and after the position, in chunks; splits a frame if the position is inside it.
    pub fn cut(&self) -> (Vec<BodyStep>, Vec<BodyStep>) {
        let (head, tail) = self.frames.split_at_checked(self.before()).unwrap_or((&self.frames, &[]));
        let mut head: Vec<BodyStep> = head.iter().map(|frame| BodyStep::bytes(frame.clone())).collect();
        let mut tail: Vec<BodyStep> = tail.iter().map(|frame| BodyStep::bytes(frame.clone())).collect();
        if self.position == Position::InsideHalf
            && let Some(BodyStep::Bytes(frame)) = tail.first_mut()
        {
            let rest = frame.split_off(frame.len() / 2);
            head.push(BodyStep::Bytes(std::mem::replace(frame, rest)));
        }
        (head, tail)
    }

    /// The stream before and after the position, without splitting a frame.
    pub fn between(&self) -> (Vec<BodyStep>, Vec<BodyStep>) {
        let beats = |frames: &[Vec<u8>]| frames.iter().map(|frame| BodyStep::bytes(frame.clone())).collect();
        let (head, tail) = self.frames.split_at_checked(self.before()).unwrap_or((&self.frames, &[]));
        (beats(head), beats(tail))
    }

    /// Whether the server has sent the stop reason within this many frames.
    pub fn said_stop(&self, frames: usize) -> Completeness {
        if frames > self.frames.len().saturating_sub(finish_frames(self.wire)) {
            Completeness::Declared
        } else {
            Completeness::Undeclared
        }
    }

    /// A plan for a stream that arrives completely.
    pub fn whole(&self, body: Vec<BodyStep>) -> Plan {
        Plan::new(streamed(self.wire, body)).complete(vec![arguments()])
    }

    /// A plan for a stream of which only the frames before the position are valid.
    pub fn broken(&self, body: Vec<BodyStep>) -> Plan {
        let mut plan = self.whole(body);
        plan.reply = self.said_stop(self.before());
        plan
    }
}

/// Number of frames that finish a stream; the first of them has the stop reason.
pub const fn finish_frames(wire: Wire) -> usize {
    match wire {
        // The stop reason, usage, `[DONE]`.
        Wire::OpenAiChat => 3,
        // The stop reason, then the end or the usage.
        Wire::AnthropicMessages | Wire::BedrockConverse => 2,
        Wire::OpenAiResponses | Wire::AzureResponses | Wire::Gemini | Wire::Vertex => 1,
    }
}

/// A streamed response with this body.
pub fn streamed(wire: Wire, body: Vec<BodyStep>) -> Answer {
    Answer::new(200, vec![("content-type".to_owned(), render::content_type(wire).to_owned())], body)
}

/// A streamed response without a fault.
pub fn well_answered(wire: Wire, turn: &Turn) -> Answer {
    streamed(wire, render::stream(wire, turn).into_iter().map(BodyStep::bytes).collect())
}

#[cfg(test)]
#[path = "cell_tests.rs"]
mod tests;
