//! `lariat loop`: runs a loop of an actor and a critic. Shows the actor as `lariat run` does, and one line per iteration.
//!
//! Standard output has the summary of the critic and nothing else, or the screen of the actor on a terminal, which shows the
//! summary with its iteration. An interrupted loop does not end: `lariat loop --resume` continues it.

use std::io::IsTerminal as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use lariat_api::{Action, SessionView};
use lariat_core::display;
use lariat_core::id::SessionId;
use lariat_core::permission::Approver;
use lariat_core::usage::Cost;
use lariat_server::unix;
use lariat_service::actor_critic::{
    ActorOutput, CriticDecision, ExternalEvent, ExternalWatch, LoopAgent, LoopEnd, LoopOutcome, LoopPlan,
    LoopRun, LoopSession, LoopSettings, LoopStep, Review,
};
use lariat_service::{LoadedProject, LocalService, Prompt, SessionOptions, SessionSelector};
use lariat_terminal::human;
use lariat_terminal::theme::Style;
use serde::Serialize;
use tokio::signal::unix::{SignalKind, signal};

use super::inputs::{Inputs, Stop};
use super::output::{RunOutput, report, write_stderr};
use super::terminal::Terminal;
use super::terminal_approver::TerminalApprover;
use super::watch::{FollowResult, RunWatcher};
use super::{CONTINUE_PROMPT, ending, files, load_options, message};
use crate::args::actor_critic::LoopArgs;
use crate::args::task::Task;
use crate::commands::{CommandResult, print, trust_prompt};
use crate::exit::Exit;
use crate::failure::FailureContext;
use crate::problem::Problem;
use crate::process_env::{ProcessEnv, Stream};

/// The file with the task, if the command line has none.
const PROMPT_FILE: &str = "prompt.md";

/// The result of a loop, for `--json`.
#[derive(Serialize)]
struct LoopJson<'a> {
    session_id: &'a SessionId,
    #[serde(flatten)]
    end: &'a LoopEnd,
    cost_usd: f64,
}

/// How the steps of a loop ended.
enum StoppedLoop {
    /// The loop ended.
    Ended(LoopEnd),
    /// It can continue later; the program ends with this code, or with this error.
    Open(Result<Exit, Problem>),
}

/// Runs `lariat loop`.
pub(crate) async fn run_loop(env: &ProcessEnv, args: LoopArgs) -> CommandResult {
    let mut task = args.agents.task(&args.words, args.mode.as_ref(), args.max_time.as_ref());
    task.verbose = args.verbose;
    let place = trust_prompt::resolve_trust(env, &load_options(env, &task)?, true)?;
    let service = env.service(&place).await?;
    let (plan, which) = plan(env, &service, &place, &args, &task).await?;
    if plan.is_hosted() {
        Box::pin(run_hosted(env, &service, plan, which, &args)).await
    } else {
        let session = service.inspect_session(&place, &which).await?;
        session.notices.iter().for_each(|notice| report("note", notice));
        let mut run = LoopRun::start(plan, LoopSession::Recorded(Box::new(session))).await?;
        let theme = env.terminal(&place.settings, Stream::Error);
        let asker = TerminalApprover::open(env, theme);
        let stopped = Box::pin(drive_program(&mut run, asker.as_ref())).await;
        run.close().await;
        end(&mut run, stopped, &args)
    }
}

/// Plans a new loop, or the rest of an interrupted one.
async fn plan(
    env: &ProcessEnv,
    service: &LocalService,
    place: &LoadedProject,
    args: &LoopArgs,
    task: &Task,
) -> Result<(LoopPlan, SessionSelector), Problem> {
    let change = |settings: &mut LoopSettings| {
        settings.max_iterations = args.max_iterations.unwrap_or(settings.max_iterations);
        settings.check = args.check.clone().or(settings.check.take());
        settings.variables.extend(args.agents.env.iter().cloned());
    };
    if let Some(id) = &args.resume {
        let id = service.find(id).await?.session_id;
        let (time, cost) = (place.settings.limits.time, place.settings.limits.cost);
        let plan = LoopPlan::resume(service, place, &id, |settings| {
            change(settings);
            settings.max_time = time.filter(|_| args.max_time.is_some()).unwrap_or(settings.max_time);
            settings.max_cost = cost.filter(|_| args.agents.max_cost.is_some()).or(settings.max_cost);
        });
        return Ok((plan.await?, SessionSelector::Resume(id.to_string())));
    }
    let directory = args.agents.cwd.clone().unwrap_or_else(|| env.directory.clone());
    let mut settings = LoopSettings::new(prompt(&directory, args, task)?);
    change(&mut settings);
    settings.actor = args.actor.clone().unwrap_or_default();
    settings.critic = args.critic.clone().unwrap_or_default();
    Ok((LoopPlan::new(service, place, settings)?, SessionSelector::New))
}

