//! `lariat context show`: shows what fills the context window. Works without a model or key.

use lariat_service::SessionSelector;

use super::CommandResult;
use super::print::{self, Column};
use crate::args::manage::{ContextArgs, ContextCommand};
use crate::exit::Exit;
use crate::process_env::ProcessEnv;

const COLUMNS: &[Column] = &[
    Column::text("PART"),
    Column::text("NAME"),
    Column::number("ITEMS"),
    Column::number("TOKENS"),
    Column::number("SHARE"),
    Column::number("CACHED"),
];

/// Shows the context window of a session, or of a new session in this directory.
pub(crate) async fn context(env: &ProcessEnv, args: ContextArgs) -> CommandResult {
    let ContextCommand::Show(args) = args.command;
    let place = env.load_project(&env.load_options(None))?;
    let (service, which) = match (args.id, args.continue_last) {
        (Some(id), _) => (env.service(&place).await?, SessionSelector::Resume(id)),
        (None, true) => (env.service(&place).await?, SessionSelector::Continue),
        // Saves nothing.
        (None, false) => (env.ephemeral(&place).await?, SessionSelector::New),
    };
    let window_report = service.window(&place, &which).await?;
    let report = window_report.report;
    if args.json {
        return print::json(&report);
    }
    let rows: Vec<Vec<String>> = report
        .parts
        .iter()
        .map(|part| {
            let share = (part.tokens * 100).checked_div(report.used).unwrap_or_default();
            vec![
                format!("{:?}", part.kind).to_lowercase(),
                part.name.clone(),
                part.count.to_string(),
                print::count(part.tokens),
                format!("{share}%"),
                print::count(part.cached),
            ]
        })
        .collect();
    print::out(&print::table(COLUMNS, &rows));
    let window = report.window.map(|window| format!(" of {}", print::count(window))).unwrap_or_default();
    let percent = report.used_percent.map(|percent| format!(" ({percent}%)")).unwrap_or_default();
    print::line(&format!(
        "{}{window} tokens{percent}, {} of them cached, {}",
        print::count(report.used),
        print::count(report.cached),
        window_report.model.as_deref().unwrap_or("no model configured")
    ));
    Ok(Exit::Done)
}
