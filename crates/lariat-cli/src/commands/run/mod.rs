//! `lariat run`: runs one task, or every task that a controlling program sends.
//!
//! The steps: load the directory, open the service and the session, recover an interrupted run, send the prompt, review the plan,
//! report the end. Standard output carries the answer and nothing else; everything else goes to standard error.
//!
//! - `terminal`, `keys`, `draft`: what the user types. `ears`: waits for all inputs. `ask`: questions from tools.
//! - `questions`: which key answers which question. `watch`: follows a run for a user or a script. `plan`: reviews a plan.
//! - `host`: serves a controlling program. `face`: writes the output. `background`, `ending`: the closing messages.
//!   `files`: reads the prompt and other inputs.

mod ask;
mod background;
mod draft;
mod ears;
mod ending;
mod face;
mod files;
mod host;
mod keys;
mod plan;
mod questions;
mod terminal;
mod watch;

use std::io::IsTerminal as _;
use std::path::Path;

use lariat_core::archive::SessionSummary;
use lariat_core::clock::Clock as _;
use lariat_guard::{Mode, display};
use lariat_runtime::system::SystemClock;
use lariat_service::{Driving, LocalService, Place, Prompt, ServiceError, Session, Visit, Which};

use super::{Ended, consent};
use crate::args::run::RunArgs;
use crate::args::task::{Schema, Task};
use crate::exit::Exit;
use crate::failure::Circumstances;
use crate::problem::Problem;
use crate::screen::look::{Look, Style};
use crate::screen::{human, text};
use crate::wire::json::{Ending, Form};
use crate::world::{Stream, World};
use ears::Ears;
use face::{Face, say, tell};
use plan::{Approval, Reviewed};
use terminal::Terminal;
use watch::{Followed, Watch};

/// How often the model may retry an answer that does not match the schema.
const RETRIES: u32 = 2;

/// The prompt when a session continues without one and the last message is the model's.
const GO_ON: &str = "Continue where you left off.";

/// Runs `lariat run`.
pub(crate) async fn run(world: &World, args: RunArgs) -> Ended {
    perform(world, args.into()).await
}

/// Runs a task, from our flags or from Claude Code's.
pub(crate) async fn perform(world: &World, task: Task) -> Ended {
    task.check()?;
    for warning in &task.warnings {
        tell("warning", warning);
    }
    let prompt = if task.held { None } else { files::prompt(&task)? };
    if prompt.is_none() && !task.held && task.which == Which::New {
        return Err(Problem::new(Exit::Usage, "no prompt given")
            .next("describe the task: `lariat run \"find out why the tests fail\"`"));
    }
    let place = consent::settle(world, &visit(world, &task)?, !task.held)?;
    // When a program controls the session, each session queries git itself.
    let git = if task.held { None } else { place.ask_git(&world.folders, &world.environment()) };
    let service = if task.ephemeral { world.ephemeral(&place).await? } else { world.service(&place).await? };
    let which = which(&service, &place, &task).await?;
    let earlier = earlier(&service, &place, &which).await?;
    let look = world.terminal(&place.config, Stream::Error);
    let terminal = if task.held { None } else { Terminal::open(look.live) };
    // If no user reads standard error, only prevent typed keys from reaching the shell.
    let (terminal, _guard) =
        if std::io::stderr().is_terminal() { (terminal, None) } else { (None, terminal) };
    let attended = terminal.is_some();
    let (ears, asker) = Ears::new(terminal)?;
    let mut driving = Driving::default();
    driving.asker = asker;
    driving.schema = schema(&task)?;
    driving.system_prompt.clone_from(&task.system_prompt);
    driving.git = git;
    let session = service.drive(&place, &which, driving.clone()).await?;
    for notice in &session.notices {
        tell("note", notice);
    }
    if task.held {
        let setting = host::Setting { world, service: &service, task, driving };
        return host::serve(setting, place, session, which != Which::New, ears).await;
    }
    if let Some(moved) = earlier.as_ref().and_then(|earlier| moved(earlier, &place)) {
        say(&moved);
    }
    let face = Face::new(&task, &session, place.path(), world.terminal(&place.config, Stream::Output));
    if face.is_for_person() && look.is_terminal {
        say(&beginning(&session, earlier.as_ref(), attended, &look));
    }
    let mut watch = Watch::new(&session, face, ears, attended, look);
    let ended = errand(&mut watch, &session, &task, &which, prompt).await;
    if let Some(exit) = watch.quit() {
        return Ok(exit);
    }
    session.close().await;
    let kept = (!task.ephemeral).then(|| session.id().to_string());
    let circumstances = Circumstances::of(world, &place.config, session.model());
    watch.end(ended?, kept.as_deref(), &circumstances)
}

/// The summary of the session to resume, before this run.
async fn earlier(
    service: &LocalService,
    place: &Place,
    which: &Which,
) -> Result<Option<SessionSummary>, ServiceError> {
    Ok(match which {
        Which::Resume(id) => Some(service.find(id).await?),
        Which::Continue => Some(service.newest(place.path()).await?),
        _ => None,
    })
}

