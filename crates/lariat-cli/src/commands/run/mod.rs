//! `lariat run`: runs one task, or every task that a controlling program sends.
//!
//! The steps: load the directory, open the service and the session, recover an interrupted run, send the prompt, review the plan,
//! report the end. Standard output carries the answer and nothing else; everything else goes to standard error.
//!
//! - `terminal`, `keys`, `draft`: what the user types. `inputs`: waits for all inputs.
//! - `questions`: which key answers which question. `watch`: follows a run for a user or a script. `plan`: reviews a plan.
//! - `feed`: the events of a session in one order. `client`: sends commands to its host. `figures`: what a run did, from its events.
//!   `followed_run`: follows a run to its end.
//! - `actor_critic`: runs loops of an actor and a critic. `race`: runs races. `attached`: follows a session of the background host. `host`: serves a controlling program. `callbacks`: calls its functions for hooks. `output`: writes the output. `background`, `ending`: the closing messages.
//!   `files`: reads the prompt and other inputs.

mod actor_critic;
mod attached;
mod background;
mod callbacks;
mod client;
mod draft;
mod ending;
mod feed;
mod figures;
mod files;
mod followed_run;
mod host;
mod inputs;
mod keys;
mod output;
mod plan;
mod questions;
mod race;
mod terminal;
mod terminal_approver;
mod watch;

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use lariat_api::{Action, Delivery, PromptContent, SessionStatus, SessionView};
use lariat_core::archive::SessionSummary;
use lariat_core::content::Content;
use lariat_core::display;
use lariat_core::id::SessionId;
use lariat_server::unix;
use lariat_service::clock;
use lariat_service::permissions::Mode;
use lariat_service::{
    AgentFacts, AnswerAttempts, LoadOptions, LoadedProject, LocalService, Prompt, ServiceError,
    SessionOptions, SessionSelector,
};
use lariat_terminal::theme::{Style, Theme};
use lariat_terminal::{human, text};

use super::{CommandResult, trust_prompt};
use crate::args::run::RunArgs;
use crate::args::task::{PlanChoice, Schema, Task};
use crate::exit::Exit;
use crate::failure::FailureContext;
use crate::problem::Problem;
use crate::process_env::{ProcessEnv, Stream};
use crate::wire::json::Ending;
pub(crate) use actor_critic::run_loop;
pub(crate) use attached::attach;
pub(crate) use files::{LIMIT as MAX_IMAGE_BYTES, image_content};
use inputs::Inputs;
use output::{RunOutput, report, write_stderr};
use plan::ReviewResult;
pub(crate) use race::race;
use terminal::Terminal;
use watch::{FollowResult, RunWatcher};

/// The prompt when a session continues without one and the last message is the model's.
const CONTINUE_PROMPT: &str = "Continue where you left off.";

/// Runs `lariat run`.
pub(crate) async fn run(env: &ProcessEnv, args: RunArgs) -> CommandResult {
    Box::pin(perform(env, args.into())).await
}

/// Runs a task, from our flags or from Claude Code's.
pub(crate) async fn perform(env: &ProcessEnv, task: Task) -> CommandResult {
    task.check()?;
    for warning in &task.warnings {
        report("warning", warning);
    }
    let prompt = if task.controlled { None } else { files::prompt(&task)? };
    if prompt.is_none() && !task.controlled && task.which == SessionSelector::New {
        return Err(Problem::new(Exit::Usage, "no prompt given")
            .hint("describe the task: `lariat run \"find out why the tests fail\"`"));
    }
    let place = trust_prompt::resolve_trust(env, &load_options(env, &task)?, !task.controlled)?;
    if task.detached {
        return super::background::detach(env, &place, task, prompt.unwrap_or_default()).await;
    }
    // When a program controls the session, each session queries git itself.
    let git = if task.controlled { None } else { place.ask_git(&env.folders, &env.environment()) };
    let service = if task.ephemeral { env.ephemeral(&place).await? } else { env.service(&place).await? };
    let which = selector(&service, &place, &task).await?;
    let earlier = earlier(&service, &place, &which).await?;
    let theme = env.terminal(&place.settings, Stream::Error);
    let terminal = if task.controlled { None } else { Terminal::open(theme.live) };
    // If no user reads standard error, only prevent typed keys from reaching the shell.
    let (terminal, _guard) =
        if std::io::stderr().is_terminal() { (terminal, None) } else { (None, terminal) };
    let interactive = terminal.is_some();
    let mut inputs = Inputs::new(terminal)?;
    let mut driving = SessionOptions::default();
    driving.has_clients = interactive;
    driving.schema = schema(&task)?;
    driving.system_prompt.clone_from(&task.system_prompt);
    driving.git = git;
    driving.new_id = new_id(&task, &which)?;
    let claude = env.variable("CLAUDE_CONFIG_DIR").map(PathBuf::from);
    driving.claude_directory = claude.filter(|directory| directory.is_absolute());
    let principal = unix::principal(env.variable("USER"));
    let session = service.host_session(&place, &which, driving.clone(), principal).await?;
    let agent = session.facts();
    agent.notices.iter().for_each(|notice| report("note", notice));
    let view = match &which {
        SessionSelector::New => None,
        _ => Some(session.sessions().view(session.id()).await.map_err(ending::host_problem)?),
    };
    if task.controlled {
        let (callbacks, calls) = callbacks::channel();
        inputs.take_callbacks(calls);
        let source = host::SessionSource { env, task, driving, callbacks };
        return host::serve(source, place, session, view.as_ref(), inputs).await;
    }
    if let Some(moved) = earlier.as_ref().and_then(|earlier| moved_note(earlier, &place)) {
        write_stderr(&moved);
    }
    let screen = env.terminal(&place.settings, Stream::Output);
    let facts = || output::facts(&agent, &place, &env.folders);
    let run_output = RunOutput::new(&task, session.id(), facts, screen);
    if run_output.is_screen() && theme.is_terminal {
        write_stderr(&opening_line(session.id(), &agent, earlier.as_ref(), interactive, &theme));
    }
    let kept = (!task.ephemeral).then(|| session.id().to_string());
    let failure_context = FailureContext::of(env, &place, &agent.model);
    let mut watch = RunWatcher::new(session, view.as_ref(), run_output, inputs, interactive, theme).await?;
    let ended = run_task(&mut watch, &task, view.as_ref(), prompt).await;
    if let Some(exit) = watch.quit() {
        return Ok(exit);
    }
    watch.close().await;
    watch.end(ended?, kept.as_deref(), &failure_context)
}

