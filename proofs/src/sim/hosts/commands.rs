//! The book of commands: what clients sent, and what the host replied. Kept outside the store and of the process.
//!
//! Every reply is compared with the earlier ones and with the journal at once; [`CommandBook::check`] compares the whole book after
//! every life. Invariant: a command that a host acknowledged is in the journal of its session once, for ever.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lariat_api::{Action, ClientName, CommandId, Edit, Problem, ProblemCode, Receipt, SessionCommand};
use lariat_core::event::{AgentEvent, CommandRecord, Event};
use lariat_core::id::SessionId;
use lariat_test::FaultyStore;

use super::super::violation::Violation;

/// A command of a client.
#[derive(Clone, Debug)]
pub(super) struct SentCommand {
    pub(super) session_id: SessionId,
    pub(super) command: SessionCommand,
    /// The client that sent it, as the journal names it.
    pub(super) by: String,
    /// The texts of the queue in the order that the command asks for.
    pub(super) order: Vec<String>,
    /// The position at which a host acknowledged it.
    pub(super) receipt: Option<u64>,
    /// How often it was sent, how many of these are without a reply in this life, and whether two were at the same time.
    tries: u32,
    in_flight: u32,
    has_overlap: bool,
}

/// A fork that a client asked for.
#[derive(Clone, Debug)]
pub(super) struct Fork {
    pub(super) from: SessionId,
    pub(super) at: u64,
}

/// The book. It survives the process.
pub(super) struct CommandBook {
    store: Arc<FaultyStore>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    sent: Vec<SentCommand>,
    /// The sessions that a host reported as created.
    created: BTreeSet<SessionId>,
    forks: BTreeMap<SessionId, Fork>,
    /// The command that answered each version of a question.
    answers: BTreeMap<(SessionId, String, String), usize>,
    /// The winners that hosts named to clients whose answers came too late: session, question, name.
    winners: Vec<(SessionId, String, String)>,
    retries: u64,
}

impl CommandBook {
    pub(super) fn new(store: Arc<FaultyStore>) -> Self {
        Self { store, state: Mutex::default() }
    }

    /// Forgets which replies are missing: they died with the process.
    pub(super) fn begin_life(&self) {
        self.lock().sent.iter_mut().for_each(|sent| sent.in_flight = 0);
    }

    /// Notes a new command and returns its number.
    pub(super) fn add(
        &self,
        session_id: &SessionId,
        client: usize,
        action: Action,
        order: Vec<String>,
    ) -> usize {
        let mut state = self.lock();
        let number = state.sent.len();
        let command = SessionCommand::new(
            CommandId::new(format!("k{number}")),
            ClientName::new(format!("client-{client}")),
            action,
        );
        state.sent.push(SentCommand {
            session_id: session_id.clone(),
            command,
            by: principal(client),
            order,
            receipt: None,
            tries: 0,
            in_flight: 0,
            has_overlap: false,
        });
        number
    }

    pub(super) fn get(&self, number: usize) -> Option<SentCommand> {
        self.lock().sent.get(number).cloned()
    }

    /// The number that the next prompt has, for its text.
    pub(super) fn next_number(&self) -> usize {
        self.lock().sent.len()
    }

    /// The number of commands, and those that a client may repeat: acknowledged or without a reply.
    pub(super) fn repeatable(&self) -> Vec<usize> {
        let state = self.lock();
        let is_repeatable = |(_, sent): &(usize, &SentCommand)| sent.tries > 0;
        state.sent.iter().enumerate().filter(is_repeatable).map(|(number, _)| number).collect()
    }

    /// Notes that a client sends a command.
    pub(super) fn begin(&self, number: usize) {
        let mut state = self.lock();
        let Some(sent) = state.sent.get_mut(number) else { return };
        sent.has_overlap |= sent.in_flight > 0;
        sent.in_flight += 1;
        sent.tries += 1;
        let is_retry = sent.tries > 1;
        state.retries += u64::from(is_retry);
    }

