//! `lariat race`: lets several agents work on one task, each in a copy of the directory, and applies the changes of one.
//!
//! Standard error shows a table of the branches, on a terminal live; standard output has the last reply of the selected branch,
//! or JSON. An interrupted race does not end: `lariat race --resume` continues it.

use std::collections::BTreeMap;
use std::io::IsTerminal as _;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use lariat_core::display;
use lariat_core::id::SessionId;
use lariat_core::time::Timestamp;
use lariat_core::usage::Cost;
use lariat_service::actor_critic::LoopAgent;
use lariat_service::race::{
    BranchEnd, BranchProgress, RaceJudge, RacePlan, RaceRecord, RaceRun, RaceSelection, RaceSettings,
    branch_name,
};
use lariat_service::{LoadOptions, LoadedProject, LocalService, SessionSelector, clock};
use lariat_terminal::theme::Theme;
use lariat_terminal::{diff, human};
use serde::Serialize;

use super::actor_critic::interruptible;
use super::output::{report, write_stderr};
use super::{files, load_options};
use crate::args::race::{RaceArgs, RaceBranchArgs, RaceCommand, RaceSessionArgs, RaceStartArgs};
use crate::args::task::Task;
use crate::commands::print::Column;
use crate::commands::{CommandResult, print, trust_prompt};
use crate::exit::Exit;
use crate::problem::Problem;
use crate::process_env::{ProcessEnv, Stream};

/// The number of branches, if the command line does not say it.
const BRANCHES: usize = 3;
/// How often a live table is drawn again while nothing happens, so that the shown times advance.
const TICK: Duration = Duration::from_secs(1);
/// Maximum number of files that a conflict names.
const NAMED_FILES: usize = 5;

/// The result of a race, for `--json`.
#[derive(Serialize)]
struct RaceJson<'a> {
    session_id: &'a SessionId,
    branches: &'a BTreeMap<String, BranchEnd>,
    selection: Option<&'a RaceSelection>,
    applied: Option<&'a str>,
    cost_usd: f64,
}

impl<'a> RaceJson<'a> {
    fn of(session_id: &'a SessionId, record: &'a RaceRecord) -> Self {
        Self {
            session_id,
            branches: &record.branches,
            selection: record.selection.as_ref(),
            applied: record.taken.as_deref(),
            cost_usd: record.cost().as_usd(),
        }
    }
}

/// Runs `lariat race`.
pub(crate) async fn race(env: &ProcessEnv, args: RaceArgs) -> CommandResult {
    match args.command {
        None => Box::pin(start(env, args.start)).await,
        Some(RaceCommand::Show(args)) => Box::pin(show(env, &args)).await,
        Some(RaceCommand::Diff(args)) => Box::pin(show_diff(env, &args)).await,
        Some(RaceCommand::Take(args)) => Box::pin(take(env, &args)).await,
    }
}

async fn start(env: &ProcessEnv, args: RaceStartArgs) -> CommandResult {
    let task = args.agents.task(&args.words, args.mode.as_ref(), args.max_time.as_ref());
    let options = load_options(env, &task)?;
    let place = trust_prompt::resolve_trust(env, &options, true)?;
    let service = env.service(&place).await?;
    let (plan, which) = match &args.resume {
        Some(id) => resumed(&service, &place, &options, id).await?,
        None => {
            let settings = settings(&args, &task)?;
            (RacePlan::new(&service, &place, &options, settings)?, SessionSelector::New)
        }
    };
    let mut run = Box::pin(open(&service, plan, &which)).await?;
    let raced = Box::pin(drive(env, &place, &mut run, &args)).await;
    run.close().await;
    run.take_notices().iter().for_each(|notice| report("note", notice));
    let id = run.session_id();
    if run.record().selection.is_none() {
        report("note", &format!("the race is not finished; continue it with `lariat race --resume {id}`"));
    }
    raced
}

/// Opens the session of a race.
async fn open(service: &LocalService, plan: RacePlan, which: &SessionSelector) -> Result<RaceRun, Problem> {
    let session = Box::pin(service.inspect_session(plan.place(), which)).await?;
    session.notices.iter().for_each(|notice| report("note", notice));
    let mut run = Box::pin(RaceRun::start(plan, session)).await?;
    run.take_notices().iter().for_each(|notice| report("note", notice));
    Ok(run)
}

