//! Finds where a run started, so that it can run again.

use crate::event::{AgentEvent, Event};
use crate::id::{LoopId, MessageId};

/// Where a run started.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunStart {
    /// Id of the loop.
    pub loop_id: LoopId,
    /// The last message before the model's first reply; `None` if there was none.
    pub message_id: Option<MessageId>,
}

/// Returns where a run of a session started: the newest one, or the one with this number. The number is the last part of
/// the loop id.
pub fn run_start(records: &[Event], number: Option<u64>) -> Option<RunStart> {
    let is_asked = |loop_id: &LoopId| number.is_none() || loop_id.number() == number;
    let (at, start) = records.iter().enumerate().rev().find_map(|(at, record)| match &record.event {
        AgentEvent::AgentStart(start) if is_asked(&start.loop_id) => Some((at, start)),
        _ => None,
    })?;
    let own = records.iter().skip(at).filter(|record| record.loop_id.as_ref() == Some(&start.loop_id));
    let prompts = own.map_while(|record| match &record.event {
        AgentEvent::MessageEnd { message } => {
            let is_reply = message.shared().is_some_and(|message| message.as_assistant().is_some());
            (!is_reply).then_some(Some(message.id()))
        }
        _ => Some(None),
    });
    let message_id = prompts.flatten().last().or(start.base);
    Some(RunStart { loop_id: start.loop_id.clone(), message_id })
}
