//! Starts other agents in a directory, and ends them.
//!
//! An actor may change the workspace, a critic may not. Both reach the network, because their models are there, and the
//! directories where they keep their own settings and logins. Their output is bounded, and the deadline of the loop ends them.

use std::sync::Arc;
use std::time::Duration;

use lariat_core::cancel::CancellationToken;
use lariat_core::id::SessionId;
use lariat_core::permission::Approver;
use lariat_core::usage::Cost;
use lariat_guard::Mode;
use lariat_host::process::{CaptureLimits, End, Environment, Exit, Input, Launch, Output};
use lariat_host::sandbox::{Network, Sandbox};
use lariat_runtime::Gate;
use lariat_runtime::redact::Redactor;
use lariat_tools::{Commands, Workbench};
use tokio::sync::mpsc;

use super::acp::{CallAccess, ExternalEvent, Turn};
use super::external::{ExternalAgent, Role};
use super::record::ActorOutput;
use crate::assembly;
use crate::loaded_project::LoadedProject;
use crate::models::Purpose;
use crate::served_session::CancelOnDrop;
use crate::session::SessionOptions;
use crate::{LocalService, ServiceError};

/// Bytes of output to keep, half of them from the start.
const OUTPUT_LIMIT: usize = 256 * 1024;
/// The exit code of a program that a signal or the deadline ended, as shells report it.
pub(super) const KILLED: i64 = 137;
/// How much longer than its deadline an agent that speaks ACP may live: it is asked to stop first.
const CANCEL_TIME: Duration = Duration::from_secs(10);

/// What the loop permits an agent.
#[derive(Clone, Copy)]
pub(crate) struct LoopLimits<'a> {
    /// How long it may run.
    pub(crate) time: Duration,
    /// What it may cost, as far as it reports that.
    pub(crate) cost: Option<Cost>,
    /// The variables that the user passes to it.
    pub(crate) variables: &'a [String],
    /// Who answers what the permission rules leave open; `None` if no user can.
    pub(crate) approver: Option<&'a dyn Approver>,
}

/// Starts other agents in a directory, in a sandbox.
pub(crate) struct ExternalPrograms {
    bench: Workbench,
    sandbox: Option<Sandbox>,
    place: LoadedProject,
    service: LocalService,
    session_id: SessionId,
    /// Decides about the tool calls of an actor, and of a critic.
    gates: (Arc<Gate>, Arc<Gate>),
    /// Notes for the user.
    pub(crate) notices: Vec<String>,
}

impl ExternalPrograms {
    /// Prepares the sandbox for other agents.
    pub(crate) async fn open(
        service: &LocalService,
        place: &LoadedProject,
        session_id: &SessionId,
    ) -> Result<Self, ServiceError> {
        let mut place = place.clone();
        if place.settings.sandbox.hosts.is_empty() {
            place.settings.sandbox.network = true;
        }
        let mut notices = Vec::new();
        let driving = SessionOptions::default();
        let parts = service.parts(&place, session_id.clone(), Purpose::Inspecting, driving);
        let environment = place.environment(&parts.environment);
        let commands = assembly::commands(&parts, &environment, &mut notices).await;
        let sandbox = match &commands {
            Commands::Confined(sandbox) => Some(sandbox.clone()),
            Commands::Unconfined => None,
            _ => {
                let reason = notices.pop().unwrap_or_else(|| "no sandbox works on this machine".to_owned());
                return Err(ServiceError::ExternalAgent(reason));
            }
        };
        // The agent itself has the network, whatever the gate decides, so the gate judges only what the sandbox confines.
        let judged = match &sandbox {
            Some(sandbox) => {
                let policy = sandbox.policy().clone().with_network(Network::Off);
                Commands::Confined(Sandbox::new(policy, sandbox.backend().clone()))
            }
            None => Commands::Unconfined,
        };
        let gate = |mode: Option<Mode>| {
            let gate = assembly::gate(&parts, &parts.supervisor, &environment, &judged, None)?;
            if let Some(mode) = mode {
                gate.set_mode(mode);
            }
            Ok::<_, ServiceError>(gate)
        };
        let is_chosen = place.settings.mode.is_some();
        let confined = (sandbox.is_some() && !is_chosen).then_some(Mode::Auto);
        let gates = (gate(confined)?, gate(Some(Mode::Plan))?);
        let bench = assembly::bench(&parts, commands, &environment, &gates.0, &mut notices);
        drop(parts);
        let (service, session_id) = (service.clone(), session_id.clone());
        Ok(Self { bench, sandbox, place, service, session_id, gates, notices })
    }

