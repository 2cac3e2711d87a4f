//! Writes what belongs to no loop: imported messages, commands with what they do, decisions about plans.
//!
//! Invariant: a command and what it does at once are one write.

use std::sync::Arc;

use lariat_core::cancel::CancellationToken;
use lariat_core::event::{AgentEvent, CommandRecord, EventRecord, FORMAT_VERSION};
use lariat_core::id::{EventId, MessageId, ToolCallId};
use lariat_core::store::StoreError;
use lariat_core::time::Minter;

use super::{AgentContext, BeginError};
use crate::agent::error::AgentError;
use crate::agent::loop_config::AgentLoopConfig;
use crate::drive::{CommandEffect, redaction};

impl AgentContext {
    /// Journals messages from outside that are not journaled yet.
    pub(in crate::agent) async fn record_imports(
        &mut self,
        config: &AgentLoopConfig,
    ) -> Result<(), StoreError> {
        if self.unrecorded.is_empty() {
            return Ok(());
        }
        let imported = AgentEvent::MessagesImported { base: None, messages: self.unrecorded.clone() };
        self.record(config, imported).await?;
        self.base = self.unrecorded.last().map(|message| message.id());
        self.unrecorded.clear();
        Ok(())
    }

    /// Journals an event about the session, on behalf of the user or the embedding program.
    pub(in crate::agent) async fn record_session_event(
        &mut self,
        config: &AgentLoopConfig,
        event: AgentEvent,
    ) -> Result<(), BeginError> {
        self.refresh().await?;
        self.record(config, event).await?;
        Ok(())
    }

    /// Journals an event that belongs to no loop, after the events that wait to be written first.
    pub(in crate::agent) async fn record(
        &mut self,
        config: &AgentLoopConfig,
        event: AgentEvent,
    ) -> Result<EventId, StoreError> {
        let record = self.new_record(config, event);
        let (never, id) = (CancellationToken::new(), record.id);
        let mut records = self.take_pending_records();
        records.push(record);
        self.journal.append(records, &never).await?;
        Ok(id)
    }

    /// Writes an event that belongs to no loop together with the first event of the next loop, to save one
    /// write. If the loop fails before that, the context is stale and the next loop reads the journal again.
    pub(super) fn record_first(&mut self, config: &AgentLoopConfig, event: AgentEvent) {
        let record = self.new_record(config, event);
        self.pending_records.push(record);
    }

    fn new_record(&mut self, config: &AgentLoopConfig, event: AgentEvent) -> EventRecord {
        let mut minter = Minter::default();
        let stamp = config.ports.stamp();
        minter.stamp(stamp);
        let (id, timestamp) = (EventId::new(minter.uuid()), stamp.now);
        let record = EventRecord { v: FORMAT_VERSION, seq: 0, id, timestamp, loop_id: None, event };
        Arc::make_mut(&mut self.memory).apply(&record);
        record
    }

    /// Records a command with what it does, in one write. Returns the position of the record.
    pub(in crate::agent) async fn record_command(
        &mut self,
        config: &AgentLoopConfig,
        command: CommandRecord,
        effects: Vec<CommandEffect>,
    ) -> Result<u64, AgentError> {
        self.refresh().await?;
        self.write_command(config, command, effects).await
    }

    /// Records the command that created the session. A fork may contain a loop that has not ended: it stays interrupted.
    pub(in crate::agent) async fn record_creation(
        &mut self,
        config: &AgentLoopConfig,
        command: CommandRecord,
        effects: Vec<CommandEffect>,
    ) -> Result<u64, AgentError> {
        match self.refresh().await {
            Ok(()) | Err(BeginError::Interrupted(_)) => self.write_command(config, command, effects).await,
            Err(error) => Err(error.into()),
        }
    }

