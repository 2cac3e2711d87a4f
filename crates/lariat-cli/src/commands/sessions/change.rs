//! `lariat sessions edit`, `fork`, `rewind` and `delete`.

use std::collections::HashSet;

use lariat_core::archive::SessionSummary;
use lariat_core::event::{AgentEvent, Description, Event};
use lariat_core::id::{MessageId, SessionId};
use lariat_core::message::SharedMessage;
use lariat_core::session::{SessionFold, TreeChanges};
use lariat_core::store::StoreError;
use lariat_service::LocalService;
use lariat_service::clock::new_session_id;
use lariat_service::file_history::{ChangedCall, changed_calls};
use serde::Serialize;

use super::super::CommandResult;
use super::super::selected_session::{interrupted, message_position};
use super::super::undo::stores;
use super::super::{confirm, print};
use super::transcript;
use crate::args::sessions::{DeleteArgs, EditArgs, ForkArgs, RewindArgs};
use crate::exit::Exit;
use crate::problem::Problem;
use crate::process_env::ProcessEnv;

/// The result of a fork, for `--json`.
#[derive(Serialize)]
struct ForkReport {
    session_id: SessionId,
    from: SessionId,
    events: u64,
}

#[derive(Serialize)]
struct DeleteReport {
    session_id: SessionId,
    deleted: bool,
}

/// The result of a rewind, for `--json`.
#[derive(Serialize)]
struct RewindReport {
    session_id: SessionId,
    rewound: bool,
    /// The last remaining message; `None` if none remains.
    tip: Option<MessageId>,
    left: Vec<MessageId>,
    /// File changes of the dropped tool calls that `lariat undo` can undo; `None` if unknown.
    undo: Option<Vec<ChangedCall>>,
}

pub(super) async fn edit(service: &LocalService, args: &EditArgs) -> CommandResult {
    let session = service.find(&args.id).await?;
    if args.title.is_none() && args.tag.is_empty() && args.untag.is_empty() {
        return Err(Problem::new(Exit::Usage, "nothing to change").hint(format!(
            "give a title or a tag: `lariat sessions edit {} --title \"…\" --tag NAME`",
            print::abbreviate(&args.id, 8)
        )));
    }
    let mut description = Description::default();
    description.title = args.title.as_ref().map(|title| title.trim().to_owned());
    if !args.tag.is_empty() || !args.untag.is_empty() {
        let mut tags = session.tags.clone();
        tags.extend(args.tag.iter().map(|tag| tag.trim_start_matches('#').to_owned()));
        tags.retain(|tag| !tag.is_empty() && !args.untag.contains(tag));
        let mut seen = HashSet::new();
        tags.retain(|tag| seen.insert(tag.clone()));
        description.tags = Some(tags);
    }
    service.describe(&session.session_id, description).await?;
    let session = service.find(session.session_id.as_str()).await?;
    if args.json {
        return print::json(&session);
    }
    let tags: String = session.tags.iter().map(|tag| format!(" #{tag}")).collect();
    print::line(&format!("{}{tags}", session.name().unwrap_or_default()));
    Ok(Exit::Done)
}

pub(super) async fn fork(service: &LocalService, args: &ForkArgs) -> CommandResult {
    let from = service.find(&args.id).await?;
    let to = new_session_id();
    let at = args.at.unwrap_or(from.events);
    if at == 0 {
        return Err(Problem::new(Exit::Usage, "a fork needs at least one event")
            .hint("choose a position of 1 or more"));
    }
    service.archive().fork(&from.session_id, at, &to).await.map_err(|error| match error {
        StoreError::Conflict { .. } => {
            Problem::new(Exit::Usage, format!("the session has only {} events, fewer than {at}", from.events))
                .at(from.session_id.to_string())
                .hint(format!("`lariat sessions tail {}` shows the positions of events", from.session_id))
        }
        error => error.into(),
    })?;
    if args.json {
        return print::json(&ForkReport { session_id: to, from: from.session_id, events: at });
    }
    print::line(to.as_str());
    print::note(&format!("continue it with `lariat run --resume {to} \"…\"`"));
    Ok(Exit::Done)
}

pub(super) async fn delete(env: &ProcessEnv, service: &LocalService, args: &DeleteArgs) -> CommandResult {
    let session = service.find(&args.id).await?;
    let name = print::abbreviate(session.name().unwrap_or("untitled"), 60);
    print::note(&format!("session {}: {name}, {} events", session.session_id, session.events));
    let deleted = confirm::confirm(env, "Delete this session? Its forks stay intact.", args.yes)?;
    if deleted {
        service.delete(&session.session_id).await?;
        print::note("deleted");
    }
    if args.json {
        return print::json(&DeleteReport { session_id: session.session_id, deleted });
    }
    Ok(Exit::Done)
}