fn settings(args: &RaceStartArgs, task: &Task) -> Result<RaceSettings, Problem> {
    let prompt = files::prompt(task)?.map(|prompt| prompt.text).unwrap_or_default();
    if prompt.trim().is_empty() {
        return Err(Problem::new(Exit::Usage, "no task given")
            .hint("describe it: `lariat race \"make the tests pass\" --check \"cargo test\"`"));
    }
    let agents = if args.branch_agents.is_empty() {
        let models = args.models.iter().map(|model| LoopAgent::Lariat { model: Some(model.clone()) });
        models.collect()
    } else {
        args.branch_agents.clone()
    };
    let agents = if agents.is_empty() { vec![LoopAgent::default()] } else { agents };
    let least = if agents.len() > 1 { agents.len() } else { BRANCHES };
    let count = args.branches.map_or(least, usize::from);
    if count < agents.len() {
        let words = format!("{} agents or models are given for {count} branches", agents.len());
        return Err(Problem::new(Exit::Usage, words).hint("name fewer of them, or leave `--branches` out"));
    }
    let branches = agents.iter().cycle().take(count).cloned().collect();
    let mut settings = RaceSettings::new(prompt, branches);
    settings.judge = match (&args.judge, &args.check) {
        (None, Some(_)) => RaceJudge::SmallestDiff,
        (model, _) => RaceJudge::Model(model.clone()),
    };
    settings.check.clone_from(&args.check);
    settings.variables.clone_from(&args.agents.env);
    Ok(settings)
}

/// Carries out the steps of a race.
async fn drive(
    env: &ProcessEnv,
    place: &LoadedProject,
    run: &mut RaceRun,
    args: &RaceStartArgs,
) -> CommandResult {
    let board = Board::new(env.terminal(&place.settings, Stream::Error), run.record());
    board.draw();
    let working = async {
        let show = |position: usize, progress: BranchProgress| board.show(position, progress);
        let mut work = std::pin::pin!(run.work(&show));
        loop {
            tokio::select! {
                worked = &mut work => return worked,
                () = tokio::time::sleep(TICK) => board.tick(),
            }
        }
    };
    match interruptible(working).await? {
        Ok(worked) => worked?,
        Err(stop) => return Ok(stop.exit()),
    }
    board.close();
    let selection = match interruptible(run.select()).await? {
        Ok(selected) => selected?,
        Err(stop) => return Ok(stop.exit()),
    };
    let id = run.session_id();
    let Some(branch) = selection.branch.clone() else {
        print_json(args.agents.json, &id, run.record())?;
        return Err(Problem::new(Exit::Failed, selection.reason).hint(format!(
            "`lariat race show {id}` shows the branches, `lariat race diff {id} BRANCH` the changes of one, `lariat race take {id} BRANCH` applies them"
        )));
    };
    report("note", &format!("branch {branch} is selected: {}", selection.reason));
    let end = run.record().branches.get(&branch).cloned().unwrap_or_default();
    if args.no_apply {
        report("note", &format!("nothing is applied; `lariat race take {id} {branch}` applies it"));
    } else if run.record().taken.is_none() {
        apply(run, &branch).await?;
    }
    print_json(args.agents.json, &id, run.record())?;
    if !args.agents.json && !end.text.is_empty() {
        print::line(&end.text);
    }
    Ok(Exit::Done)
}

fn print_json(is_wanted: bool, id: &SessionId, record: &RaceRecord) -> CommandResult {
    if is_wanted { print::json(&RaceJson::of(id, record)) } else { Ok(Exit::Done) }
}

/// Applies the changes of a branch, and says how to undo it.
async fn apply(run: &mut RaceRun, branch: &str) -> Result<(), Problem> {
    let id = run.session_id();
    let taken = match run.take(branch).await {
        Ok(taken) => taken,
        Err(lariat_service::ServiceError::RaceConflict(files)) => {
            let more = files.len().saturating_sub(NAMED_FILES);
            let named: Vec<&str> = files.iter().take(NAMED_FILES).map(String::as_str).collect();
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let words = format!(
                "branch {branch} is not applied: it changes files that changed here since the race started: {}{more}",
                named.join(", ")
            );
            return Err(Problem::new(Exit::Failed, words).hint(format!(
                "move what you changed in these files elsewhere, then run `lariat race take {id} {branch}`; `lariat race diff {id} {branch}` shows its changes"
            )));
        }
        Err(error) => return Err(error.into()),
    };
    let undo = if taken.can_be_undone { "`lariat undo` undoes it, " } else { "" };
    report(
        "note",
        &format!(
            "branch {branch} is applied ({} changed); {undo}`lariat race take {id} BRANCH` takes another one",
            human::counted(taken.files.len(), "file", "files")
        ),
    );
    Ok(())
}

