//! Plays the steps of a script on a [`Stage`].

use futures_util::StreamExt as _;
use lariat_api::{
    Action, Answer, Ask, AskDigest, CheckpointParts, Delivery, Edit, LogItem, Problem, ProblemCode,
    PromptContent, SessionView,
};
use lariat_core::permission::PermissionDecision;
use serde_json::{Map, json};
use tokio::time::{Instant, sleep, timeout};

use super::fold::{accepted_command, approval_call, queue_keys};
use super::script::{ApprovalChoice, CommandEnd, Condition, Point, QueueEdit, ScriptClient, Step};
use super::stage::{A_WHILE, PATIENCE, POLL, Stage, retrying};
use super::watch::LiveText;

impl Step {
    /// Whether the step sends a command that the host acknowledges.
    pub(super) const fn is_command(&self) -> bool {
        matches!(
            self,
            Self::Prompt(..)
                | Self::Continue(_)
                | Self::Interrupt(_)
                | Self::Close(_)
                | Self::Title(..)
                | Self::OtherMode(_)
                | Self::OtherModel(_)
                | Self::Edit(..)
                | Self::Answer(..)
                | Self::Checkpoint(..)
                | Self::Restore(..)
                | Self::Shell(..)
        )
    }
}

impl Stage {
    /// Plays one step.
    pub(super) async fn play(&mut self, step: &Step) -> Result<(), String> {
        match step {
            Step::Plan(key, turns) => self.plan(key, turns),
            Step::Release(gate) => self.fixture.model().release(&self.name(gate)),
            Step::Prompt(client, name, delivery) => {
                let action = self.prompt_action(name, *delivery);
                self.accept(*client, action).await?;
            }
            Step::RefusedPrompt(client, name, delivery, code) => {
                let action = self.prompt_action(name, *delivery);
                self.refuse(*client, action, std::slice::from_ref(code)).await?;
            }
            Step::Continue(client) => self.accept(*client, Action::Continue).await?,
            Step::Interrupt(client) => self.accept(*client, Action::Interrupt).await?,
            Step::Close(client) => self.accept(*client, Action::Close).await?,
            Step::Title(client, title) => {
                let action = Action::Describe { title: Some((*title).to_owned()), tags: None };
                self.accept(*client, action).await?;
            }
            Step::OtherMode(client) => {
                let mode = self.fixture.other_mode();
                self.accept(*client, Action::SetMode { mode }).await?;
            }
            Step::OtherModel(client) => {
                let model = self.fixture.other_model();
                self.accept(*client, Action::SetModel { model, effort: None }).await?;
            }
            Step::UnknownAction(client) => {
                self.refuse(*client, unknown_action(), &[ProblemCode::Unsupported]).await?;
            }
            Step::Edit(client, edit) => {
                let edit = self.edit(edit).await?;
                self.accept(*client, Action::EditQueue { edit }).await?;
            }
            Step::Checkpoint(client, label) => {
                self.accept(*client, Action::Checkpoint { label: (*label).to_owned() }).await?;
            }
            Step::Restore(client, point, parts) => {
                let action = self.restore_action(*point, *parts).await?;
                self.accept(*client, action).await?;
            }
            Step::RefusedRestore(client, point, parts, code) => {
                let action = self.restore_action(*point, *parts).await?;
                self.refuse(*client, action, std::slice::from_ref(code)).await?;
            }
            Step::InterruptedRestore(client, point, parts) => {
                let action = self.restore_action(*point, *parts).await?;
                self.interrupted_restore(*client, action).await?;
            }
            Step::Shell(client, name) => {
                let command = self.name(name);
                self.accept(*client, Action::Shell { command }).await?;
            }
            Step::RefusedShell(client, name, code) => {
                let command = self.name(name);
                self.refuse(*client, Action::Shell { command }, std::slice::from_ref(code)).await?;
            }
            Step::Answer(client, choice) => {
                let ask = self.view().await?.asks.into_iter().next().ok_or("no ask waits")?;
                self.accept(*client, answer(&ask, *choice)).await?;
            }
            Step::LateAnswer(client, choice) => self.late_answer(*client, *choice).await?,
            Step::VoidAnswer(client, codes) => {
                let ask = self.last_ask.clone().ok_or("there was no ask")?;
                self.refuse(*client, answer(&ask, ApprovalChoice::Allow), codes).await?;
            }
            Step::WrongDigest(client) => {
                let mut ask = self.view().await?.asks.into_iter().next().ok_or("no ask waits")?;
                ask.digest = AskDigest::new("of something else");
                self.refuse(*client, answer(&ask, ApprovalChoice::Allow), &[ProblemCode::DigestMismatch])
                    .await?;
            }
            Step::Await(condition) => self.wait_for(condition).await?,
            Step::Stays(condition) => self.stays(condition).await?,
            Step::SameRun(first, second) => {
                let [first, second] = self.runs([first, second]).await?;
                if first != second {
                    return Err(format!("delivered in the runs {first} and {second}"));
                }
            }
            Step::EarlierRun(first, second) => {
                let [first, second] = self.runs([first, second]).await?;
                if first == second {
                    return Err(format!("both delivered in the run {first}"));
                }
            }
            Step::Crash => self.crash().await?,
            Step::Revive => self.revive().await?,
            Step::Detach => self.detach().await,
            Step::Attach => self.attach().await?,
            Step::OpenSlowLive => {
                let live = retrying(self.faults, || self.host.live(&self.session)).await;
                let live = live.map_err(|problem| format!("live: {problem}"))?;
                drop(self.set_slow(Some(live)));
            }
            Step::ReadSlowLive(key) => self.read_slow_live(key).await?,
        }
        Ok(())
    }

