//! `lariat sessions list`.

use std::path::Path;

use lariat_core::archive::{ListQuery, SessionSummary};
use lariat_core::time::Timestamp;
use lariat_service::LocalService;
use lariat_service::clock;

use super::super::CommandResult;
use super::super::print::{self, Column};
use crate::args::sessions::ListArgs;
use crate::exit::Exit;
use crate::process_env::ProcessEnv;

/// Maximum characters of a name.
const NAME: usize = 60;
/// Characters of an id: enough to identify a session.
const ID: usize = 8;

pub(super) async fn list(env: &ProcessEnv, service: &LocalService, args: ListArgs) -> CommandResult {
    let mut query = ListQuery::default();
    query.limit = args.limit;
    query.tag = args.tag;
    query.text = (!args.words.is_empty()).then(|| args.words.join(" "));
    if args.here {
        query.cwd = Some(env.load_project(&env.load_options(None))?.path().display().to_string());
    }
    let found = service.archive().list(&query).await?;
    if args.json {
        return print::json(&found);
    }
    if found.is_empty() {
        let is_whole = query.text.is_none() && query.tag.is_none() && query.cwd.is_none();
        print::note(if is_whole {
            "no sessions yet; start one with `lariat run \"…\"`"
        } else {
            "no matching sessions; `lariat sessions list` lists all"
        });
        return Ok(Exit::Done);
    }
    let active = ActivityColumn::now();
    let columns = [
        Column::whole("SESSION"),
        active.column(),
        Column::number("EVENTS"),
        Column::number("TOKENS"),
        Column::number("COST"),
        Column::text("DIRECTORY"),
        Column::text("NAME"),
    ];
    let home = &env.folders.home;
    let rows: Vec<Vec<String>> = found.iter().map(|summary| row(summary, &active, home)).collect();
    print::out(&print::table(&columns, &rows));
    Ok(Exit::Done)
}

fn row(summary: &SessionSummary, active: &ActivityColumn, home: &Path) -> Vec<String> {
    vec![
        short(summary),
        active.of(summary),
        summary.events.to_string(),
        print::count(summary.usage.total()),
        print::money(summary.usage.cost),
        directory(summary, home),
        name(summary),
    ]
}

/// The session's directory, with `~` for the home directory.
fn directory(summary: &SessionSummary, home: &Path) -> String {
    let Some(cwd) = &summary.cwd else { return "-".to_owned() };
    match Path::new(cwd).strip_prefix(home) {
        Ok(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
        Ok(rest) => format!("~/{}", rest.display()),
        Err(_) => cwd.clone(),
    }
}

/// Formats the last activity: as an age on a terminal, as a time in a pipe.
pub(super) struct ActivityColumn {
    /// `None` in a pipe.
    now: Option<Timestamp>,
}

impl ActivityColumn {
    pub(super) fn now() -> Self {
        Self { now: print::theme().is_terminal.then(clock::now) }
    }

    pub(super) const fn column(&self) -> Column {
        Column::whole(if self.now.is_some() { "ACTIVE" } else { "ACTIVE (UTC)" })
    }

    pub(super) fn of(&self, summary: &SessionSummary) -> String {
        let at = summary.last_active_at;
        self.now.map_or_else(|| print::time(at), |now| print::ago(at, now))
    }
}

/// The session's name and tags.
pub(super) fn name(summary: &SessionSummary) -> String {
    let tags: String = summary.tags.iter().map(|tag| format!(" #{tag}")).collect();
    format!("{}{tags}", print::abbreviate(summary.name().unwrap_or_default(), NAME))
}

/// The abbreviated id.
pub(super) fn short(summary: &SessionSummary) -> String {
    summary.session_id.as_str().chars().take(ID).collect()
}
