//! The logs of a session and of the sub-agents below it, as one stream over any host.
//!
//! Owns one cursor for each session that is not read to its end. Invariant: the events of a sub-agent come after the event that
//! started it, each once and in their order.

use std::collections::{BTreeMap, VecDeque};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::Stream;
use lariat_core::BoxFuture;
use lariat_core::event::AgentEvent;
use lariat_core::id::SessionId;
use serde::{Deserialize, Serialize};

use crate::{Cursor, ItemStream, LogItem, LogRequest, Problem, ProblemCode, Sessions};

/// Where a client is in the logs of a tree: a cursor for each session that it has not read to its end.
pub type TreeCursors = BTreeMap<SessionId, Cursor>;

/// An item of the log of one session of a tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TreeItem {
    /// The session.
    pub session_id: SessionId,
    /// The item.
    pub item: LogItem,
}

/// Reads the logs of a session and of all sub-agents below it, each as [`Sessions::log`] does.
///
/// A sub-agent is read up to its end. The stream ends with the first problem; create another one with [`cursors`](Self::cursors) to
/// continue.
///
/// ```
/// # use std::sync::Arc;
/// # use lariat_api::{Sessions, TreeCursors, TreeLog};
/// # fn example(sessions: Arc<dyn Sessions>) -> Result<(), serde_json::Error> {
/// let log = TreeLog::follow(Arc::clone(&sessions), "session".into(), TreeCursors::new());
/// // Before it exits, a client saves where it is in each log. The next one misses nothing.
/// let saved = serde_json::to_string(log.cursors())?;
/// let log = TreeLog::follow(sessions, "session".into(), serde_json::from_str(&saved)?);
/// # Ok(())
/// # }
/// ```
pub struct TreeLog {
    sessions: Arc<dyn Sessions>,
    root: SessionId,
    is_following: bool,
    cursors: TreeCursors,
    /// The session that is asked next is first.
    members: VecDeque<Member>,
}

/// A session that is not read to its end.
struct Member {
    session_id: SessionId,
    state: MemberState,
    /// Whether to wait for new events.
    is_following: bool,
}

enum MemberState {
    Opening(BoxFuture<'static, Result<ItemStream<LogItem>, Problem>>),
    Reading(ItemStream<LogItem>),
    /// The host does not know the session yet. It is opened again when another session had an item.
    Unknown,
}

impl TreeLog {
    /// Reads all events after these cursors, or from the start, and continues with new events.
    pub fn follow(sessions: Arc<dyn Sessions>, root: SessionId, cursors: TreeCursors) -> Self {
        Self::new(sessions, root, cursors, true)
    }

    /// Reads the events after these cursors, or from the start, that exist now.
    pub fn read(sessions: Arc<dyn Sessions>, root: SessionId, cursors: TreeCursors) -> Self {
        Self::new(sessions, root, cursors, false)
    }

    fn new(sessions: Arc<dyn Sessions>, root: SessionId, cursors: TreeCursors, is_following: bool) -> Self {
        let mut log = Self { sessions, root, is_following, cursors, members: VecDeque::new() };
        log.cursors.entry(log.root.clone()).or_insert_with(Cursor::start);
        let open: Vec<SessionId> = log.cursors.keys().cloned().collect();
        open.into_iter().for_each(|session_id| log.open(session_id, is_following));
        log
    }

    /// Returns where the client is after the items that the stream yielded.
    pub const fn cursors(&self) -> &TreeCursors {
        &self.cursors
    }

    /// Reads a session after its cursor.
    fn open(&mut self, session_id: SessionId, is_following: bool) {
        let state = self.opening(&session_id, is_following);
        self.members.push_back(Member { session_id, state, is_following });
    }

    fn opening(&self, session_id: &SessionId, is_following: bool) -> MemberState {
        let (sessions, id) = (Arc::clone(&self.sessions), session_id.clone());
        let after = self.cursors.get(session_id).cloned();
        let request = LogRequest { after, last: None, follow: is_following };
        MemberState::Opening(Box::pin(async move { sessions.log(&id, request).await }))
    }

    /// Takes note of an item. Returns whether its session is read to its end.
    fn accept(&mut self, session_id: &SessionId, item: &LogItem) -> bool {
        let (LogItem::Event { cursor, .. } | LogItem::Synced { cursor }) = item;
        self.cursors.insert(session_id.clone(), cursor.clone());
        self.open_unknown();
        let LogItem::Event { event, .. } = item else { return false };
        match &event.event {
            AgentEvent::SubAgentSpawned { child_session_id, .. }
                if !self.cursors.contains_key(child_session_id) =>
            {
                self.cursors.insert(child_session_id.clone(), Cursor::start());
                self.open(child_session_id.clone(), self.is_following);
                false
            }
            // Everything that it recorded is durable. One that was refused has no log.
            AgentEvent::SubAgentCompleted { child_loop_id, .. } => {
                let child = child_loop_id.session();
                let is_open = self.members.iter().any(|member| member.session_id == child);
                self.members.retain(|member| member.session_id != child);
                if is_open {
                    self.open(child, false);
                }
                false
            }
            AgentEvent::AgentEnd { .. } => *session_id != self.root,
            _ => false,
        }
    }

    fn open_unknown(&mut self) {
        let is_unknown = |member: &Member| matches!(member.state, MemberState::Unknown);
        for at in 0..self.members.len() {
            let Some(member) = self.members.get(at).filter(|member| is_unknown(member)) else { continue };
            let state = self.opening(&member.session_id, member.is_following);
            if let Some(member) = self.members.get_mut(at) {
                member.state = state;
            }
        }
    }

    /// Asks one session for its next item; `None` at the end of its log.
    fn poll_member(
        &self,
        member: &mut Member,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<LogItem, Problem>>> {
        loop {
            match &mut member.state {
                MemberState::Unknown => return Poll::Pending,
                MemberState::Reading(items) => return items.as_mut().poll_next(context),
                MemberState::Opening(opening) => match opening.as_mut().poll(context) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Ok(items)) => member.state = MemberState::Reading(items),
                    Poll::Ready(Err(problem))
                        if problem.code == ProblemCode::NotFound && member.session_id != self.root =>
                    {
                        if !member.is_following {
                            return Poll::Ready(None);
                        }
                        member.state = MemberState::Unknown;
                    }
                    Poll::Ready(Err(problem)) => return Poll::Ready(Some(Err(problem))),
                },
            }
        }
    }
}

impl Stream for TreeLog {
    type Item = Result<TreeItem, Problem>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        for _ in 0..self.members.len() {
            let Some(mut member) = self.members.pop_front() else { break };
            match self.poll_member(&mut member, context) {
                Poll::Pending => self.members.push_back(member),
                Poll::Ready(None) => {
                    if member.session_id != self.root {
                        self.cursors.remove(&member.session_id);
                    }
                }
                Poll::Ready(Some(Ok(item))) => {
                    let session_id = member.session_id.clone();
                    if self.accept(&session_id, &item) {
                        self.cursors.remove(&session_id);
                    } else {
                        self.members.push_back(member);
                    }
                    return Poll::Ready(Some(Ok(TreeItem { session_id, item })));
                }
                Poll::Ready(Some(Err(problem))) => {
                    self.members.clear();
                    return Poll::Ready(Some(Err(problem)));
                }
            }
        }
        if self.members.is_empty() { Poll::Ready(None) } else { Poll::Pending }
    }
}

impl std::fmt::Debug for TreeLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TreeLog")
            .field("root", &self.root)
            .field("cursors", &self.cursors)
            .finish_non_exhaustive()
    }
}
