//! `lariat sessions show`.

use lariat_core::archive::{ListQuery, SessionSummary};
use lariat_core::event::Import;
use lariat_core::message::SharedMessage;
use lariat_core::session::SessionFold;
use lariat_service::LocalService;
use serde::Serialize;

use super::super::CommandResult;
use super::super::print;
use super::transcript;
use crate::args::sessions::ShowArgs;
use crate::exit::Exit;
use crate::problem::Problem;
use crate::process_env::ProcessEnv;

/// A session and its conversation, for `--json`.
#[derive(Serialize)]
struct SessionReport {
    session: SessionSummary,
    #[serde(skip_serializing_if = "Option::is_none")]
    imported: Option<Import>,
    messages: Vec<SharedMessage>,
}

pub(super) async fn show(env: &ProcessEnv, service: &LocalService, args: &ShowArgs) -> CommandResult {
    let session = match &args.id {
        Some(id) => service.find(id).await?,
        None => newest(env, service).await?,
    };
    let events = service.events(&session.session_id).await?;
    let fold = SessionFold::of(&events);
    let window = fold.conversation(fold.tip()).0.window();
    if args.json {
        let messages = window.iter().cloned().collect();
        let imported = fold.memory().session_import().cloned();
        return print::json(&SessionReport { session, imported, messages });
    }
    head(&session, fold.memory().session_import());
    print::line(&transcript::conversation(window.iter()));
    if fold.open_loops().next().is_some() {
        print::note(&format!("interrupted; continue with `lariat run --resume {}`", session.session_id));
    }
    Ok(Exit::Done)
}

/// The newest session of the directory, or of all directories.
async fn newest(env: &ProcessEnv, service: &LocalService) -> Result<SessionSummary, Problem> {
    let place = env.load_project(&env.load_options(None))?;
    if let Ok(session) = service.newest(place.path()).await {
        return Ok(session);
    }
    let mut query = ListQuery::default();
    query.limit = 1;
    service.archive().list(&query).await?.into_iter().next().ok_or_else(|| {
        Problem::new(Exit::Session, "no sessions yet").hint("start one with `lariat run \"…\"`")
    })
}

fn head(session: &SessionSummary, imported: Option<&Import>) {
    let add = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            print::field(name, &value);
        }
    };
    let (begun, ended) = (print::time(session.created_at), print::time(session.last_active_at));
    let used = (print::count(session.usage.total()), print::money(session.usage.cost));
    add("session", Some(session.session_id.to_string()));
    add("title", session.title.clone());
    add("directory", session.cwd.clone());
    add("model", session.model.clone());
    add("active", Some(format!("{begun} to {ended} UTC")));
    add("used", Some(format!("{} tokens, {}", used.0, used.1)));
    add("tags", (!session.tags.is_empty()).then(|| session.tags.join(", ")));
    add("from", session.parent.as_ref().map(ToString::to_string));
    add("imported", imported.map(|import| format!("{} session {}", import.format, import.session_id)));
    print::out("\n");
}