/// A note that the session worked in another directory before.
fn moved(earlier: &SessionSummary, place: &Place) -> Option<String> {
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
fn beginning(session: &Session, earlier: Option<&SessionSummary>, attended: bool, look: &Look) -> String {
    let dot = look.mark(" · ", " - ");
    let model = session.model();
    let id: String = session.id().to_string().chars().take(8).collect();
    let which = match earlier {
        None => format!("new session {id}"),
        Some(earlier) => {
            let ago = human::ago(earlier.last_active_at, SystemClock.now());
            let name = earlier.title.as_deref().or(earlier.first_prompt.as_deref()).map(text::first_line);
            let name = name.map(|name| format!(": {}", text::cut(&name, 30, look))).unwrap_or_default();
            format!("continues session {id} from {ago}{name}")
        }
    };
    let mut line = format!("{}/{}{dot}{} mode{dot}{which}", model.provider, model.id, session.mode());
    if attended {
        line.push_str(&format!("{dot}type to steer, Ctrl-C to stop"));
    }
    let line = text::line(&line);
    format!("{}\n\n", look.paint(Style::Dim, &text::cut(&line, look.width, look)))
}

fn visit(world: &World, task: &Task) -> Result<Visit, Problem> {
    let mut visit = world.visit(task.cwd.as_ref());
    visit.flags.clone_from(&task.settings);
    visit.allow.clone_from(&task.allow);
    visit.deny.clone_from(&task.deny);
    visit.trusting = task.trusting;
    visit.distrusting = task.distrusting;
    visit.tools.clone_from(&task.tools);
    for given in &task.given {
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
async fn which(service: &LocalService, place: &Place, task: &Task) -> Result<Which, ServiceError> {
    Ok(match (&task.which, task.forks) {
        (Which::Resume(id), true) => Which::Fork(id.clone()),
        (Which::Continue, true) => Which::Fork(service.newest(place.path()).await?.session_id.to_string()),
        (which, _) => which.clone(),
    })
}

fn schema(task: &Task) -> Result<Option<serde_json::Value>, Problem> {
    let (text, place) = match &task.schema {
        None => return Ok(None),
        Some(Schema::Given(text)) => (text.clone(), "--json-schema".to_owned()),
        Some(Schema::File(path)) => (files::text(path)?, path.display().to_string()),
    };
    let schema = serde_json::from_str(&text);
    schema.map(Some).map_err(|error| {
        Problem::new(Exit::Setup, format!("the schema is not valid JSON: {error}")).at(place)
    })
}

/// Recovers an interrupted run, runs the prompt, reviews the plan, and retries an answer that does not match the schema.
/// `None` if the user quit.
async fn errand(
    watch: &mut Watch<'_>,
    session: &Session,
    task: &Task,
    which: &Which,
    prompt: Option<Prompt>,
) -> Result<Option<Ending>, Problem> {
    let mut last = None;
    let mut ending: Option<Ending> = None;
    if *which != Which::New {
        loop {
            match watch.follow(session.recover()?).await? {
                Followed::Quit => return Ok(None),
                Followed::Nothing | Followed::PlanChanged => break,
                Followed::Over(output) => {
                    let now = Ending::of(&output).after(ending.as_ref());
                    if !output.outcome.is_completed() || watch.is_stopped() {
                        return Ok(Some(now));
                    }
                    (ending, last) = (Some(now), Some(output));
                }
            }
        }
    }
    let approval = if task.approves_plan { Approval::Given } else { Approval::Asked };
    let has_plan = match which {
        Which::New => false,
        _ => !session.plan().await?.is_empty(),
    };
    // A session without a prompt continues with its queued plan, if any.
    let goes_on =
        prompt.is_none() && ending.is_none() && !(has_plan && (watch.is_attended() || task.approves_plan));
    let run = match prompt {
        Some(prompt) => Some(session.prompt(prompt)?),
        None if goes_on => Some(session.go_on()?),
        None => None,
    };
    if let Some(run) = run {
        let followed = match watch.follow(run).await? {
            Followed::Nothing if goes_on => watch.follow(session.prompt(Prompt::text(GO_ON))?).await?,
            followed => followed,
        };
        let Followed::Over(output) = followed else { return Ok(None) };
        ending = Some(Ending::of(&output).after(ending.as_ref()));
        last = Some(output);
    }
    if has_plan || session.mode() == Mode::Plan || task.approves_plan {
        ending = match plan::review(watch, session, approval, ending).await? {
            Reviewed::Quit => return Ok(None),
            Reviewed::Done(ending) | Reviewed::Queued(ending) => ending,
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
                ending.form = Some(Form::Fits(value));
                break;
            }
            Some(Err(problem)) => problem,
        };
        ending.form = Some(Form::Misfit(problem.clone()));
        if tries_left == 0 {
            break;
        }
        let Some(run) = session.again(&problem)? else { break };
        match watch.follow(run).await? {
            Followed::Over(again) => output = again,
            _ => return Ok(None),
        }
        ending = Ending::of(&output).after(Some(&ending));
    }
    Ok(Some(ending))
}
