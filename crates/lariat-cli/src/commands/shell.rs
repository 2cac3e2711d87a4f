//! `lariat completions` and `lariat man`, generated from the arguments.

use std::path::Path;

use clap::CommandFactory as _;
use clap_complete::Shell;
use clap_mangen::Man;
use lariat_core::archive::ListQuery;
use lariat_core::display;

use super::{CommandResult, models, print};
use crate::args::Args;
use crate::args::manage::{CompleteArgs, CompletionKind, CompletionsArgs, ManArgs};
use crate::exit::{CODES, Exit};
use crate::files;
use crate::problem::Problem;
use crate::process_env::ProcessEnv;

pub(crate) fn completions(args: &CompletionsArgs) -> CommandResult {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "lariat", &mut text);
    print::out(&with_dynamic_values(args.shell, &String::from_utf8_lossy(&text)));
    Ok(Exit::Done)
}

/// Options that take a session, and options that take a model.
const SESSIONS: &[&str] = &["-r", "--resume", "--fork", "--session"];
const MODELS: &[&str] = &["-m", "--model"];

/// Completes session ids and model names where the generated script completes files.
fn with_dynamic_values(shell: Shell, script: &str) -> String {
    match shell {
        Shell::Bash => for_bash(script),
        Shell::Zsh => for_zsh(script),
        Shell::Fish => for_fish(script),
        _ => script.to_owned(),
    }
}

fn for_bash(script: &str) -> String {
    let mut kind = None;
    let mut text = String::with_capacity(script.len());
    for line in script.lines() {
        let option = line.trim().strip_suffix(')').unwrap_or_default();
        let asks = |what: &str| {
            format!(
                "COMPREPLY=($(compgen -W \"$(lariat __complete {what} 2>/dev/null | cut -f1)\" -- \"${{cur}}\"))"
            )
        };
        match kind.take() {
            Some(what) => text.push_str(&line.replace("COMPREPLY=($(compgen -f \"${cur}\"))", &asks(what))),
            None => text.push_str(line),
        }
        text.push('\n');
        if SESSIONS.contains(&option) {
            kind = Some("sessions");
        } else if MODELS.contains(&option) {
            kind = Some("models");
        }
    }
    text
}

const ZSH: &str = "\
_lariat_sessions() {
    local -a found
    found=(${(f)\"$(lariat __complete sessions 2>/dev/null | cut -f1)\"})
    compadd -a found
}

_lariat_models() {
    local -a found
    found=(${(f)\"$(lariat __complete models 2>/dev/null | cut -f1)\"})
    compadd -a found
}
";

fn for_zsh(script: &str) -> String {
    let script = script
        .replace(":SESSION:_default", ":SESSION:_lariat_sessions")
        .replace(":MODEL:_default", ":MODEL:_lariat_models");
    // The first line names the program.
    match script.split_once('\n') {
        Some((first, rest)) => format!("{first}\n\n{ZSH}{rest}"),
        None => script,
    }
}

fn for_fish(script: &str) -> String {
    let of = |line: &str| {
        let has = |options: &[&str]| {
            options
                .iter()
                .filter_map(|option| option.strip_prefix("--"))
                .any(|name| line.contains(&format!(" -l {name} ")))
        };
        match line.ends_with(" -r") {
            true if has(SESSIONS) => Some("sessions"),
            true if has(MODELS) => Some("models"),
            _ => None,
        }
    };
    let line = |line: &str| match of(line) {
        Some(what) => format!("{line} -f -a \"(lariat __complete {what} 2>/dev/null)\"\n"),
        None => format!("{line}\n"),
    };
    script.lines().map(line).collect()
}

/// Prints candidates, one per line, with a description after a tab.
pub(crate) async fn complete(env: &ProcessEnv, args: CompleteArgs) -> CommandResult {
    let place = env.load_project(&env.load_options(None))?;
    match args.what {
        CompletionKind::Models => {
            for name in models::names(&place.settings) {
                print::line(&name);
            }
        }
        CompletionKind::Sessions => {
            let mut query = ListQuery::default();
            query.limit = MAX_SESSIONS;
            for session in env.service(&place).await?.archive().list(&query).await? {
                let name = print::abbreviate(session.name().unwrap_or_default(), 60);
                print::out(&format!("{}\t{}\n", session.session_id, display::line(&name)));
            }
        }
    }
    Ok(Exit::Done)
}

/// Maximum number of sessions to offer, newest first.
const MAX_SESSIONS: usize = 50;

/// Prints the main man page, or writes all pages to a directory.
pub(crate) fn man(args: &ManArgs) -> CommandResult {
    let mut command = Args::command().disable_help_subcommand(true);
    command.build();
    let Some(dir) = &args.dir else {
        print::out(&String::from_utf8_lossy(&page(&command, true)?));
        return Ok(Exit::Done);
    };
    files::make(dir)?;
    let count = pages(&command, dir, true)?;
    print::note(&format!("wrote {count} pages to {}", dir.display()));
    Ok(Exit::Done)
}

/// Writes the page of a command and of its subcommands.
fn pages(command: &clap::Command, dir: &Path, is_first: bool) -> Result<usize, Problem> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    files::overwrite(&dir.join(format!("{name}.1")), &page(command, is_first)?)?;
    let mut count = 1;
    let shown = |below: &&clap::Command| below.get_name() != "help" && !below.is_hide_set();
    for below in command.get_subcommands().filter(shown) {
        count += pages(below, dir, false)?;
    }
    Ok(count)
}

fn page(command: &clap::Command, with_codes: bool) -> Result<Vec<u8>, Problem> {
    let mut text = Vec::new();
    let man = Man::new(command.clone());
    man.render(&mut text)
        .map_err(|error| Problem::new(Exit::Failed, format!("could not generate the manual: {error}")))?;
    if with_codes {
        text.extend_from_slice(b".SH \"EXIT STATUS\"\n");
        for (exit, meaning) in CODES {
            text.extend_from_slice(format!(".TP\n\\fB{}\\fR\n{meaning}\n", exit.code()).as_bytes());
        }
    }
    Ok(text)
}