/// Opens a race that was started earlier, in the current directory.
async fn earlier(env: &ProcessEnv, session: &str) -> Result<RaceRun, Problem> {
    let options: LoadOptions = env.load_options(None);
    let place = env.load_project(&options)?;
    let service = env.service(&place).await?;
    let (mut plan, which) = resumed(&service, &place, &options, session).await?;
    // Nothing works here, so nothing costs.
    plan.notices.clear();
    Box::pin(open(&service, plan, &which)).await
}

/// Plans to continue a race. Its branches belong to the directory that it ran in, and are applied nowhere else.
async fn resumed(
    service: &LocalService,
    place: &LoadedProject,
    options: &LoadOptions,
    session: &str,
) -> Result<(RacePlan, SessionSelector), Problem> {
    let found = service.find(session).await?;
    let id = found.session_id;
    let plan = RacePlan::resume(service, place, options, &id).await?;
    match found.cwd {
        Some(directory) if std::path::Path::new(&directory) == plan.place().path() => {
            Ok((plan, SessionSelector::Resume(id.to_string())))
        }
        directory => {
            let directory = directory.unwrap_or_else(|| "another directory".to_owned());
            Err(Problem::new(Exit::Usage, format!("the race ran in {directory}"))
                .hint("run this command in that directory"))
        }
    }
}

async fn show(env: &ProcessEnv, args: &RaceSessionArgs) -> CommandResult {
    let run = Box::pin(earlier(env, &args.session)).await?;
    let (id, record) = (run.session_id(), run.record());
    if args.json {
        return print::json(&RaceJson::of(&id, record));
    }
    let rows: Vec<Vec<String>> = rows(record).into_iter().map(|row| row.cells()).collect();
    print::out(&print::table(COLUMNS, &rows));
    if let Some(selection) = &record.selection {
        match &selection.branch {
            Some(branch) => print::line(&format!("\nbranch {branch} was selected: {}", selection.reason)),
            None => print::line(&format!("\n{}", selection.reason)),
        }
    }
    if let Some(taken) = &record.taken {
        print::line(&format!("branch {taken} was applied"));
    }
    if let Some(unfinished) = &record.unfinished {
        let branch = &unfinished.branch;
        print::line(&format!(
            "applying branch {branch} was interrupted; `lariat race take {id} {branch}` applies all of it"
        ));
    }
    for end in record.branches.values().filter(|end| end.problem.is_some()) {
        print::line(&format!("branch {}: {}", end.name, end.problem.as_deref().unwrap_or_default()));
    }
    Ok(Exit::Done)
}

async fn show_diff(env: &ProcessEnv, args: &RaceBranchArgs) -> CommandResult {
    let run = Box::pin(earlier(env, &args.session)).await?;
    let changes = run.diff(&args.branch).await?;
    if std::io::stdout().is_terminal() {
        let theme = env.terminal(&env.load_project(&env.load_options(None))?.settings, Stream::Output);
        print::out(&diff::unified(&changes.patch, usize::MAX, &theme));
    } else {
        // A patch that git can apply, so nothing is replaced in it.
        print::out(&changes.patch);
    }
    Ok(Exit::Done)
}

async fn take(env: &ProcessEnv, args: &RaceBranchArgs) -> CommandResult {
    let mut run = Box::pin(earlier(env, &args.session)).await?;
    let applied = apply(&mut run, &args.branch).await;
    run.close().await;
    applied.map(|()| Exit::Done)
}

const COLUMNS: &[Column] = &[
    Column::whole("branch"),
    Column::text("agent"),
    Column::text("status"),
    Column::number("turns"),
    Column::number("files"),
    Column::number("lines"),
    Column::number("time"),
    Column::number("cost"),
];

/// What the table shows about a branch.
#[derive(Clone, Debug)]
struct BranchRow {
    name: String,
    agent: String,
    status: String,
    turns: u64,
    changes: Option<(u64, u64, u64)>,
    time: Duration,
    cost: Cost,
    /// When it began to work in this process, until it ends.
    began: Option<Timestamp>,
}

impl BranchRow {
    fn waiting(name: String, agent: &LoopAgent) -> Self {
        Self {
            name,
            agent: agent.to_string(),
            status: "waiting".to_owned(),
            turns: 0,
            changes: None,
            time: Duration::ZERO,
            cost: Cost::default(),
            began: None,
        }
    }