    /// Runs an agent to its end: by ACP if it speaks it, in its headless mode otherwise. Undo records what an actor changes under
    /// the id `call`. An agent that speaks ACP reports its tool calls to `events`.
    pub(crate) async fn run(
        &self,
        agent: &ExternalAgent,
        role: Role,
        prompt: &str,
        call: &str,
        limits: LoopLimits<'_>,
        events: mpsc::Sender<ExternalEvent>,
    ) -> Result<ActorOutput, ServiceError> {
        let checkpoint = match role {
            Role::Actor => self.checkpoint(call).await?,
            Role::Critic => None,
        };
        let (environment, redactor) = self.environment(agent, call, limits.variables);
        let ran = match agent.acp(&environment) {
            Some((program, words)) => {
                let launch = Launch::new(program, self.place.path()).with_arguments(words);
                let launch = self.confined(launch.with_environment(environment), agent, role);
                Box::pin(self.converse(agent, role, prompt, call, launch, limits, redactor, events)).await
            }
            None => {
                let (program, words) = agent.words(prompt, role, self.sandbox.is_some());
                let launch = Launch::new(program, self.place.path()).with_arguments(words);
                let launch = self.confined(launch.with_environment(environment), agent, role);
                self.run_headless(agent, launch.with_time(Some(limits.time)), &redactor).await
            }
        };
        if let Some(checkpoint) = checkpoint {
            checkpoint.end().await;
        }
        ran
    }

    async fn run_headless(
        &self,
        agent: &ExternalAgent,
        launch: Launch,
        redactor: &Redactor,
    ) -> Result<ActorOutput, ServiceError> {
        let cancel = CancellationToken::new();
        let _guard = CancelOnDrop(cancel.clone());
        let ran = self.bench.supervisor().run(launch.with_output(Output::Separate), &cancel).await;
        let ran = ran.map_err(|error| could_not_run(agent, &error))?;
        let mut output = ActorOutput::default();
        output.text = redactor.text(&ran.output.text()).into_owned();
        output.stderr = redactor.text(&ran.errors.text()).into_owned();
        output.seconds = ran.elapsed.as_secs_f64();
        output.exit_code = match (ran.exit, ran.end) {
            (Exit::Code(code), End::Exited) => i64::from(code),
            _ => KILLED,
        };
        Ok(output)
    }

    #[expect(clippy::too_many_arguments, reason = "each part of a turn comes from another place")]
    async fn converse(
        &self,
        agent: &ExternalAgent,
        role: Role,
        prompt: &str,
        call: &str,
        launch: Launch,
        limits: LoopLimits<'_>,
        redactor: Redactor,
        events: mpsc::Sender<ExternalEvent>,
    ) -> Result<ActorOutput, ServiceError> {
        let launch = launch
            .with_input(Input::Written)
            .with_output(Output::Piped)
            .with_time(Some(limits.time.saturating_add(CANCEL_TIME)));
        let supervisor = self.bench.supervisor();
        let process = Box::pin(supervisor.start(launch)).await;
        let process = process.map_err(|error| could_not_run(agent, &error))?;
        let gate = match role {
            Role::Actor => &self.gates.0,
            Role::Critic => &self.gates.1,
        };
        let access = CallAccess::new(
            Arc::clone(gate),
            self.bench.workspace().clone(),
            self.session_id.clone(),
            call,
            limits.approver.filter(|_| role == Role::Actor),
        );
        let turn = Turn::new(process, supervisor.clone(), &access, redactor, events, limits.cost);
        let run = turn.run(agent, prompt, self.place.path(), limits.time);
        let mut output = Box::pin(run).await.map_err(ServiceError::ExternalAgent)?;
        if let Role::Critic = role {
            // Its decision may stand before its last tool call.
            output.output.text = output.all_text;
        }
        Ok(output.output)
    }

