//! `lariat pin` and `lariat unpin`: choose messages that compaction must leave unchanged. Need no model.

use lariat_core::id::{MessageId, SessionId};
use serde::Serialize;

use super::selected_session::{SelectedSession, conversation, message_position};
use super::{CommandResult, print, sessions};
use crate::args::session_state::PinArgs;
use crate::exit::Exit;
use crate::process_env::ProcessEnv;

/// The result, for `--json`.
#[derive(Serialize)]
struct PinReport {
    session_id: SessionId,
    message_id: MessageId,
    pinned: bool,
    /// All messages of the session that are pinned now.
    pins: Vec<MessageId>,
}

pub(crate) async fn pin(env: &ProcessEnv, args: &PinArgs, pinned: bool) -> CommandResult {
    let selected = SelectedSession::find(env, Some(&args.session)).await?;
    let fold = selected.idle_fold().await?;
    let messages = conversation(&fold, fold.tip());
    let at = message_position(&messages, &args.message, selected.id())?;
    let chosen = messages.get(at..=at).unwrap_or_default();
    let mut pins = fold.memory().pins().as_ref().clone();
    for message in chosen {
        selected.service.set_pin(selected.id(), message.id(), pinned).await?;
        if pinned {
            pins.insert(message.id())
        } else {
            pins.remove(&message.id())
        };
    }
    if args.json {
        let message_id = chosen.first().map(|message| message.id()).unwrap_or_default();
        let (session_id, pins) = (selected.id().clone(), pins.into_iter().collect());
        return print::json(&PinReport { session_id, message_id, pinned, pins });
    }
    print::out(&sessions::conversation_text(chosen));
    print::note(if pinned {
        "pinned: compaction leaves this message and its exchange unchanged"
    } else {
        "unpinned: compaction may replace this message"
    });
    Ok(Exit::Done)
}
