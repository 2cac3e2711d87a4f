//! `lariat sessions list`.

use lariat_core::archive::{ListQuery, SessionSummary};
use lariat_service::LocalService;

use super::super::Ended;
use super::super::print::{self, Column};
use crate::args::sessions::ListArgs;
use crate::exit::Exit;
use crate::world::World;

/// Letters of a name that a line shows.
const NAME: usize = 60;
/// Letters of an id that a line shows: enough to name it by.
const ID: usize = 8;

const COLUMNS: &[Column] = &[
    Column::text("SESSION"),
    Column::text("ACTIVE (UTC)"),
    Column::number("EVENTS"),
    Column::number("TOKENS"),
    Column::number("COST"),
    Column::text("NAME"),
];

/// Lists sessions.
pub(super) async fn list(world: &World, service: &LocalService, args: ListArgs) -> Ended {
    let mut query = ListQuery::default();
    query.limit = args.limit;
    query.tag = args.tag;
    query.text = (!args.words.is_empty()).then(|| args.words.join(" "));
    if args.here {
        query.cwd = Some(world.place(&world.visit(None))?.path().display().to_string());
    }
    let found = service.archive().list(&query).await?;
    if args.json {
        return print::json(&found);
    }
    if found.is_empty() {
        let is_whole = query.text.is_none() && query.tag.is_none() && query.cwd.is_none();
        print::note(if is_whole {
            "no sessions yet: `lariat run \"…\"` begins one"
        } else {
            "no session fits: `lariat sessions list` shows all"
        });
        return Ok(Exit::Done);
    }
    let rows: Vec<Vec<String>> = found.iter().map(row).collect();
    print::out(&print::table(COLUMNS, &rows));
    Ok(Exit::Done)
}

fn row(summary: &SessionSummary) -> Vec<String> {
    let tags: String = summary.tags.iter().map(|tag| format!(" #{tag}")).collect();
    vec![
        short(summary),
        print::time(summary.last_active_at),
        summary.events.to_string(),
        print::count(summary.usage.total()),
        print::money(summary.usage.cost),
        format!("{}{tags}", print::beginning(summary.name().unwrap_or_default(), NAME)),
    ]
}

/// The beginning of an id.
pub(super) fn short(summary: &SessionSummary) -> String {
    summary.session_id.as_str().chars().take(ID).collect()
}
