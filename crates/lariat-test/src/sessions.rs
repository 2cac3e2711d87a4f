//! The conformance suite for session hosts, run against each of them.
//!
//! A host implements [`Sessions`]: in this process, over HTTP, for an editor, in a fleet. Each must pass the same
//! scripts. A script is a list of steps: commands of two clients, replies of the model, crashes, lost connections, and
//! what must be true in between. The suite plays each script as it is, then once with a crash after every step, and
//! once with a crash while each command is on its way. At the end of every run it checks what is always true:
//!
//! - the journal records every acknowledged command once and no refused one; a retry gets the same receipt;
//! - every prompt is in the conversation once, and every tool call and every command of the user had its effect at
//!   most once;
//! - a restore undid exactly the changes after its point, and a command of the user has one start, one end and one
//!   message with its output;
//! - the log gives the rest of the journal from every position, with `Synced` once; each attached client received
//!   every event once, also one that lost its connection after every event;
//! - every view that a client read is the fold of its events, compared with a second fold;
//! - live items never run ahead of the log, and a reader that missed some knows it.
//!
//! Implement [`HostFixture`] for a host. [`session_conformance!`](crate::session_conformance) turns each check into a
//! test of its own; [`run_all`] runs everything and reports figures. [`race_answers`] lets two clients answer one ask.
//!
//! An editor speaks a narrower protocol. [`run_editor_script`] plays the scripts through it that it can express, and
//! [`editor_obstacle`] says why it cannot express the others.
//!
//! Invariant: a check relies only on the protocol and on the events of the core; it knows no host.

mod catalogue;
mod check;
mod editor;
mod files;
mod fold;
mod listing;
mod model;
mod names;
mod play;
mod race;
mod report;
mod script;
mod stage;
mod watch;

use std::sync::Arc;
use std::time::Duration;

use lariat_api::{AskPolicy, Sessions};
use lariat_core::BoxFuture;
use lariat_core::event::Event;
use lariat_core::id::SessionId;

pub use editor::{EditorConnection, EditorFixture, Kills, editor_obstacle, run_editor_script};
pub use files::ScriptedFiles;
pub use model::{Approval, MakeCall, ModelScript, PlannedReply, Turn};
pub use report::{Report, SuiteFailure};
pub use script::{Script, ScriptClient};

use script::WatchMode;
use stage::{CrashPoint, Stage, StoreFaults};
use tokio::time::sleep;

use crate::random::SeededRandom;

/// A place where a host keeps its sessions, and the world around the host: its model and its tool.
pub trait HostFixture: Send + Sync {
    /// Opens a host on the store of this fixture. The first time the store is empty. At most one host is open.
    fn open(&self, policy: AskPolicy) -> BoxFuture<'_, Arc<dyn Sessions>>;

    /// Ends the open host as `kill -9` does: when this returns, none of its tasks runs any more, and nothing was
    /// cleaned up. Handles and streams of the host may still exist, but no request is made with them. Does nothing if
    /// no host is open.
    fn crash(&self) -> BoxFuture<'_, ()>;

    /// Two directories for sessions.
    fn directories(&self) -> [String; 2];

    /// The model that the hosts call.
    fn model(&self) -> &ModelScript;

    /// The files that the tool and the user's own commands add, and that restores undo.
    fn files(&self) -> &ScriptedFiles;

    /// The name of a permission mode that the hosts permit and do not start with.
    fn other_mode(&self) -> String;

    /// The name of a model that the hosts can call and do not start with.
    fn other_model(&self) -> String;

    /// Ends the faults that the fixture injects, before the final checks. Most fixtures inject none.
    fn heal(&self) {}

    /// Where [`run_script`] crashes the host.
    fn crash_moments(&self) -> CrashMoments {
        CrashMoments::AfterStepsAndDuringCommands
    }

    /// Reads the journal of a session, without the host.
    fn journal<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Vec<Event>>;
}

/// Where a script crashes the host, besides the crashes that are part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrashMoments {
    /// After every step, and during every command.
    AfterStepsAndDuringCommands,
    /// After every step. For a fixture whose host passes the whole suite in another fixture.
    AfterSteps,
}

/// Runs everything, also `rounds` rounds of [`race_answers`].
pub async fn run_all(fixture: &Arc<dyn HostFixture>, rounds: usize) -> Report {
    let mut report = Report::default();
    for script in all_scripts() {
        report.add(Box::pin(run_script(fixture, &script)).await);
    }
    report.add(Box::pin(sessions_are_listed(fixture)).await);
    report.add(Box::pin(changes_are_reported(fixture)).await);
    report.add(Box::pin(an_unknown_session_is_not_found(fixture)).await);
    report.add(Box::pin(race_answers(fixture, rounds)).await);
    report
}

/// Plays a script as it is, then with a crash after every step, then, unless the fixture asks for less, with a crash during
/// every command.
pub async fn run_script(fixture: &Arc<dyn HostFixture>, script: &Script) -> Report {
    let mut report = Report { scripts: 1, ..Report::default() };
    let moments = fixture.crash_moments();
    let is_wanted = |point: &CrashPoint| {
        moments == CrashMoments::AfterStepsAndDuringCommands || !matches!(point, CrashPoint::During(_))
    };
    for point in crash_points(script).into_iter().filter(is_wanted) {
        report.add(Box::pin(run_once(fixture, script, point, None)).await);
        if report.failures.len() >= MAX_FAILURES {
            break;
        }
    }
    report
}

