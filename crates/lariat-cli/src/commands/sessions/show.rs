//! `lariat sessions show`.

use lariat_core::archive::SessionSummary;
use lariat_core::message::SharedMessage;
use lariat_core::session::SessionFold;
use lariat_service::LocalService;
use serde::Serialize;

use super::super::Ended;
use super::super::print;
use super::said;
use crate::args::sessions::ShowArgs;
use crate::exit::Exit;

/// A session with its conversation.
#[derive(Serialize)]
struct Shown {
    session: SessionSummary,
    messages: Vec<SharedMessage>,
}

/// Shows the conversation of a session.
pub(super) async fn show(service: &LocalService, args: &ShowArgs) -> Ended {
    let session = service.find(&args.id).await?;
    let events = service.events(&session.session_id).await?;
    let fold = SessionFold::of(&events);
    let window = fold.conversation(fold.tip()).0.window();
    if args.json {
        let messages = window.iter().cloned().collect();
        return print::json(&Shown { session, messages });
    }
    print::line(&head(&session));
    print::line(&said::conversation(window.iter()));
    if fold.open_loops().next().is_some() {
        print::note(&format!("it was interrupted: `lariat run --resume {}` goes on", session.session_id));
    }
    Ok(Exit::Done)
}

fn head(session: &SessionSummary) -> String {
    let mut lines = vec![format!("session {}", session.session_id)];
    let mut add = |name: &str, value: Option<String>| {
        lines.extend(value.map(|value| format!("{name:<10} {value}")));
    };
    add("title", session.title.clone());
    add("directory", session.cwd.clone());
    add("model", session.model.clone());
    add(
        "active",
        Some(format!("{} to {} UTC", print::time(session.created_at), print::time(session.last_active_at))),
    );
    add(
        "used",
        Some(format!("{} tokens, {}", print::count(session.usage.total()), print::money(session.usage.cost))),
    );
    add("tags", (!session.tags.is_empty()).then(|| session.tags.join(", ")));
    add("from", session.parent.as_ref().map(ToString::to_string));
    lines.push(String::new());
    lines.join("\n")
}
