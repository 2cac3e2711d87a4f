//! Clients of a host: what they do is random, and depends on what they see.
//!
//! Each client of a life does a few things, one after the other, with pauses from milliseconds to minutes. Several clients use the
//! same sessions at the same time. Invariant: what one action draws does not depend on the actions before it, so leaving one out
//! changes no other.

use std::sync::Arc;

use lariat_api::{
    Action, Answer, Ask, AskDigest, AskSubject, CreateSession, Delivery, Edit, PromptContent, SessionView,
};
use lariat_core::budget::{BudgetLimits, BudgetScope};
use lariat_core::event::{AgentEvent, Event};
use lariat_core::id::{MessageId, SessionId};
use lariat_core::permission::PermissionDecision;
use lariat_sessions::Local;
use lariat_test::SeededRandom;
use serde_json::{Value, json};

use super::super::choice::ChoiceKind;
use super::super::violation::Violation;
use super::process::Process;
use super::requests::Connection;
use super::setting::{DIRECTORY, MODELS, MODES};

/// The most actions of a client in one life.
const MOST_ACTIONS: u64 = 8;
/// How many of the newest events a client reads to choose a message.
const NEWEST_EVENTS: u64 = 40;
/// The result of an action.
type Done = Result<(), Violation>;

/// A client in one life.
pub(super) struct Client {
    connection: Connection,
    /// Another client, which may act at the same moment.
    rival: Connection,
    random: SeededRandom,
}

impl Client {
    pub(super) fn new(process: Arc<Process>, host: &Local, number: usize) -> Self {
        let rival = (number + 1) % process.setting.clients.max(1);
        Self {
            connection: Connection::new(&process, host, number),
            rival: Connection::new(&process, host, rival),
            random: process.random.fork(&format!("client {number}")),
        }
    }

    pub(super) async fn act(mut self) -> Done {
        for number in 0..1 + self.random.below(MOST_ACTIONS) {
            let mut random = self.random.fork(&format!("action {number}"));
            let longest = 20 << random.below(13);
            self.process().sleep(random.below(longest)).await;
            let roll = random.below(100);
            if self.process().watch.has_violation() {
                return Ok(());
            }
            if self.disturb(kind_of(roll)) {
                self.act_once(roll, &mut random).await?;
            }
        }
        Ok(())
    }

    fn process(&self) -> &Process {
        &self.connection.process
    }

    fn disturb(&self, kind: ChoiceKind) -> bool {
        self.process().watch.choices.disturb(kind)
    }

    async fn act_once(&self, roll: u64, random: &mut SeededRandom) -> Done {
        let sessions = self.process().commands.sessions();
        let Some(session_id) = random.pick(&sessions) else { return self.create(random).await };
        match roll {
            0..=3 => self.create(random).await,
            4..=7 => self.fork(session_id, random).await,
            8..=9 => self.connection.list().await,
            10..=17 => self.repeat(random).await,
            18..=44 => self.prompt(session_id, random).await,
            45..=60 => self.answer(session_id, random).await,
            61..=72 => self.edit_queue(session_id, random).await,
            73..=77 => self.send(session_id, Action::Interrupt).await,
            78..=84 => self.rewind(session_id, random).await,
            85..=88 => self.compact(session_id, random).await,
            89..=90 => {
                let (scope, turns) = (BudgetScope::Run, 1 + random.below(4));
                let limits = BudgetLimits::none().with_turns(turns).with_tokens(2_000);
                self.send(session_id, Action::ExtendBudget { scope, limits }).await
            }
            91..=92 => {
                let number = random.below(1_000);
                let title = Some(format!("title {number}"));
                self.send(session_id, Action::Describe { title, tags: Some(vec![number.to_string()]) }).await
            }
            93..=95 => {
                let mode = random.pick(&MODES).map_or("nonsense", |mode| *mode);
                let mode = if random.chance(10) { "nonsense" } else { mode };
                self.send(session_id, Action::SetMode { mode: mode.to_owned() }).await
            }
            96..=97 => {
                let model = random.pick(&MODELS).map_or("nonsense", |model| *model);
                let model = if random.chance(10) { "nonsense" } else { model };
                self.send(session_id, Action::SetModel { model: model.to_owned(), effort: None }).await
            }
            98 => self.send(session_id, Action::Continue).await,
            _ => self.send(session_id, Action::Close).await,
        }
    }

    async fn send(&self, session_id: &SessionId, action: Action) -> Done {
        self.connection.send(session_id, action).await.map(drop)
    }

    async fn create(&self, random: &mut SeededRandom) -> Done {
        let ids = self.process().setting.session_ids();
        let Some(session_id) = random.pick(&ids) else { return Ok(()) };
        let request = self.process().setting.creation(session_id);
        if random.chance(20) && self.disturb(ChoiceKind::Retry) {
            // A client that loses its connection asks again, while the host still works on its request.
            let both = futures_util::future::join(
                self.connection.create(request.clone()),
                self.rival.create(request),
            );
            let (one, other) = both.await;
            return one.and(other).map(drop);
        }
        self.connection.create(request).await.map(drop)
    }