/// The task: the words, the file that they name, or the file `prompt.md`.
fn prompt(directory: &Path, args: &LoopArgs, task: &Task) -> Result<String, Problem> {
    let file = match args.words.as_slice() {
        [] => Some(directory.join(PROMPT_FILE)).filter(|path| path.is_file()),
        [word] if word.ends_with(".md") => Some(directory.join(word)),
        _ => None,
    };
    let text = match file {
        Some(path) => files::text(&path)?,
        None => files::prompt(task)?.map(|prompt| prompt.text).unwrap_or_default(),
    };
    if text.trim().is_empty() {
        return Err(Problem::new(Exit::Usage, "no task given")
            .hint("describe it: `lariat loop \"make the tests pass\"`, or write it to `prompt.md`"));
    }
    Ok(text)
}

/// Runs a loop in which Lariat is the actor.
async fn run_hosted(
    env: &ProcessEnv,
    service: &LocalService,
    plan: LoopPlan,
    which: SessionSelector,
    args: &LoopArgs,
) -> CommandResult {
    let place = plan.place();
    let theme = env.terminal(&place.settings, Stream::Error);
    let terminal = Terminal::open(theme.live);
    // If no user reads standard error, only prevent typed keys from reaching the shell.
    let (terminal, _guard) =
        if std::io::stderr().is_terminal() { (terminal, None) } else { (None, terminal) };
    let interactive = terminal.is_some();
    let inputs = Inputs::new(terminal)?;
    let mut driving = SessionOptions::default();
    driving.has_clients = interactive;
    plan.prepare(&mut driving);
    let principal = unix::principal(env.variable("USER"));
    let session = service.host_session(&place, &which, driving, principal).await?;
    let agent = session.facts();
    agent.notices.iter().for_each(|notice| report("note", notice));
    let view: Option<SessionView> = match &which {
        SessionSelector::New => None,
        _ => Some(session.sessions().view(session.id()).await.map_err(ending::host_problem)?),
    };
    let failure_context = FailureContext::of(env, &place, &agent.model);
    let mut run = LoopRun::start(plan, LoopSession::Hosted(session.clone())).await?;
    let screen = env.terminal(&place.settings, Stream::Output);
    let run_output = RunOutput::of_loop(screen, args.verbose, args.agents.json);
    let mut watch = RunWatcher::new(session, view.as_ref(), run_output, inputs, interactive, theme).await?;
    let stopped = drive_hosted(&mut run, &mut watch, &failure_context).await;
    if let Some(exit) = watch.quit() {
        return Ok(exit);
    }
    watch.close().await;
    watch.close_output();
    end(&mut run, stopped, args)
}

/// Carries out the steps of a loop in which Lariat is the actor.
async fn drive_hosted(
    run: &mut LoopRun,
    watch: &mut RunWatcher,
    failure_context: &FailureContext,
) -> Result<StoppedLoop, Problem> {
    let mut has_acted = false;
    loop {
        for notice in run.take_notices() {
            watch.announce(&format!("note: {notice}"));
        }
        let action = match run.step().await? {
            LoopStep::Ended(end) => return Ok(StoppedLoop::Ended(end)),
            LoopStep::Review => {
                has_acted = false;
                watch.announce(&format!("iteration {}: the critic reviews", run.record().number()));
                let number = run.record().number();
                let lines = Mutex::new(Vec::new());
                let keep = |event: &ExternalEvent| {
                    let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
                    lines.extend(event_text(event));
                };
                let watch_critic = ExternalWatch { report: &keep, approver: None };
                let reviewed = interruptible(run.review(watch_critic)).await?;
                for line in lines.into_inner().unwrap_or_else(PoisonError::into_inner) {
                    watch.announce(&line);
                }
                match reviewed {
                    Ok(review) => watch.announce(&review_text(number, &review?)),
                    Err(stop) => return Ok(StoppedLoop::Open(Ok(stop.exit()))),
                }
                continue;
            }
            LoopStep::Prompt(prompt) => {
                let most = run.record().settings.as_ref().map_or(0, |settings| settings.max_iterations);
                watch.announce(&format!("iteration {} of at most {most}", run.record().number()));
                message(Prompt::text(prompt))
            }
            // A run that ended in this process without a result that can be reviewed.
            _ if has_acted => return Ok(StoppedLoop::Open(Ok(Exit::Failed))),
            _ => Action::Continue,
        };
        has_acted = true;
        let deadline = run.deadline();
        let followed = match watch.follow(action).await? {
            FollowResult::Nothing => watch.follow(message(Prompt::text(CONTINUE_PROMPT))).await?,
            followed => followed,
        };
        drop(deadline);
        let FollowResult::Finished(ending) = followed else {
            return Ok(StoppedLoop::Open(Ok(Exit::Interrupted)));
        };
        if watch.is_stopped() {
            let exit = ending::exit(&ending, watch.stop());
            return Ok(StoppedLoop::Open(Ok(if exit == Exit::Done { Exit::Interrupted } else { exit })));
        }
        if matches!(run.step().await?, LoopStep::Continue) {
            let exit = ending::exit(&ending, None);
            let problem = ending::problem(&ending, exit, None, failure_context);
            return Ok(StoppedLoop::Open(problem.map_or(Ok(exit), Err)));
        }
    }
}

