//! `lariat` without a command, and `lariat attach`: the terminal UI.
//!
//! A session that runs in the background host is shown there. Any other session runs in this process, so that its
//! commands have the environment of this terminal.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Parser as _;
use lariat_api::{AskPolicy, CreateSession, SessionStatus, Sessions};
use lariat_core::id::SessionId;
use lariat_server::unix;
use lariat_service::config::Settings;
use lariat_service::{
    HostOptions, LoadOptions, LoadedProject, LocalService, ProjectAgents, SessionSelector, SlashCommand,
};
use lariat_tui::app::Setup;
use lariat_tui::client::{self, End, EndReason, Options, Start};
use lariat_tui::composer::{CommandHint, Suggestion};
use lariat_tui::files::FileIndex;
use lariat_tui::keymap::Keymap;
use lariat_tui::screen::Reflow;
use lariat_tui::screen::modes::KeyReports;
use lariat_tui::status;
use lariat_tui::symbols::SymbolIndex;
use uuid::Uuid;

use super::background::{HostConnection, from_protocol};
use super::ui_machine::{ProjectSymbols, ThisMachine};
use super::ui_pages::LocalPages;
use super::ui_sessions::OpeningSessions;
use super::{CommandResult, print, run, trust_prompt};
use crate::args::background::AttachArgs;
use crate::args::prompt;
use crate::args::run::{Output, RunArgs};
use crate::args::task::Task;
use crate::args::{Args, Command};
use crate::exit::Exit;
use crate::files;
use crate::problem::Problem;
use crate::process_env::{ProcessEnv, Stream};

/// Characters of an id: enough to identify a session.
const ID: usize = 8;
/// The most bytes of a `HEAD` file that are read.
const MAX_HEAD: u64 = 1_024;

/// The flags and the prompt of a command line without a command, if they ask for the terminal UI.
///
/// Flags that only Claude Code knows, and flags that ask for printed output, are for `lariat run`.
pub(crate) fn arguments(env: &ProcessEnv) -> Option<RunArgs> {
    if !has_screen(env) {
        return None;
    }
    let mut arguments = env.arguments();
    if arguments.len() == 1 {
        arguments.push("run".into());
    } else {
        let (inserted, is_prompt) = prompt::as_command(arguments);
        arguments = is_prompt.then_some(inserted)?;
    }
    let Command::Run(args) = Args::try_parse_from(arguments).ok()?.command else { return None };
    can_open(&args).then_some(*args)
}

/// Whether the terminal UI can do what the flags ask for.
fn can_open(args: &RunArgs) -> bool {
    let prints = args.p.is_some()
        || args.output != Output::Text
        || args.output_schema.is_some()
        || args.detach
        || args.ephemeral
        || args.approve_plan
        || args.verbose
        || args.rerun.is_some()
        || !args.image.is_empty()
        || args.words == ["-"];
    !prints
}

/// Whether standard input and output are a terminal that can move its cursor.
pub(crate) fn has_screen(env: &ProcessEnv) -> bool {
    let is_terminal = io::stdin().is_terminal() && io::stdout().is_terminal();
    is_terminal && env.variable("TERM").is_some_and(|term| term != "dumb")
}

/// Opens the terminal UI on the session that the flags name, with their prompt.
pub(crate) async fn open(env: &ProcessEnv, args: RunArgs) -> CommandResult {
    let task = Task::from(args);
    task.check()?;
    let options = run::load_options(env, &task)?;
    let place = trust_prompt::resolve_trust(env, &options, true)?;
    if task.which == SessionSelector::New {
        // The first frame does not wait for the store.
        let sessions = OpeningSessions::start(open_host(env.clone(), place.clone(), options.clone()));
        let create = new_session(&place, &task, &task.which)?;
        let start = Start::New { create, prompt: task.prompt };
        return follow(env, &options, &place, Arc::new(sessions), start, false).await;
    }
    let service = env.service(&place).await?;
    let which = run::selector(&service, &place, &task).await?;
    let start = match &which {
        SessionSelector::Fork(from) => {
            let mut create = new_session(&place, &task, &which)?;
            create.fork = Some((service.find(from).await?.session_id, None));
            Start::New { create, prompt: task.prompt }
        }
        which => {
            let id = match which {
                SessionSelector::Resume(id) => service.find(id).await?.session_id,
                _ => service.newest(place.path()).await?.session_id,
            };
            let start = Start::Open { session_id: id.clone(), prompt: task.prompt };
            if let Some(remote) = running_in_background(env, &id).await? {
                return follow(env, &options, &place, Arc::new(remote), start, true).await;
            }
            start
        }
    };
    let sessions = host(env, service, options.clone());
    follow(env, &options, &place, Arc::new(sessions), start, false).await
}

/// Shows a session of the background host.
pub(crate) async fn attach(env: &ProcessEnv, args: &AttachArgs) -> CommandResult {
    let connection = HostConnection::open(env).await?;
    let view = connection.find(&args.id).await?;
    let directory = view.directory.as_ref().map(PathBuf::from).filter(|directory| directory.is_dir());
    let options = env.load_options(directory.as_ref());
    let place = env.load_project(&options)?;
    let start = Start::Open { session_id: view.session_id, prompt: None };
    follow(env, &options, &place, Arc::new(connection.remote), start, true).await
}

/// The session, if the background host runs it now.
pub(crate) async fn running_in_background(
    env: &ProcessEnv,
    id: &SessionId,
) -> Result<Option<lariat_server::remote::Remote>, Problem> {
    let Some(connection) = HostConnection::existing(env).await? else { return Ok(None) };
    let Ok(view) = connection.remote.view(id).await else { return Ok(None) };
    let runs = matches!(view.status, SessionStatus::Running | SessionStatus::RequiresAction);
    Ok(runs.then_some(connection.remote))
}