    async fn write_command(
        &mut self,
        config: &AgentLoopConfig,
        command: CommandRecord,
        effects: Vec<CommandEffect>,
    ) -> Result<u64, AgentError> {
        self.record_imports(config).await?;
        let by = command.by.clone();
        let accepted = self.new_record(config, AgentEvent::CommandAccepted(Box::new(command)));
        let id = accepted.id;
        let mut records = self.take_pending_records();
        records.push(accepted);
        self.add_effects(config, &by, effects, &mut records)?;
        let events = self.journal.append(records, &CancellationToken::new()).await?;
        let seq = events.iter().find(|event| event.id == id).map_or(0, |event| event.seq);
        // The events may change the conversation or its queues.
        self.mark_stale();
        Ok(seq)
    }

    /// Records what an earlier command did, in one write.
    pub(in crate::agent) async fn record_effects(
        &mut self,
        config: &AgentLoopConfig,
        effects: Vec<CommandEffect>,
    ) -> Result<(), AgentError> {
        self.refresh().await?;
        self.record_imports(config).await?;
        let mut records = self.take_pending_records();
        self.add_effects(config, "", effects, &mut records)?;
        if records.is_empty() {
            return Ok(());
        }
        self.journal.append(records, &CancellationToken::new()).await?;
        self.mark_stale();
        Ok(())
    }

    fn add_effects(
        &mut self,
        config: &AgentLoopConfig,
        by: &str,
        effects: Vec<CommandEffect>,
        records: &mut Vec<EventRecord>,
    ) -> Result<(), AgentError> {
        let is_queued = |id: MessageId| self.queued.iter().any(|(_, message)| message.id() == id);
        let is_gone =
            |effect: &CommandEffect| matches!(effect, CommandEffect::Unqueue(id) if !is_queued(*id));
        if effects.iter().any(is_gone) {
            return Err(AgentError::NotAsked);
        }
        let (redactor, mut tip) = (&config.ports.redactor, self.base);
        for mut effect in effects {
            match &mut effect {
                CommandEffect::Queue(_, message) | CommandEffect::Message(message) => {
                    redaction::message(redactor, message);
                    let mut minter = Minter::default();
                    minter.stamp(config.ports.stamp());
                    message.assign_id(|| MessageId::new(minter.uuid()));
                }
                CommandEffect::Note(event) => redaction::note(redactor, event),
                _ => {}
            }
            let added = match &effect {
                CommandEffect::Message(message) => Some(message.id()),
                _ => None,
            };
            let event = effect.event(by, tip).ok_or(AgentError::NotAsked)?;
            // The next message of the same write follows this one.
            tip = added.or(tip);
            records.push(self.new_record(config, event));
        }
        Ok(())
    }

    /// Remembers a command, to record it with the first event that it causes.
    pub(in crate::agent) fn accept(&mut self, command: CommandRecord) {
        self.accepted = Some(Box::new(command));
    }

    /// Forgets a command that caused nothing.
    pub(in crate::agent) fn forget_command(&mut self) {
        self.accepted = None;
    }

    /// Writes the remembered command together with the next event.
    pub(in crate::agent) fn record_accepted(&mut self, config: &AgentLoopConfig) {
        if let Some(command) = self.accepted.take() {
            self.record_first(config, AgentEvent::CommandAccepted(command));
        }
    }

    /// Takes the events to write first.
    pub(in crate::agent) fn take_pending_records(&mut self) -> Vec<EventRecord> {
        std::mem::take(&mut self.pending_records)
    }

    /// Journals a decision about queued changes.
    pub(in crate::agent) async fn decide(
        &mut self,
        config: &AgentLoopConfig,
        approved: Vec<ToolCallId>,
        rejected: Vec<ToolCallId>,
    ) -> Result<(), StoreError> {
        if approved.is_empty() && rejected.is_empty() {
            return Ok(());
        }
        self.record_accepted(config);
        self.record(config, AgentEvent::PlanDecided { approved, rejected }).await.map(drop)
    }
}
