//! The last life: nothing fails any more, so every command gets its final reply, every session comes to rest, and every follower
//! has everything.

use std::sync::Arc;
use std::time::Duration;

use lariat_api::{Action, AskPolicy, Edit, ProblemCode, SessionStatus};
use lariat_core::id::SessionId;
use lariat_sessions::Local;
use lariat_test::SeededRandom;

use super::super::violation::Violation;
use super::clients::{answer_to, fork_request};
use super::followers::lock;
use super::process::Process;
use super::requests::Connection;

/// The most commands without an acknowledgement, and with one, that clients send again.
const MOST_RETRIES: usize = 6;
/// The most commands and waits for a session.
const MOST_ROUNDS: usize = 300;
/// How long a client waits for a run before it interrupts it, and how long its end may take after that.
const PATIENCE: Duration = Duration::from_secs(6 * 3_600);
const END_TIME: Duration = Duration::from_secs(3_600);
/// How long an approved plan may take to start, in milliseconds.
const PLAN_START_MS: u64 = 600_000;
/// How long followers may take for what they do not have.
const FOLLOWING_ROUNDS: usize = 200;
const FOLLOWING_MS: u64 = 5_000;

/// Brings everything to rest.
pub(super) async fn bring_to_rest(process: &Arc<Process>, host: &Local) -> Result<(), Violation> {
    let mut random = process.random.fork("rest");
    let connection = Connection::new(process, host, 0);
    for session_id in process.setting.session_ids() {
        connection.create(process.setting.creation(&session_id)).await?;
    }
    for (fork, origin) in process.commands.forks() {
        connection.create(fork_request(&fork, &origin.from, origin.at)).await?;
    }
    let acknowledged = send_again(&connection, &mut random, false).await?;
    settle_all(&connection, &mut random).await?;
    let repeated = send_again(&connection, &mut random, true).await?;
    process.watch.note(|| format!("sent again: {acknowledged} and {repeated}"));
    settle_all(&connection, &mut random).await?;
    connection.list().await?;
    await_followers(process).await
}

/// Sends some commands again: those that were acknowledged, or the others. Returns how many.
async fn send_again(
    connection: &Connection,
    random: &mut SeededRandom,
    is_acknowledged: bool,
) -> Result<usize, Violation> {
    let commands = &connection.process.commands;
    let is_wanted =
        |number: &usize| commands.get(*number).is_some_and(|sent| sent.receipt.is_some() == is_acknowledged);
    let mut numbers: Vec<usize> = commands.repeatable().into_iter().filter(is_wanted).collect();
    while numbers.len() > MOST_RETRIES {
        numbers.remove(random.index(numbers.len()));
    }
    for number in &numbers {
        let reply = connection.send_again(*number).await?;
        if let (true, Err(problem)) = (is_acknowledged, reply) {
            return Err(Violation::WrongReply(format!("k{number} was acknowledged, and then: {problem:?}")));
        }
    }
    Ok(numbers.len())
}

async fn settle_all(connection: &Connection, random: &mut SeededRandom) -> Result<(), Violation> {
    for session_id in connection.process.commands.sessions() {
        settle(connection, &session_id, random).await?;
    }
    Ok(())
}

/// Continues a session until nothing is left to do: no run, no question, no message that waits.
async fn settle(
    connection: &Connection,
    session_id: &SessionId,
    random: &mut SeededRandom,
) -> Result<(), Violation> {
    let (mut waited, mut pause, mut is_interrupted) = (Duration::ZERO, 100, false);
    let mut has_awaited_plan = false;
    for _ in 0..MOST_ROUNDS {
        let Some(view) = connection.view(session_id).await? else { continue };
        let action = match view.status {
            SessionStatus::Running => {
                connection.process.sleep(pause).await;
                waited += Duration::from_millis(pause);
                pause = (pause * 4).min(3_600_000);
                if waited > PATIENCE + END_TIME {
                    return Err(Violation::Hangs);
                }
                if is_interrupted || waited <= PATIENCE {
                    continue;
                }
                (waited, pause, is_interrupted) = (PATIENCE, 100, true);
                Action::Interrupt
            }
            SessionStatus::Interrupted => Action::Continue,
            SessionStatus::RequiresAction | SessionStatus::Idle | SessionStatus::Closed => {
                match view.asks.first() {
                    Some(ask) => {
                        // With the other policy, questions come and go.
                        if connection.process.setting.ask_policy == AskPolicy::Wait {
                            connection.find_waiting(session_id, &view).await?;
                        }
                        answer_to(ask, random)
                    }
                    None if !view.queue.is_empty() => Action::EditQueue { edit: Edit::Resume },
                    // The run that carries out what was approved is about to start, unless its process died before.
                    None if !view.plan.changes.is_empty() && !has_awaited_plan => {
                        has_awaited_plan = true;
                        connection.process.sleep(PLAN_START_MS).await;
                        continue;
                    }
                    None => return Ok(()),
                }
            }
            status => return Err(Violation::WrongView(format!("{session_id} has status {status:?}"))),
        };
        let is_continued = matches!(action, Action::Continue);
        if !matches!(action, Action::Interrupt) {
            (waited, pause, is_interrupted) = (Duration::ZERO, 100, false);
        }
        match connection.send(session_id, action).await? {
            Err(problem) if is_continued && problem.code == ProblemCode::WrongStatus => {
                return Err(Violation::WrongView(format!("{session_id} is interrupted, but: {problem}")));
            }
            _ => {}
        }
    }
    Err(Violation::NeverRests(session_id.to_string()))
}

/// Waits until every follower has every event of its session.
async fn await_followers(process: &Process) -> Result<(), Violation> {
    for seen in &process.followers {
        let session_id = lock(seen).session_id.clone();
        let end = process.store.inspect(&session_id, <[_]>::len);
        for _ in 0..FOLLOWING_ROUNDS {
            if lock(seen).events.len() >= end || process.watch.has_violation() {
                break;
            }
            process.sleep(FOLLOWING_MS).await;
        }
        let known = lock(seen).events.len();
        if known != end && !process.watch.has_violation() {
            return Err(Violation::FollowerGap(format!("{session_id} has {end} events, a follower {known}")));
        }
    }
    Ok(())
}