/// Hosts sessions in this process.
fn host(env: &ProcessEnv, service: LocalService, options: LoadOptions) -> impl Sessions + 'static {
    let principal = unix::principal(env.variable("USER"));
    let mut hosting = HostOptions::default();
    hosting.ask_policy = AskPolicy::Wait;
    ProjectAgents::new(service, env.settings()).with_options(options).into_host(principal, hosting)
}

/// Opens the store and hosts its sessions in this process.
async fn open_host(
    env: ProcessEnv,
    place: LoadedProject,
    options: LoadOptions,
) -> Result<Arc<dyn Sessions>, Problem> {
    let service = env.service(&place).await?;
    Ok(Arc::new(host(&env, service, options)))
}

/// A request for a new session, with the id that the flags name.
fn new_session(
    place: &LoadedProject,
    task: &Task,
    which: &SessionSelector,
) -> Result<CreateSession, Problem> {
    let id = run::new_id(task, which)?.unwrap_or_else(|| SessionId::from(Uuid::new_v4().to_string()));
    Ok(CreateSession::new(id, place.path().display().to_string()))
}

/// Shows the session until the user leaves.
async fn follow(
    env: &ProcessEnv,
    loading: &LoadOptions,
    place: &LoadedProject,
    sessions: Arc<dyn Sessions>,
    start: Start,
    runs_go_on: bool,
) -> CommandResult {
    let mut setup =
        Setup::new(env.terminal(&place.settings, Stream::Output), place.path().display().to_string());
    setup.runs_go_on = runs_go_on;
    setup.mode = place.settings.mode.unwrap_or_default().name().to_owned();
    (setup.vim, setup.keymap) = (place.settings.ui.vim, keymap(&place.settings.ui.keys)?);
    setup.status = status::items(&place.settings.ui.status)
        .map_err(|cause| Problem::new(Exit::Setup, cause).at("ui.status"))?;
    if place.settings.ui.screen_reader {
        setup.is_linear = true;
        // A reader names symbols one by one.
        (setup.theme.unicode, setup.theme.links, setup.theme.pictures) = (false, false, None);
    }
    let (own, _) = place.slash_commands(&env.folders);
    let hint = |own: SlashCommand| CommandHint {
        name: own.name,
        arguments: own.arguments,
        summary: format!("{} ({})", print::abbreviate(&own.description, 80), own.source),
    };
    setup.commands = own.into_iter().map(hint).collect();
    setup.branch = branch(place.path()).unwrap_or_default();
    (setup.sandbox, setup.is_confined) = sandbox(&place.settings);
    let term = env.variable("TERM").unwrap_or_default();
    let options = Options {
        setup,
        data: Some(env.folders.screen(place.path())),
        files: Some(FileIndex::new(place.path().to_path_buf())),
        symbols: Some(SymbolIndex::new(Arc::new(ProjectSymbols(place.path().to_path_buf())))),
        resources: resources(place, env),
        pages: Some(Arc::new(LocalPages::new(env.clone(), loading.clone()))),
        keys: if term == "linux" { KeyReports::Plain } else { KeyReports::Enhanced },
        reflow: reflow(env, term),
        machine: Arc::new(ThisMachine::new(env, place.path())),
    };
    let end = client::run(sessions, start, options).await.map_err(from_protocol)?;
    closing_note(&end, runs_go_on);
    Ok(match end.reason {
        EndReason::Signal => Exit::Interrupted,
        _ => Exit::Done,
    })
}

fn closing_note(end: &End, runs_go_on: bool) {
    let Some(id) = &end.session_id else { return };
    let id: String = id.as_str().chars().take(ID).collect();
    print::note(&match (runs_go_on, end.reason) {
        (true, _) => format!("`lariat attach {id}` attaches again, `lariat stop {id}` stops it"),
        (false, _) => format!("continue with `lariat --resume {id}`"),
    });
}

/// The keys, with the changes of the user.
fn keymap(changes: &[String]) -> Result<Keymap, Problem> {
    let problem = |cause: String| {
        Problem::new(Exit::Setup, cause).at("ui.keys").hint("write `ACTION = KEY`, such as `queue = ctrl+q`")
    };
    let mut by_action = BTreeMap::new();
    for change in changes {
        let Some((action, keys)) = change.split_once('=') else {
            return Err(problem(format!("`{change}` names no key")));
        };
        by_action.insert(action.trim().to_owned(), keys.trim().to_owned());
    }
    Keymap::with(&by_action).map_err(|error| problem(error.to_string()))
}

/// What confines commands, and whether something does.
fn sandbox(settings: &Settings) -> (String, bool) {
    if settings.sandbox.enabled { ("sandbox".to_owned(), true) } else { ("no sandbox".to_owned(), false) }
}

/// xterm and the Linux console cut rows when they get narrower; others wrap them.
fn reflow(env: &ProcessEnv, term: &str) -> Reflow {
    let is_xterm = env.variable("XTERM_VERSION").is_some() && env.variable("TMUX").is_none();
    if is_xterm || term == "linux" { Reflow::Cuts } else { Reflow::Wraps }
}

/// The branch of the repository that a directory belongs to.
fn branch(directory: &Path) -> Option<String> {
    let text = directory.ancestors().find_map(|folder| files::start(&folder.join(".git/HEAD"), MAX_HEAD))?;
    Some(text.trim().strip_prefix("ref: refs/heads/")?.to_owned())
}

/// The resources of MCP servers that `@` offers.
fn resources(place: &LoadedProject, env: &ProcessEnv) -> Vec<Suggestion> {
    let known = place.mcp_resources(&env.folders);
    known.into_iter().map(|known| Suggestion { name: known.mention, summary: known.title }).collect()
}
