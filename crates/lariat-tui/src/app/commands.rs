//! Performs the `/` commands, and opens their overlays.

use lariat_api::{Action, CheckpointParts, ChildSession, Edit};
use lariat_core::content;
use lariat_core::event::Goal;
use lariat_core::time::Timestamp;
use lariat_terminal::human;
use lariat_terminal::theme::Style;

use super::{App, AppEffect, Purpose, command_hints, keys, not_shown};
use crate::overlay::{Confirm, Help, Item, Overlay, Pager, Picker};
use crate::pages::Page;
use crate::slash::CommandName;
use crate::transcript::Detail;

impl App {
    /// Runs a command. Returns the draft that it leaves, or why it cannot run.
    pub(super) fn run_command(
        &mut self,
        verb: CommandName,
        arguments: &str,
        now: Timestamp,
    ) -> Result<Option<String>, String> {
        let text = || arguments.to_owned();
        let optional = || (!arguments.is_empty()).then(|| arguments.to_owned());
        match verb {
            CommandName::Help => self.open_help(),
            CommandName::Mode if arguments.is_empty() => self.open_modes(),
            CommandName::Mode => self.send(Action::SetMode { mode: text() }),
            CommandName::Plan => self.send(Action::SetMode { mode: "plan".to_owned() }),
            CommandName::Model => self.model(arguments),
            CommandName::Compact if arguments == "undo" => {
                let compaction = self.facts.compaction.ok_or("this session has no compaction to undo")?;
                self.send(Action::UndoCompaction { compaction });
            }
            CommandName::Compact => self.ask_for(Page::Compaction { focus: optional() }),
            CommandName::Permissions => self.ask_for(Page::Permissions),
            CommandName::Doctor => self.ask_for(Page::Doctor),
            CommandName::Servers => self.ask_for(Page::Servers),
            CommandName::Apis => self.ask_for(Page::Apis),
            CommandName::Share => self.ask_for(Page::Export { path: optional() }),
            CommandName::Agents => return self.open_agents().map(|()| None),
            CommandName::Context => self.effects.push(AppEffect::Context),
            CommandName::Diff => self.effects.push(AppEffect::Diff),
            CommandName::Cost => self.say_cost(),
            CommandName::Sessions => self.effects.push(AppEffect::ListSessions { text: optional() }),
            CommandName::Resume => {
                self.resume = optional();
                self.effects.push(AppEffect::ListSessions { text: None });
            }
            CommandName::New => self.effects.push(AppEffect::NewSession),
            CommandName::Fork => self.effects.push(AppEffect::Fork),
            CommandName::Rewind if arguments.is_empty() => self.open_rewind(),
            CommandName::Rewind => return self.rewind_by(arguments).map(Some),
            CommandName::Checkpoint => self.send(Action::Checkpoint { label: text() }),
            CommandName::Restore => self.restore(arguments),
            CommandName::Rename => self.send(Action::Describe { title: Some(text()), tags: None }),
            CommandName::Pager if arguments == "all" && self.facts.skipped > 0 => {
                self.effects.push(AppEffect::Earlier(self.theme()));
                self.say(Style::Dim, "reading earlier events");
            }
            CommandName::Pager => self.open_pager(),
            CommandName::Copy => {
                let reply = self.transcript.last_reply().ok_or("this session has no reply to copy")?;
                self.effects.push(AppEffect::Copy(reply));
                self.say(Style::Good, "copied the newest reply");
            }
            CommandName::Queue => return self.queue(arguments).map(|()| None),
            CommandName::Goal => {
                let mut goal = Goal::default();
                goal.goal_id = format!("goal-{}", now.as_millis());
                goal.text = text();
                self.send(Action::SetGoal { goal });
            }
            CommandName::Learn => self.send(Action::Learn { text: text() }),
            CommandName::Full => self.toggle_full_screen(),
            CommandName::Detach => self.effects.push(AppEffect::Detach),
            CommandName::Quit => self.effects.push(AppEffect::Quit),
        }
        Ok(None)
    }

