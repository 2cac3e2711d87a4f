//! `lariat agents list`: lists the sub-agents that a session in this directory can start.

use lariat_service::ListedAgent;

use super::CommandResult;
use super::print::{self, Column};
use crate::args::manage::{AgentsArgs, AgentsCommand};
use crate::exit::Exit;
use crate::process_env::ProcessEnv;

const COLUMNS: &[Column] = &[
    Column::whole("AGENT"),
    Column::whole("FROM"),
    Column::text("TOOLS"),
    Column::text("MODEL"),
    Column::text("DESCRIPTION"),
];

/// Lists the sub-agents that apply in this directory.
pub(crate) fn agents(env: &ProcessEnv, args: &AgentsArgs) -> CommandResult {
    let AgentsCommand::List(args) = &args.command;
    let place = env.load_project(&env.load_options(None))?;
    let (agents, warnings) = place.agents(&env.folders);
    for warning in &warnings {
        print::note(&format!("warning: {warning}"));
    }
    if args.json {
        return print::json(&agents);
    }
    let rows: Vec<Vec<String>> = agents.iter().map(row).collect();
    print::out(&print::table(COLUMNS, &rows));
    if place.opened.trust != lariat_service::trust::Trust::Trusted {
        print::note("the sub-agents of this project are left out until you trust it: `lariat trust`");
    }
    Ok(Exit::Done)
}

fn row(agent: &ListedAgent) -> Vec<String> {
    let tools = agent.tools.as_ref().map_or_else(|| "all".to_owned(), |tools| tools.join(", "));
    vec![
        agent.name.clone(),
        agent.source.clone(),
        print::abbreviate(&tools, 40),
        agent.model.clone().unwrap_or_else(|| "session".to_owned()),
        print::abbreviate(&agent.description, 80),
    ]
}