    /// Whether a client waits for the reply to such a command.
    pub(super) fn awaits(&self, session_id: &SessionId, is_it: impl Fn(&Action) -> bool) -> bool {
        self.lock()
            .sent
            .iter()
            .any(|sent| sent.in_flight > 0 && sent.session_id == *session_id && is_it(&sent.command.action))
    }

    /// Whether a client has sent such a command.
    pub(super) fn has_sent(&self, session_id: &SessionId, is_it: impl Fn(&Action) -> bool) -> bool {
        let state = self.lock();
        state.sent.iter().any(|sent| sent.session_id == *session_id && is_it(&sent.command.action))
    }

    /// Notes the reply to a command, and checks it.
    pub(super) fn reply(&self, number: usize, reply: &Result<Receipt, Problem>) -> Result<(), Violation> {
        let mut state = self.lock();
        let State { sent, answers, winners, .. } = &mut *state;
        let Some(sent) = sent.get_mut(number) else { return Ok(()) };
        sent.in_flight = sent.in_flight.saturating_sub(1);
        let (id, session_id) = (sent.command.id.clone(), sent.session_id.clone());
        let places = self.store.inspect(&session_id, |events| places(events, id.as_str()));
        let what = || format!("{id} in {session_id} got {reply:?}");
        match reply {
            Ok(receipt) => {
                if receipt.command_id != id || places != [receipt.seq] {
                    return Err(Violation::CommandLost(format!("{}; it is at {places:?}", what())));
                }
                let earlier = sent.receipt.replace(receipt.seq);
                if earlier.is_some_and(|earlier| earlier != receipt.seq) {
                    return Err(Violation::WrongReply(format!("{}, and {earlier:?} before", what())));
                }
                if let Action::Answer { ask_id, digest, .. } = &sent.command.action {
                    let key = (session_id.clone(), ask_id.to_string(), digest.to_string());
                    let first = *answers.entry(key).or_insert(number);
                    if first != number {
                        return Err(Violation::WrongAnswer(format!(
                            "k{first} and {id} answered {ask_id} of {session_id}"
                        )));
                    }
                }
            }
            Err(problem) if problem.code.is_retryable() => {}
            Err(problem) => {
                if !is_expected(problem, &sent.command.action) {
                    return Err(Violation::WrongReply(what()));
                }
                // A reply that was overtaken by a retry says nothing about the retry.
                let is_alone = !sent.has_overlap && sent.in_flight == 0;
                if is_alone && (sent.receipt.is_some() || !places.is_empty()) {
                    let before = sent.receipt;
                    return Err(Violation::WrongReply(format!(
                        "{}, but it is at {places:?}, acknowledged at {before:?}",
                        what()
                    )));
                }
                if let (ProblemCode::AlreadyAnswered, Action::Answer { ask_id, .. }) =
                    (&problem.code, &sent.command.action)
                    && let Some(winner) = problem.message.strip_suffix(" answered this question before")
                {
                    winners.push((session_id, ask_id.to_string(), winner.to_owned()));
                }
            }
        }
        Ok(())
    }

    /// Notes that a host created a session, which its journal must say from now on.
    pub(super) fn created(&self, session_id: &SessionId) -> Result<(), Violation> {
        self.lock().created.insert(session_id.clone());
        self.check_creation(session_id)
    }

    fn check_creation(&self, session_id: &SessionId) -> Result<(), Violation> {
        let id = format!("create:{session_id}");
        let places = self.store.inspect(session_id, |events| places(events, &id));
        match places.len() {
            0 => Err(Violation::CommandLost(id)),
            1 => Ok(()),
            _ => Err(Violation::CommandTwice(format!("{id} at {places:?}"))),
        }
    }

    /// The sessions that clients can use.
    pub(super) fn sessions(&self) -> Vec<SessionId> {
        self.lock().created.iter().cloned().collect()
    }

    /// Notes that a client asks for a fork, and returns its id.
    pub(super) fn add_fork(&self, from: &SessionId, at: u64) -> SessionId {
        let mut state = self.lock();
        let session_id = SessionId::from(format!("f{}", state.forks.len()));
        state.forks.insert(session_id.clone(), Fork { from: from.clone(), at });
        session_id
    }

