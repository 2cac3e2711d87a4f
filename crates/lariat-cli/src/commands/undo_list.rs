//! `lariat undo --list`: lists the tool calls that changed files, with time, prompt and number of lines.
//!
//! The checkpoints hold tool calls and file contents; the journals of the directory's sessions hold times and prompts.
//! Columns stay empty if a journal cannot be read.

use std::collections::{HashMap, HashSet};

use lariat_core::archive::ListQuery;
use lariat_core::content::joined_text;
use lariat_core::event::{AgentEvent, change_id_in_loop};
use lariat_core::id::SessionId;
use lariat_core::time::Timestamp;
use lariat_service::file_history::{ChangedCall, Undo, contents};
use lariat_service::{LoadedProject, LocalService};
use serde::Serialize;
use similar::{ChangeTag, TextDiff};

use super::CommandResult;
use super::print::{self, Column};
use crate::exit::Exit;
use crate::process_env::ProcessEnv;

/// Maximum number of the directory's sessions to read, newest first.
const SESSIONS: usize = 50;
/// Maximum characters of a prompt on a line.
const PROMPT: usize = 50;

#[derive(Serialize)]
struct UndoRow {
    #[serde(flatten)]
    call: ChangedCall,
    #[serde(flatten)]
    when: Option<CallOrigin>,
    /// Lines that the call added and removed.
    added: usize,
    removed: usize,
}

/// When and for which prompt a tool call ran.
#[derive(Clone, Serialize)]
struct CallOrigin {
    at: Timestamp,
    session_id: SessionId,
    prompt: Option<String>,
}

/// Lists the tool calls, oldest first.
pub(super) async fn list(
    env: &ProcessEnv,
    place: &LoadedProject,
    calls: &[(&Undo, Vec<ChangedCall>)],
    json: bool,
) -> CommandResult {
    let ids: HashSet<String> =
        calls.iter().flat_map(|(_, calls)| calls).map(ChangedCall::change_id).collect();
    let known = match env.service(place).await {
        Ok(service) if !ids.is_empty() => find_calls(&service, place, &ids).await,
        _ => HashMap::new(),
    };
    let listed = |undo: &Undo, call: &ChangedCall| {
        let (added, removed) = lines(undo, &call.call);
        UndoRow { when: known.get(&call.change_id()).cloned(), call: call.clone(), added, removed }
    };
    let listed: Vec<UndoRow> =
        calls.iter().flat_map(|(undo, calls)| calls.iter().map(|call| listed(undo, call))).collect();
    if json {
        return print::json(&listed);
    }
    if listed.is_empty() {
        print::note("no tool call changed a file here");
        return Ok(Exit::Done);
    }
    let columns = [
        Column::whole("CALL"),
        Column::whole("TIME (UTC)"),
        Column::number("LINES"),
        Column::text("FILES"),
        Column::text("PROMPT"),
    ];
    let row = |listed: &UndoRow| {
        let when = listed.when.as_ref();
        let prompt = when.and_then(|when| when.prompt.as_deref()).unwrap_or("-");
        vec![
            listed.call.call.clone(),
            when.map_or_else(|| "-".to_owned(), |when| print::time(when.at)),
            format!("+{} -{}", listed.added, listed.removed),
            listed.call.paths.join(", "),
            print::abbreviate(prompt, PROMPT),
        ]
    };
    let rows: Vec<Vec<String>> = listed.iter().map(row).collect();
    print::out(&print::table(&columns, &rows));
    Ok(Exit::Done)
}

/// Finds these changes in the journals of the directory's sessions, by their ids.
async fn find_calls(
    service: &LocalService,
    place: &LoadedProject,
    ids: &HashSet<String>,
) -> HashMap<String, CallOrigin> {
    let mut query = ListQuery::default();
    query.cwd = Some(place.path().display().to_string());
    query.limit = SESSIONS;
    let mut known: HashMap<String, CallOrigin> = HashMap::new();
    for session in service.archive().list(&query).await.unwrap_or_default() {
        if known.len() == ids.len() {
            break;
        }
        let mut prompt = None;
        for event in service.events(&session.session_id).await.unwrap_or_default() {
            match &event.event {
                AgentEvent::MessageEnd { message } => {
                    let user_message = message.shared().and_then(|message| message.as_user());
                    if let Some(user_message) =
                        user_message.filter(|user_message| user_message.origin.is_from_user())
                    {
                        prompt = Some(joined_text(&user_message.content));
                    }
                }
                AgentEvent::ToolExecutionEnd { tool_call_id, .. } => {
                    let plain = tool_call_id.to_string();
                    // Of a call that an older version recorded, only the id of the call is known.
                    let in_loop = event.loop_id.as_ref().map(|id| change_id_in_loop(&plain, id.as_str()));
                    let Some(id) = in_loop.into_iter().chain([plain]).find(|id| ids.contains(id)) else {
                        continue;
                    };
                    known.entry(id).or_insert_with(|| CallOrigin {
                        at: event.timestamp,
                        session_id: session.session_id.clone(),
                        prompt: prompt.clone(),
                    });
                }
                _ => {}
            }
        }
    }
    known
}

/// The lines that a tool call added and removed, in files whose contents are stored.
fn lines(undo: &Undo, call: &str) -> (usize, usize) {
    let (mut added, mut removed) = (0, 0);
    for (before, after) in contents(undo, call) {
        let (before, after) = (String::from_utf8_lossy(&before), String::from_utf8_lossy(&after));
        for line in TextDiff::from_lines(&*before, &*after).iter_all_changes() {
            match line.tag() {
                ChangeTag::Insert => added += 1,
                ChangeTag::Delete => removed += 1,
                ChangeTag::Equal => {}
            }
        }
    }
    (added, removed)
}