fn crash_points(script: &Script) -> Vec<CrashPoint> {
    let after = (0..script.steps.len()).map(CrashPoint::After);
    let commands = script.steps.iter().enumerate().filter(|(_, step)| step.is_command());
    let during = commands.map(|(number, _)| CrashPoint::During(number));
    std::iter::once(CrashPoint::None).chain(after).chain(during).collect()
}

/// Plays a script once. The seed decides whether, where and when the host crashes. What else it decides is the matter of
/// the fixture, whose store may fail now and then: the clients make a failed request again.
///
/// Needs a clock that stands still while a task can run (`start_paused`); then the same seed gives the same run.
pub async fn run_seed(fixture: &Arc<dyn HostFixture>, script: &Script, seed: u64) -> Report {
    let mut random = SeededRandom::new(seed).fork("crash");
    let point = random.pick(&crash_points(script)).copied().unwrap_or(CrashPoint::None);
    let moment = Duration::from_micros(random.below(LONGEST_WAIT_MICROS));
    let mut report = Box::pin(run_once(fixture, script, point, Some(moment))).await;
    report.scripts = 1;
    for failure in &mut report.failures {
        failure.fault = format!("seed {seed}, {} ({moment:?} later)", failure.fault);
    }
    report
}

/// A seed crashes the host at most this long after the step before.
const LONGEST_WAIT_MICROS: u64 = 30_000;

/// A script stops after this many failures: each waits for its time limit.
const MAX_FAILURES: usize = 3;

/// Plays a script once, with a crash. If a seed decides, it names the moment of the crash.
async fn run_once(
    fixture: &Arc<dyn HostFixture>,
    script: &Script,
    point: CrashPoint,
    moment: Option<Duration>,
) -> Report {
    let host = fixture.open(script.policy).await;
    let mut report = Report { runs: 1, ..Report::default() };
    let fail = |step: Option<usize>, problem: String| {
        let fault = match point {
            CrashPoint::None => "no extra crash".to_owned(),
            CrashPoint::After(step) => format!("crash after step {step}"),
            CrashPoint::During(step) => format!("crash during step {step}"),
        };
        SuiteFailure { script: script.name.to_owned(), fault, step, problem }
    };
    let faults = if moment.is_some() { StoreFaults::Sometimes } else { StoreFaults::Never };
    match Stage::create_with(fixture, host, script.policy, faults).await {
        Ok(mut stage) => {
            stage.crash_moment = moment;
            let played = Box::pin(play(&mut stage, script, point)).await;
            let checked = match played {
                Ok(()) => Box::pin(stage.check()).await.map_err(|problem| (None, problem)),
                Err((step, problem)) => Err((Some(step), problem)),
            };
            stage.detach().await;
            report.add(std::mem::take(&mut stage.counts));
            report.failures.extend(checked.err().map(|(step, problem)| fail(step, problem)));
        }
        Err(problem) => report.failures.push(fail(Some(0), problem)),
    }
    fixture.crash().await;
    report
}

async fn play(stage: &mut Stage, script: &Script, point: CrashPoint) -> Result<(), (usize, String)> {
    if script.watched == WatchMode::ByClients {
        stage.attach().await.map_err(|problem| (0, problem))?;
    }
    for (number, step) in script.steps.iter().enumerate() {
        if point == CrashPoint::During(number) {
            stage.crash_during = Some(number);
        }
        stage.play(step).await.map_err(|problem| (number, format!("{step:?}: {problem}")))?;
        if point == CrashPoint::After(number) {
            sleep(stage.crash_moment.unwrap_or_default()).await;
            stage.crash().await.map_err(|problem| (number, problem))?;
        }
        if point == CrashPoint::After(number) || point == CrashPoint::During(number) {
            break;
        }
    }
    Ok(())
}

/// Lets two clients answer one ask, this many times. Exactly one wins each time.
pub async fn race_answers(fixture: &Arc<dyn HostFixture>, rounds: usize) -> Report {
    let mut report = Report { scripts: 1, ..Report::default() };
    let mut left = rounds;
    while left > 0 && report.failures.is_empty() {
        // The first session passes every check. The others are about the races.
        let depth = if left == rounds { Depth::Everything } else { Depth::Outcome };
        let rounds = left.min(race::ROUNDS.len());
        left -= rounds;
        let host = fixture.open(AskPolicy::Wait).await;
        let result = Box::pin(race_session(fixture, host, rounds, depth)).await;
        report.add(end_check(fixture, "race_answers", result).await);
    }
    report
}

/// How much to check at the end of a session.
#[derive(Clone, Copy)]
enum Depth {
    Everything,
    /// The journal and the view, but not every position of the log.
    Outcome,
}

