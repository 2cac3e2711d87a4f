//! `lariat checkpoint` and `lariat restore`: name a point of a session, and return to it. Need no model.
//!
//! Restoring the conversation is a rewind; restoring files undoes the tool calls that ran after the checkpoint. Files are restored
//! first: if that fails, the conversation stays as it is.

use std::collections::HashSet;

use lariat_core::archive::Checkpoint;
use lariat_core::event::AUTOMATIC_CHECKPOINT;
use lariat_core::id::{MessageId, SessionId};
use lariat_core::message::SharedMessage;
use lariat_core::session::{SessionFold, TreeChanges};
use lariat_core::time::Timestamp;
use lariat_service::file_history::{self, RestorePreview};
use serde::Serialize;

use super::print::Column;
use super::selected_session::{SelectedSession, conversation};
use super::undo::{self, UndoReport};
use super::{CommandResult, confirm, print, sessions};
use crate::args::session_state::{CheckpointArgs, RestoreArgs};
use crate::exit::Exit;
use crate::problem::Problem;
use crate::process_env::ProcessEnv;

/// A checkpoint, for `--json`.
#[derive(Serialize)]
struct CheckpointReport {
    session_id: SessionId,
    label: String,
    at: Option<Timestamp>,
    message_id: Option<MessageId>,
}

/// The result of `restore`, for `--json`.
#[derive(Serialize)]
struct RestoreReport {
    session_id: SessionId,
    label: String,
    restored: bool,
    /// `None` if only files were asked for.
    conversation: Option<ConversationReport>,
    /// One report for each store of checkpoints; `None` if only the conversation was asked for.
    files: Option<Vec<UndoReport>>,
}

#[derive(Serialize)]
struct ConversationReport {
    /// The last remaining message; `None` if none remains.
    tip: Option<MessageId>,
    /// Messages that leave the conversation.
    left: Vec<MessageId>,
}

pub(crate) async fn checkpoint(env: &ProcessEnv, args: &CheckpointArgs) -> CommandResult {
    let selected = SelectedSession::find(env, args.session.as_deref()).await?;
    let known = selected.service.checkpoints(selected.id()).await?;
    if args.list {
        return list(&selected, known, args.json);
    }
    let fold = selected.idle_fold().await?;
    let label = args.label.as_deref().map(str::trim).map(str::to_owned);
    let label = label.unwrap_or_else(|| {
        let named = known.iter().filter(|known| !known.label.starts_with(AUTOMATIC_CHECKPOINT)).count();
        format!("checkpoint-{}", named + 1)
    });
    if label.is_empty() {
        return Err(Problem::new(Exit::Usage, "the name of a checkpoint cannot be empty")
            .hint("choose a name: `lariat checkpoint before-refactoring`"));
    }
    if label.starts_with(AUTOMATIC_CHECKPOINT) {
        let problem =
            format!("names that start with `{AUTOMATIC_CHECKPOINT}` belong to automatic checkpoints");
        return Err(Problem::new(Exit::Usage, problem)
            .hint("choose another name: `lariat checkpoint before-refactoring`"));
    }
    let message_id = fold.tip();
    selected.service.add_checkpoint(selected.id(), &label, message_id).await?;
    if args.json {
        let session_id = selected.id().clone();
        return print::json(&CheckpointReport { session_id, label, at: None, message_id });
    }
    print::line(&label);
    print::note(&format!(
        "return to this point of session {} with `lariat restore {}`",
        selected.id(),
        lariat_terminal::text::shell_word(&label)
    ));
    Ok(Exit::Done)
}

fn list(selected: &SelectedSession, known: Vec<Checkpoint>, json: bool) -> CommandResult {
    if json {
        let reports: Vec<CheckpointReport> = known
            .into_iter()
            .map(|known| CheckpointReport {
                session_id: selected.id().clone(),
                label: known.label,
                at: Some(known.at),
                message_id: known.message_id,
            })
            .collect();
        return print::json(&reports);
    }
    if known.is_empty() {
        print::note(&format!("session {} has no checkpoints", selected.id()));
        return Ok(Exit::Done);
    }
    let columns = [Column::whole("LABEL"), Column::whole("TIME (UTC)")];
    let rows: Vec<Vec<String>> =
        known.iter().map(|known| vec![known.label.clone(), print::time(known.at)]).collect();
    print::out(&print::table(&columns, &rows));
    Ok(Exit::Done)
}

