//! Exports a journal as a Claude Code session file.
//!
//! Branches and compacted messages come first, the newest conversation last and in one piece, so that its end is the latest
//! line in the file, which is what Claude Code looks for. The conversation is written as the model sees it
//! ([`SessionFold`]): each compaction becomes a boundary, after which the kept messages are written again with new ids.
//! Invariant: [`super::read_conversation`] of an export returns the conversation of the fold.

use std::collections::{HashMap, HashSet};

use lariat_core::event::{CompactionCause, Event};
use lariat_core::id::{MessageId, SessionId};
use lariat_core::message::SharedMessage;
use lariat_core::session::SessionFold;
use lariat_core::time::Timestamp;
use lariat_core::transcript::Transcript;
use serde::Serialize;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::journal::{CompactionStep, Journal, JournalStep};
use super::line_builder::LineBuilder;
use super::{BOUNDARY, TIP, session_uuid};
use crate::interchange::derive_id;
use crate::interchange::lines::text;

/// Writes the journal of a session as a Claude Code session file. [`super::file_name`] returns its path.
pub fn export(session_id: &SessionId, events: &[Event]) -> Vec<u8> {
    let journal = Journal::of(events);
    let fold = SessionFold::of(events);
    let session = session_uuid(session_id).to_string();
    let mut export = Export {
        lines: LineBuilder::new(session.clone(), &journal),
        fold: &fold,
        journal: &journal,
        anchors: HashMap::new(),
        used: HashSet::new(),
    };
    let (history, mut conversation) = export.conversation();
    let mut beside = export.branches();
    beside.extend(history);
    fix_conversation_end(&mut beside, &mut conversation, &export.lines);
    let mut file = Vec::new();
    for line in beside.iter().chain(&conversation) {
        write_line(&mut file, line);
    }
    let end = conversation.iter().rev().find(|line| is_shown(line)).and_then(|line| text(line, "uuid"));
    write_metadata(&mut file, &session, &journal, end);
    file
}

struct Export<'a> {
    lines: LineBuilder,
    fold: &'a SessionFold,
    journal: &'a Journal,
    /// The line of each message, or the last line before it for messages that were not written.
    anchors: HashMap<MessageId, Option<Uuid>>,
    used: HashSet<Uuid>,
}

type ExportLine = Map<String, Value>;