/// Carries out the steps of a loop in which another program is the actor.
async fn drive_program(run: &mut LoopRun, asker: Option<&TerminalApprover>) -> Result<StoppedLoop, Problem> {
    let show = |event: &ExternalEvent| {
        if let Some(text) = event_text(event) {
            write_stderr(&format!("{text}\n"));
        }
    };
    let approver = asker.map(|asker| asker as &dyn Approver);
    let watch = ExternalWatch { report: &show, approver };
    loop {
        run.take_notices().iter().for_each(|notice| report("note", notice));
        let number = run.record().number();
        match run.step().await? {
            LoopStep::Ended(end) => return Ok(StoppedLoop::Ended(end)),
            LoopStep::Review => {
                write_stderr(&format!("iteration {number}: the critic reviews\n"));
                match interruptible(run.review(watch)).await? {
                    Ok(review) => write_stderr(&format!("{}\n", review_text(number, &review?))),
                    Err(stop) => return Ok(StoppedLoop::Open(Ok(stop.exit()))),
                }
            }
            LoopStep::Prompt(prompt) => {
                let settings = run.record().settings.as_ref();
                let name = settings.map(|settings| settings.actor.to_string()).unwrap_or_default();
                let most = settings.map_or(0, |settings| settings.max_iterations);
                write_stderr(&format!(
                    "iteration {number} of at most {most}: {} works\n",
                    print::abbreviate(&name, 60)
                ));
                match interruptible(Box::pin(run.act(&prompt, watch))).await? {
                    Ok(acted) => write_stderr(&failure_text(number, &name, acted?.as_ref())),
                    Err(stop) => return Ok(StoppedLoop::Open(Ok(stop.exit()))),
                }
            }
            _ => return Ok(StoppedLoop::Open(Ok(Exit::Failed))),
        }
    }
}

/// What to show about something that another agent did, in one line; `None` for what the reply contains.
fn event_text(event: &ExternalEvent) -> Option<String> {
    let line = match event {
        ExternalEvent::Plan(tasks) => {
            let done = tasks.iter().filter(|task| task.is_completed()).count();
            let now = tasks.iter().find(|task| task.is_in_progress()).map(|task| task.content.as_str());
            let now = now.map_or_else(String::new, |now| format!(": {now}"));
            format!("plan: {done} of {} done{now}", tasks.len())
        }
        event => event.call_line()?,
    };
    Some(format!("  {}", print::abbreviate(&display::line(&line), 160)))
}

/// What to show about an agent that did not end normally: its exit code and the end of its errors.
fn failure_text(number: u64, name: &str, output: Option<&ActorOutput>) -> String {
    let Some(output) = output.filter(|output| output.exit_code != 0) else { return String::new() };
    let last = output.stderr.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
    let (name, last) = (print::abbreviate(name, 60), print::abbreviate(&display::line(last), 160));
    let reason = if last.is_empty() { String::new() } else { format!(": {last}") };
    format!("iteration {number}: {name} ended with exit code {}{reason}\n", output.exit_code)
}

/// Waits for work, or for a signal that stops it. Dropping the work stops it; what is durable stays.
pub(super) async fn interruptible<T>(work: impl Future<Output = T>) -> Result<Result<T, Stop>, Problem> {
    let listen = |kind| signal(kind).map_err(|error| Problem::new(Exit::Failed, error.to_string()));
    let (mut interrupt, mut terminate) = (listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?);
    let mut hang_up = listen(SignalKind::hangup())?;
    Ok(tokio::select! {
        biased;
        _ = interrupt.recv() => Err(Stop::Interrupt),
        _ = terminate.recv() => Err(Stop::Terminate),
        _ = hang_up.recv() => Err(Stop::Terminate),
        done = work => Ok(done),
    })
}

