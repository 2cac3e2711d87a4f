//! `lariat ps`: lists the sessions of the background host.

use lariat_api::{SessionFilter, SessionStatus, SessionSummary, Sessions as _};
use lariat_service::clock;

use super::client::{self, HostConnection};
use crate::args::background::PsArgs;
use crate::commands::CommandResult;
use crate::commands::print::{self, Column};
use crate::exit::Exit;
use crate::process_env::ProcessEnv;

/// Maximum characters of a name.
const NAME: usize = 60;
/// Characters of an id: enough to identify a session.
const ID: usize = 8;
/// Maximum number of sessions.
const MOST: u32 = 100;

/// Runs `lariat ps`.
pub(crate) async fn ps(env: &ProcessEnv, args: &PsArgs) -> CommandResult {
    let sessions = match HostConnection::existing(env).await? {
        Some(connection) => {
            let mut filter = SessionFilter::default();
            filter.limit = Some(MOST);
            if !args.all {
                filter.status =
                    vec![SessionStatus::Running, SessionStatus::RequiresAction, SessionStatus::Interrupted];
            }
            connection.remote.list(filter).await.map_err(client::from_protocol)?.sessions
        }
        None => Vec::new(),
    };
    if args.json {
        return print::json(&sessions);
    }
    if sessions.is_empty() {
        print::note("no sessions run in the background; `lariat run --detach \"…\"` starts one");
        return Ok(Exit::Done);
    }
    let columns = [
        Column::whole("SESSION"),
        Column::whole("STATUS"),
        Column::whole("ACTIVE"),
        Column::number("COST"),
        Column::text("DIRECTORY"),
        Column::text("NAME"),
    ];
    let rows: Vec<Vec<String>> = sessions.iter().map(row).collect();
    print::out(&print::table(&columns, &rows));
    Ok(Exit::Done)
}

fn row(session: &SessionSummary) -> Vec<String> {
    let archived = &session.archived;
    vec![
        archived.session_id.as_str().chars().take(ID).collect(),
        status(session),
        print::ago(archived.last_active_at, clock::now()),
        print::money(archived.usage.cost),
        archived.cwd.clone().unwrap_or_default(),
        print::abbreviate(archived.name().unwrap_or_default(), NAME),
    ]
}

/// What the session does, in words.
fn status(session: &SessionSummary) -> String {
    match (&session.status, session.asks) {
        (SessionStatus::RequiresAction, _) => "asks you".to_owned(),
        (SessionStatus::Running, _) => "running".to_owned(),
        (SessionStatus::Interrupted, _) => "interrupted".to_owned(),
        (SessionStatus::Closed, _) => "closed".to_owned(),
        (_, 1..) => "asks you".to_owned(),
        _ => "idle".to_owned(),
    }
}