    pub(super) fn forks(&self) -> BTreeMap<SessionId, Fork> {
        self.lock().forks.clone()
    }

    /// Where a session's own events begin.
    pub(super) fn first_own_event(&self, session_id: &SessionId) -> u64 {
        self.lock().forks.get(session_id).map_or(0, |fork| fork.at)
    }

    /// The winners that hosts named.
    pub(super) fn winners(&self) -> Vec<(SessionId, String, String)> {
        self.lock().winners.clone()
    }

    pub(super) fn all(&self) -> Vec<SentCommand> {
        self.lock().sent.clone()
    }

    /// Acknowledged commands and retries.
    pub(super) fn totals(&self) -> (u64, u64) {
        let state = self.lock();
        let acknowledged = state.sent.iter().filter(|sent| sent.receipt.is_some()).count();
        (acknowledged as u64, state.retries)
    }

    /// Checks that every acknowledged command is in its journal once, every other one at most once, and each in no other session.
    pub(super) fn check(&self) -> Result<(), Violation> {
        let (sessions, created) = (self.store.sessions(), self.sessions());
        created.iter().try_for_each(|session_id| self.check_creation(session_id))?;
        let mut recorded: BTreeMap<String, Vec<(SessionId, u64, String)>> = BTreeMap::new();
        for session_id in sessions {
            let first = self.first_own_event(&session_id);
            self.store.inspect(&session_id, |events| {
                for event in events.iter().filter(|event| event.seq >= first) {
                    let Some(command) = command_of(event) else { continue };
                    let place = (session_id.clone(), event.seq, command.by.clone());
                    recorded.entry(command.command_id.clone()).or_default().push(place);
                }
            });
        }
        for sent in &self.lock().sent {
            let places = recorded.get(sent.command.id.as_str()).map(Vec::as_slice).unwrap_or_default();
            let what = || format!("{} in {}: {places:?}", sent.command.id, sent.session_id);
            match (places, sent.receipt) {
                ([], None) => {}
                ([], Some(seq)) => {
                    return Err(Violation::CommandLost(format!("{}, acknowledged at {seq}", what())));
                }
                ([(session_id, seq, by)], receipt) => {
                    if *session_id != sent.session_id || *by != sent.by {
                        return Err(Violation::WrongFork(what()));
                    }
                    if receipt.is_some_and(|receipt| receipt != *seq) {
                        return Err(Violation::CommandLost(format!(
                            "{}, acknowledged at {receipt:?}",
                            what()
                        )));
                    }
                }
                _ => return Err(Violation::CommandTwice(what())),
            }
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The name of a client in the journal.
pub(super) fn principal(client: usize) -> String {
    format!("user:{client}")
}

/// The command that an event records.
pub(super) fn command_of(event: &Event) -> Option<&CommandRecord> {
    match &event.event {
        AgentEvent::CommandAccepted(command) => Some(command),
        _ => None,
    }
}

fn places(events: &[Event], id: &str) -> Vec<u64> {
    let recorded =
        events.iter().filter(|event| command_of(event).is_some_and(|known| known.command_id == id));
    recorded.map(|event| event.seq).collect()
}

/// Whether a host may refuse such a command for such a reason.
fn is_expected(problem: &Problem, action: &Action) -> bool {
    let is_answer = matches!(action, Action::Answer { .. });
    match problem.code {
        ProblemCode::NotFound => !problem.message.starts_with("session `"),
        ProblemCode::WrongStatus => true,
        ProblemCode::AlreadyAnswered | ProblemCode::DigestMismatch => is_answer,
        ProblemCode::Invalid => {
            is_answer
                || matches!(
                    action,
                    Action::SetModel { .. }
                        | Action::SetMode { .. }
                        | Action::EditQueue { edit: Edit::Reorder { .. } }
                )
        }
        _ => false,
    }
}