    fn ask_for(&mut self, page: Page) {
        if matches!(page, Page::Doctor) {
            self.say(Style::Dim, "checking the setup");
        }
        self.effects.push(AppEffect::Page(page));
    }

    /// Lists sub-agents and forks, to open one.
    fn open_agents(&mut self) -> Result<(), String> {
        let children = self.facts.view.as_ref().map(|view| view.children.as_slice()).unwrap_or_default();
        if children.is_empty() {
            return Err("this session has no sub-agents and no forks".to_owned());
        }
        let item = |child: &ChildSession| {
            let id: String = child.session_id.as_str().chars().take(8).collect();
            Item {
                id: child.session_id.as_str().to_owned(),
                label: child.task.clone().unwrap_or_else(|| "fork".to_owned()),
                detail: if child.is_running { format!("{id} running") } else { id },
                preview: child.task.clone(),
                ..Item::default()
            }
        };
        let items = children.iter().map(item).collect();
        self.pick(Purpose::Child, "Sub-agents and forks", items);
        Ok(())
    }

    /// Asks whether to compact, with what is known about it. Compaction can be undone, so Enter agrees.
    pub(super) fn confirm_compaction(&mut self, focus: Option<String>, details: &str) {
        let title = Page::Compaction { focus: None }.title();
        let confirm = Confirm::new(title, details, "Cancel", "Compact").that_can_be_undone();
        self.overlay = Some((Purpose::Compact { focus }, Overlay::Confirm(confirm)));
    }

    fn model(&mut self, arguments: &str) {
        let mut words = arguments.split_whitespace();
        if let Some(model) = words.next() {
            let effort = words.next().map(str::to_owned);
            self.send(Action::SetModel { model: model.to_owned(), effort });
        } else {
            let model = self.facts.view.as_ref().map(|view| view.model.clone()).unwrap_or_default();
            let effort = model.effort.map(|effort| format!(", effort {effort}")).unwrap_or_default();
            self.say(
                Style::Plain,
                &format!("model: {}{effort}; `/model <name> [effort]` changes it", model.name),
            );
        }
    }

    fn say_cost(&mut self) {
        let usage = self.facts.view.as_ref().map(|view| view.usage).unwrap_or_default();
        let words = format!(
            "{} · {} tokens in ({} cached) · {} out",
            human::money(usage.cost),
            human::count(usage.context()),
            human::count(usage.cache_read),
            human::count(usage.output),
        );
        self.say(Style::Plain, &words);
    }

    fn restore(&mut self, arguments: &str) {
        let (label, parts) = match arguments.rsplit_once(char::is_whitespace) {
            Some((label, "conversation")) => (label, CheckpointParts::Conversation),
            Some((label, "files")) => (label, CheckpointParts::Files),
            Some((label, "both")) => (label, CheckpointParts::Both),
            _ => (arguments, CheckpointParts::Both),
        };
        self.send(Action::Restore { label: label.trim().to_owned(), parts });
    }

    fn queue(&mut self, arguments: &str) -> Result<(), String> {
        match arguments {
            "" => self.open_queue(),
            "resume" => self.send(Action::EditQueue { edit: Edit::Resume }),
            "clear" => {
                let ids: Vec<_> = self.facts.queue().iter().map(|queued| queued.message_id).collect();
                for message_id in ids {
                    self.facts.unqueue(message_id);
                    self.send(Action::EditQueue { edit: Edit::Remove { message_id } });
                }
            }
            other => return Err(format!("`/queue {other}` is not known: use `resume` or `clear`")),
        }
        Ok(())
    }

    /// Goes back this many of the user's messages, and returns the text of the last one.
    fn rewind_by(&mut self, count: &str) -> Result<String, String> {
        let count: usize = count.parse().map_err(|_| format!("`{count}` is not a number"))?;
        let mut messages = self.transcript.user_messages();
        let place = messages.len().checked_sub(count).filter(|_| count > 0);
        let Some(place) = place else {
            return Err(format!(
                "you sent {} in this conversation",
                human::counted(u64::try_from(messages.len()).unwrap_or(u64::MAX), "message", "messages",)
            ));
        };
        let (id, words) = messages.swap_remove(place);
        self.send(Action::Rewind { to: self.transcript.message_before(id) });
        Ok(words)
    }

