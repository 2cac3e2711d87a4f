//! The messages that the user queued for when the model would otherwise stop, as the run's events tell it.

use lariat_core::content::joined_text;
use lariat_core::event::{AgentEvent, QueueKind};
use lariat_core::id::MessageId;
use lariat_terminal::text;
use lariat_terminal::theme::Theme;

/// Maximum queued messages to show.
const SHOWN: usize = 3;

/// Queued messages that the model has not received, oldest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct MessageQueue {
    waiting: Vec<(MessageId, String)>,
}

impl MessageQueue {
    pub(crate) fn apply(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::MessageQueued { queue: QueueKind::FollowUp, message } => {
                let Some(user) = message.as_user().filter(|user| user.origin.is_from_user()) else { return };
                self.waiting.push((message.id(), joined_text(&user.content)));
            }
            AgentEvent::MessageEnd { message } => self.waiting.retain(|(id, _)| *id != message.id()),
            _ => {}
        }
    }

    /// The text of a message that waits.
    pub(crate) fn text(&self, id: MessageId) -> Option<&str> {
        self.waiting.iter().find(|(waiting, _)| *waiting == id).map(|(_, text)| text.as_str())
    }

    /// All texts, oldest first.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        self.waiting.iter().map(|(_, text)| text.as_str())
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// One row for each of the first messages, neutralised and cut to the width.
    pub(crate) fn rows(&self, theme: &Theme) -> Vec<String> {
        let room = theme.width.saturating_sub(1);
        let row = |text: &str| {
            text::cut(&format!("  queued: {}", text::first_line(text)), room, theme).into_owned()
        };
        let mut rows: Vec<String> = self.texts().take(SHOWN).map(row).collect();
        if self.len() > SHOWN {
            rows.push(format!("  and {} more", self.len() - SHOWN));
        }
        rows
    }
}
