//! `lariat commands list`: lists the user's and the project's own `/` commands and skills.

use super::CommandResult;
use super::print::{self, Column};
use crate::args::manage::{CommandsArgs, CommandsCommand};
use crate::exit::Exit;
use crate::process_env::ProcessEnv;

const COLUMNS: &[Column] = &[
    Column::whole("COMMAND"),
    Column::text("ARGUMENTS"),
    Column::whole("FROM"),
    Column::text("DESCRIPTION"),
];

/// Lists the commands that apply in this directory.
pub(crate) fn custom_commands(env: &ProcessEnv, args: &CommandsArgs) -> CommandResult {
    let CommandsCommand::List(args) = &args.command;
    let place = env.load_project(&env.load_options(None))?;
    let (commands, warnings) = place.slash_commands(&env.folders);
    for warning in &warnings {
        print::note(&format!("warning: {warning}"));
    }
    if args.json {
        return print::json(&commands);
    }
    let rows: Vec<Vec<String>> = commands
        .iter()
        .map(|command| {
            let source =
                if command.is_skill { format!("{} skill", command.source) } else { command.source.clone() };
            vec![
                format!("/{}", command.name),
                command.arguments.clone(),
                source,
                print::abbreviate(&command.description, 80),
            ]
        })
        .collect();
    if rows.is_empty() {
        print::note(
            "no commands; write one as .claude/commands/NAME.md, for this project or in your home directory",
        );
    } else {
        print::out(&print::table(COLUMNS, &rows));
    }
    if place.opened.trust != lariat_service::trust::Trust::Trusted {
        print::note("the commands of this project are left out until you trust it: `lariat trust`");
    }
    Ok(Exit::Done)
}
