//! Carries out the steps of a race, and records each.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::stream::{FuturesUnordered, StreamExt as _};
use lariat_core::event::{AgentEvent, Description, UserCommandResult};
use lariat_core::id::SessionId;
use lariat_host::git::{GitError, TreeDiff};
use lariat_runtime::CommandEffect;
use lariat_runtime::trace::{AttributeValue, genai};

use super::RACE_TAG;
use super::copies::Copies;
use super::judge::{self, Judgement};
use super::plan::RacePlan;
use super::record::{BranchEnd, RaceEvent, RaceRecord, RaceSelection};
use super::settings::{RaceJudge, branch_name};
use super::work::{Branch, BranchProgress};
use crate::actor_critic::{export_workflow, remove_leftovers};
use crate::{ServiceError, Session, clock};

/// A race that runs in this process, or that ended and whose branches can be shown and taken.
pub struct RaceRun {
    plan: RacePlan,
    session: Session,
    copies: Copies,
}

/// A branch whose changes were applied.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TakenBranch {
    /// The files that it changed.
    pub files: Vec<String>,
    /// Whether `lariat undo` can undo it.
    pub can_be_undone: bool,
}

impl RaceRun {
    /// Starts a race in its session, or continues it. A new race saves the state of the files and records its start.
    ///
    /// # Errors
    /// If git is not installed or cannot read the directory, or the journal cannot be written.
    pub async fn start(plan: RacePlan, session: Session) -> Result<Self, ServiceError> {
        let copies = Copies::open(&plan, &session.id()).await?;
        let mut run = Self { plan, session, copies };
        if run.plan.record.settings.is_some() {
            return Ok(run);
        }
        remove_leftovers(&run.plan.service).await;
        let snapshot = run.copies.snapshots.take().await.map_err(failed)?;
        let mut description = Description::default();
        description.cwd = Some(run.plan.place.path().display().to_string());
        description.tags = Some(vec![RACE_TAG.to_owned()]);
        let tag = AgentEvent::SessionDescribed(Box::new(description));
        let settings = Box::new(run.plan.settings.clone());
        run.record_step(RaceEvent::Started { settings, snapshot }, vec![tag]).await?;
        Ok(run)
    }

    /// The id of the session.
    pub fn session_id(&self) -> SessionId {
        self.session.id()
    }

    /// The race as it is recorded.
    pub const fn record(&self) -> &RaceRecord {
        &self.plan.record
    }

    /// Notes for the user, each once.
    pub fn take_notices(&mut self) -> Vec<String> {
        std::mem::take(&mut self.plan.notices)
    }

    /// Runs the hooks for the end of the session, and releases it.
    pub async fn close(&self) {
        self.session.close().await;
    }

    /// Lets all branches that did not end work at the same time, and records the end of each. Dropping the future stops them;
    /// a resumed race continues them.
    ///
    /// # Errors
    /// If the journal cannot be written. A branch that fails is a result.
    pub async fn work(
        &mut self,
        report: &(dyn Fn(usize, BranchProgress) + Send + Sync),
    ) -> Result<(), ServiceError> {
        let race = self.session.id();
        let ended = self.plan.record.branches.clone();
        let open = |position: &usize| !ended.contains_key(&branch_name(*position));
        let positions: Vec<usize> = (0..self.plan.settings.branches.len()).filter(open).collect();
        let mut new_ends: Vec<BranchEnd> = Vec::new();
        {
            let (plan, copies, session) = (&self.plan, &self.copies, &self.session);
            let mut working: FuturesUnordered<_> = positions
                .iter()
                .filter_map(|position| Some((*position, plan.settings.branches.get(*position)?)))
                .map(|(position, agent)| {
                    let branch = Branch { plan, copies, race: &race, position, agent, report };
                    async move { (position, branch.work().await) }
                })
                .collect();
            while let Some((position, end)) = working.next().await {
                let step = RaceEvent::BranchEnded(Box::new(end.clone()));
                write(session, &step, Vec::new()).await?;
                // Its changes are in a snapshot, so the copy is not needed any more.
                copies.remove(position)?;
                new_ends.push(end);
            }
        }
        for end in new_ends {
            self.plan.record.apply(RaceEvent::BranchEnded(Box::new(end)));
        }
        self.copies.remove_all()
    }

