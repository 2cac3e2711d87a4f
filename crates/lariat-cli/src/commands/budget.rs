//! `lariat budget`: shows and raises the limits of a session. Needs no model.

use lariat_core::budget::{BudgetLimits, LimitKind, SpentAmounts};
use lariat_core::id::SessionId;
use lariat_core::usage::Cost;
use lariat_service::BudgetReport;
use lariat_terminal::human;
use serde::Serialize;

use super::print::Column;
use super::selected_session::SelectedSession;
use super::{CommandResult, print};
use crate::args::session_state::{BudgetArgs, BudgetCommand, BudgetExtendArgs, BudgetShowArgs};
use crate::exit::Exit;
use crate::problem::Problem;
use crate::process_env::ProcessEnv;

/// Limits and spending, for `--json`. A limit that is missing does not exist.
#[derive(Serialize)]
struct BudgetJson<'a> {
    session_id: &'a SessionId,
    spent: SpentAmounts,
    session: BudgetLimits,
    extended_by: BudgetLimits,
    run: BudgetLimits,
    day: BudgetLimits,
    spent_today: SpentAmounts,
}

pub(crate) async fn budget(env: &ProcessEnv, args: BudgetArgs) -> CommandResult {
    match args.command {
        BudgetCommand::Show(args) => show(env, &args).await,
        BudgetCommand::Extend(args) => extend(env, &args).await,
    }
}

async fn show(env: &ProcessEnv, args: &BudgetShowArgs) -> CommandResult {
    let selected = SelectedSession::find(env, args.session.as_deref()).await?;
    let report = selected.service.budget(&selected.place, selected.id()).await?;
    if args.json {
        return json(selected.id(), &report);
    }
    print_table(&report);
    Ok(Exit::Done)
}

async fn extend(env: &ProcessEnv, args: &BudgetExtendArgs) -> CommandResult {
    let more = more(args)?;
    let selected = SelectedSession::find(env, args.session.as_deref()).await?;
    selected.idle_fold().await?;
    selected.service.extend_budget(selected.id(), more).await?;
    let report = selected.service.budget(&selected.place, selected.id()).await?;
    for kind in LimitKind::ALL {
        if more.cap(kind).is_some() && report.session.cap(kind).is_none() {
            print::note(&format!(
                "note: your settings do not limit the {} of a session; the extension applies where a program sets a limit",
                kind_name(kind)
            ));
        }
    }
    if args.json {
        return json(selected.id(), &report);
    }
    print_table(&report);
    Ok(Exit::Done)
}

/// The amounts to add.
fn more(args: &BudgetExtendArgs) -> Result<BudgetLimits, Problem> {
    let mut more = BudgetLimits::none();
    (more.tokens, more.turns, more.tool_calls) = (args.tokens, args.turns, args.tool_calls);
    let example = "add an amount of more than 0: `lariat budget extend --cost 2.50`";
    if let Some(cost) = args.cost {
        if !cost.is_finite() || cost <= 0.0 {
            return Err(Problem::new(Exit::Usage, format!("cannot extend the cost by {cost}")).hint(example));
        }
        more.cost = Some(Cost::from_usd(cost));
    }
    if LimitKind::ALL.iter().all(|kind| more.cap(*kind).unwrap_or_default() == 0) {
        return Err(Problem::new(Exit::Usage, "nothing to extend").hint(example));
    }
    Ok(more)
}

fn json(session_id: &SessionId, report: &BudgetReport) -> CommandResult {
    print::json(&BudgetJson {
        session_id,
        spent: report.spent,
        session: report.session,
        extended_by: report.extended_by,
        run: report.run,
        day: report.day,
        spent_today: report.spent_today,
    })
}

fn print_table(report: &BudgetReport) {
    let columns = [
        Column::text("LIMIT"),
        Column::number("SPENT"),
        Column::number("SESSION"),
        Column::number("EXTENDED BY"),
        Column::number("NEXT RUN"),
        Column::number("TODAY"),
        Column::number("DAY"),
    ];
    let rows: Vec<Vec<String>> = LimitKind::ALL
        .iter()
        .map(|kind| {
            let cap = |limits: &BudgetLimits, none: &str| {
                limits.cap(*kind).map_or_else(|| none.to_owned(), |cap| amount(*kind, cap))
            };
            vec![
                kind_name(*kind).to_owned(),
                amount(*kind, report.spent.amount(*kind)),
                cap(&report.session, "no limit"),
                cap(&report.extended_by, "-"),
                cap(&report.run, "no limit"),
                amount(*kind, report.spent_today.amount(*kind)),
                cap(&report.day, "no limit"),
            ]
        })
        .collect();
    print::out(&print::table(&columns, &rows));
}

const fn kind_name(kind: LimitKind) -> &'static str {
    match kind {
        LimitKind::Turns => "turns",
        LimitKind::Tokens => "tokens",
        LimitKind::Duration => "time",
        LimitKind::Cost => "cost",
        LimitKind::ToolCalls => "tool calls",
        _ => "other",
    }
}

/// An amount in the unit of its limit.
fn amount(kind: LimitKind, amount: u64) -> String {
    match kind {
        LimitKind::Cost => print::money(Cost::from_nano_usd(amount)),
        LimitKind::Duration => human::duration(std::time::Duration::from_millis(amount)),
        _ => print::count(amount),
    }
}