    fn prompt_action(&self, name: &str, delivery: Delivery) -> Action {
        Action::Prompt { content: PromptContent::text(self.prompt(name)), delivery }
    }

    async fn restore_action(&self, point: Point, parts: CheckpointParts) -> Result<Action, String> {
        let to = match point {
            Point::Checkpoint(label) => return Ok(Action::Restore { label: label.to_owned(), parts }),
            Point::Start => None,
            Point::ReplyTo(name) => {
                let key = self.key(name);
                let fold = self.fold().await;
                Some(*fold.last_messages.get(&key).ok_or(format!("{key} was not delivered"))?)
            }
            Point::UnknownMessage => {
                let id = json!("00000000-0000-4000-8000-00000000dead");
                Some(serde_json::from_value(id).map_err(|error| error.to_string())?)
            }
        };
        Ok(Action::RestoreTo { to, parts })
    }

    /// The client that got no reply sends the same command again.
    async fn interrupted_restore(&mut self, client: ScriptClient, action: Action) -> Result<(), String> {
        let command = self.command(client, action);
        let (host, session, lost) = (self.host.clone(), self.session.clone(), command.clone());
        let faults = self.faults;
        let lost = tokio::spawn(async move { retrying(faults, || host.send(&session, lost.clone())).await });
        self.wait_for(&Condition::Restoring).await?;
        lost.abort();
        self.crash().await?;
        match self.send_command(command).await? {
            Ok(_) => Ok(()),
            Err(problem) => Err(format!("the host refused the restore that it had recorded: {problem:?}")),
        }
    }

    /// Sends a command that must be refused with one of these codes.
    pub(super) async fn refuse(
        &mut self,
        client: ScriptClient,
        action: Action,
        codes: &[ProblemCode],
    ) -> Result<Problem, String> {
        let name = format!("{action:?}");
        match self.send(client, action).await? {
            Err(problem) if codes.contains(&problem.code) => Ok(problem),
            other => Err(format!("expected {codes:?} for {name}, got {other:?}")),
        }
    }