impl Export<'_> {
    /// Returns the lines before the last boundary, and those after it.
    fn conversation(&mut self) -> (Vec<ExportLine>, Vec<ExportLine>) {
        let tip = self.fold.tip();
        let mut windows = windows(self.journal, tip);
        let last_window = windows.pop().unwrap_or_default();
        let (mut lines, mut last) = (Vec::new(), None);
        for window in &windows {
            last = self.boundary(&mut lines, window, &window.seen, last);
            for (time, message) in &window.said {
                last = Some(self.write(&mut lines, *time, message, last));
            }
        }
        let history = std::mem::take(&mut lines);
        // Take the last window from the fold: Claude Code must read what the model receives.
        let now = window_messages(&self.fold.conversation(tip).0);
        let (kept, said) = now.split_at_checked(last_window.seen.len()).unwrap_or((&now, &[]));
        last = self.boundary(&mut lines, &last_window, kept, last);
        let mut anchor = last;
        let times: HashMap<MessageId, Timestamp> =
            last_window.said.iter().map(|(time, message)| (message.id(), *time)).collect();
        for message in said {
            let time = times.get(&message.id()).copied().unwrap_or(self.journal.begun);
            last = Some(self.write(&mut lines, time, message, last));
        }
        for (_, message) in last_window.said {
            anchor = *self.anchors.entry(message.id()).or_insert(anchor);
        }
        (history, lines)
    }

    /// Returns the lines of all messages outside the newest conversation.
    fn branches(&mut self) -> Vec<ExportLine> {
        let mut lines = Vec::new();
        for branch in &self.journal.branches {
            let mut last = branch.base.and_then(|base| self.anchors.get(&base).copied().flatten());
            for step in &branch.steps {
                let JournalStep::Message(time, message) = step else { continue };
                if let Some(known) = self.anchors.get(&message.id()) {
                    last = *known;
                } else if self.journal.removed.contains(&message.id()) {
                    self.anchors.insert(message.id(), last);
                } else {
                    last = Some(self.write(&mut lines, *time, message, last));
                }
            }
        }
        lines
    }

    fn write(
        &mut self,
        lines: &mut Vec<ExportLine>,
        time: Timestamp,
        message: &SharedMessage,
        parent: Option<Uuid>,
    ) -> Uuid {
        // Messages that the fold added to complete a conversation have no id.
        let id = message.id();
        let uuid = if id.is_nil() || self.used.contains(&id.uuid()) {
            self.new_uuid("made up", &id.to_string())
        } else {
            id.uuid()
        };
        self.used.insert(uuid);
        self.anchors.entry(id).or_insert(Some(uuid));
        lines.push(self.lines.line(message, uuid, parent, time));
        uuid
    }

    /// Writes the boundary line of a window and the messages kept for it.
    fn boundary(
        &mut self,
        lines: &mut Vec<ExportLine>,
        window: &Window<'_>,
        kept: &[SharedMessage],
        last: Option<Uuid>,
    ) -> Option<Uuid> {
        let Some(compacted) = window.begun else { return last };
        let name = last.map(|last| last.to_string()).unwrap_or_default();
        let uuid = self.new_uuid("boundary", &name);
        self.used.insert(uuid);
        let mut line = self.lines.system(BOUNDARY, "Conversation compacted", uuid, None, compacted.at);
        line.insert("logicalParentUuid".to_owned(), json!(last));
        let trigger = if compacted.cause == CompactionCause::Manual { "manual" } else { "auto" };
        let metadata = json!({"trigger": trigger, "preTokens": compacted.tokens_before});
        line.insert("compactMetadata".to_owned(), metadata);
        lines.push(line);
        Some(kept.iter().fold(uuid, |parent, message| self.rewrite(lines, compacted, message, parent)))
    }

    /// Writes a message that is before a boundary again after it.
    fn rewrite(
        &mut self,
        lines: &mut Vec<ExportLine>,
        compacted: &CompactionStep,
        message: &SharedMessage,
        parent: Uuid,
    ) -> Uuid {
        let id = message.id();
        let is_new = compacted.is_summary(id) && !id.is_nil() && !self.used.contains(&id.uuid());
        let uuid = if is_new { id.uuid() } else { self.new_uuid("kept", &id.to_string()) };
        self.used.insert(uuid);
        let mut line = self.lines.line(message, uuid, Some(parent), compacted.at);
        if compacted.is_summary(id) {
            line.insert("isCompactSummary".to_owned(), Value::Bool(true));
        }
        lines.push(line);
        uuid
    }

    fn new_uuid(&self, purpose: &str, of: &str) -> Uuid {
        let nth = |n: u32| derive_id(purpose, &[of, &n.to_string()]);
        (0..).map(nth).find(|uuid| !self.used.contains(uuid)).unwrap_or_default()
    }
}

/// A part of the conversation between two compactions.
#[derive(Default)]
struct Window<'a> {
    /// The compaction that it begins with.
    begun: Option<&'a CompactionStep>,
    /// Messages kept from earlier windows.
    seen: Vec<SharedMessage>,
    /// Messages added in this window.
    said: Vec<(Timestamp, SharedMessage)>,
}