/// The summary of the session to resume, before this run.
async fn earlier(
    service: &LocalService,
    place: &LoadedProject,
    which: &SessionSelector,
) -> Result<Option<SessionSummary>, ServiceError> {
    Ok(match which {
        SessionSelector::Resume(id) => Some(service.find(id).await?),
        SessionSelector::Continue => Some(service.newest(place.path()).await?),
        _ => None,
    })
}

/// A note that the session worked in another directory before.
fn moved_note(earlier: &SessionSummary, place: &LoadedProject) -> Option<String> {
    let (before, now) = (earlier.cwd.as_deref()?, place.path().display().to_string());
    if before == now {
        return None;
    }
    let (before, now, id) = (display::line(before), display::line(&now), &earlier.session_id);
    Some(format!(
        "note: this session worked in {before}; from now on it works in {now}\n hint: to stay there, run `lariat run -C {before} --resume {id}`\n"
    ))
}

/// The first line of a run: model, permission mode and session.
fn opening_line(
    session_id: &SessionId,
    agent: &AgentFacts,
    earlier: Option<&SessionSummary>,
    interactive: bool,
    theme: &Theme,
) -> String {
    let dot = theme.mark(" · ", " - ");
    let model = &agent.model;
    let id: String = session_id.to_string().chars().take(8).collect();
    let which = match earlier {
        None => format!("new session {id}"),
        Some(earlier) => {
            let ago = human::ago(earlier.last_active_at, clock::now());
            let name = earlier.title.as_deref().or(earlier.first_prompt.as_deref()).map(text::first_line);
            let name = name.map(|name| format!(": {}", text::cut(&name, 30, theme))).unwrap_or_default();
            format!("continues session {id} from {ago}{name}")
        }
    };
    let mut line = format!("{}/{}{dot}{} mode{dot}{which}", model.provider, model.id, agent.mode);
    if interactive {
        line.push_str(&format!("{dot}Enter steers, Tab queues"));
        let stop = ", Ctrl-C stops";
        if text::width(&line) + stop.len() <= theme.width {
            line.push_str(stop);
        }
    }
    let line = text::line(&line);
    format!("{}\n\n", theme.paint(Style::Dim, &text::cut(&line, theme.width, theme)))
}

/// How to load the directory of a task.
pub(crate) fn load_options(env: &ProcessEnv, task: &Task) -> Result<LoadOptions, Problem> {
    let mut visit = env.load_options(task.cwd.as_ref());
    visit.flags.clone_from(&task.settings);
    visit.allow.clone_from(&task.allow);
    visit.deny.clone_from(&task.deny);
    visit.trusting = task.trusting;
    visit.distrusting = task.distrusting;
    visit.tools.clone_from(&task.tools);
    visit.directories.clone_from(&task.directories);
    for given in &task.settings_texts {
        visit.settings.push(if given.trim_start().starts_with('{') {
            ("--settings".to_owned(), given.clone())
        } else {
            let text =
                files::text(Path::new(given)).map_err(|problem| Problem { exit: Exit::Setup, ..problem })?;
            (format!("--settings {given}"), text)
        });
    }
    Ok(visit)
}

