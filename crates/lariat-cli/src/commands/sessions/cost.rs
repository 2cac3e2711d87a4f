//! `lariat sessions cost`: shows what sessions spent, and on what.
//!
//! A fork shares its first events with its parent, which paid for them, so only the fork's own spending is added.

use std::collections::BTreeSet;
use std::time::Duration;

use lariat_core::archive::{ListQuery, SessionSummary};
use lariat_core::display;
use lariat_core::event::{Event, Insight, InsightFold};
use lariat_core::id::{EventId, SessionId};
use lariat_core::ledger::{Ledger, LedgerEntry, Source};
use lariat_core::time::Timestamp;
use lariat_core::usage::Usage;
use lariat_service::clock;
use lariat_service::{LocalService, ServiceError};
use serde::Serialize;

use super::super::CommandResult;
use super::super::print::{self, Column};
use super::list::{ActivityColumn, name, short};
use crate::args::sessions::CostArgs;
use crate::exit::Exit;

const DAY: u64 = 24 * 60 * 60;

#[derive(Serialize)]
struct SessionCost {
    session_id: SessionId,
    total: Usage,
    sources: Vec<SourceCost>,
}

#[derive(Serialize)]
struct SourceCost {
    source: Source,
    #[serde(flatten)]
    entry: LedgerEntry,
}

#[derive(Serialize)]
struct PeriodCost {
    days: u64,
    total: Usage,
    sessions: Vec<SessionSummary>,
}

const FIGURES: [Column; 5] = [
    Column::number("INPUT"),
    Column::number("CACHED"),
    Column::number("OUTPUT"),
    Column::number("TOKENS"),
    Column::number("COST"),
];

/// A figure and the time at which it was known.
#[derive(Serialize)]
struct TimedInsight {
    at: Timestamp,
    #[serde(flatten)]
    insight: Insight,
}

/// Shows the cost of one session, or of all sessions of the last days.
pub(super) async fn cost(service: &LocalService, args: &CostArgs) -> CommandResult {
    match &args.id {
        Some(id) if args.turns => turns(service, id, args.json).await,
        Some(id) => one(service, id, args.json).await,
        None => many(service, args.days, args.json).await,
    }
}

async fn one(service: &LocalService, id: &str, json: bool) -> CommandResult {
    let session = service.find(id).await?;
    let events = service.events(&session.session_id).await?;
    // If the parent was deleted, the fork includes its events: nothing else shows them.
    let shared = shared(service, &session, &events).await.unwrap_or_default();
    let session_id = session.session_id;
    let mut ledger = Ledger::default();
    events.iter().skip(shared).for_each(|event| ledger.apply(event));
    let sources: Vec<SourceCost> = ledger
        .sources()
        .map(|(source, entry)| SourceCost { source: source.clone(), entry: *entry })
        .collect();
    let mut total = Usage::default();
    sources.iter().for_each(|of| total += of.entry.usage);
    if json {
        return print::json(&SessionCost { session_id, total, sources });
    }
    let mut columns = vec![Column::text("SOURCE"), Column::number("CALLS")];
    columns.extend(FIGURES);
    let row = |name: String, calls: String, usage: &Usage| {
        [name, calls].into_iter().chain(figures(usage)).collect::<Vec<String>>()
    };
    let mut rows: Vec<Vec<String>> = sources
        .iter()
        .map(|of| row(of.source.to_string(), of.entry.calls.to_string(), &of.entry.usage))
        .collect();
    rows.push(row("total".to_owned(), String::new(), &total));
    print::out(&print::table(&columns, &rows));
    if let (1.., Some(parent)) = (shared, &session.parent) {
        print::note(&format!("not including the history shared with {parent}, its parent"));
    }
    Ok(Exit::Done)
}

/// Shows tokens and context of each turn, and duration and bytes of each tool call, in the order in which they ended.
async fn turns(service: &LocalService, id: &str, json: bool) -> CommandResult {
    let session = service.find(id).await?;
    let mut fold = InsightFold::default();
    let mut insights = Vec::new();
    for event in service.events(&session.session_id).await? {
        let known = fold.apply(&event).into_iter();
        insights.extend(known.map(|insight| TimedInsight { at: event.timestamp, insight }));
    }
    if json {
        return print::json(&insights);
    }
    let columns = [
        Column::whole("TIME"),
        Column::whole("WHAT"),
        Column::number("INPUT"),
        Column::number("CACHED"),
        Column::number("OUTPUT"),
        Column::number("CONTEXT"),
        Column::number("SECONDS"),
        Column::number("BYTES"),
    ];
    let rows: Vec<Vec<String>> = insights.iter().filter_map(turn_row).collect();
    print::out(&print::table(&columns, &rows));
    Ok(Exit::Done)
}