    /// Selects a branch among those that completed and passed the check, and records it.
    ///
    /// # Errors
    /// If the model of the judge fails, or the journal cannot be written.
    pub async fn select(&mut self) -> Result<RaceSelection, ServiceError> {
        if let Some(selection) = &self.plan.record.selection {
            return Ok(selection.clone());
        }
        let selection = self.choose().await?;
        self.record_step(RaceEvent::Selected(selection.clone()), Vec::new()).await?;
        let (RacePlan { service, place, record, .. }, id) = (&self.plan, self.session.id());
        let outcome = if selection.branch.is_some() { "selected" } else { "none_selected" };
        let attributes = vec![
            (genai::OUTCOME, outcome.into()),
            (genai::COST_USD, AttributeValue::Number(record.cost().as_usd())),
        ];
        export_workflow(service, place, &id, "race", attributes).await;
        Ok(selection)
    }

    async fn choose(&self) -> Result<RaceSelection, ServiceError> {
        let selected = |branch: Option<&str>, reason: String| RaceSelection {
            branch: branch.map(str::to_owned),
            reason,
            cost: lariat_core::usage::Cost::default(),
        };
        let settings = &self.plan.settings;
        // A branch that changed nothing is a solution only if no branch changed anything.
        let all = self.plan.record.candidates();
        let changed: Vec<&BranchEnd> = all.iter().copied().filter(|end| end.files > 0).collect();
        let candidates = if changed.is_empty() { all } else { changed };
        let (first, rest) = match candidates.as_slice() {
            [] => {
                let what =
                    if settings.check.is_some() { "completed and passed the check" } else { "completed" };
                return Ok(selected(None, format!("no branch {what}")));
            }
            [first, rest @ ..] => (first, rest),
        };
        if rest.is_empty() {
            let what = if settings.check.is_some() { "passed the check" } else { "completed with changes" };
            return Ok(selected(Some(&first.name), format!("it is the only branch that {what}")));
        }
        match &settings.judge {
            RaceJudge::SmallestDiff => {
                let smallest = rest.iter().fold(*first, |best, end| {
                    if (end.lines(), end.files) < (best.lines(), best.files) { end } else { best }
                });
                let reason = "it has the smallest difference of those that passed the check".to_owned();
                Ok(selected(Some(&smallest.name), reason))
            }
            RaceJudge::Model(model) => {
                let mut branches = Vec::new();
                for end in candidates {
                    branches.push((end, self.diff(&end.name).await?.patch));
                }
                let race = self.session.id();
                let judging = judge::judge(&self.plan, &race, model.as_deref(), &branches);
                let Judgement { selected: judged, cost } = Box::pin(judging).await?;
                let (branch, reason) = match judged {
                    Ok((branch, reason)) => (Some(branch), reason),
                    Err(reason) => (None, reason),
                };
                Ok(RaceSelection { branch, reason, cost })
            }
        }
    }

    /// The changes of a branch that ended.
    ///
    /// # Errors
    /// If the race has no ended branch of this name, or its files were not saved.
    pub async fn diff(&self, branch: &str) -> Result<TreeDiff, ServiceError> {
        let snapshot = self.snapshot(branch)?;
        self.copies.snapshots.diff(&self.plan.record.snapshot, snapshot).await.map_err(failed)
    }