/// The session to use; resuming with `forks` set becomes a fork.
pub(crate) async fn selector(
    service: &LocalService,
    place: &LoadedProject,
    task: &Task,
) -> Result<SessionSelector, ServiceError> {
    Ok(match (&task.which, task.forks) {
        (SessionSelector::Resume(id), true) => SessionSelector::Fork(id.clone()),
        (SessionSelector::Continue, true) => {
            SessionSelector::Fork(service.newest(place.path()).await?.session_id.to_string())
        }
        (which, _) => which.clone(),
    })
}

/// The id of the session to create.
pub(crate) fn new_id(task: &Task, which: &SessionSelector) -> Result<Option<SessionId>, Problem> {
    let Some(text) = &task.session_id else { return Ok(None) };
    let problem = |cause: &str| Problem::new(Exit::Setup, cause).at(format!("--session-id {text}"));
    let Ok(id) = uuid::Uuid::parse_str(text) else {
        return Err(problem("the id of a session must be a UUID").hint("create one with `uuidgen`"));
    };
    match which {
        SessionSelector::New | SessionSelector::Fork(_) => Ok(Some(SessionId::from(id.to_string()))),
        _ => Err(problem("a session that continues keeps its id").hint("fork it, or remove `--session-id`")),
    }
}

fn schema(task: &Task) -> Result<Option<serde_json::Value>, Problem> {
    let (text, place) = match &task.schema {
        None => return Ok(None),
        Some(Schema::Text(text)) => (text.clone(), "--json-schema".to_owned()),
        Some(Schema::File(path)) => (files::text(path)?, path.display().to_string()),
    };
    let schema = serde_json::from_str(&text);
    schema.map(Some).map_err(|error| {
        Problem::new(Exit::Setup, format!("the schema is not valid JSON: {error}")).at(place)
    })
}

/// Continues a run that was interrupted, runs the prompt, reviews the plan, and lets the model retry an answer that does not
/// match the schema. `None` if the user quit.
async fn run_task(
    watch: &mut RunWatcher,
    task: &Task,
    view: Option<&SessionView>,
    prompt: Option<Prompt>,
) -> Result<Option<Ending>, Problem> {
    let is_interrupted = view.is_some_and(|view| view.status == SessionStatus::Interrupted);
    let has_plan = view.is_some_and(|view| !view.plan.changes.is_empty());
    let decides_plan = task.plan != PlanChoice::Ask;
    let mut ending: Option<Ending> = None;
    if is_interrupted {
        match watch.follow(Action::Continue).await? {
            FollowResult::Quit => return Ok(None),
            FollowResult::Nothing | FollowResult::PlanChanged => {}
            FollowResult::Finished(now) if !now.outcome.is_completed() || watch.is_stopped() => {
                return Ok(Some(*now));
            }
            FollowResult::Finished(now) => ending = Some(*now),
        }
    }
    // A session without a prompt continues with its queued plan, if any.
    let continues = ending.is_none() && !(has_plan && (watch.is_interactive() || decides_plan));
    let action = match (task.rerun, prompt) {
        (Some(run), _) => Some(Action::Rerun { run }),
        (None, Some(prompt)) => Some(message(prompt)),
        (None, None) if continues => Some(Action::Continue),
        (None, None) => None,
    };
    if let Some(action) = action {
        let followed = match watch.follow(action).await? {
            FollowResult::Nothing => watch.follow(message(Prompt::text(CONTINUE_PROMPT))).await?,
            followed => followed,
        };
        let FollowResult::Finished(now) = followed else { return Ok(None) };
        ending = Some(now.after(ending.as_ref()));
    }
    let has_run = ending.is_some();
    if has_plan || watch.session.facts().mode == Mode::Plan || decides_plan {
        ending = match plan::review(watch, task.plan.clone(), ending).await? {
            ReviewResult::Quit => return Ok(None),
            ReviewResult::Done(ending) | ReviewResult::Queued(ending) => ending,
        };
    }
    let Some(ending) = ending else {
        // No run took place; the user only decided about a plan.
        return Ok(Some(Ending::nothing()));
    };
    if has_run { check_answer(watch, ending).await } else { Ok(Some(ending)) }
}

/// Checks the answer against the schema, and lets the model try again. `None` if the user quit.
async fn check_answer(watch: &mut RunWatcher, mut ending: Ending) -> Result<Option<Ending>, Problem> {
    let mut attempts = AnswerAttempts::default();
    while !watch.is_stopped()
        && let Some(problem) = ending::check_answer(&watch.session, &mut ending, &mut attempts)
    {
        match watch.follow(Action::RetryAnswer { problem }).await? {
            FollowResult::Finished(again) => ending = again.after(Some(&ending)),
            _ => return Ok(None),
        }
    }
    Ok(Some(ending))
}

/// The command that sends a prompt.
fn message(prompt: Prompt) -> Action {
    let images = prompt.images.into_iter().map(|(data, mime_type)| Content::Image { data, mime_type });
    let content = std::iter::once(Content::text(prompt.text)).chain(images).collect();
    Action::Prompt { content: PromptContent(content), delivery: Delivery::Queue }
}
