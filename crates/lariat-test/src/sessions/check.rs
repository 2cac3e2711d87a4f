//! The invariants that every script must keep, checked when the session is at rest.

use std::time::Duration;

use futures_util::{FutureExt as _, StreamExt as _};
use lariat_api::{
    Action, Cursor, LogItem, LogRequest, ProblemCode, SessionCommand, SessionView, StoreGeneration,
};
use lariat_core::event::Event;
use serde_json::Value;
use tokio::time::{Instant, sleep, timeout};

use super::fold::{Fold, SessionMoment, accepted_command};
use super::play::unknown_action;
use super::script::ScriptClient;
use super::stage::{PATIENCE, POLL, Stage};
use super::watch::Follower;

impl Stage {
    /// Checks everything, also over another crash.
    pub(super) async fn check(&mut self) -> Result<(), String> {
        self.fixture.heal();
        let view = self.finish().await?;
        self.reattach().await?;
        let journal = self.journal().await;
        self.check_journal(&journal)?;
        self.check_views(&journal, &view)?;
        self.check_followers(&journal).await?;
        self.check_every_position(&journal).await?;
        self.check_newest_events(&journal, &view).await?;
        self.check_foreign_cursor(&view).await?;
        self.check_retries(&journal).await?;
        self.crash().await?;
        let after = self.view().await?;
        if after.seq != view.seq || after.cursor != view.cursor {
            return Err(format!(
                "at rest the view was at {}, after a crash at {}",
                view.cursor, after.cursor
            ));
        }
        let fold = Fold::of(&journal, &self.context);
        fold.compare(&after, &self.context, SessionMoment::AtRest)?;
        self.check_retries(&journal).await?;
        self.detach().await;
        Ok(())
    }

    /// Checks that the journal and the view are right at the end.
    pub(super) async fn check_outcome(&mut self) -> Result<(), String> {
        let view = self.finish().await?;
        let journal = self.journal().await;
        self.check_journal(&journal)?;
        self.check_views(&journal, &view)?;
        self.detach().await;
        Ok(())
    }

    /// What was acknowledged is recorded and happened once.
    fn check_journal(&self, journal: &[Event]) -> Result<(), String> {
        if let Some((place, event)) = journal.iter().enumerate().find(|(n, event)| event.seq != *n as u64) {
            return Err(format!("event {} is at position {place}", event.seq));
        }
        let accepted: Vec<_> = journal.iter().map(accepted_command).collect();
        let count = |id: &str| accepted.iter().flatten().filter(|command| command.command_id == id).count();
        for (command, receipt) in &self.acknowledged {
            let recorded = usize::try_from(receipt.seq).ok().and_then(|seq| accepted.get(seq)?.as_ref());
            let is_right = recorded.is_some_and(|recorded| {
                recorded.command_id == command.id.as_str() && recorded.client == command.client.as_str()
            });
            if !is_right || count(command.id.as_str()) != 1 {
                return Err(format!(
                    "{} was acknowledged at {}, but the journal records it {} times",
                    command.id,
                    receipt.seq,
                    count(command.id.as_str())
                ));
            }
        }
        if let Some(id) = self.refused.iter().find(|id| count(id.as_str()) > 0) {
            return Err(format!("{id} was refused, but the journal records it"));
        }
        let fold = Fold::of(journal, &self.context);
        for key in &fold.accepted {
            let expected = usize::from(!fold.removed.contains(key));
            let count = fold.conversation.iter().filter(|delivered| delivered.key == *key).count();
            if count != expected {
                return Err(format!(
                    "the prompt {key} is {count} times in the conversation, expected {expected}"
                ));
            }
        }
        if let Some(extra) =
            fold.conversation.iter().find(|delivered| !fold.accepted.contains(&delivered.key))
        {
            return Err(format!("the prompt {} is in the conversation but was not accepted", extra.key));
        }
        fold.check_work_outside_runs()?;
        let changes = self.own_changes();
        for change in &changes {
            if change.is_undone != fold.is_undone(&change.id) {
                return Err(format!(
                    "the file of {} is undone: {}; the restores say: {}",
                    change.id,
                    change.is_undone,
                    fold.is_undone(&change.id)
                ));
            }
        }
        let effects: Vec<String> = changes.into_iter().map(|change| change.id).collect();
        check_effects(&fold, &self.fixture.files().marks(), &effects, &self.name(""))
    }

