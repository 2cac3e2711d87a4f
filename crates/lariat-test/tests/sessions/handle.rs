//! The toy host as its clients see it: logs, live items, lists and changes.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::{StreamExt as _, stream};
use lariat_api::{
    Action, ContextUse, CreateSession, FileDiff, FileList, ItemStream, Live, LogItem, LogRequest, Problem,
    ProblemCode, Receipt, SessionChange, SessionCommand, SessionFilter, SessionPage, SessionSummary,
    SessionView, Sessions,
};
use lariat_core::BoxFuture;
use lariat_core::event::{AgentEvent, Description};
use lariat_core::id::SessionId;
use lariat_core::store::BlobHash;
use tokio::sync::broadcast;

use super::toy::{Host, Mistake, problem};

/// The host behind a handle, because streams outlive a call.
pub(super) struct Handle(pub(super) Arc<Host>);

impl Sessions for Handle {
    fn create(&self, request: CreateSession) -> BoxFuture<'_, Result<SessionView, Problem>> {
        let id = request.session_id;
        if self.0.journal(&id).is_err() {
            let mut description = Description::default();
            (description.title, description.cwd) = (request.title, Some(request.directory));
            self.0.append(&id, None, vec![AgentEvent::SessionDescribed(Box::new(description))]);
        }
        Box::pin(std::future::ready(Host::view(&self.0, &id)))
    }

    fn list(&self, filter: SessionFilter) -> BoxFuture<'_, Result<SessionPage, Problem>> {
        let ids: Vec<SessionId> = self.0.journals.lock().unwrap().keys().cloned().collect();
        let mut all: Vec<SessionSummary> = ids.iter().map(|id| self.0.summary(id)).collect();
        all.retain(|summary| {
            let archived = &summary.archived;
            let text = format!("{:?} {:?}", archived.title, archived.first_prompt);
            filter.text.as_ref().is_none_or(|word| text.contains(word))
                && filter.directory.as_ref().is_none_or(|directory| archived.cwd.as_ref() == Some(directory))
                && filter.tag.as_ref().is_none_or(|tag| archived.tags.contains(tag))
                && (filter.status.is_empty() || filter.status.contains(&summary.status))
        });
        all.sort_by_key(|summary| std::cmp::Reverse(summary.archived.cursor()));
        let start: usize = filter.page.map_or(0, |page| page.parse().unwrap());
        let end = all.len().min(start + filter.limit.unwrap_or(100) as usize);
        let next = if self.0.has(Mistake::RepeatsSessionOnNextPage) {
            end - usize::from(end > start + 1)
        } else {
            end
        };
        let next = (end < all.len()).then(|| next.to_string());
        let page = SessionPage::new(all.drain(start..end).collect(), next);
        Box::pin(std::future::ready(Ok(page)))
    }

    fn view<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<SessionView, Problem>> {
        Box::pin(std::future::ready(Host::view(&self.0, session_id)))
    }

    fn send<'a>(
        &'a self,
        session_id: &'a SessionId,
        command: SessionCommand,
    ) -> BoxFuture<'a, Result<Receipt, Problem>> {
        Box::pin(async move {
            if let Action::Shell { command: line } = &command.action
                && self.0.has(Mistake::RunsCommandBeforeRecord)
                && !self.0.state(session_id).commands.contains_key(command.id.as_str())
            {
                self.0.files.add(&format!("shell-{}", command.id), line);
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
            Host::send(&self.0, session_id, command)
        })
    }

    fn log<'a>(
        &'a self,
        session_id: &'a SessionId,
        request: LogRequest,
    ) -> BoxFuture<'a, Result<ItemStream<LogItem>, Problem>> {
        Box::pin(async move {
            let known = self.0.journal(session_id)?.len() as u64;
            if !self.0.has(Mistake::TakesTwoStarts) {
                request.check()?;
            }
            let mut next = request.last.map_or(0, |last| known.saturating_sub(last));
            if self.0.has(Mistake::SkipsEventsOfLast) && next > 0 {
                next += 1;
            }
            if let Some(after) = request.after {
                if after.generation().as_str() != "toy1" && !self.0.has(Mistake::TakesForeignCursor) {
                    return Err(problem(ProblemCode::CursorGone, "the cursor is of another store"));
                }
                next = after.next()
                    + u64::from(self.0.has(Mistake::SkipsEventAfterReconnect) && after.next() == 3);
            }
            let synced_at = if self.0.has(Mistake::SyncsTooEarly) { known.saturating_sub(1) } else { known };
            let times = if self.0.has(Mistake::SendsSyncedTwice) { 2 } else { 1 };
            let (host, id) = (Arc::clone(&self.0), session_id.clone());
            let attached = request.follow.then(|| self.0.attach());
            let start = (next, times, self.0.grown.subscribe(), attached);
            let log = stream::unfold(start, move |(next, synced, mut grown, attached)| {
                let (host, id) = (Arc::clone(&host), id.clone());
                async move {
                    if synced > 0 && next >= synced_at {
                        let item = LogItem::Synced { cursor: host.cursor(next) };
                        return Some((Ok(item), (next, synced - 1, grown, attached)));
                    }
                    loop {
                        grown.mark_unchanged();
                        let event = host.journal(&id).unwrap().get(next as usize).cloned();
                        match event {
                            Some(event) if next < known || request.follow => {
                                let item = LogItem::Event { cursor: host.cursor(next + 1), event };
                                return Some((Ok(item), (next + 1, synced, grown, attached)));
                            }
                            _ if !request.follow => return None,
                            _ => grown.changed().await.ok()?,
                        }
                    }
                }
            });
            Ok(Box::pin(log) as ItemStream<LogItem>)
        })
    }

    fn live<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<ItemStream<Live>, Problem>> {
        Box::pin(async move {
            self.0.journal(session_id)?;
            let (host, id) = (Arc::clone(&self.0), session_id.clone());
            let attached = self.0.attach();
            let live =
                stream::unfold((self.0.live.subscribe(), attached), move |(mut receiver, attached)| {
                    let (host, id) = (Arc::clone(&host), id.clone());
                    async move {
                        loop {
                            let item = match receiver.recv().await {
                                Ok((session, item)) if session == id => Live::Event(item),
                                Err(broadcast::error::RecvError::Lagged(_))
                                    if !host.has(Mistake::DropsLiveSilently) =>
                                {
                                    Live::Resync { after: host.journal(&id).unwrap().len() as u64 }
                                }
                                Err(broadcast::error::RecvError::Closed) => return None,
                                _ => continue,
                            };
                            return Some((Ok(item), (receiver, attached)));
                        }
                    }
                });
            Ok(Box::pin(live) as ItemStream<Live>)
        })
    }

    fn changes(&self) -> BoxFuture<'_, Result<ItemStream<SessionChange>, Problem>> {
        let host = Arc::clone(&self.0);
        let start = (BTreeMap::<SessionId, u64>::new(), self.0.grown.subscribe());
        let changes = stream::unfold(start, move |(mut known, mut grown)| {
            let host = Arc::clone(&host);
            async move {
                grown.changed().await.ok()?;
                let sizes: Vec<(SessionId, u64)> = {
                    let journals = host.journals.lock().unwrap();
                    journals.iter().map(|(id, journal)| (id.clone(), journal.len() as u64)).collect()
                };
                let mut changes = Vec::new();
                for (id, size) in sizes {
                    let is_forgotten = host.has(Mistake::ForgetsChange) && !changes.is_empty();
                    if known.insert(id.clone(), size) != Some(size) && !is_forgotten {
                        let status = host.status(&id, &host.state(&id));
                        changes.push(Ok(SessionChange::new(id, size, status)));
                    }
                }
                Some((stream::iter(changes), (known, grown)))
            }
        });
        Box::pin(std::future::ready(Ok(Box::pin(changes.flatten()) as ItemStream<SessionChange>)))
    }

    fn diff<'a>(&'a self, _: &'a SessionId) -> BoxFuture<'a, Result<Vec<FileDiff>, Problem>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    fn files<'a>(&'a self, _: &'a SessionId) -> BoxFuture<'a, Result<FileList, Problem>> {
        Box::pin(std::future::ready(Ok(FileList::default())))
    }

    fn context<'a>(&'a self, _: &'a SessionId) -> BoxFuture<'a, Result<ContextUse, Problem>> {
        Box::pin(std::future::ready(Ok(ContextUse::default())))
    }

    fn blob<'a>(&'a self, _: &'a SessionId, _: &'a BlobHash) -> BoxFuture<'a, Result<Vec<u8>, Problem>> {
        Box::pin(std::future::ready(Err(problem(ProblemCode::NotFound, "toys have no blobs"))))
    }
}
