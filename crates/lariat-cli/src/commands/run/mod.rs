//! `lariat run`: runs one task, or every task that a controlling program sends.
//!
//! The steps: load the directory, open the service and the session, recover an interrupted run, send the prompt, review the plan,
//! report the end. Standard output carries the answer and nothing else; everything else goes to standard error.
//!
//! - `terminal`, `keys`, `draft`: what the user types. `inputs`: waits for all inputs. `tool_questions`: questions from tools.
//! - `questions`: which key answers which question. `watch`: follows a run for a user or a script. `plan`: reviews a plan.
//! - `attached`: follows a session of the background host. `host`: serves a controlling program. `callbacks`: calls its functions for hooks. `output`: writes the output. `background`, `ending`: the closing messages.
//!   `files`: reads the prompt and other inputs.

mod attached;
mod background;
mod callbacks;
mod draft;
mod ending;
mod files;
mod host;
mod inputs;
mod keys;
mod output;
mod plan;
mod questions;
mod terminal;
mod tool_questions;
mod watch;

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use lariat_core::archive::SessionSummary;
use lariat_core::clock::Clock as _;
use lariat_core::display;
use lariat_core::id::SessionId;
use lariat_guard::Mode;
use lariat_runtime::system::SystemClock;
use lariat_service::{
    LoadOptions, LoadedProject, LocalService, Prompt, ServiceError, Session, SessionOptions, SessionSelector,
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
use crate::wire::json::{Ending, SchemaCheck};
pub(crate) use attached::attach;
pub(crate) use files::{LIMIT as MAX_IMAGE_BYTES, image_content};
use inputs::Inputs;
use output::{RunOutput, report, write_stderr};
use plan::ReviewResult;
use terminal::Terminal;
use watch::{FollowResult, RunWatcher};

/// How often the model may retry an answer that does not match the schema.
const RETRIES: u32 = 2;

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
    let (mut inputs, asker) = Inputs::new(terminal)?;
    let mut driving = SessionOptions::default();
    driving.asker = asker;
    driving.schema = schema(&task)?;
    driving.system_prompt.clone_from(&task.system_prompt);
    driving.git = git;
    driving.new_id = new_id(&task, &which)?;
    let claude = env.variable("CLAUDE_CONFIG_DIR").map(PathBuf::from);
    driving.claude_directory = claude.filter(|directory| directory.is_absolute());
    let session = service.open_session(&place, &which, driving.clone()).await?;
    for notice in &session.notices {
        report("note", notice);
    }
    if task.controlled {
        let (callbacks, calls) = callbacks::channel();
        inputs.take_callbacks(calls);
        let source = host::SessionSource { env, service: &service, task, driving, callbacks };
        return host::serve(source, place, session, which != SessionSelector::New, inputs).await;
    }
    if let Some(moved) = earlier.as_ref().and_then(|earlier| moved_note(earlier, &place)) {
        write_stderr(&moved);
    }
    let run_output =
        RunOutput::new(&task, &session, place.path(), env.terminal(&place.settings, Stream::Output));
    if run_output.is_screen() && theme.is_terminal {
        write_stderr(&opening_line(&session, earlier.as_ref(), interactive, &theme));
    }
    let mut watch = RunWatcher::new(&session, run_output, inputs, interactive, theme);
    let ended = run_task(&mut watch, &session, &task, &which, prompt).await;
    if let Some(exit) = watch.quit() {
        return Ok(exit);
    }
    session.close().await;
    let kept = (!task.ephemeral).then(|| session.id().to_string());
    let failure_context = FailureContext::of(env, &place, session.model());
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
    session: &Session,
    earlier: Option<&SessionSummary>,
    interactive: bool,
    theme: &Theme,
) -> String {
    let dot = theme.mark(" · ", " - ");
    let model = session.model();
    let id: String = session.id().to_string().chars().take(8).collect();
    let which = match earlier {
        None => format!("new session {id}"),
        Some(earlier) => {
            let ago = human::ago(earlier.last_active_at, SystemClock.now());
            let name = earlier.title.as_deref().or(earlier.first_prompt.as_deref()).map(text::first_line);
            let name = name.map(|name| format!(": {}", text::cut(&name, 30, theme))).unwrap_or_default();
            format!("continues session {id} from {ago}{name}")
        }
    };
    let mut line = format!("{}/{}{dot}{} mode{dot}{which}", model.provider, model.id, session.mode());
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

/// Recovers an interrupted run, runs the prompt, reviews the plan, and retries an answer that does not match the schema.
/// `None` if the user quit.
async fn run_task(
    watch: &mut RunWatcher<'_>,
    session: &Session,
    task: &Task,
    which: &SessionSelector,
    prompt: Option<Prompt>,
) -> Result<Option<Ending>, Problem> {
    let mut last = None;
    let mut ending: Option<Ending> = None;
    if *which != SessionSelector::New {
        loop {
            match watch.follow(session.recover()?).await? {
                FollowResult::Quit => return Ok(None),
                FollowResult::Nothing | FollowResult::PlanChanged => break,
                FollowResult::Finished(output) => {
                    let now = Ending::of(&output).after(ending.as_ref());
                    if !output.outcome.is_completed() || watch.is_stopped() {
                        return Ok(Some(now));
                    }
                    (ending, last) = (Some(now), Some(output));
                }
            }
        }
    }
    let decides_plan = task.plan != PlanChoice::Ask;
    let has_plan = match which {
        SessionSelector::New => false,
        _ => !session.plan().await?.is_empty(),
    };
    // A session without a prompt continues with its queued plan, if any.
    let continues = prompt.is_none()
        && task.rerun.is_none()
        && ending.is_none()
        && !(has_plan && (watch.is_interactive() || decides_plan));
    let run = match prompt {
        _ if task.rerun.is_some() => Some(session.rerun(task.rerun.flatten()).await?),
        Some(prompt) => Some(session.prompt(prompt)?),
        None if continues => Some(session.continue_run()?),
        None => None,
    };
    if let Some(run) = run {
        let followed = match watch.follow(run).await? {
            FollowResult::Nothing if continues => {
                watch.follow(session.prompt(Prompt::text(CONTINUE_PROMPT))?).await?
            }
            followed => followed,
        };
        let FollowResult::Finished(output) = followed else { return Ok(None) };
        ending = Some(Ending::of(&output).after(ending.as_ref()));
        last = Some(output);
    }
    if has_plan || session.mode() == Mode::Plan || decides_plan {
        ending = match plan::review(watch, session, task.plan.clone(), ending).await? {
            ReviewResult::Quit => return Ok(None),
            ReviewResult::Done(ending) | ReviewResult::Queued(ending) => ending,
        };
    }
    let (Some(mut ending), Some(mut output)) = (ending.clone(), last) else {
        // No run took place; the user only decided about a plan.
        return Ok(Some(ending.unwrap_or_else(Ending::nothing)));
    };
    for tries_left in (0..=RETRIES).rev() {
        if !output.outcome.is_completed() || watch.is_stopped() {
            break;
        }
        let problem = match session.answer(&output) {
            None => break,
            Some(Ok(value)) => {
                ending.schema_check = Some(SchemaCheck::Match(value));
                break;
            }
            Some(Err(problem)) => problem,
        };
        ending.schema_check = Some(SchemaCheck::Mismatch(problem.clone()));
        if tries_left == 0 {
            break;
        }
        let Some(run) = session.retry_answer(&problem)? else { break };
        match watch.follow(run).await? {
            FollowResult::Finished(again) => output = again,
            _ => return Ok(None),
        }
        ending = Ending::of(&output).after(Some(&ending));
    }
    Ok(Some(ending))
}