    /// The problem names who answered first.
    async fn late_answer(&mut self, client: ScriptClient, choice: ApprovalChoice) -> Result<(), String> {
        let ask = self.last_ask.clone().ok_or("there was no ask")?;
        let problem = self.refuse(client, answer(&ask, choice), &[ProblemCode::AlreadyAnswered]).await?;
        let winner = self.acknowledged.iter().find(
            |(command, _)| matches!(&command.action, Action::Answer { ask_id, .. } if *ask_id == ask.id),
        );
        let winner = winner.ok_or("no client answered before")?.0.id.clone();
        let journal = self.journal().await;
        let by = journal.iter().filter_map(accepted_command).find(|by| by.command_id == winner.as_str());
        let by = by.ok_or("the answer that won is not recorded")?.by.clone();
        if by.is_empty() || !problem.message.contains(&by) {
            return Err(format!("`{}` does not name the winner `{by}`", problem.message));
        }
        Ok(())
    }

    async fn edit(&mut self, edit: &QueueEdit) -> Result<Edit, String> {
        let view = self.view().await?;
        let keys = queue_keys(&view);
        let id = |name: &str| {
            let key = self.key(name);
            let place = keys.iter().position(|waiting| *waiting == key);
            let message = place.and_then(|place| view.queue.get(place));
            message.map(|message| message.message_id).ok_or(format!("{key} does not wait"))
        };
        Ok(match edit {
            QueueEdit::Replace(old, new) => {
                let content = PromptContent::text(self.prompt(new));
                Edit::Replace { message_id: id(old)?, content }
            }
            QueueEdit::Remove(name) => Edit::Remove { message_id: id(name)? },
            QueueEdit::Reorder(names) => {
                Edit::Reorder { message_ids: names.iter().map(|name| id(name)).collect::<Result<_, _>>()? }
            }
            QueueEdit::Resume => Edit::Resume,
        })
    }

