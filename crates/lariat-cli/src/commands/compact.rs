//! `lariat compact`: compacts the conversation of a session, previews it, or undoes it.
//!
//! The preview and undoing need no model and no key.

use lariat_core::id::{MessageId, SessionId};
use lariat_core::usage::Usage;
use lariat_service::{LoadedProject, ServiceError, Session, SessionOptions, SessionSelector};
use serde::Serialize;

use super::selected_session::{SelectedSession, interrupted};
use super::{CommandResult, print, sessions};
use crate::args::session_state::CompactArgs;
use crate::exit::Exit;
use crate::problem::Problem;
use crate::process_env::ProcessEnv;

/// The result of a compaction or its preview, for `--json`.
#[derive(Serialize)]
struct CompactReport<'a> {
    session_id: &'a SessionId,
    compacted: bool,
    /// Estimated tokens before and after.
    tokens_before: u64,
    tokens_after: u64,
    /// What the model that wrote the summary used.
    usage: Usage,
    /// Messages that the model no longer sees in their original form.
    gone: Vec<MessageId>,
}

#[derive(Serialize)]
struct UndoneReport<'a> {
    session_id: &'a SessionId,
    undone: bool,
}

pub(crate) async fn compact(env: &ProcessEnv, args: CompactArgs) -> CommandResult {
    let selected = SelectedSession::find(env, args.session.as_deref()).await?;
    let (service, place, which) = (&selected.service, &selected.place, selected.selector());
    let session = if args.undo || args.preview {
        service.inspect_session(place, &which).await?
    } else {
        service.open_session(place, &which, SessionOptions::default()).await?
    };
    let ended = if args.undo {
        undo(&session, &selected, args.json).await
    } else {
        shrink(&session, &selected, &args).await
    };
    session.close().await;
    ended
}

/// What a compaction of a session would do, as text. Another process or this one may have the session open: the preview
/// works on a copy in memory.
pub(crate) async fn preview_text(
    env: &ProcessEnv,
    place: &LoadedProject,
    id: &SessionId,
    focus: Option<&str>,
) -> Result<String, Problem> {
    let (service, copies) = (env.service(place).await?, env.ephemeral(place).await?);
    let copy = sessions::copy(&service, &copies, id).await?;
    let session = copies.inspect_session(place, &SessionSelector::Resume(copy.to_string())).await?;
    let preview = session.preview_compaction(focus).await;
    session.close().await;
    let preview = preview.map_err(|error| match error.is_interrupted_run() {
        true => Problem::new(Exit::Session, "a run is active: compact when it has ended"),
        false => error.into(),
    })?;
    let (tokens_before, tokens_after, gone) = (preview.tokens_before, preview.tokens_after, preview.gone);
    Ok(format!(
        "Frees about {} of {} tokens, less the summary that the model writes.\n{} replaced or shortened:\n{}",
        print::count(tokens_before.saturating_sub(tokens_after)),
        print::count(tokens_before),
        print::counted(gone.len(), "message is", "messages are"),
        sessions::conversation_text(&gone),
    ))
}

async fn undo(session: &Session, selected: &SelectedSession, json: bool) -> CommandResult {
    let undone = session.undo_compaction().await.map_err(|error| problem(error, selected))?;
    if json {
        return print::json(&UndoneReport { session_id: selected.id(), undone });
    }
    if !undone {
        return Err(Problem::new(Exit::Failed, "the conversation has no compaction to undo")
            .at(selected.id().to_string())
            .hint(format!("compact it with `lariat compact {}`", selected.id())));
    }
    print::note("undone: the model sees the original messages again");
    Ok(Exit::Done)
}

async fn shrink(session: &Session, selected: &SelectedSession, args: &CompactArgs) -> CommandResult {
    let focus = args.focus.as_deref();
    let report =
        if args.preview { session.preview_compaction(focus).await } else { session.compact(focus).await };
    let report = report.map_err(|error| problem(error, selected))?;
    let (tokens_before, tokens_after, usage) = (report.tokens_before, report.tokens_after, report.usage);
    let gone = &report.gone;
    let compacted = !args.preview;
    if args.json {
        let gone = gone.iter().map(|message| message.id()).collect();
        let session_id = selected.id();
        return print::json(&CompactReport {
            session_id,
            compacted,
            tokens_before,
            tokens_after,
            usage,
            gone,
        });
    }
    print::note(&format!(
        "{} {}:\n",
        print::counted(gone.len(), "message", "messages"),
        if compacted { "replaced or shortened" } else { "would be replaced or shortened" }
    ));
    print::out(&sessions::conversation_text(gone));
    print::line(&format!(
        "about {} tokens before, {} {}",
        print::count(tokens_before),
        print::count(tokens_after),
        if compacted { "after" } else { "after, plus the summary that the model would write" },
    ));
    if compacted {
        print::note(&format!("undo it with `lariat compact {} --undo`", selected.id()));
    }
    Ok(Exit::Done)
}

fn problem(error: ServiceError, selected: &SelectedSession) -> Problem {
    let id = selected.id();
    if error.is_interrupted_run() {
        return interrupted(id, "compact it");
    }
    if error.is_refused_compaction() {
        let hint = format!("`lariat context show {id}` shows what fills the context window");
        return Problem::from(error).at(id.to_string()).hint(hint);
    }
    error.into()
}
