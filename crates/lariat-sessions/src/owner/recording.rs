//! Records commands, and finds out from the journal what it has: receipts, answers, messages.

use std::collections::HashSet;

use lariat_api::{AskId, CommandId, Problem, ProblemCode, Receipt};
use lariat_core::event::{AgentEvent, CommandRecord, Event};
use lariat_core::id::MessageId;
use lariat_core::session::TreeChanges;
use lariat_runtime::{Agent, AgentError, CommandEffect};

use super::{Accepted, Owner};
use crate::problems::{self, wrong_status};
use crate::session::SessionEntry;

/// Events per read.
const PAGE: usize = 512;

impl Owner {
    pub(super) async fn note(&mut self, accepted: Accepted, event: AgentEvent) -> Result<Receipt, Problem> {
        self.record(accepted, vec![CommandEffect::note(event)]).await
    }

    /// Records a command with its effects, in the active run, or without a run.
    pub(super) async fn record(
        &mut self,
        accepted: Accepted,
        effects: Vec<CommandEffect>,
    ) -> Result<Receipt, Problem> {
        self.recover().await?;
        record(&self.agent().await?, &self.entry, accepted, effects).await
    }

    /// Records the creation of a fork, which another client may use already.
    pub(super) async fn finish_creation(
        &mut self,
        record: CommandRecord,
        effects: Vec<CommandEffect>,
    ) -> Result<(), Problem> {
        let agent = self.agent().await?;
        let recorded = match self.run {
            Some(_) => agent.record_command(record, effects).await,
            None => agent.record_creation(record, effects).await,
        };
        if let Some(hosted) = self.hosted.take_if(|_| self.run.is_none()) {
            // The next command builds an agent with the model and the mode that the client chose.
            hosted.close().await;
        }
        recorded.map(drop).map_err(|error| problems::from_agent(&error))
    }

    /// Returns the receipt of a command that the journal has.
    pub(super) async fn receipt_of(&self, id: CommandId) -> Result<Receipt, Problem> {
        receipt_of(&self.entry, id).await
    }

    /// Returns the receipt of an earlier command with the same id.
    pub(super) async fn earlier_receipt(
        &self,
        id: &CommandId,
        digest: &str,
    ) -> Result<Option<Receipt>, Problem> {
        earlier_receipt(&self.entry, id, digest).await
    }

    pub(super) async fn check_idle(&mut self, what: &str) -> Result<(), Problem> {
        if self.shell.is_some() {
            let message = format!("a command of the user runs; the session cannot {what} now");
            return Err(wrong_status(&message, "interrupt the command, or wait for its end"));
        }
        if self.run.is_some() || self.entry.fold().await?.has_open_run() {
            let message = format!("a run is active; the session cannot {what} now");
            return Err(wrong_status(&message, "interrupt the run, or wait for its end"));
        }
        Ok(())
    }

    pub(super) async fn check_message(&self, id: MessageId) -> Result<(), Problem> {
        self.position_of(id).await.map(drop)
    }

    /// Returns the position of the event that added a message.
    pub(super) async fn position_of(&self, id: MessageId) -> Result<u64, Problem> {
        let is_it = |event: &Event| match &event.event {
            AgentEvent::MessageEnd { message } => message.id() == id,
            AgentEvent::MessageQueued { message, .. } => message.id() == id,
            AgentEvent::MessagesImported { messages, .. } => {
                messages.iter().any(|message| message.id() == id)
            }
            _ => false,
        };
        let found = self.find_event(|event| is_it(event).then_some(())).await?;
        found
            .map(|(seq, ())| seq)
            .ok_or_else(|| Problem::new(ProblemCode::NotFound, format!("the session has no message `{id}`")))
    }

    /// Returns the newest event that `read` accepts: its position, and what `read` made of it.
    pub(super) async fn find_event<T>(
        &self,
        mut read: impl FnMut(&Event) -> Option<T>,
    ) -> Result<Option<(u64, T)>, Problem> {
        let (store, id) = (&self.entry.store, &self.entry.session_id);
        let mut before = store.head(id).await.map_err(|error| problems::from_store(&error))?;
        while before > 0 {
            let page = store.read_backwards(id, before, PAGE).await;
            let page = page.map_err(|error| problems::from_store(&error))?;
            if let Some(found) = page.iter().find_map(|event| Some((event.seq, read(event)?))) {
                return Ok(Some(found));
            }
            // An empty page would be a store that lost events; then nothing is left to find.
            before = if page.is_empty() { 0 } else { before.saturating_sub(page.len() as u64) };
        }
        Ok(None)
    }
}

/// Records a command with its effects, in the active run of an agent, or without a run.
pub(super) async fn record(
    agent: &Agent,
    entry: &SessionEntry,
    accepted: Accepted,
    effects: Vec<CommandEffect>,
) -> Result<Receipt, Problem> {
    match agent.record_command(accepted.record, effects).await {
        Ok(seq) => Ok(Receipt::new(accepted.id, seq)),
        // The journal knows whether the command was written.
        Err(AgentError::TaskLost) => receipt_of(entry, accepted.id).await,
        Err(error) => Err(problems::from_agent(&error)),
    }
}

async fn receipt_of(entry: &SessionEntry, id: CommandId) -> Result<Receipt, Problem> {
    let recorded = entry.command(id.as_str()).await?;
    recorded.map(|(seq, _)| Receipt::new(id, seq)).ok_or_else(problems::owner_lost)
}

/// Says who answered an ask first.
pub(super) async fn late_answer(entry: &SessionEntry, ask: &AskId) -> Problem {
    let (by, is_open) = match entry.fold().await {
        Ok(fold) => {
            (fold.answered_by(ask).map(str::to_owned), fold.asks().iter().any(|open| open.id == *ask))
        }
        Err(problem) => return problem,
    };
    match by {
        Some(by) => Problem::new(ProblemCode::AlreadyAnswered, format!("{by} answered this question before")),
        None if is_open => Problem::new(
            ProblemCode::AlreadyAnswered,
            "another client answered this question, and the permission check judges the answer",
        ),
        None => Problem::new(ProblemCode::NotFound, "the session has no such question"),
    }
}

/// Returns the tool calls and the commands of the user that began after a position, or ever, with those of sub-agents.
pub(crate) async fn calls_after(
    entry: &SessionEntry,
    after: Option<u64>,
) -> Result<HashSet<String>, Problem> {
    let mut changes = TreeChanges::after(after);
    let (mut session, mut next) = (entry.session_id.clone(), after.unwrap_or_default());
    loop {
        let page = entry.store.read(&session, next, PAGE).await;
        let page = page.map_err(|error| problems::from_store(&error))?;
        next += page.len() as u64;
        changes.read(&page);
        if page.len() == PAGE {
            continue;
        }
        match changes.next_session() {
            Some(child) => (session, next) = (child, 0),
            None => return Ok(changes.into_ids()),
        }
    }
}

/// Returns the receipt of an earlier command with the same id; a conflict if its content was another.
pub(crate) async fn earlier_receipt(
    entry: &SessionEntry,
    id: &CommandId,
    digest: &str,
) -> Result<Option<Receipt>, Problem> {
    match entry.command(id.as_str()).await? {
        None => Ok(None),
        Some((seq, recorded)) if recorded.digest == digest => Ok(Some(Receipt::new(id.clone(), seq))),
        Some(_) => Err(Problem::new(ProblemCode::CommandConflict, "this id was used for another command")
            .with_place(id.as_str())
            .with_hint("choose a new id for every command")),
    }
}
