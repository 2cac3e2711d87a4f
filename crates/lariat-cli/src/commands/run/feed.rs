//! Joins the durable and the live events of a session in one order.
//!
//! The log has everything that matters; live events may be missing. Invariant: the text of a reply arrives from its start
//! without a gap, or not at all until the reply itself, which is complete.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use futures_util::StreamExt as _;
use lariat_api::{ItemStream, Live, LiveItem, LogItem, LogRequest, Problem, Sessions};
use lariat_core::event::{AgentEvent, Event, Resolver};
use lariat_core::id::{MessageId, SessionId};

/// The events of a session.
pub(super) struct Feed {
    log: ItemStream<LogItem>,
    live: ItemStream<Live>,
    /// The number of durable events that were delivered.
    next: u64,
    /// Live events that follow durable ones that have not arrived yet.
    held: VecDeque<LiveItem>,
    /// Why the host cannot continue the run.
    lost: Option<Problem>,
    /// Replies whose text arrived from its start without a gap.
    streaming: HashSet<MessageId>,
    resolver: Resolver,
    /// The end of a tool call, until the next event brings its output.
    tool_end: Option<Event>,
    /// Durable events to deliver.
    ready: VecDeque<Event>,
}

pub(super) enum FeedItem {
    /// A durable event with the messages that it refers to, or a live one.
    Event(Event),
    /// All events that existed at the beginning were delivered.
    Synced,
    /// The host cannot continue the run.
    Lost(Problem),
    /// The log has ended.
    Ended,
}

impl Feed {
    /// Follows a session.
    pub(super) async fn open(
        sessions: &Arc<dyn Sessions>,
        session_id: &SessionId,
        request: LogRequest,
    ) -> Result<Self, Problem> {
        // The live stream first: an item between both is then held back instead of missed.
        let live = sessions.live(session_id).await?;
        let log = sessions.log(session_id, request).await?;
        Ok(Self::of(log, live))
    }

    fn of(log: ItemStream<LogItem>, live: ItemStream<Live>) -> Self {
        Self {
            log,
            live,
            next: 0,
            held: VecDeque::new(),
            lost: None,
            streaming: HashSet::new(),
            resolver: Resolver::new(),
            tool_end: None,
            ready: VecDeque::new(),
        }
    }

    /// Waits for the next event. Can be dropped and called again.
    pub(super) async fn next(&mut self) -> Result<FeedItem, Problem> {
        loop {
            while let Some(item) = self.held.pop_front_if(|item| item.after <= self.next) {
                // What a durable event has replaced since is not shown any more.
                if item.after == self.next && self.is_shown(&item.event) {
                    return Ok(FeedItem::Event(item.event));
                }
            }
            if let Some(event) = self.ready.pop_front() {
                self.next = event.seq + 1;
                if let AgentEvent::MessageEnd { message } = &event.event {
                    self.streaming.remove(&message.id());
                }
                return Ok(FeedItem::Event(event));
            }
            tokio::select! {
                biased;
                live = self.live.next() => match live {
                    Some(Ok(Live::Event(item))) => self.held.push_back(item),
                    Some(Ok(Live::RunLost { problem })) => self.lost = Some(problem),
                    // The host dropped live events; the replies that they belong to have gaps now.
                    Some(Ok(_)) => self.streaming.clear(),
                    // The log alone still has everything that matters.
                    Some(Err(_)) | None => self.live = Box::pin(futures_util::stream::pending()),
                },
                item = self.log.next() => match item {
                    None => return Ok(FeedItem::Ended),
                    Some(Err(problem)) => return Err(problem),
                    Some(Ok(LogItem::Event { event, .. })) => self.take(event),
                    Some(Ok(LogItem::Synced { cursor })) => {
                        self.next = cursor.next();
                        return Ok(FeedItem::Synced);
                    }
                    Some(Ok(_)) => {}
                },
                () = std::future::ready(()), if self.lost.is_some() => {
                    if let Some(problem) = self.lost.take() {
                        return Ok(FeedItem::Lost(problem));
                    }
                }
            }
        }
    }

    /// Attaches the messages that an event refers to. The output of a tool call is the event after its end, in the same
    /// write.
    fn take(&mut self, event: Event) {
        let is_tool_end = matches!(&event.event, AgentEvent::ToolExecutionEnd { .. });
        let resolved = self.resolver.resolve(&event);
        if let Some(end) = self.tool_end.take() {
            self.ready.push_back(self.resolver.resolve(&end));
        }
        if is_tool_end {
            self.tool_end = Some(resolved);
        } else {
            self.ready.push_back(resolved);
        }
    }

    /// Whether a live event is shown: not if it continues a reply whose earlier text is missing.
    fn is_shown(&mut self, event: &Event) -> bool {
        match &event.event {
            AgentEvent::MessageStart { message } => {
                self.streaming.insert(message.id());
                true
            }
            AgentEvent::MessageUpdate { message, .. } => self.streaming.contains(&message.id()),
            AgentEvent::MessageWithdrawn { message_id } => {
                self.streaming.remove(message_id);
                true
            }
            _ => true,
        }
    }
}

#[cfg(test)]
#[path = "feed_tests.rs"]
mod tests;