    /// Every view that anybody read is the fold of its events.
    fn check_views(&mut self, journal: &[Event], last: &SessionView) -> Result<(), String> {
        self.counts.views += self.views.len();
        for view in &self.views {
            let prefix = usize::try_from(view.seq).ok().and_then(|seq| journal.get(..seq));
            let Some(prefix) = prefix.filter(|_| view.cursor.next() == view.seq) else {
                let total = journal.len();
                return Err(format!(
                    "a view at {} has the cursor {} of {total} events",
                    view.seq, view.cursor
                ));
            };
            Fold::of(prefix, &self.context).compare(view, &self.context, SessionMoment::Running)?;
        }
        if last.seq != journal.len() as u64 {
            return Err(format!("at rest the view is at {}, the journal at {}", last.seq, journal.len()));
        }
        Fold::of(journal, &self.context).compare(last, &self.context, SessionMoment::AtRest)
    }

    /// Every client that was attached received every event once, and its live texts were complete.
    async fn check_followers(&mut self, journal: &[Event]) -> Result<(), String> {
        for (name, follower) in [("A", &self.a), ("B", &self.b)] {
            // A client that connects again for every event may be slow, as long as it makes progress.
            let mut received = usize::MAX;
            while !has_all(follower, journal) && follower.seen().events.len() != received {
                received = follower.seen().events.len();
                wait_until(|| has_all(follower, journal)).await;
            }
            let seen = follower.seen();
            if let Some(problem) = seen.problems.first() {
                return Err(format!("client {name}: {problem}"));
            }
            same_events(&seen.events, journal).map_err(|problem| format!("client {name}: {problem}"))?;
            self.counts.reconnects += seen.connections;
        }
        wait_until(|| self.live.seen().check(journal).is_ok()).await;
        self.live.seen().check(journal)
    }

    /// Reads the log from every position, with and without following.
    async fn check_every_position(&mut self, journal: &[Event]) -> Result<(), String> {
        let cursors = self.read_log(LogRequest::default(), journal).await;
        let cursors = cursors.map_err(|problem| format!("the whole log: {problem}"))?;
        let starts = cursors.into_iter().enumerate().map(|(place, cursor)| (place + 1, Some(cursor)));
        for (next, after) in std::iter::once((0, None)).chain(starts) {
            for follow in [false, true] {
                let mut request = LogRequest::default();
                (request.after, request.follow) = (after.clone(), follow);
                self.counts.reconnects += 1;
                let rest = journal.get(next..).unwrap_or_default();
                let read = timeout(PATIENCE, self.read_log(request, rest)).await;
                let read =
                    read.unwrap_or_else(|_| Err("it does not come to `Synced` or does not end".to_owned()));
                read.map_err(|problem| format!("the log after {next} events, follow {follow}: {problem}"))?;
            }
        }
        Ok(())
    }

    /// Reads the newest events: none, some, all, and more than there are. A position and a number exclude each other.
    async fn check_newest_events(&mut self, journal: &[Event], view: &SessionView) -> Result<(), String> {
        for last in [0, 1, 2, journal.len() / 2, journal.len(), journal.len() + 1] {
            let mut request = LogRequest::follow_last(last as u64);
            request.follow = last % 2 == 0;
            self.counts.reconnects += 1;
            let rest = journal.get(journal.len().saturating_sub(last)..).unwrap_or_default();
            let read = timeout(PATIENCE, self.read_log(request, rest)).await;
            let read =
                read.unwrap_or_else(|_| Err("it does not come to `Synced` or does not end".to_owned()));
            read.map_err(|problem| format!("the last {last} events: {problem}"))?;
        }
        let mut request = LogRequest::follow(view.cursor.clone());
        request.last = Some(1);
        match self.host.log(&self.session, request).await {
            Err(problem) if problem.code == ProblemCode::Invalid => Ok(()),
            Err(problem) => Err(format!("`after` and `last` together got {problem:?}")),
            Ok(_) => Err("`after` and `last` together got a log".to_owned()),
        }
    }