/// The row of a turn or a tool call. The context has no row: it is in the row of its turn.
fn turn_row(timed: &TimedInsight) -> Option<Vec<String>> {
    let time = print::time(timed.at);
    let none = String::new;
    Some(match &timed.insight {
        Insight::Context { turn_index, used, window } => {
            let percent = if *window == 0 { none() } else { format!("{} %", used * 100 / window) };
            let what = format!("turn {}", turn_index + 1);
            vec![time, what, none(), none(), none(), percent, none(), none()]
        }
        Insight::Tokens { turn_index, usage } => {
            let what = format!("turn {}", turn_index + 1);
            let figures = [usage.input, usage.cache_read, usage.output].map(print::count);
            [time, what].into_iter().chain(figures).chain([none(), none(), none()]).collect()
        }
        Insight::Tool { tool_name, duration_ms, bytes, is_error, .. } => {
            let what = if *is_error { format!("{tool_name} (failed)") } else { tool_name.clone() };
            let seconds = format!("{}.{}", duration_ms / 1_000, duration_ms % 1_000 / 100);
            vec![
                time,
                display::line(&what).into_owned(),
                none(),
                none(),
                none(),
                none(),
                seconds,
                print::count(*bytes),
            ]
        }
        _ => return None,
    })
}

/// The number of events that a fork shares with its parent; `None` if the parent was deleted.
async fn shared(service: &LocalService, session: &SessionSummary, events: &[Event]) -> Option<usize> {
    let Some(parent) = &session.parent else { return Some(0) };
    let of_parent = service.events(parent).await.ok().filter(|events| !events.is_empty())?;
    Some(events.iter().zip(&of_parent).take_while(|(own, other)| own.id == other.id).count())
}

/// What a session spent itself, without the history shared with its parent. The first fork of a deleted parent
/// includes its events: `counted` has the events of the forks before this one.
async fn spent(
    service: &LocalService,
    session: &SessionSummary,
    counted: &mut BTreeSet<EventId>,
) -> Result<Usage, ServiceError> {
    if session.parent.is_none() {
        return Ok(session.usage);
    }
    let events = service.events(&session.session_id).await?;
    let mut own = SessionSummary::new(session.session_id.clone());
    match shared(service, session, &events).await {
        Some(count) => events.iter().skip(count).for_each(|event| own.apply(event)),
        None => events.iter().filter(|event| counted.insert(event.id)).for_each(|event| own.apply(event)),
    }
    Ok(own.usage)
}

async fn many(service: &LocalService, days: u64, json: bool) -> CommandResult {
    let past = Duration::from_secs(days.saturating_mul(DAY)).as_millis();
    let now = clock::now().as_millis();
    let mut query = ListQuery::default();
    query.active_since = Some(Timestamp::from_millis(now.saturating_sub(u64::try_from(past).unwrap_or(now))));
    let mut sessions = service.archive().list(&query).await?;
    let mut counted = BTreeSet::new();
    for session in &mut sessions {
        session.usage = spent(service, session, &mut counted).await?;
    }
    let mut total = Usage::default();
    sessions.iter().for_each(|session| total += session.usage);
    if json {
        return print::json(&PeriodCost { days, total, sessions });
    }
    let active = ActivityColumn::now();
    let mut columns = vec![Column::whole("SESSION"), active.column()];
    columns.extend(FIGURES);
    columns.push(Column::text("NAME"));
    let row = |id: String, at: String, usage: &Usage, name: String| {
        [id, at].into_iter().chain(figures(usage)).chain([name]).collect::<Vec<String>>()
    };
    let mut rows: Vec<Vec<String>> = sessions
        .iter()
        .map(|session| row(short(session), active.of(session), &session.usage, name(session)))
        .collect();
    rows.push(row("total".to_owned(), print::counted(days, "day", "days"), &total, String::new()));
    print::out(&print::table(&columns, &rows));
    Ok(Exit::Done)
}

fn figures(usage: &Usage) -> [String; 5] {
    [
        print::count(usage.input),
        print::count(usage.cache_read),
        print::count(usage.output),
        print::count(usage.total()),
        print::money(usage.cost),
    ]
}
