//! One cell of the matrix: a protocol and a position, with the scripted reply that the fault is done to.
//!
//! Owns the reply (thinking, text, one call), its frames, and where in them each position lies.
//! Invariant: the call's arguments are nested so deeply that no lost, doubled or swapped piece of them is JSON: whatever
//! parses is what was scripted (`cell_tests.rs` proves it).

use serde_json::{Value, json};

use super::plan::{Answer, Beat, Completeness, Plan};
use crate::server::{Turn, Wire, render};

/// What the scripted tool answers; a request that holds it comes after the tool ran.
pub const TOOL_OUTPUT: &str = "ledger-output-4711";
/// The scripted tool.
pub const TOOL: &str = "look";
/// What the model says when it has the tool's output.
pub const FINAL_TEXT: &str = "All is well.";
/// What the model says before it calls the tool.
pub const TEXT: &str = "I will look at it now: 日本語, naïve.";
/// What the model thinks.
pub const THINKING: &str = "The person wants to know, so I had better look.";
/// Characters in a delta.
const PIECE: usize = 6;

/// Arguments of the scripted call.
pub fn arguments() -> Value {
    json!({"a": {"b": {"c": {"d": 1}}}})
}

/// The scripted reply.
pub fn turn() -> Turn {
    Turn::new().model("m-1").piece(PIECE).thinking(THINKING).text(TEXT).call("call_1", TOOL, &arguments())
}

/// Where in a stream (or in another body, by fraction) something happens.
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
    /// All of them, in order.
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

    /// One of seven things, by number.
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

    /// A place in something of this length.
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

    /// Whole frames before the position.
    pub fn before(&self) -> usize {
        self.position.of(self.frames.len())
    }

    /// The frame that a fault is done to: the next one, or the last.
    pub fn victim(&self) -> usize {
        self.before().min(self.frames.len().saturating_sub(1))
    }

    /// The stream up to the position and from there on, in chunks; a frame that the position lies in is cut in two.
    pub fn cut(&self) -> (Vec<Beat>, Vec<Beat>) {
        let (head, tail) = self.frames.split_at_checked(self.before()).unwrap_or((&self.frames, &[]));
        let mut head: Vec<Beat> = head.iter().map(|frame| Beat::bytes(frame.clone())).collect();
        let mut tail: Vec<Beat> = tail.iter().map(|frame| Beat::bytes(frame.clone())).collect();
        if self.position == Position::InsideHalf
            && let Some(Beat::Bytes(frame)) = tail.first_mut()
        {
            let rest = frame.split_off(frame.len() / 2);
            head.push(Beat::Bytes(std::mem::replace(frame, rest)));
        }
        (head, tail)
    }

    /// The stream up to the position and from there on, without cutting a frame.
    pub fn between(&self) -> (Vec<Beat>, Vec<Beat>) {
        let beats = |frames: &[Vec<u8>]| frames.iter().map(|frame| Beat::bytes(frame.clone())).collect();
        let (head, tail) = self.frames.split_at_checked(self.before()).unwrap_or((&self.frames, &[]));
        (beats(head), beats(tail))
    }

    /// Whether the server has said why the model stopped when so many frames were sent.
    pub fn said_stop(&self, frames: usize) -> Completeness {
        if frames > self.frames.len().saturating_sub(finish_frames(self.wire)) {
            Completeness::Said
        } else {
            Completeness::Unsaid
        }
    }

    /// A plan for a streamed answer of which everything arrives.
    pub fn whole(&self, body: Vec<Beat>) -> Plan {
        Plan::new(streamed(self.wire, body)).complete(vec![arguments()])
    }

    /// A plan for a streamed answer of which only the frames before the position count.
    pub fn broken(&self, body: Vec<Beat>) -> Plan {
        let mut plan = self.whole(body);
        plan.reply = self.said_stop(self.before());
        plan
    }
}

/// Frames at the end of a stream that finish it: the first of them says why the model stopped.
pub const fn finish_frames(wire: Wire) -> usize {
    match wire {
        // The reason, usage, `[DONE]`.
        Wire::OpenAiChat => 3,
        // The reason, then the end or the usage.
        Wire::AnthropicMessages | Wire::BedrockConverse => 2,
        Wire::OpenAiResponses | Wire::AzureResponses | Wire::Gemini | Wire::Vertex => 1,
    }
}

/// A streaming answer with a body.
pub fn streamed(wire: Wire, body: Vec<Beat>) -> Answer {
    Answer::new(200, vec![("content-type".to_owned(), render::content_type(wire).to_owned())], body)
}

/// A streaming answer without a fault.
pub fn well_answered(wire: Wire, turn: &Turn) -> Answer {
    streamed(wire, render::stream(wire, turn).into_iter().map(Beat::bytes).collect())
}

#[cfg(test)]
#[path = "cell_tests.rs"]
mod tests;
