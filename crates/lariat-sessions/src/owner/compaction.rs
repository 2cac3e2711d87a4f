//! Compacts the conversation for a client.
//!
//! A model may write for minutes. Meanwhile, commands wait in their order, and a command that interrupts stops the model.

use std::pin::pin;

use lariat_api::{Action, Problem, Receipt};

use super::{Accepted, INBOX, Owner};
use crate::problems;
use crate::requests::Request;

impl Owner {
    pub(super) async fn compact(
        &mut self,
        accepted: Accepted,
        focus: Option<&str>,
    ) -> Result<Receipt, Problem> {
        self.check_idle("compact the conversation").await?;
        let (agent, id) = (self.agent().await?, accepted.id);
        self.entry.set_compacting(true);
        self.shared.report_change(&self.entry).await;
        let compacted = {
            let mut compacting = pin!(agent.compact_by_command(accepted.record, focus));
            loop {
                tokio::select! {
                    biased;
                    compacted = &mut compacting => break compacted,
                    request = self.inbox.recv(), if self.waiting.len() < INBOX && !self.inbox.is_closed() => {
                        let Some(request) = request else { continue };
                        if is_interrupt(&request) {
                            agent.abort();
                            self.has_stopped_compaction = true;
                        }
                        self.waiting.push_back(request);
                    }
                }
            }
        };
        self.entry.set_compacting(false);
        // A compaction that is refused may be recorded too. If the store cannot tell, neither can the host.
        match (self.entry.command(id.as_str()).await?, compacted) {
            (Some((seq, _)), _) => Ok(Receipt::new(id, seq)),
            (None, Err(error)) => Err(problems::from_agent(&error)),
            (None, Ok(_)) => Err(problems::owner_lost()),
        }
    }
}

fn is_interrupt(request: &Request) -> bool {
    matches!(request, Request::Command { command, .. } if matches!(command.action, Action::Interrupt))
}
