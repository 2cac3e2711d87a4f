//! `lariat run`: one task, or as many as a program that holds the session asks for.
//!
//! One straight line: what is asked → the directory → the service → the session → what was interrupted → the prompt → how it
//! ended. Standard output carries the answer and nothing else; everything else that is said goes to standard error.
//!
//! - `ask`: questions of tools. `ears`: everything that can be heard. `watch`: a run, for a person or a script.
//! - `host`: runs for a program. `face`: what is written. `ending`: how it ends. `files`: what is read beforehand.

mod ask;
mod ears;
mod ending;
mod face;
mod files;
mod host;
mod watch;

use std::path::Path;

use lariat_service::{Driving, LocalService, Place, Prompt, ServiceError, Session, Visit, Which};

use super::{Ended, consent};
use crate::args::run::RunArgs;
use crate::args::task::{Schema, Task};
use crate::exit::Exit;
use crate::failure::Circumstances;
use crate::problem::Problem;
use crate::wire::json::{Ending, Form};
use crate::world::{Stream, World};
use ears::Ears;
use face::{Face, tell};
use watch::{Followed, Watch};

/// Times that a model may try again when its answer does not fit the schema.
const RETRIES: u32 = 2;

/// Does one task.
pub(crate) async fn run(world: &World, args: RunArgs) -> Ended {
    perform(world, args.into()).await
}

/// Does what is asked.
pub(crate) async fn perform(world: &World, task: Task) -> Ended {
    task.check()?;
    for warning in &task.warnings {
        tell("warning", warning);
    }
    let prompt = if task.held { None } else { files::prompt(&task)? };
    if prompt.is_none() && !task.held && task.which == Which::New {
        return Err(Problem::new(Exit::Usage, "there is nothing to do")
            .next("say what to do: `lariat run \"find out why the tests fail\"`"));
    }
    let place = consent::settle(world, &visit(world, &task)?, !task.held)?;
    // One that answers programs asks for each of its sessions.
    let git = if task.held { None } else { place.ask_git(&world.folders, &world.environment()) };
    let service = if task.ephemeral { world.ephemeral(&place).await? } else { world.service(&place).await? };
    let which = which(&service, &place, &task).await?;
    let attended = world.is_attended() && !task.held;
    let (ears, asker) = Ears::new(attended)?;
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
    let face = Face::new(&task, &session, place.path(), world.terminal(&place.config, Stream::Output));
    let look = world.terminal(&place.config, Stream::Error);
    let mut watch = Watch::new(&session, face, ears, attended, look);
    let ended = errand(&mut watch, &session, &which, prompt).await;
    if let Some(exit) = watch.quit() {
        return Ok(exit);
    }
    session.close().await;
    let kept = (!task.ephemeral).then(|| session.id().to_string());
    let circumstances = Circumstances::of(world, &place.config, session.model());
    watch.end(ended?, kept.as_deref(), &circumstances)
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

/// Which session; one that goes on under another id is a fork.
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
    schema
        .map(Some)
        .map_err(|error| Problem::new(Exit::Setup, format!("the schema is no JSON: {error}")).at(place))
}

/// What was interrupted first, then the prompt, then the answer's form. `None` when somebody quit.
async fn errand(
    watch: &mut Watch<'_>,
    session: &Session,
    which: &Which,
    prompt: Option<Prompt>,
) -> Result<Option<Ending>, Problem> {
    let mut earlier: Option<Ending> = None;
    let mut last = None;
    if *which != Which::New {
        loop {
            match watch.follow(session.recover()?).await? {
                Followed::Quit => return Ok(None),
                Followed::Nothing => break,
                Followed::Over(output) => {
                    let ending = Ending::of(&output).after(earlier.as_ref());
                    if !output.outcome.is_completed() || watch.is_stopped() {
                        return Ok(Some(ending));
                    }
                    earlier = Some(ending);
                    last = Some(output);
                }
            }
        }
    }
    if let Some(prompt) = prompt {
        match watch.follow(session.prompt(prompt)?).await? {
            Followed::Over(output) => last = Some(output),
            Followed::Quit | Followed::Nothing => return Ok(None),
        }
        earlier = last.as_deref().map(|output| Ending::of(output).after(earlier.as_ref()));
    }
    let (Some(mut ending), Some(mut output)) = (earlier, last) else {
        return Err(Problem::new(Exit::Usage, "nothing was interrupted, so there is nothing to go on with")
            .at(format!("session {}", session.id()))
            .next(format!("say what to do: `lariat run --resume {} \"…\"`", session.id())));
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
            Followed::Quit | Followed::Nothing => return Ok(None),
        }
        ending = Ending::of(&output).after(Some(&ending));
    }
    Ok(Some(ending))
}
