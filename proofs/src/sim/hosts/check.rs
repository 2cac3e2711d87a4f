//! The invariants of a host at rest, over the journals of all its sessions and what its clients noted.

use std::collections::HashMap;

use lariat_core::event::{AgentEvent, Event};
use lariat_core::id::{LoopId, RequestId, SessionId};

use super::super::loops::{Tolerance, check_journal, check_queues};
use super::super::violation::Violation;
use super::commands::{SentCommand, command_of};
use super::followers::lock;
use super::life::Hosts;
use super::{queues, views};

/// Who answered, if no client did.
const THE_SESSION: &str = "the session";

/// Checks all sessions.
pub(super) fn finished(hosts: &Hosts) -> Result<(), Violation> {
    if let Some(breach) = hosts.model.violations().first() {
        return Err(Violation::InvalidRequest(format!("{breach:?}")));
    }
    if let Some(misuse) = hosts.disk.store.misuses().first() {
        return Err(Violation::Misuse(format!("{misuse:?}")));
    }
    let sent = hosts.commands.all();
    for session_id in hosts.commands.sessions() {
        let events = hosts.disk.store.survivors(&session_id);
        let own: Vec<SentCommand> =
            sent.iter().filter(|sent| sent.session_id == session_id).cloned().collect();
        check_session(&session_id, &events, &own).map_err(|violation| of_session(&session_id, violation))?;
        let winners = winners(&events)?;
        for (_, ask, name) in hosts.commands.winners().iter().filter(|(id, ..)| *id == session_id) {
            // Asks about plans have no request.
            let winner = winners.iter().find(|(request, _)| request.to_string() == *ask);
            if winner.is_some_and(|(_, winner)| winner != name) {
                return Err(Violation::WrongAnswer(format!(
                    "{name} answered {ask} of {session_id}: {winner:?}"
                )));
            }
        }
    }
    check_forks(hosts)?;
    hosts.followers.iter().try_for_each(|seen| {
        let seen = lock(seen);
        let events = hosts.disk.store.survivors(&seen.session_id);
        let [own, journal] =
            [&seen.events, &events].map(|events| views::fold(&seen.session_id, events).view(false));
        if seen.events != events || own != journal {
            return Err(Violation::FollowerGap(format!("the end of {}", seen.session_id)));
        }
        Ok(())
    })
}

fn of_session(session_id: &SessionId, violation: Violation) -> Violation {
    match violation {
        Violation::WrongJournal(what) => Violation::WrongJournal(format!("{session_id}: {what}")),
        Violation::LostText(what) => Violation::LostText(format!("{session_id}: {what}")),
        Violation::WrongOrder(what) => Violation::WrongOrder(format!("{session_id}: {what}")),
        other => other,
    }
}

fn check_session(session_id: &SessionId, events: &[Event], sent: &[SentCommand]) -> Result<(), Violation> {
    // Clients extend the limits.
    let tolerance = Tolerance { may_not_begin: true, ..Tolerance::default() };
    check_journal(events, None, tolerance)?;
    check_queues(events)?;
    queues::check(events, sent)?;
    let view = views::fold(session_id, events).view(false);
    if view.asks.is_empty() && view.queue.is_empty() {
        return Ok(());
    }
    Err(Violation::NeverRests(format!("{session_id}: {} questions", view.asks.len())))
}

/// Who answered each question: the sender of the command right before the answer, or the session itself. No question has two answers.
fn winners(events: &[Event]) -> Result<Vec<(RequestId, String)>, Violation> {
    let mut winners: Vec<(RequestId, String)> = Vec::new();
    let mut budgets: HashMap<Option<LoopId>, RequestId> = HashMap::new();
    let mut sender = None;
    for event in events {
        let by = sender.take().unwrap_or_else(|| THE_SESSION.to_owned());
        match &event.event {
            AgentEvent::PermissionDecided { request_id, .. } => {
                if winners.iter().any(|(known, _)| known == request_id) {
                    return Err(Violation::WrongAnswer(format!("{request_id} has two answers")));
                }
                winners.push((*request_id, by));
            }
            AgentEvent::BudgetExtensionRequested { request } => {
                budgets.insert(event.loop_id.clone(), request.id);
            }
            AgentEvent::BudgetExtended { by, .. } => {
                winners.extend(budgets.remove(&event.loop_id).map(|request| (request, by.clone())));
            }
            AgentEvent::LimitReached { .. } => {
                winners.extend(budgets.remove(&event.loop_id).map(|request| (request, by)));
            }
            _ => sender = command_of(event).map(|command| command.by.clone()),
        }
    }
    Ok(winners)
}

/// Checks that a fork begins with the events of its origin, and that both continue on their own.
fn check_forks(hosts: &Hosts) -> Result<(), Violation> {
    let created = hosts.commands.sessions();
    for (fork, origin) in hosts.commands.forks().iter().filter(|(fork, _)| created.contains(fork)) {
        let [own, theirs] = [fork, &origin.from].map(|session_id| hosts.disk.store.survivors(session_id));
        let at = usize::try_from(origin.at).unwrap_or(usize::MAX);
        if own.get(..at) != theirs.get(..at) {
            return Err(Violation::WrongFork(format!("{fork} does not begin as {}", origin.from)));
        }
        let later = own.iter().skip(at);
        let shared = later.into_iter().find(|event| theirs.iter().any(|other| other.id == event.id));
        if let Some(event) = shared {
            return Err(Violation::WrongFork(format!(
                "{fork} and {} share event {}",
                origin.from, event.seq
            )));
        }
    }
    Ok(())
}