pub(super) async fn rewind(env: &ProcessEnv, service: &LocalService, args: &RewindArgs) -> CommandResult {
    let session = service.find(&args.id).await?;
    let events = service.events(&session.session_id).await?;
    let fold = SessionFold::of(&events);
    if fold.open_loops().next().is_some() {
        return Err(interrupted(&session.session_id, "rewind"));
    }
    let window = fold.conversation(fold.tip()).0.window();
    let messages: Vec<SharedMessage> = window.iter().cloned().collect();
    let kept = kept_count(&messages, args, &session)?;
    let (stay, leave) = messages.split_at_checked(kept).unwrap_or((&messages, &[]));
    let undo = changes(env, service, &session, &events, leave).await?;
    let mut tip = messages.last().map(|message| message.id());
    let rewound = !leave.is_empty() && {
        print::note(&format!(
            "this drops {} of {} from the conversation:\n",
            leave.len(),
            print::counted(messages.len(), "message", "messages")
        ));
        print::note(transcript::conversation(leave).trim_end());
        print::note(&undo_note(undo.as_deref()));
        confirm::confirm(env, "Rewind?", args.yes)?
    };
    if rewound {
        tip = stay.last().map(|message| message.id());
        service.rewind(&session.session_id, tip).await?;
        print::note("rewound: the next prompt continues from there. The journal keeps the dropped messages.");
    } else if leave.is_empty() {
        print::note("nothing to rewind");
    }
    if args.json {
        let left = leave.iter().map(|message| message.id()).collect();
        return print::json(&RewindReport { session_id: session.session_id, rewound, tip, left, undo });
    }
    Ok(Exit::Done)
}

/// The number of messages that remain.
fn kept_count(
    messages: &[SharedMessage],
    args: &RewindArgs,
    session: &SessionSummary,
) -> Result<usize, Problem> {
    let Some(to) = &args.to else {
        let prompts: Vec<usize> = (0..)
            .zip(messages)
            .filter(|(_, message)| message.as_user().is_some_and(|user| user.origin.is_from_user()))
            .map(|(index, _)| index)
            .collect();
        let back = args.turns.min(prompts.len());
        return Ok(if back == 0 {
            messages.len()
        } else {
            prompts.get(prompts.len() - back).copied().unwrap_or_default()
        });
    };
    Ok(message_position(messages, to, &session.session_id)? + 1)
}

/// The file changes of the dropped tool calls and their sub-agents that `lariat undo` can undo; `None` if unknown.
async fn changes(
    env: &ProcessEnv,
    service: &LocalService,
    session: &SessionSummary,
    events: &[Event],
    leave: &[SharedMessage],
) -> Result<Option<Vec<ChangedCall>>, Problem> {
    let calls: HashSet<&str> = leave
        .iter()
        .filter_map(|message| message.as_assistant())
        .flat_map(|reply| reply.tool_calls().map(|call| call.id.as_str()))
        .collect();
    let Some(directory) = session.cwd.as_ref().filter(|_| !calls.is_empty()) else {
        return Ok(Some(Vec::new()));
    };
    let is_left = |event: &&Event| match &event.event {
        AgentEvent::ToolExecutionStart { tool_call_id, .. }
        | AgentEvent::SubAgentSpawned { tool_call_id, .. } => calls.contains(tool_call_id.as_str()),
        _ => false,
    };
    let left: Vec<Event> = events.iter().filter(is_left).cloned().collect();
    let mut changes = TreeChanges::after(None);
    changes.read(&left);
    while let Some(child) = changes.next_session() {
        changes.read(&service.events(&child).await?);
    }
    let Ok(stores) = stores(env, directory.as_ref()) else { return Ok(None) };
    let ids = changes.into_ids();
    let made = stores.stores().iter().flat_map(changed_calls);
    Ok(Some(made.filter(|call| call.is_one_of(&ids)).collect()))
}

fn undo_note(undo: Option<&[ChangedCall]>) -> String {
    match undo {
        None => "\ncannot tell which file changes could be undone: another process uses the checkpoints"
            .to_owned(),
        Some([]) => String::new(),
        Some(calls) => {
            let line =
                |call: &ChangedCall| format!("\n  `lariat undo {}`: {}", call.call, call.paths.join(", "));
            let lines: String = calls.iter().map(line).collect();
            format!("\nfiles stay unchanged; you can undo these file changes separately:{lines}")
        }
    }
}
