//! The permission rules that apply in a directory, the approvals that the user gave there, and what both decide about a tool
//! call. Nothing here runs a tool or a hook.

use std::sync::Arc;

use lariat_core::permission::DangerLevel;
pub use lariat_guard::{Approval, ApprovalStore, Mode};
use lariat_guard::{Cause, Confinement, GuardDecision, Judgement, Level, Reason, shell};
use lariat_host::process::{Environment, Supervisor};
use lariat_runtime::Gate;

use crate::loaded_project::LoadedProject;
use crate::local::HookPrograms;
use crate::{ServiceError, UserDirectories, sandbox_probe};

/// The permission check of a session in a directory.
pub struct PermissionCheck {
    gate: Gate,
    confinement: Confinement,
}

/// What the permission check does with a tool call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallDecision {
    /// It runs without asking.
    Allow,
    /// The user is asked.
    Ask,
    /// It is denied.
    Deny,
}

impl CallDecision {
    /// The name for the user.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// The decision about a tool call, and its reasons.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallJudgement {
    /// What happens to the tool call.
    pub decision: CallDecision,
    /// How dangerous the tool call is.
    pub danger: DangerLevel,
    /// The reasons for the user, the decisive one first.
    pub because: Vec<String>,
}

impl PermissionCheck {
    /// The permission check of a session in a directory whose commands no sandbox restricts.
    ///
    /// # Errors
    /// If the record of approvals cannot be read.
    pub fn new(
        place: &LoadedProject,
        folders: &UserDirectories,
        environment: &Environment,
    ) -> Result<Self, ServiceError> {
        let environment = place.environment(environment);
        let hooks = HookPrograms::new(Supervisor::new(), place.path(), environment.clone());
        let gate = place.opened.gate(Arc::new(hooks), &environment);
        let gate = gate.with_approvals(ApprovalStore::new(folders.approvals()))?;
        if let Some(mode) = place.settings.mode {
            gate.set_mode(mode);
        }
        Ok(Self { gate, confinement: Confinement::Open })
    }

    /// Takes into account whether a run in this directory would sandbox its commands. With network access, the sandbox does
    /// not restrict what they do there, so the mode `auto` asks as without one.
    pub async fn with_sandbox(
        mut self,
        place: &LoadedProject,
        folders: &UserDirectories,
        environment: &Environment,
    ) -> Self {
        let is_confined = place.settings.sandbox.enabled
            && !place.settings.sandbox.network
            && place.settings.sandbox.hosts.is_empty()
            && sandbox_probe::backend(folders, environment).await.is_ok();
        self.confinement = if is_confined { Confinement::Sandboxed } else { Confinement::Open };
        self
    }

    /// The permission mode.
    pub fn mode(&self) -> Mode {
        self.gate.mode()
    }

    /// Changes the permission mode, as far as the settings permit.
    pub fn set_mode(&self, mode: Mode) {
        self.gate.set_mode(mode);
    }

    /// What is wrong with the rules.
    pub fn warnings(&self) -> Vec<String> {
        self.gate.guard().warnings().iter().map(ToString::to_string).collect()
    }

    /// Judges a tool call, such as `bash(git push)`; `None` if the text is not one.
    pub fn judge(&self, call: &str) -> Option<CallJudgement> {
        let judgement = self.gate.guard().dry_run_in(call, self.gate.mode(), self.confinement)?;
        Some(CallJudgement::from(judgement))
    }

    /// Judges each command of a compound shell command; nothing if it has only one.
    pub fn judge_parts(&self, tool: &str, command: &str) -> Vec<(String, CallJudgement)> {
        let commands = shell::analyse(command).commands;
        if commands.len() < 2 {
            return Vec::new();
        }
        let texts =
            commands.into_iter().map(|one| match command.get(one.place).filter(|text| !text.is_empty()) {
                Some(text) => text.to_owned(),
                None => one.words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" "),
            });
        let judged = texts.filter_map(|part| {
            let judgement = self.judge(&format!("{tool}({part})"))?;
            Some((part, judgement))
        });
        judged.collect()
    }
}

impl From<Judgement> for CallJudgement {
    fn from(judgement: Judgement) -> Self {
        let decision = match judgement.verdict {
            GuardDecision::Allow => CallDecision::Allow,
            GuardDecision::Ask => CallDecision::Ask,
            GuardDecision::Deny => CallDecision::Deny,
        };
        let because = judgement.because.iter().map(describe).collect();
        Self { decision, danger: judgement.danger, because }
    }
}

/// Describes a reason. Flag-level rules are remembered approvals here, because this check has no rule flags.
fn describe(reason: &Reason) -> String {
    match &reason.cause {
        Cause::Rule { text, origin, .. } if origin.level == Level::Flags => {
            format!("`{}`: matches the remembered approval `{text}`", reason.part)
        }
        _ => reason.to_string(),
    }
}