    /// The variables of an agent, and what to remove from its output: the journal and the critic do not get the keys, should the
    /// agent print them.
    fn environment(
        &self,
        agent: &ExternalAgent,
        call: &str,
        variables: &[String],
    ) -> (Environment, Redactor) {
        let parts = self.service.parts(
            &self.place,
            SessionId::from(call),
            Purpose::Inspecting,
            SessionOptions::default(),
        );
        let named = agent.variables().into_iter().chain(variables.iter().map(String::as_str));
        let passed: Vec<(&str, String)> =
            named.filter_map(|name| Some((name, parts.keys.variable(name)?))).collect();
        let own = self.place.environment(&parts.environment);
        let mut environment = passed.iter().fold(own, |all, (name, value)| all.with(name, value));
        if self.sandbox.is_some() {
            let confined = agent.sandbox_variables().iter();
            environment = confined.fold(environment, |all, (name, value)| all.with(name, value));
        }
        let redactor = Redactor::default();
        redactor.add(passed);
        (environment, redactor)
    }

    fn confined(&self, launch: Launch, agent: &ExternalAgent, role: Role) -> Launch {
        let capture =
            CaptureLimits { head: OUTPUT_LIMIT / 2, tail: OUTPUT_LIMIT / 2, ..CaptureLimits::default() };
        let launch = launch.with_capture(capture);
        match &self.sandbox {
            Some(sandbox) => launch.with_sandbox(self.sandbox_of(sandbox, agent, role)),
            None => launch,
        }
    }

    /// The sandbox of an agent: it may write where it keeps its own state, and a critic nowhere else.
    fn sandbox_of(&self, sandbox: &Sandbox, agent: &ExternalAgent, role: Role) -> Sandbox {
        let mut policy = sandbox.policy().clone();
        if role == Role::Critic {
            policy.writable.clear();
        }
        let home = &self.service.folders().home;
        // The settings of the loop may limit the network to some hosts; otherwise the agent reaches its model.
        debug_assert!(policy.network != Network::Off);
        // A sandbox cannot make a path writable that does not exist.
        for own in agent.state().iter().map(|name| home.join(name)).filter(|path| path.exists()) {
            // Its login is hidden from all other programs.
            policy.protected.retain(|path| !path.starts_with(&own));
            policy.hidden.retain(|path| !path.starts_with(&own));
            policy = policy.with_writable(own);
        }
        Sandbox::new(policy, sandbox.backend().clone())
    }

    /// Saves the workspace before an agent changes it.
    async fn checkpoint(&self, call: &str) -> Result<Option<Checkpoint>, ServiceError> {
        let (bench, call) = (self.bench.clone(), call.to_owned());
        let begin = move || match bench.undo()? {
            None => Ok(None),
            Some(undo) => {
                undo.begin_call(&call)?;
                Ok(Some(Checkpoint { undo: undo.clone(), call: Arc::from(call) }))
            }
        };
        let begun = tokio::task::spawn_blocking(begin).await;
        begun.unwrap_or_else(|error| Err(ServiceError::ExternalAgent(error.to_string())))
    }
}

fn could_not_run(agent: &ExternalAgent, error: &lariat_host::process::ProcessError) -> ServiceError {
    ServiceError::ExternalAgent(format!("could not run {agent}: {error}"))
}

/// The state before an agent started. Dropping it without ending it treats the changes as the user's.
struct Checkpoint {
    undo: lariat_host::undo::Undo,
    call: Arc<str>,
}

impl Checkpoint {
    async fn end(self) {
        let (undo, call) = (self.undo.clone(), Arc::clone(&self.call));
        let _ = tokio::task::spawn_blocking(move || undo.end_call(&call)).await;
    }
}

impl Drop for Checkpoint {
    fn drop(&mut self) {
        self.undo.abandon(&self.call);
    }
}