    fn end(&mut self, end: &BranchEnd) {
        self.status = status(end);
        self.turns = end.turns;
        self.changes = Some((end.files, end.insertions, end.deletions));
        self.time = Duration::try_from_secs_f64(end.seconds).unwrap_or_default();
        (self.cost, self.began) = (end.cost, None);
    }

    fn cells(&self) -> Vec<String> {
        let time = self.began.map_or(self.time, |began| clock::now().since(began));
        let number = |number: u64| if number == 0 { "-".to_owned() } else { number.to_string() };
        vec![
            self.name.clone(),
            self.agent.clone(),
            self.status.clone(),
            number(self.turns),
            self.changes.map_or("-".to_owned(), |(files, _, _)| files.to_string()),
            self.changes.map_or("-".to_owned(), |(_, added, removed)| format!("+{added} -{removed}")),
            human::duration(time),
            if self.cost.is_zero() { "-".to_owned() } else { human::money(self.cost) },
        ]
    }
}

/// How a branch ended, in a few words.
fn status(end: &BranchEnd) -> String {
    match (&end.problem, end.check_exit_code) {
        (Some(problem), _) => format!("failed: {}", print::abbreviate(problem, 60)),
        (None, Some(0)) => "check passed".to_owned(),
        (None, Some(code)) => format!("check failed ({code})"),
        (None, None) => "completed".to_owned(),
    }
}

fn rows(record: &RaceRecord) -> Vec<BranchRow> {
    let branches = record.settings.iter().flat_map(|settings| settings.branches.iter().enumerate());
    let mut rows: Vec<BranchRow> =
        branches.map(|(position, agent)| BranchRow::waiting(branch_name(position), agent)).collect();
    for row in &mut rows {
        if let Some(end) = record.branches.get(&row.name) {
            row.end(end);
        }
    }
    rows
}

/// The table of the branches on standard error: drawn again on a terminal, a line for each change elsewhere.
struct Board {
    theme: Theme,
    state: Mutex<BoardState>,
}

struct BoardState {
    rows: Vec<BranchRow>,
    /// The number of lines that the table has on the screen.
    drawn: usize,
}

impl Board {
    fn new(theme: Theme, record: &RaceRecord) -> Self {
        Self { theme, state: Mutex::new(BoardState { rows: rows(record), drawn: 0 }) }
    }

    fn show(&self, position: usize, progress: BranchProgress) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(row) = state.rows.get_mut(position) else { return };
        let earlier = row.status.clone();
        let has_ended = matches!(progress, BranchProgress::Ended(_));
        match progress {
            BranchProgress::Copying => row.status = "copying".to_owned(),
            BranchProgress::Working { turns, cost, tool } => {
                row.began.get_or_insert_with(clock::now);
                (row.turns, row.cost) = (turns, cost);
                row.status = tool.map_or("working".to_owned(), |tool| format!("working: {tool}"));
            }
            BranchProgress::Checking => row.status = "checking".to_owned(),
            BranchProgress::Ended(end) => row.end(&end),
            _ => {}
        }
        if self.theme.live {
            self.redraw(&mut state);
        } else if row.status != earlier && (has_ended || !row.status.starts_with("working:")) {
            let (name, agent) = (&row.name, print::abbreviate(&row.agent, 40));
            let more = match row.changes.filter(|_| has_ended) {
                Some((files, added, removed)) => {
                    format!(" ({} changed, +{added} -{removed})", human::counted(files, "file", "files"))
                }
                None => String::new(),
            };
            write_stderr(&format!(
                "branch {name} ({}): {}{more}\n",
                display::line(&agent),
                display::line(&row.status)
            ));
        }
    }

    fn draw(&self) {
        if self.theme.live {
            self.redraw(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// Draws the times again.
    fn tick(&self) {
        self.draw();
    }

    /// The table stays on the screen, and what follows is below it.
    fn close(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).drawn = 0;
    }

    fn redraw(&self, state: &mut BoardState) {
        let cells: Vec<Vec<String>> = state.rows.iter().map(BranchRow::cells).collect();
        let table = lariat_terminal::table::table(COLUMNS, &cells, &self.theme);
        let mut text = String::new();
        if state.drawn > 0 {
            text.push_str(&format!("\x1b[{}A\r", state.drawn));
        }
        for line in table.lines() {
            text.push_str(&format!("\x1b[2K{line}\n"));
        }
        state.drawn = table.lines().count();
        write_stderr(&text);
    }
}