async fn race_session(
    fixture: &Arc<dyn HostFixture>,
    host: Arc<dyn Sessions>,
    rounds: usize,
    depth: Depth,
) -> Result<Report, String> {
    let mut stage = Stage::create(fixture, host, AskPolicy::Wait).await?;
    for (number, name) in race::ROUNDS.into_iter().enumerate().take(rounds) {
        let round = Box::pin(race::round(&mut stage, name, number)).await;
        round.map_err(|problem| format!("round {number}: {problem}"))?;
        stage.counts.races += 1;
    }
    match depth {
        Depth::Everything => Box::pin(stage.check()).await?,
        Depth::Outcome => Box::pin(stage.check_outcome()).await?,
    }
    Ok(stage.counts)
}

/// Ends the host of a check besides the scripts, and reports its result.
async fn end_check(fixture: &Arc<dyn HostFixture>, name: &str, result: Result<Report, String>) -> Report {
    fixture.crash().await;
    let mut report = Report { runs: 1, ..Report::default() };
    match result {
        Ok(counts) => report.add(counts),
        Err(problem) => {
            let (script, fault) = (name.to_owned(), "no extra crash".to_owned());
            report.failures.push(SuiteFailure { script, fault, step: None, problem });
        }
    }
    report
}

/// Declares the checks besides the scripts: they concern more than one session.
macro_rules! checks {
    ($($(#[$doc:meta])* $name:ident)*) => {
        $(
            $(#[$doc])*
            pub async fn $name(fixture: &Arc<dyn HostFixture>) -> Report {
                let mut report = Report { scripts: 1, ..Report::default() };
                let host = fixture.open(AskPolicy::Wait).await;
                let result = Box::pin(listing::$name(fixture, host)).await;
                report.add(end_check(fixture, stringify!($name), result).await);
                report
            }
        )*
    };
}

checks! {
    /// Sessions are listed once each over pages, and found by status, directory, text and tag.
    sessions_are_listed
    /// Every session that changes is reported.
    changes_are_reported
    /// A session that does not exist is not found, and no request creates it.
    an_unknown_session_is_not_found
}

/// Declares one function for each script, and the list of all.
macro_rules! scripts {
    ($($name:ident)*) => {
        /// All scripts.
        pub fn all_scripts() -> Vec<Script> {
            vec![$(catalogue::$name()),*]
        }

        $(
            #[doc = concat!("Plays the script `", stringify!($name), "` with and without crashes.")]
            pub async fn $name(fixture: &Arc<dyn HostFixture>) -> Report {
                Box::pin(run_script(fixture, &catalogue::$name())).await
            }
        )*
    };
}

/// Passes the names of all scripts to another macro, after its own arguments.
#[doc(hidden)]
#[macro_export]
macro_rules! session_script_names {
    ([$($callback:tt)*] $($arguments:tt)*) => {
        $($callback)*! {
            $($arguments)*
            prompts_run_one_after_the_other
            a_tool_call_runs_once
            steering_reaches_the_active_run
            the_queue_waits_for_the_run
            steering_overtakes_the_queue
            an_interrupting_prompt_replaces_the_run
            a_prompt_that_must_not_wait_is_refused
            an_interruption_pauses_the_queue
            a_prompt_runs_while_the_queue_is_paused
            clients_edit_the_queue
            the_first_answer_wins
            a_denied_call_does_not_run
            an_ask_ends_with_its_run
            an_ask_survives_a_crash
            an_ask_without_a_client_is_denied
            an_attached_client_is_asked
            a_run_outlives_its_clients
            a_closed_session_opens_again
            a_title_is_set_and_removed
            mode_and_model_change
            an_unknown_action_changes_nothing
            a_failed_run_continues
            a_crash_during_a_reply_loses_nothing
            a_slow_live_reader_reads_the_log
            a_conversation_is_restored
            files_are_restored
            a_restore_returns_to_a_message
            a_restore_to_the_start_undoes_everything
            a_restore_is_refused_while_a_run_works
            an_unknown_point_is_not_restored
            a_restore_survives_a_crash
            a_users_command_runs_once
            a_users_command_excludes_runs
            a_users_command_is_interrupted
            a_crash_ends_a_users_command
        }
    };
}

session_script_names! { [scripts] }

/// Turns each check of a session host into a test. The argument is an expression that creates a new
/// [`HostFixture`](crate::sessions::HostFixture).
#[macro_export]
macro_rules! session_conformance {
    ($fixture:expr) => {
        $crate::session_script_names! { [$crate::session_conformance] @tests $fixture;
            sessions_are_listed
            changes_are_reported
            an_unknown_session_is_not_found
        }

        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn exactly_one_of_two_answers_wins() {
            let fixture: ::std::sync::Arc<dyn $crate::sessions::HostFixture> = ::std::sync::Arc::new($fixture);
            $crate::sessions::race_answers(&fixture, 12).await.check();
        }
    };
    (@tests $fixture:expr; $($check:ident)*) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $check() {
                let fixture: ::std::sync::Arc<dyn $crate::sessions::HostFixture> =
                    ::std::sync::Arc::new($fixture);
                $crate::sessions::$check(&fixture).await.check();
            }
        )*
    };
}