    /// Forks a session at some event, or asks again for a fork.
    async fn fork(&self, session_id: &SessionId, random: &mut SeededRandom) -> Done {
        let forks = self.process().commands.forks();
        let (is_new, beyond) = (random.chance(70), random.below(3));
        if is_new && forks.len() < self.process().setting.most_forks {
            let Some(view) = self.connection.view(session_id).await? else { return Ok(()) };
            let at = 1 + random.below(view.seq + beyond);
            let fork = self.process().commands.add_fork(session_id, at);
            return self.connection.create(fork_request(&fork, session_id, at)).await.map(drop);
        }
        let ids: Vec<&SessionId> = forks.keys().collect();
        let Some(id) = random.pick(&ids) else { return Ok(()) };
        match forks.get(*id) {
            Some(fork) => self.connection.create(fork_request(id, &fork.from, fork.at)).await.map(drop),
            None => Ok(()),
        }
    }

    /// Sends an earlier command again, sometimes twice at the same time, or another one under its id.
    async fn repeat(&self, random: &mut SeededRandom) -> Done {
        let numbers = self.process().commands.repeatable();
        let Some(number) = random.pick(&numbers).copied() else { return Ok(()) };
        let (is_other, is_double) = (random.chance(25), random.chance(30));
        let Some(sent) = self.process().commands.get(number) else { return Ok(()) };
        if is_other && sent.receipt.is_some() {
            let action = Action::Describe { title: Some("another command".to_owned()), tags: None };
            return self.connection.send_other(&sent.session_id, &sent.command.id, action).await;
        }
        if is_double {
            let both =
                futures_util::future::join(self.connection.send_again(number), self.rival.send_again(number));
            let (one, other) = both.await;
            return one.and(other).map(drop);
        }
        self.connection.send_again(number).await.map(drop)
    }

    async fn prompt(&self, session_id: &SessionId, random: &mut SeededRandom) -> Done {
        let delivery = match random.below(100) {
            0..=29 => Delivery::Steer,
            30..=69 => Delivery::Queue,
            70..=84 => Delivery::Interrupt,
            _ => Delivery::Reject,
        };
        let content = self.text(random);
        self.send(session_id, Action::Prompt { content, delivery }).await
    }

    /// A text that occurs nowhere else.
    fn text(&self, random: &mut SeededRandom) -> PromptContent {
        let (life, number) = (random.bits() % 10_000, self.process().commands.next_number());
        PromptContent::text(format!("[p{number}-{life}]"))
    }

    async fn answer(&self, session_id: &SessionId, random: &mut SeededRandom) -> Done {
        let Some(view) = self.connection.view(session_id).await? else { return Ok(()) };
        let Some(ask) = random.pick(&view.asks).cloned() else {
            return self.answer_again(session_id, random).await;
        };
        if !self.disturb(ChoiceKind::Answer) {
            return Ok(());
        }
        let (is_wrong, is_race) = (random.chance(8), random.chance(30));
        if is_wrong {
            let mut other = ask.clone();
            other.digest = AskDigest::new("of something else");
            let reply = self.connection.send(session_id, answer_to(&other, random)).await?;
            return match reply {
                Ok(_) => Err(Violation::WrongAnswer(format!("{} has another digest", ask.id))),
                Err(_) => Ok(()),
            };
        }
        let first = self.connection.send(session_id, answer_to(&ask, random));
        if !is_race {
            return first.await.map(drop);
        }
        let second = self.rival.send(session_id, answer_to(&ask, random));
        let (first, second) = futures_util::future::join(first, second).await;
        first.and(second).map(drop)
    }

    /// Answers a question that has an answer.
    async fn answer_again(&self, session_id: &SessionId, random: &mut SeededRandom) -> Done {
        let answered = self.process().commands.all().into_iter().rev();
        let answered = answered.filter(|sent| sent.session_id == *session_id && sent.receipt.is_some());
        let mut actions = answered.filter_map(|sent| match sent.command.action {
            Action::Answer { ask_id, digest, .. } => Some((ask_id, digest)),
            _ => None,
        });
        let Some((ask_id, digest)) = actions.next() else { return Ok(()) };
        let decision =
            if random.chance(50) { PermissionDecision::Allow } else { PermissionDecision::deny("late") };
        let action = Action::Answer { ask_id, digest, answer: Answer::Approval { decision } };
        self.send(session_id, action).await
    }