pub(crate) async fn restore(env: &ProcessEnv, args: &RestoreArgs) -> CommandResult {
    let selected = SelectedSession::find(env, args.session.as_deref()).await?;
    let fold = selected.idle_fold().await?;
    let known = selected.service.checkpoints(selected.id()).await?;
    let target = find(&known, &args.label, selected.id())?;
    let wants_files = !args.conversation;
    let wants_conversation = !args.files;

    let left = if wants_conversation { leaving(&fold, target.message_id) } else { Vec::new() };
    if !left.is_empty() {
        print::note(&format!(
            "this drops {} from the conversation:\n",
            print::counted(left.len(), "message", "messages")
        ));
        print::note(sessions::conversation_text(&left).trim_end());
    }
    let stores = if wants_files { Some(undo::stores(env, selected.place.path())?) } else { None };
    let previews = match &stores {
        Some(stores) => {
            let later = calls_after(&selected, target.seq).await?;
            stores.previews(&later).map_err(|error| undo::problem(&error))?
        }
        None => Vec::new(),
    };
    previews.iter().for_each(show);
    let changes_files =
        previews.iter().any(|found| found.preview.items.iter().any(|item| item.conflict.is_none()));
    let is_needed = !left.is_empty() || changes_files;
    let restored = is_needed && confirm::confirm(env, "Restore this checkpoint?", args.yes)?;
    let mut files = Vec::new();
    for RestorePreview { undo: store, preview, .. } in &previews {
        if !restored || preview.items.iter().all(|item| item.conflict.is_some()) {
            files.push(UndoReport::nothing(preview));
            continue;
        }
        let rewound = file_history::restore(store, preview).map_err(|error| undo::problem(&error))?;
        undo::print_result(&rewound);
        files.push(UndoReport::of(preview.to.clone(), rewound));
    }
    if restored && !left.is_empty() {
        selected.service.rewind(selected.id(), target.message_id).await?;
        print::note("conversation restored: the next prompt continues from there");
    }
    if !is_needed {
        print::note("nothing to restore: nothing changed since the checkpoint");
    }
    if args.json {
        let left = left.iter().map(|message| message.id()).collect();
        return print::json(&RestoreReport {
            session_id: selected.id().clone(),
            label: target.label.clone(),
            restored,
            conversation: wants_conversation.then_some(ConversationReport { tip: target.message_id, left }),
            files: wants_files.then_some(files),
        });
    }
    Ok(Exit::Done)
}

/// The newest checkpoint with this label.
fn find<'a>(known: &'a [Checkpoint], label: &str, session_id: &SessionId) -> Result<&'a Checkpoint, Problem> {
    known.iter().rev().find(|known| known.label == label).ok_or_else(|| {
        let problem = Problem::new(Exit::Usage, format!("the session has no checkpoint `{label}`"))
            .at(session_id.to_string());
        if known.is_empty() {
            return problem.hint("create one with `lariat checkpoint NAME`");
        }
        problem.hint(format!("`lariat checkpoint --list --session {session_id}` lists all checkpoints"))
    })
}

/// The messages that are in the conversation now and would not be after rewinding to `tip`.
fn leaving(fold: &SessionFold, tip: Option<MessageId>) -> Vec<SharedMessage> {
    let then: HashSet<MessageId> = conversation(fold, tip).iter().map(|message| message.id()).collect();
    let now = conversation(fold, fold.tip());
    now.into_iter().filter(|message| !then.contains(&message.id())).collect()
}

/// The tool calls of the session and its sub-agents that started after a position of its journal.
async fn calls_after(selected: &SelectedSession, seq: u64) -> Result<HashSet<String>, Problem> {
    let mut changes = TreeChanges::after(Some(seq));
    changes.read(&selected.service.events(selected.id()).await?);
    while let Some(session) = changes.next_session() {
        changes.read(&selected.service.events(&session).await?);
    }
    Ok(changes.into_ids())
}

/// Shows what a restore would do to files.
fn show(found: &RestorePreview<'_>) {
    print::note(&format!("files change as follows (undoing {} and everything after it):", found.preview.to));
    undo::show(&found.preview);
    if found.others > 0 {
        print::note(&format!(
            "  this also undoes {} of other sessions in this directory",
            print::counted(found.others, "later tool call", "later tool calls")
        ));
    }
}
