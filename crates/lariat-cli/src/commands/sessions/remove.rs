//! `lariat sessions remove-message`: removes a message from the conversation. The journal keeps it.

use lariat_core::id::{MessageId, SessionId};
use serde::Serialize;

use super::super::selected_session::{SelectedSession, conversation, message_position};
use super::super::{CommandResult, confirm, print};
use super::transcript;
use crate::args::sessions::RemoveMessageArgs;
use crate::exit::Exit;
use crate::problem::Problem;
use crate::process_env::ProcessEnv;

#[derive(Serialize)]
struct RemoveReport {
    session_id: SessionId,
    /// A reply with tool calls goes together with all its results.
    messages: Vec<MessageId>,
    removed: bool,
}

pub(super) async fn remove(env: &ProcessEnv, args: &RemoveMessageArgs) -> CommandResult {
    let selected = SelectedSession::find(env, Some(&args.id)).await?;
    let (service, id) = (&selected.service, selected.id());
    let fold = selected.idle_fold().await?;
    let messages = conversation(&fold, fold.tip());
    let at = message_position(&messages, &args.message, id)?;
    let wanted = messages.get(at).map(|message| message.id()).unwrap_or_default();
    let exchange = service.exchange(id, wanted).await?;
    print::note("this removes from the conversation:\n");
    print::note(transcript::conversation(&exchange).trim_end());
    let removed = confirm::confirm(env, "Remove?", args.yes)?;
    let ids: Vec<MessageId> = exchange.iter().map(|message| message.id()).collect();
    if removed {
        if !service.remove_messages(id, &ids).await? {
            return Err(Problem::new(
                Exit::Failed,
                "a compaction refers to this message, so it cannot be removed",
            )
            .at(id.to_string())
            .hint(format!(
                "undo the compaction with `lariat compact {id} --undo`, then remove the message"
            )));
        }
        print::note("removed: the model no longer sees it. The journal keeps it.");
    }
    if args.json {
        return print::json(&RemoveReport { session_id: id.clone(), messages: ids, removed });
    }
    Ok(Exit::Done)
}