    /// Applies the changes of a branch to the directory, in place of those of the branch that was applied before. It is one step
    /// for undo. Changes to other files stay.
    ///
    /// # Errors
    /// [`ServiceError::RaceConflict`] if files that the branch changed were changed in the directory, too. Then nothing is
    /// applied.
    pub async fn take(&mut self, branch: &str) -> Result<TakenBranch, ServiceError> {
        let to = self.snapshot(branch)?.to_owned();
        self.put_back().await?;
        let from = self.base(&to).await?;
        let files = self.copies.snapshots.changed_files(&from, &to).await.map_err(failed)?;
        let command_id = format!("race-{branch}-{}", clock::now().as_millis());
        let command = format!("lariat race take {} {branch}", self.session.id());
        let started = AgentEvent::UserCommandStarted { command_id: command_id.clone(), command };
        let call: Arc<str> = started.change_id().unwrap_or_else(|| command_id.clone()).into();
        let step = RaceEvent::TakeStarted { branch: branch.to_owned(), from: from.clone() };
        self.record_step(step, vec![started]).await?;
        let undo = self.plan.service.undo(&self.plan.place, &self.session.id())?;
        if let Some(undo) = &undo {
            let (undo, call) = (undo.clone(), Arc::clone(&call));
            blocking(move || undo.begin_call(&call).map(drop)).await??;
        }
        let applied = self.apply(&from, &to).await;
        if let Some(undo) = &undo {
            let (undo, call) = (undo.clone(), Arc::clone(&call));
            blocking(move || drop(undo.end_call(&call))).await?;
        }
        let mut result = UserCommandResult::new(&command_id);
        match &applied {
            Ok(()) => result.exit_code = Some(0),
            Err(error) => result.problem = Some(error.to_string()),
        }
        let ended = AgentEvent::UserCommandEnded(Box::new(result));
        if let Err(error) = applied {
            self.session.agent.record_effects(vec![CommandEffect::note(ended)]).await?;
            return Err(error);
        }
        self.record_step(RaceEvent::Taken { branch: branch.to_owned() }, vec![ended]).await?;
        Ok(TakenBranch { files, can_be_undone: undo.is_some() })
    }

    /// Reverts the part of a branch that an interrupted application has written. So the next one is a whole step for undo, also
    /// if it applies another branch.
    async fn put_back(&self) -> Result<(), ServiceError> {
        let Some(unfinished) = &self.plan.record.unfinished else { return Ok(()) };
        self.apply(self.snapshot(&unfinished.branch)?, &unfinished.from).await
    }

    async fn apply(&self, from: &str, to: &str) -> Result<(), ServiceError> {
        self.copies.snapshots.apply(from, to).await.map_err(|error| match error {
            GitError::Conflict(files) => ServiceError::RaceConflict(files),
            error => failed(error),
        })
    }

    /// The state from which the directory can go to another one without losing changes: that of the branch applied last, or
    /// that before the race if the user undid it.
    async fn base(&self, to: &str) -> Result<String, ServiceError> {
        let snapshots = &self.copies.snapshots;
        let now = snapshots.take().await.map_err(failed)?;
        let taken = self.plan.record.taken.as_deref().and_then(|name| self.snapshot(name).ok());
        // The user may have undone the branch that is to be applied again.
        let taken = taken.filter(|taken| *taken != to);
        let mut least: Option<Vec<String>> = None;
        for from in taken.into_iter().chain([self.plan.record.snapshot.as_str()]) {
            let conflicts = snapshots.conflicts(from, to, &now).await.map_err(failed)?;
            if conflicts.is_empty() {
                return Ok(from.to_owned());
            }
            least = least.filter(|least| least.len() <= conflicts.len()).or(Some(conflicts));
        }
        Err(ServiceError::RaceConflict(least.unwrap_or_default()))
    }

    fn snapshot(&self, branch: &str) -> Result<&str, ServiceError> {
        let branches: &BTreeMap<String, BranchEnd> = &self.plan.record.branches;
        let Some(end) = branches.get(branch) else {
            let names: Vec<&str> = branches.keys().map(String::as_str).collect();
            return Err(ServiceError::Race(format!(
                "the race has no ended branch `{branch}`; there are: {}",
                names.join(", ")
            )));
        };
        end.snapshot.as_deref().ok_or_else(|| {
            ServiceError::Race(format!("the files of branch `{branch}` were not saved, because it failed"))
        })
    }

    async fn record_step(&mut self, step: RaceEvent, events: Vec<AgentEvent>) -> Result<(), ServiceError> {
        write(&self.session, &step, events).await?;
        self.plan.record.apply(step);
        Ok(())
    }
}

/// Records a step with other events, in one write.
async fn write(session: &Session, step: &RaceEvent, events: Vec<AgentEvent>) -> Result<(), ServiceError> {
    let message = CommandEffect::Message(Box::new(step.message()));
    let effects = std::iter::once(message).chain(events.into_iter().map(CommandEffect::note)).collect();
    session.agent.record_effects(effects).await?;
    Ok(())
}

fn failed(error: GitError) -> ServiceError {
    ServiceError::Race(error.to_string())
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, ServiceError> {
    tokio::task::spawn_blocking(work).await.map_err(|error| ServiceError::Race(error.to_string()))
}
