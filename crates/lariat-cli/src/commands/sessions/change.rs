//! `lariat sessions fork`, `rewind` and `delete`.

use lariat_core::archive::SessionSummary;
use lariat_core::message::SharedMessage;
use lariat_core::session::SessionFold;
use lariat_core::store::StoreError;
use lariat_runtime::fresh_session;
use lariat_service::LocalService;

use super::super::Ended;
use super::super::undo::stores;
use super::super::{ask, print};
use super::said;
use crate::args::sessions::{DeleteArgs, ForkArgs, RewindArgs};
use crate::exit::Exit;
use crate::problem::Problem;
use crate::world::World;

/// Makes a session that shares the events of another.
pub(super) async fn fork(service: &LocalService, args: &ForkArgs) -> Ended {
    let from = service.find(&args.id).await?;
    let to = fresh_session();
    let at = args.at.unwrap_or(from.events);
    if at == 0 {
        return Err(
            Problem::new(Exit::Usage, "a fork shares at least one event").next("name a position from 1 on")
        );
    }
    service.archive().fork(&from.session_id, at, &to).await.map_err(|error| match error {
        StoreError::Conflict { .. } => {
            Problem::new(Exit::Usage, format!("the session has {} events, fewer than {at}", from.events))
                .at(from.session_id.to_string())
                .next(format!("`lariat sessions tail {}` shows their positions", from.session_id))
        }
        error => error.into(),
    })?;
    print::line(to.as_str());
    print::note(&format!("`lariat run --resume {to} \"…\"` goes on with it"));
    Ok(Exit::Done)
}

/// Deletes a session.
pub(super) async fn delete(world: &World, service: &LocalService, args: &DeleteArgs) -> Ended {
    let session = service.find(&args.id).await?;
    let name = print::beginning(session.name().unwrap_or("without a name"), 60);
    print::note(&format!("session {}: {name}, {} events", session.session_id, session.events));
    if !ask::whether(world, "Delete it? Forks keep what they share.", args.yes)? {
        return Ok(Exit::Done);
    }
    service.archive().delete(&session.session_id).await?;
    print::note("deleted");
    Ok(Exit::Done)
}

/// Goes back to an earlier point of a conversation.
pub(super) async fn rewind(world: &World, service: &LocalService, args: &RewindArgs) -> Ended {
    let session = service.find(&args.id).await?;
    let events = service.events(&session.session_id).await?;
    let fold = SessionFold::of(&events);
    if fold.open_loops().next().is_some() {
        return Err(Problem::new(Exit::Session, "the session was interrupted in the middle of a run")
            .at(session.session_id.to_string())
            .next(format!(
                "let it come to its end first: `lariat run --resume {}`, then go back",
                session.session_id
            )));
    }
    let window = fold.conversation(fold.tip()).0.window();
    let messages: Vec<SharedMessage> = window.iter().cloned().collect();
    let kept = kept(&messages, args, &session)?;
    let (stay, leave) = messages.split_at_checked(kept).unwrap_or((&messages, &[]));
    if leave.is_empty() {
        print::note("nothing would leave the conversation");
        return Ok(Exit::Done);
    }
    print::note(&format!(
        "{} of {} leave the conversation:\n",
        leave.len(),
        print::counted(messages.len(), "message", "messages")
    ));
    print::note(said::conversation(leave).trim_end());
    print::note(&changes(world, &session, leave));
    if !ask::whether(world, "Go back?", args.yes)? {
        return Ok(Exit::Done);
    }
    let tip = stay.last().map(|message| message.id());
    service.rewind(&session.session_id, tip).await?;
    print::note("done: the next prompt goes on from there. The journal keeps everything.");
    Ok(Exit::Done)
}

/// How many messages stay.
fn kept(messages: &[SharedMessage], args: &RewindArgs, session: &SessionSummary) -> Result<usize, Problem> {
    let Some(to) = &args.to else {
        let prompts: Vec<usize> = (0..)
            .zip(messages)
            .filter(|(_, message)| message.as_user().is_some_and(|user| user.origin.is_person()))
            .map(|(index, _)| index)
            .collect();
        let back = args.turns.min(prompts.len());
        return Ok(if back == 0 {
            messages.len()
        } else {
            prompts.get(prompts.len() - back).copied().unwrap_or_default()
        });
    };
    let fits: Vec<usize> = (0..)
        .zip(messages)
        .filter(|(_, message)| !to.is_empty() && message.id().to_string().starts_with(to.as_str()))
        .map(|(index, _)| index)
        .collect();
    match fits.as_slice() {
        [one] => Ok(one + 1),
        found => {
            let cause = if found.is_empty() {
                format!("no message of the conversation has the id `{to}`, or begins with it")
            } else {
                format!("{} messages begin with `{to}`", found.len())
            };
            Err(Problem::new(Exit::Usage, cause)
                .at(session.session_id.to_string())
                .next(format!("`lariat sessions show {} --json` shows the ids", session.session_id)))
        }
    }
}

/// Which changes of files could be taken back besides.
fn changes(world: &World, session: &SessionSummary, leave: &[SharedMessage]) -> String {
    let calls: Vec<&str> = leave
        .iter()
        .filter_map(|message| message.as_assistant())
        .flat_map(|reply| reply.tool_calls().map(|call| call.id.as_str()))
        .collect();
    let Some(directory) = session.cwd.as_ref().filter(|_| !calls.is_empty()) else { return String::new() };
    let Ok(stores) = stores(world, directory.as_ref()) else {
        return "\nwhether files could be taken back is not known: another process uses what is remembered"
            .to_owned();
    };
    let mut lines = Vec::new();
    for undo in &stores {
        for call in &calls {
            let paths = undo.changes(call).unwrap_or_default();
            let paths: Vec<String> =
                paths.iter().map(|change| change.path.as_path().display().to_string()).collect();
            if !paths.is_empty() {
                lines.push(format!("  `lariat undo {call}`: {}", paths.join(", ")));
            }
        }
    }
    if lines.is_empty() {
        return String::new();
    }
    format!("\nfiles stay as they are; these changes can be taken back:\n{}", lines.join("\n"))
}