/// What a review found, in one line and the words of the critic.
fn review_text(number: u64, review: &Review) -> String {
    let Some(decision) = &review.decision else {
        return format!("iteration {number}: no review, a limit is reached");
    };
    let mut facts = Vec::new();
    match review.diff {
        Some((files, added, removed)) => {
            facts.push(format!("{} changed, +{added} -{removed}", human::counted(files, "file", "files")));
        }
        None => facts.push("difference unknown".to_owned()),
    }
    match review.check {
        None => {}
        Some(Some(0)) => facts.push("check passed".to_owned()),
        Some(Some(code)) => facts.push(format!("check failed ({code})")),
        Some(None) => facts.push("check did not end".to_owned()),
    }
    if let Some(iteration) = &review.iteration {
        facts.push(human::duration(Duration::try_from_secs_f64(iteration.seconds).unwrap_or_default()));
        if !iteration.cost.is_zero() {
            facts.push(human::money(iteration.cost));
        }
    }
    let words = match decision {
        CriticDecision::Done { summary, .. } => summary,
        other => other.feedback().unwrap_or_default(),
    };
    format!(
        "iteration {number}: {} ({})\n  {}",
        decision.name(),
        facts.join(", "),
        words.replace('\n', "\n  ")
    )
}

/// Reports how the loop ended, or how to continue it.
fn end(run: &mut LoopRun, stopped: Result<StoppedLoop, Problem>, args: &LoopArgs) -> CommandResult {
    run.take_notices().iter().for_each(|notice| report("note", notice));
    let id = run.session_id();
    let ended = match stopped {
        Ok(StoppedLoop::Ended(ended)) => ended,
        open => {
            report(
                "note",
                &format!("the loop is not finished; continue it with `lariat loop --resume {id}`"),
            );
            return match open {
                Ok(StoppedLoop::Open(exit)) => exit,
                Err(problem) => Err(problem),
                Ok(StoppedLoop::Ended(_)) => Ok(Exit::Done),
            };
        }
    };
    let cost = run.record().cost();
    if args.agents.json {
        print::json(&LoopJson { session_id: &id, end: &ended, cost_usd: cost.as_usd() })?;
    } else if let Some(summary) = ended.summary.as_deref().filter(|summary| !summary.is_empty())
        && !shows_reviews(run)
    {
        print::line(summary);
    }
    let settings = run.record().settings.as_ref();
    let words = match ended.outcome {
        LoopOutcome::Success => return Ok(done(&ended, cost, &id)),
        LoopOutcome::MaxIterationsReached => format!(
            "the task is not done after {}, the limit of the loop",
            human::counted(ended.iterations, "iteration", "iterations")
        ),
        LoopOutcome::TimeLimitReached => {
            let most = settings.map(|settings| settings.max_time).unwrap_or_default();
            format!("the loop reached its time limit of {}", human::duration(most))
        }
        LoopOutcome::CostLimitReached => match settings.and_then(|settings| settings.max_cost) {
            Some(most) => format!("the loop reached its cost limit of {}", human::money(most)),
            None => "the loop reached a cost limit".to_owned(),
        },
        _ => "the loop failed".to_owned(),
    };
    let exit = if ended.outcome == LoopOutcome::Failed { Exit::Failed } else { Exit::Limit };
    Err(Problem::new(exit, words).hint(format!(
        "review the changes; `lariat sessions show {id}` shows the loop, `lariat undo` undoes its changes, `lariat run --resume {id}` continues the conversation"
    )))
}

/// Whether standard output is a terminal on which the user has seen the reviews, and with the last one the summary.
fn shows_reviews(run: &LoopRun) -> bool {
    let settings = run.record().settings.as_ref();
    let is_hosted = settings.is_some_and(|settings| matches!(settings.actor, LoopAgent::Lariat { .. }));
    std::io::stdout().is_terminal() && (is_hosted || std::io::stderr().is_terminal())
}

fn done(ended: &LoopEnd, cost: Cost, id: &SessionId) -> Exit {
    let iterations = human::counted(ended.iterations, "iteration", "iterations");
    let mut facts =
        vec![human::duration(Duration::try_from_secs_f64(ended.duration_secs).unwrap_or_default())];
    if !cost.is_zero() {
        facts.push(human::money(cost));
    }
    if let Some(confidence) = ended.confidence {
        facts.push(format!("confidence {:.0} %", confidence * 100.0));
    }
    report("note", &format!("done after {iterations} ({}); session {id}", facts.join(", ")));
    Exit::Done
}

impl RunWatcher {
    /// Shows a line about the loop.
    fn announce(&mut self, words: &str) {
        if !self.run_output.note(Style::Strong, words) {
            write_stderr(&format!("{}\n", lariat_core::display::block(words)));
        }
    }
}
