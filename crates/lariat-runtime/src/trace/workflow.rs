//! The spans above the runs of several agents that work together: branches from one conversation, the runs of a loop or a race.
//!
//! Invariant: the ids follow from the session, so that several processes and sessions put their runs into one trace.

use lariat_core::event::Event;
use lariat_core::id::{LoopId, SessionId};
use lariat_core::time::Timestamp;
use lariat_core::usage::Usage;

use super::genai;
use super::spans::{span_id_of, usage_attributes};
use super::telemetry::{Attribute, Span, SpanKind};

/// A span above the runs of other sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Workflow {
    /// The id of the trace.
    pub trace_id: u128,
    /// The id of the span.
    pub span_id: u64,
}

impl Workflow {
    /// Returns the span of the work that a session records, the same in every process.
    pub fn of_session(session_id: &SessionId) -> Self {
        let hash = |start: u64| {
            let add = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
            session_id.as_str().bytes().fold(start, add)
        };
        // FNV-1a with two different starts.
        let (high, low) = (hash(0xcbf2_9ce4_8422_2325), hash(0x6c62_272e_07bb_0142));
        Self { trace_id: (u128::from(high) << 64) | u128::from(low), span_id: high.rotate_left(32) ^ low }
    }

    /// Returns the span for an exporter, when the work is done.
    pub fn span(
        self,
        name: &str,
        session_id: &SessionId,
        (start, end): (Timestamp, Timestamp),
        more: impl IntoIterator<Item = Attribute>,
    ) -> Span {
        let mut attributes: Vec<Attribute> = vec![
            (genai::OPERATION_NAME, genai::OPERATION_INVOKE_WORKFLOW.into()),
            (genai::CONVERSATION_ID, session_id.as_str().into()),
        ];
        attributes.extend(more);
        Span {
            trace_id: self.trace_id,
            span_id: self.span_id,
            parent: None,
            name: format!("{} {name}", genai::OPERATION_INVOKE_WORKFLOW),
            kind: SpanKind::Internal,
            start,
            end,
            attributes,
            error: None,
        }
    }
}

/// Branches of a session that run at the same time.
#[derive(Debug)]
pub(super) struct OpenBranches {
    workflow: Workflow,
    parent: Option<u64>,
    start: Timestamp,
    loop_ids: Vec<LoopId>,
}

impl OpenBranches {
    pub(super) fn new(event: &Event, loop_ids: &[LoopId], above: Option<Workflow>) -> Self {
        let own = Workflow { trace_id: event.id.uuid().as_u128(), span_id: span_id_of(event.id) };
        Self {
            workflow: above.map_or(own, |above| Workflow { trace_id: above.trace_id, ..own }),
            parent: above.map(|above| above.span_id),
            start: event.timestamp,
            loop_ids: loop_ids.to_vec(),
        }
    }

    /// Returns the span above a branch; `None` for any other loop.
    pub(super) fn above(&self, loop_id: &LoopId) -> Option<Workflow> {
        self.loop_ids.contains(loop_id).then_some(self.workflow)
    }

    pub(super) fn end(self, session_id: &SessionId, at: Timestamp, selected: &LoopId, usage: &Usage) -> Span {
        let selected: Attribute = (genai::LOOP_ID, selected.as_str().into());
        let attributes = std::iter::once(selected).chain(usage_attributes(usage));
        let span = self.workflow.span("branches", session_id, (self.start, at), attributes);
        Span { parent: self.parent, ..span }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_have_different_traces_and_each_always_the_same() {
        let ids = ["a", "b", "4a7c1f0e-0000-7000-8000-000000000001", "4a7c1f0e-0000-7000-8000-000000000002"];
        let all: Vec<Workflow> = ids.map(|id| Workflow::of_session(&id.into())).to_vec();
        for (at, workflow) in all.iter().enumerate() {
            assert_eq!(*workflow, Workflow::of_session(&ids[at].into()));
            assert!(workflow.trace_id != 0 && workflow.span_id != 0);
            assert!(all[..at].iter().all(|other| other.trace_id != workflow.trace_id));
            assert!(all[..at].iter().all(|other| other.span_id != workflow.span_id));
        }
    }
}