/// Returns the windows of the conversation that ends at a message. The last one is sent to the model.
fn windows(journal: &Journal, tip: Option<MessageId>) -> Vec<Window<'_>> {
    let mut windows = Vec::new();
    let mut open = Window::default();
    for step in journal.steps(tip) {
        match step {
            JournalStep::Message(_, message) if journal.removed.contains(&message.id()) => {}
            JournalStep::Message(time, message) => open.said.push((*time, SharedMessage::clone(message))),
            JournalStep::Compaction(compacted) => {
                let said = open.said.iter().map(|(_, message)| message);
                let (transcript, _) = Transcript::repair(open.seen.iter().chain(said).cloned());
                // An edit that does not apply changes nothing, as in the fold.
                if let Ok(overlaid) = transcript.with_edits(&compacted.edits) {
                    let next =
                        Window { begun: Some(compacted), seen: window_messages(&overlaid), said: Vec::new() };
                    windows.push(std::mem::replace(&mut open, next));
                }
            }
        }
    }
    windows.push(open);
    windows
}

/// Returns what the model sees of a transcript, including extensions.
fn window_messages(transcript: &Transcript) -> Vec<SharedMessage> {
    transcript.window().iter().cloned().collect()
}

/// Makes sure that Claude Code ends the conversation where the fold does.
fn fix_conversation_end(beside: &mut [ExportLine], conversation: &mut Vec<ExportLine>, lines: &LineBuilder) {
    let Some(end) = conversation.iter().rev().find(|line| is_shown(line)) else {
        // The conversation is empty but other branches are not: hide them as side chains, which are never shown.
        for line in beside.iter_mut().filter(|line| is_shown(line)) {
            line.insert("isSidechain".to_owned(), Value::Bool(true));
        }
        return;
    };
    let all = || beside.iter().chain(&*conversation);
    let parents: HashSet<&str> = all().filter_map(|line| text(line, "parentUuid")).collect();
    let uuid = text(end, "uuid").unwrap_or_default();
    let leads_here = |line: &ExportLine| {
        text(line, "parentUuid") == Some(uuid)
            && !matches!(text(line, "type"), Some("user" | "assistant"))
            && text(line, "uuid").is_some_and(|uuid| !parents.contains(uuid))
    };
    if parents.contains(uuid) && !all().any(leads_here) {
        let parent = Uuid::try_parse(uuid).ok();
        let own = derive_id("tip", &[uuid]);
        conversation.push(lines.system(
            TIP,
            "The conversation continues from here",
            own,
            parent,
            lines.begin_time(),
        ));
    }
}

fn is_shown(line: &ExportLine) -> bool {
    let set =
        |name: &str| line.get(name).is_some_and(|flag| !flag.is_null() && *flag != false && *flag != "");
    matches!(text(line, "type"), Some("user" | "assistant"))
        && !["isMeta", "isSidechain", "teamName"].into_iter().any(set)
}

fn write_line(file: &mut Vec<u8>, line: &impl Serialize) {
    // Maps from text to JSON values always serialize.
    if serde_json::to_writer(&mut *file, line).is_ok() {
        file.push(b'\n');
    }
}

/// Lines about the session. Their `type` comes first, because some readers search for exactly that.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
enum Metadata<'a> {
    Summary { summary: &'a str, leaf_uuid: &'a str },
    CustomTitle { custom_title: &'a str, session_id: &'a str },
    Tag { tag: &'a str, session_id: &'a str },
}

fn write_metadata(file: &mut Vec<u8>, session_id: &str, journal: &Journal, end: Option<&str>) {
    let title = journal.about.title.as_deref().filter(|title| !title.is_empty());
    if let (Some(summary), Some(leaf_uuid)) = (title, end) {
        write_line(file, &Metadata::Summary { summary, leaf_uuid });
    }
    if let Some(custom_title) = title {
        write_line(file, &Metadata::CustomTitle { custom_title, session_id });
    }
    for tag in journal.about.tags.iter().flatten() {
        write_line(file, &Metadata::Tag { tag, session_id });
    }
}

#[cfg(test)]
#[path = "export_tests.rs"]
mod tests;
