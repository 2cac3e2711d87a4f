//! Runs a message with the model that it asks for, and returns to the model of the session afterwards.
//!
//! Only a message that starts a run can choose: one that joins an active run is answered by its model. If the model cannot be
//! used, the user reads why, and the model of the session answers. A run that continues after a crash uses the model of the
//! session, because the choice is not in the journal.

use lariat_api::{ModelView, Problem, Receipt};
use lariat_core::content::joined_text;
use lariat_core::event::AgentEvent;
use lariat_core::message::AgentMessage;
use lariat_runtime::{CommandEffect, CommandRun};

use super::{Accepted, Owner};
use crate::problems;

impl Owner {
    /// Starts the run of a message, with the model that it asks for.
    pub(super) async fn start_prompt(
        &mut self,
        accepted: Accepted,
        message: AgentMessage,
    ) -> Result<Receipt, Problem> {
        self.choose_model(&message).await?;
        let started = self.start_run(accepted, CommandRun::Prompt(vec![message])).await;
        if started.is_err() && self.run.is_none() {
            self.restore_model().await;
        }
        started
    }

    async fn choose_model(&mut self, message: &AgentMessage) -> Result<(), Problem> {
        let agent = self.agent().await?;
        let Some(hosted) = self.hosted.as_ref().filter(|_| self.shell.is_none()) else { return Ok(()) };
        let text = message.as_user().map(|user| joined_text(&user.content)).unwrap_or_default();
        let Some(name) = hosted.hosted.message_model.as_ref().and_then(|model| model(&text)) else {
            return Ok(());
        };
        let mut chosen = ModelView::default();
        chosen.effort = self.entry.fold().await?.chosen_model().and_then(|model| model.effort);
        chosen.name.clone_from(&name);
        match self.build_with(None, Some(&chosen)).await {
            Ok(hosted) => {
                self.replace_agent(hosted).await;
                self.has_message_model = true;
                Ok(())
            }
            Err(problem) => {
                let warning = format!(
                    "this message asks for the model `{name}`, which cannot be used ({}); the model of the session answers",
                    problem.message
                );
                let note = CommandEffect::note(AgentEvent::InputWarned { warning });
                agent.record_effects(vec![note]).await.map_err(|error| problems::from_agent(&error))
            }
        }
    }

    /// Returns to the model of the session after a run with another one.
    pub(super) async fn restore_model(&mut self) {
        if !std::mem::take(&mut self.has_message_model) {
            return;
        }
        match self.build(None).await {
            Ok(hosted) => self.replace_agent(hosted).await,
            // The next command builds it, and reports the problem.
            Err(_) => {
                if let Some(hosted) = self.hosted.take() {
                    hosted.close().await;
                }
            }
        }
    }
}