    pub(super) async fn wait_for(&mut self, condition: &Condition) -> Result<(), String> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let view = self.view().await?;
            let state = self.state(condition, &view).await;
            match state {
                Ok(()) => return Ok(()),
                Err(state) if Instant::now() > deadline => {
                    return Err(format!("waited for {condition:?}; there is {state}"));
                }
                Err(_) => {
                    self.recover(&view).await?;
                    sleep(POLL).await;
                }
            }
        }
    }

    async fn stays(&mut self, condition: &Condition) -> Result<(), String> {
        self.wait_for(condition).await?;
        let end = Instant::now() + A_WHILE;
        while Instant::now() < end {
            let view = self.view().await?;
            if let Err(state) = self.state(condition, &view).await
                && !self.recover(&view).await?
            {
                let status = view.status;
                return Err(format!("{condition:?} did not stay so; there is {state}, status {status:?}"));
            }
            sleep(POLL).await;
        }
        Ok(())
    }

    /// Whether the condition is true; if not, what is.
    async fn state(&self, condition: &Condition, view: &SessionView) -> Result<(), String> {
        let check = |is_true: bool, state: String| if is_true { Ok(()) } else { Err(state) };
        match condition {
            Condition::Status(status) => check(view.status == *status, format!("{:?}", view.status)),
            Condition::Asks(marks) => {
                let marks: Vec<String> = marks.iter().map(|mark| self.name(mark)).collect();
                let calls = view.asks.iter().filter_map(|ask| approval_call(&ask.subject));
                let calls: Vec<String> = calls.map(ToString::to_string).collect();
                check(calls == marks, format!("{calls:?}"))
            }
            Condition::Queue(names) => {
                let names: Vec<String> = names.iter().map(|name| self.key(name)).collect();
                let keys = queue_keys(view);
                check(keys == names, format!("{keys:?}"))
            }
            Condition::Paused(paused) => {
                check(view.is_queue_paused == *paused, view.is_queue_paused.to_string())
            }
            Condition::Outcome(kind) => {
                let outcome = serde_json::to_value(&view.outcome).unwrap_or_default();
                check(
                    outcome.get("kind") == Some(&serde_json::Value::from(*kind)),
                    format!("{outcome}, status {:?}", view.status),
                )
            }
            Condition::Title(title) => {
                check(view.title.as_deref() == Some(*title), format!("{:?}", view.title))
            }
            Condition::Mode => check(view.mode == self.fixture.other_mode(), view.mode.clone()),
            Condition::Model => check(view.model.name == self.fixture.other_model(), view.model.name.clone()),
            Condition::Delivered(names) => {
                let fold = self.fold().await;
                let keys: Vec<&str> =
                    fold.conversation.iter().map(|delivered| delivered.key.as_str()).collect();
                let state = format!("{keys:?}, status {:?}, queue {:?}", view.status, queue_keys(view));
                check(fold.has_delivered(names.iter().map(|name| self.key(name))), state)
            }
            Condition::Marked(mark) => {
                let marks = self.fixture.files().marks();
                check(marks.contains(&self.name(mark)), format!("no such mark, status {:?}", view.status))
            }
            Condition::Files(names) => {
                let names: Vec<String> = names.iter().map(|name| self.name(name)).collect();
                let present = self.own_changes().into_iter().filter(|change| !change.is_undone);
                let present: Vec<String> = present.map(|change| change.mark).collect();
                check(present == names, format!("{present:?}"))
            }
            Condition::Request(names) => {
                let names: Vec<String> = names.iter().map(|name| self.key(name)).collect();
                let request = self.fixture.model().newest_request();
                check(request == names, format!("{request:?}"))
            }
            Condition::Restoring => {
                check(self.fold().await.has_open_restore, format!("no restore, status {:?}", view.status))
            }
            Condition::Ended(name, end) => {
                let (command, fold) = (self.name(name), self.fold().await);
                let ended = fold.shells.iter().find(|shell| shell.command == command);
                let ended = ended.and_then(|shell| shell.ends.first());
                let seen = ended.map(|result| match result.problem {
                    None => CommandEnd::ByItself,
                    Some(_) => CommandEnd::Early,
                });
                check(seen == Some(*end), format!("{ended:?}"))
            }
        }
    }

    /// The runs in which two prompts were delivered.
    async fn runs(&self, names: [&str; 2]) -> Result<[String; 2], String> {
        let fold = self.fold().await;
        let [first, second] = names;
        Ok([fold.run_of(&self.key(first))?, fold.run_of(&self.key(second))?])
    }

    /// Reads the channel until it is silent, and compares it with the log.
    async fn read_slow_live(&mut self, key: &str) -> Result<(), String> {
        self.fixture.heal();
        let mut stream = self.set_slow(None).ok_or("no live channel is open")?;
        let mut live = LiveText::new(self.faults);
        while let Ok(Some(item)) = timeout(A_WHILE, stream.next()).await {
            live.receive(item.map_err(|problem| format!("live: {problem}"))?);
        }
        let request = lariat_api::LogRequest::default();
        let log = self.host.log(&self.session, request).await.map_err(|problem| format!("log: {problem}"))?;
        let items: Vec<_> = log.collect().await;
        let journal: Vec<_> = items
            .into_iter()
            .filter_map(|item| match item {
                Ok(LogItem::Event { event, .. }) => Some(event),
                _ => None,
            })
            .collect();
        live.check(&journal)?;
        let replies = journal.iter().filter_map(|event| match &event.event {
            lariat_core::event::AgentEvent::MessageEnd { message } => message.shared(),
            _ => None,
        });
        let text = replies.filter_map(|m| m.as_assistant()).next_back();
        let text = text.map(|m| lariat_core::content::joined_text(&m.content)).unwrap_or_default();
        if live.has_missed() || live.has_text(&text) {
            return Ok(());
        }
        Err(format!("the slow reader missed the reply to {key} and got no `Resync`"))
    }
}

/// An action that no host knows.
pub(super) fn unknown_action() -> Action {
    let mut fields = Map::new();
    fields.insert("type".to_owned(), json!("actionOfANewerVersion"));
    fields.insert("amount".to_owned(), json!(3));
    Action::Other(fields)
}

fn answer(ask: &Ask, choice: ApprovalChoice) -> Action {
    let decision = match choice {
        ApprovalChoice::Allow => PermissionDecision::Allow,
        ApprovalChoice::Deny => PermissionDecision::deny("not now"),
    };
    let answer = Answer::Approval { decision };
    Action::Answer { ask_id: ask.id.clone(), digest: ask.digest.clone(), answer }
}