    /// Asks whether to rewind the conversation, the files or both.
    pub(super) fn pick_rewind_parts(&mut self, to: &str) {
        let item = |id: &str, label: &str, detail: &str| Item {
            id: id.to_owned(),
            label: label.to_owned(),
            detail: detail.to_owned(),
            ..Item::default()
        };
        let items = vec![
            item("conversation", "The conversation", "files stay as they are"),
            item("both", "The conversation and files", "also what commands changed"),
            item("files", "Files", "the conversation stays as it is"),
        ];
        self.pick(Purpose::RewindParts { to: to.to_owned() }, "What to rewind", items);
    }

    pub(super) fn rewind_to(&mut self, id: &str, parts: &str) {
        let messages = self.transcript.user_messages();
        let Some((id, words)) = messages.into_iter().find(|(message, _)| message.to_string() == id) else {
            return;
        };
        let to = self.transcript.message_before(id);
        self.send(match parts {
            "files" => Action::RestoreTo { to, parts: CheckpointParts::Files },
            "both" => Action::RestoreTo { to, parts: CheckpointParts::Both },
            _ => Action::Rewind { to },
        });
        if parts != "files" {
            self.composer.set_draft(&words);
            self.effects.push(AppEffect::SaveDraft);
        }
    }

    fn pick(&mut self, purpose: Purpose, title: &str, items: Vec<Item>) {
        let picker = Picker::new(title, items, self.setup.keymap.clone());
        self.overlay = Some((purpose, Overlay::Picker(picker)));
    }

    pub(super) fn pick_session(&mut self, items: Vec<Item>) {
        self.pick(Purpose::Session, "Sessions", items);
    }

    pub(super) fn open_rewind(&mut self) {
        let messages = self.transcript.user_messages();
        if messages.is_empty() {
            self.say(Style::Dim, "this session has no message to rewind to");
            return;
        }
        let item = |(id, words): (lariat_core::id::MessageId, String)| Item {
            id: id.to_string(),
            label: words.lines().next().unwrap_or_default().to_owned(),
            preview: Some(words),
            ..Item::default()
        };
        let items = messages.into_iter().rev().map(item).collect();
        self.pick(Purpose::Rewind, "Rewind to before this message", items);
    }

    pub(super) fn open_queue(&mut self) {
        let item = |queued: &lariat_api::QueuedMessage| {
            let words = content::joined_text(&queued.content.0);
            Item {
                id: queued.message_id.to_string(),
                label: words.lines().next().unwrap_or_default().to_owned(),
                preview: Some(words),
                ..Item::default()
            }
        };
        let items: Vec<Item> = self.facts.queue().iter().map(item).collect();
        if items.is_empty() {
            self.say(Style::Dim, "no message waits");
        } else {
            self.pick(Purpose::Queue, "Queued messages: Enter moves one into the draft", items);
        }
    }

    fn open_modes(&mut self) {
        let item = |name: &str| Item { id: name.to_owned(), label: name.to_owned(), ..Item::default() };
        self.pick(Purpose::Mode, "Permission mode", keys::MODES.iter().map(|name| item(name)).collect());
    }

    pub(super) fn open_help(&mut self) {
        let help = Help::new(self.setup.keymap.clone(), command_hints(&self.setup));
        self.overlay = Some((Purpose::Read, Overlay::Help(help)));
    }

    pub(super) fn open_pager(&mut self) {
        let theme = self.theme();
        let mut rows = Vec::new();
        if self.facts.skipped > 0 {
            rows.push(not_shown(self.facts.skipped, &theme));
        }
        rows.extend_from_slice(self.transcript.rows(&theme, Detail::Full));
        self.page("Transcript", rows, true);
    }

    pub(super) fn page(&mut self, title: &str, rows: Vec<String>, is_at_end: bool) {
        let pager = Pager::new(title, rows, self.setup.keymap.clone());
        let pager = if is_at_end { pager.at_end() } else { pager };
        self.overlay = Some((Purpose::Read, Overlay::Pager(pager)));
    }
}