    /// Reads a log that has these events, and returns the cursors after them.
    async fn read_log(&self, request: LogRequest, rest: &[Event]) -> Result<Vec<Cursor>, String> {
        let is_following = request.follow;
        let log = self.host.log(&self.session, request).await;
        let mut stream = log.map_err(|problem| problem.to_string())?;
        let (mut events, mut cursors) = (Vec::new(), Vec::new());
        let mut synced = 0;
        while let Some(item) = stream.next().await {
            match item.map_err(|problem| problem.to_string())? {
                LogItem::Event { cursor, event } => {
                    if synced > 0 || cursor.next() != event.seq + 1 {
                        return Err(format!(
                            "event {} with cursor {cursor}, after {synced} `Synced`",
                            event.seq
                        ));
                    }
                    events.push(event);
                    cursors.push(cursor);
                }
                LogItem::Synced { cursor } => {
                    synced += 1;
                    let end = rest.last().map(|event| event.seq + 1);
                    if end.is_some_and(|end| cursor.next() != end) {
                        return Err(format!("`Synced` at {cursor}, not at {end:?}"));
                    }
                    if is_following {
                        // Nothing happens any more, so nothing may follow.
                        tokio::task::yield_now().await;
                        if let Some(item) = stream.next().now_or_never() {
                            return Err(format!("{item:?} after `Synced`"));
                        }
                        break;
                    }
                }
                other => return Err(format!("{other:?}")),
            }
        }
        if synced != 1 {
            return Err(format!("{synced} times `Synced`"));
        }
        same_events(&events, rest)?;
        Ok(cursors)
    }

    /// A cursor of another generation is refused, not taken for a position here.
    async fn check_foreign_cursor(&self, view: &SessionView) -> Result<(), String> {
        let name = format!("x{}", view.cursor.generation().as_str().len());
        let generation = StoreGeneration::new(name).map_err(|error| error.to_string())?;
        let request = LogRequest::follow(Cursor::new(generation, 0));
        let first = match self.host.log(&self.session, request).await {
            Ok(mut stream) => timeout(PATIENCE, stream.next()).await.ok().flatten(),
            Err(problem) => Some(Err(problem)),
        };
        match first {
            Some(Err(problem)) if problem.code == ProblemCode::CursorGone => Ok(()),
            other => Err(format!("a cursor of another store got {other:?}")),
        }
    }

    /// At rest, a retry gets its receipt, another content a conflict and an unknown action a refusal; nothing changes.
    async fn check_retries(&mut self, journal: &[Event]) -> Result<(), String> {
        for (command, receipt) in &self.acknowledged {
            match self.attempt(command).await? {
                Ok(again) if again == *receipt => {}
                other => return Err(format!("{} got {receipt:?}, and later {other:?}", command.id)),
            }
            let action = Action::Describe { title: Some("another content".to_owned()), tags: None };
            let other = SessionCommand::new(command.id.clone(), command.client.clone(), action);
            match self.attempt(&other).await? {
                Err(problem) if problem.code == ProblemCode::CommandConflict => {}
                other => return Err(format!("another content under {} got {other:?}", command.id)),
            }
        }
        self.refuse(ScriptClient::B, unknown_action(), &[ProblemCode::Unsupported]).await?;
        // Effects of a command that ran again would follow its receipt.
        sleep(POLL * 2).await;
        let now = self.journal().await;
        same_events(&now, journal)
            .map_err(|problem| format!("retries at rest changed the journal: {problem}"))
    }
}

/// Every tool call had its effect at most once, and one that succeeded had it. The marks of this run start with `own`.
pub(super) fn check_effects(
    fold: &Fold,
    marks: &[String],
    effects: &[String],
    own: &str,
) -> Result<(), String> {
    for mark in marks.iter().filter(|mark| mark.starts_with(own)) {
        let count = marks.iter().filter(|other| *other == mark).count();
        if count > 1 {
            return Err(format!("the tool call {mark} ran {count} times"));
        }
    }
    match fold.succeeded.iter().find(|id| !effects.iter().any(|effect| effect == id.as_str())) {
        Some(id) => Err(format!("the journal says that {id} succeeded, but it had no effect")),
        None => Ok(()),
    }
}

fn has_all(follower: &Follower, journal: &[Event]) -> bool {
    let seen = follower.seen();
    !seen.problems.is_empty() || seen.events.len() >= journal.len()
}

async fn wait_until(condition: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE.min(Duration::from_secs(5));
    while !condition() && Instant::now() < deadline {
        sleep(POLL).await;
    }
}

/// Compares the stored form, which is what a client receives over a wire.
fn same_events(seen: &[Event], expected: &[Event]) -> Result<(), String> {
    let json = |event: &Event| serde_json::to_value(event).unwrap_or(Value::Null);
    for (seen, expected) in seen.iter().zip(expected) {
        if json(seen) != json(expected) {
            return Err(format!("event {} is {:?}, expected {:?}", expected.seq, seen.event, expected.event));
        }
    }
    if seen.len() == expected.len() {
        return Ok(());
    }
    let longer = if seen.len() > expected.len() { seen } else { expected };
    let first = longer.get(seen.len().min(expected.len())).map(|event| &event.event);
    Err(format!("{} events, expected {}; the first that differs is {first:?}", seen.len(), expected.len()))
}