    async fn edit_queue(&self, session_id: &SessionId, random: &mut SeededRandom) -> Done {
        let Some(view) = self.connection.view(session_id).await? else { return Ok(()) };
        let Some(first) = random.pick(&view.queue) else {
            return self.prompt(session_id, random).await;
        };
        let message_id = first.message_id;
        match random.below(100) {
            0..=19 => self.send(session_id, Action::EditQueue { edit: Edit::Remove { message_id } }).await,
            20..=39 => {
                let content = self.text(random);
                self.send(session_id, Action::EditQueue { edit: Edit::Replace { message_id, content } }).await
            }
            40..=79 => self.reorder(session_id, &view, random).await,
            _ => self.send(session_id, Action::EditQueue { edit: Edit::Resume }).await,
        }
    }

    async fn reorder(&self, session_id: &SessionId, view: &SessionView, random: &mut SeededRandom) -> Done {
        let mut queue = view.queue.clone();
        for at in (1..queue.len()).rev() {
            queue.swap(at, random.index(at + 1));
        }
        let text = |message: &lariat_api::QueuedMessage| {
            (message.delivery, lariat_core::content::joined_text(&message.content.0))
        };
        // Steering messages come first, whatever the order says.
        let (steering, others): (Vec<_>, Vec<_>) =
            queue.iter().map(text).partition(|(delivery, _)| *delivery == Delivery::Steer);
        let order = steering.into_iter().chain(others).map(|(_, text)| text).collect();
        let message_ids: Vec<MessageId> = queue.iter().map(|message| message.message_id).collect();
        let action = Action::EditQueue { edit: Edit::Reorder { message_ids } };
        let (commands, client) = (&self.process().commands, self.connection.client);
        let number = commands.add(session_id, client, action, order);
        self.connection.send_again(number).await.map(drop)
    }

    /// Goes back to a message that is or was part of the conversation.
    async fn rewind(&self, session_id: &SessionId, random: &mut SeededRandom) -> Done {
        let Some(events) = self.connection.newest_events(session_id, NEWEST_EVENTS).await? else {
            return Ok(());
        };
        let messages: Vec<MessageId> = events.iter().filter_map(message_of).collect();
        let is_start = random.chance(10);
        let to = random.pick(&messages).copied().filter(|_| !is_start);
        self.send(session_id, Action::Rewind { to }).await
    }

    async fn compact(&self, session_id: &SessionId, random: &mut SeededRandom) -> Done {
        let Some(events) = self.connection.newest_events(session_id, NEWEST_EVENTS).await? else {
            return Ok(());
        };
        let is_compaction = |event: &&Event| matches!(event.event, AgentEvent::Compaction { .. });
        match events.iter().rev().find(is_compaction).filter(|_| random.chance(60)) {
            Some(event) => self.send(session_id, Action::UndoCompaction { compaction: event.id }).await,
            None => self.send(session_id, Action::Compact { focus: None }).await,
        }
    }
}

/// What an action disturbs.
const fn kind_of(roll: u64) -> ChoiceKind {
    match roll {
        10..=17 => ChoiceKind::Retry,
        18..=44 => ChoiceKind::Message,
        73..=77 => ChoiceKind::Cancel,
        _ => ChoiceKind::Command,
    }
}

/// The request for a fork: always the same for the same fork.
pub(super) fn fork_request(fork: &SessionId, from: &SessionId, at: u64) -> CreateSession {
    let mut request = CreateSession::new(fork.clone(), DIRECTORY);
    request.fork = Some((from.clone(), Some(at)));
    request.title = Some(format!("fork of {from}"));
    request
}

/// The message that an event added to the conversation.
fn message_of(event: &Event) -> Option<MessageId> {
    match &event.event {
        AgentEvent::MessageEnd { message } => Some(message.id()),
        _ => None,
    }
}

/// An answer to a question.
pub(super) fn answer_to(ask: &Ask, random: &mut SeededRandom) -> Action {
    let (roll, half) = (random.below(100), random.chance(50));
    let answer = match &ask.subject {
        _ if roll >= 90 => Answer::Decline { reason: None },
        AskSubject::Approval { .. } => {
            let decision = match roll {
                0..=49 => PermissionDecision::Allow,
                50..=64 => PermissionDecision::allow_changed(json!({"changed": roll})),
                _ => PermissionDecision::deny("no"),
            };
            Answer::Approval { decision }
        }
        AskSubject::Plan { changes } => {
            let split = if half { changes.len() } else { random.index(changes.len() + 1) };
            let (approved, rejected) = changes.split_at_checked(split).unwrap_or((changes.as_slice(), &[]));
            Answer::Plan { approved: approved.to_vec(), rejected: rejected.to_vec() }
        }
        AskSubject::Budget { request } => Answer::Budget { limits: request.proposed },
        _ => Answer::Value { value: Value::from("left") },
    };
    Action::Answer { ask_id: ask.id.clone(), digest: ask.digest.clone(), answer }
}
