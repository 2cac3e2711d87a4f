//! Other agents as actors and critics: how their programs are started without a terminal, and in which sandbox.
//!
//! An actor may change the workspace, a critic may not. Both reach the network, because their models are there, and the
//! directories where they keep their own settings and logins. Their output is bounded, and the deadline of the loop ends them.

use std::ffi::OsString;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use lariat_core::cancel::CancellationToken;
use lariat_core::id::SessionId;
use lariat_host::process::{CaptureLimits, End, Exit, Launch, Output};
use lariat_host::sandbox::{Network, Sandbox};
use lariat_tools::{Commands, Workbench};

use super::record::ActorOutput;
use crate::assembly;
use crate::loaded_project::LoadedProject;
use crate::models::Purpose;
use crate::served_session::CancelOnDrop;
use crate::session::SessionOptions;
use crate::{LocalService, ServiceError};

/// Where the prompt goes in a command of the user.
const PLACEHOLDER: &str = "{prompt}";
/// Bytes of output to keep, half of them from the start.
const OUTPUT_LIMIT: usize = 256 * 1024;
/// The exit code of a program that a signal or the deadline ended, as shells report it.
const KILLED: i64 = 137;

/// A known agent.
#[derive(Debug)]
struct KnownAgent {
    /// Its program, and its name on the command line.
    program: &'static str,
    label: &'static str,
    /// Arguments before the prompt.
    arguments: &'static [&'static str],
    /// Arguments after it, for an actor in the sandbox, for one without a sandbox, and for a critic.
    confined: &'static [&'static str],
    unconfined: &'static [&'static str],
    reading: &'static [&'static str],
    model: &'static str,
    /// Paths below the home directory that it writes.
    state: &'static [&'static str],
}

/// In the sandbox an agent need not ask, because the sandbox decides what it may change.
const KNOWN: &[KnownAgent] = &[
    KnownAgent {
        program: "claude",
        label: "Claude Code",
        arguments: &["-p"],
        confined: &["--dangerously-skip-permissions"],
        unconfined: &["--permission-mode", "acceptEdits"],
        reading: &["--permission-mode", "plan"],
        model: "--model",
        state: &[".claude", ".claude.json"],
    },
    KnownAgent {
        program: "codex",
        label: "Codex",
        arguments: &["exec", "--skip-git-repo-check"],
        confined: &["--dangerously-bypass-approvals-and-sandbox"],
        unconfined: &["--sandbox", "workspace-write"],
        reading: &["--sandbox", "read-only"],
        model: "--model",
        state: &[".codex"],
    },
    KnownAgent {
        program: "gemini",
        label: "Gemini CLI",
        arguments: &["-p"],
        confined: &["--yolo"],
        unconfined: &["--approval-mode", "auto_edit"],
        reading: &[],
        model: "--model",
        state: &[".gemini"],
    },
    KnownAgent {
        program: "opencode",
        label: "opencode",
        arguments: &["run"],
        confined: &[],
        unconfined: &[],
        reading: &["--agent", "plan"],
        model: "--model",
        state: &[".config/opencode", ".local/share/opencode", ".local/state/opencode", ".cache/opencode"],
    },
    KnownAgent {
        program: "goose",
        label: "goose",
        arguments: &["run", "--no-session", "-t"],
        confined: &[],
        unconfined: &[],
        reading: &[],
        model: "--model",
        state: &[".config/goose", ".local/share/goose", ".local/state/goose"],
    },
    KnownAgent {
        program: "pi",
        label: "pi",
        arguments: &["--no-session", "-p"],
        confined: &[],
        unconfined: &[],
        reading: &["--tools", "read,grep,find,ls"],
        model: "--model",
        state: &[".pi"],
    },
];

/// The names of the known agents.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    KNOWN.iter().map(|agent| agent.program)
}

/// An agent that is another program.
#[derive(Clone, Debug)]
pub struct ExternalAgent(Program);

#[derive(Clone, Debug)]
enum Program {
    Known {
        agent: &'static KnownAgent,
        model: Option<String>,
    },
    /// A command of the user for `bash -c`, with a place for the prompt.
    Command(String),
}

/// What an agent may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Actor,
    Critic,
}

impl PartialEq for ExternalAgent {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

impl Eq for ExternalAgent {}

impl fmt::Display for ExternalAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Program::Known { agent, model: None } => f.write_str(agent.program),
            Program::Known { agent, model: Some(model) } => write!(f, "{}:{model}", agent.program),
            Program::Command(command) => f.write_str(command),
        }
    }
}

impl ExternalAgent {
    /// A command of the user, if the text has a place for the prompt.
    pub(super) fn of_command(text: &str) -> Option<Self> {
        text.contains(PLACEHOLDER).then(|| Self(Program::Command(text.to_owned())))
    }

    pub(super) fn known(name: &str, model: Option<String>) -> Option<Self> {
        let agent = KNOWN.iter().find(|agent| agent.program == name)?;
        Some(Self(Program::Known { agent, model }))
    }

    pub(super) fn label(&self) -> &str {
        match &self.0 {
            Program::Known { agent, .. } => agent.label,
            Program::Command(command) => command,
        }
    }

    pub(super) fn model(&self) -> Option<&str> {
        match &self.0 {
            Program::Known { model, .. } => model.as_deref(),
            Program::Command(_) => None,
        }
    }

    fn state(&self) -> &'static [&'static str] {
        match &self.0 {
            Program::Known { agent, .. } => agent.state,
            Program::Command(_) => &[],
        }
    }

    /// The program and its arguments. No shell reads the prompt.
    fn words(&self, prompt: &str, role: Role, is_confined: bool) -> (OsString, Vec<OsString>) {
        let (program, words): (&str, Vec<&str>) = match &self.0 {
            Program::Command(command) => {
                let script =
                    [format!("\"{PLACEHOLDER}\""), format!("'{PLACEHOLDER}'"), PLACEHOLDER.to_owned()]
                        .iter()
                        .fold(command.clone(), |script, place| script.replace(place, "\"$1\""));
                return ("bash".into(), vec!["-c".into(), script.into(), "bash".into(), prompt.into()]);
            }
            Program::Known { agent, model } => {
                let rights = match role {
                    Role::Actor if is_confined => agent.confined,
                    Role::Actor => agent.unconfined,
                    Role::Critic => agent.reading,
                };
                let model = model.iter().flat_map(|model| [agent.model, model.as_str()]);
                let words = agent.arguments.iter().copied().chain([prompt]).chain(rights.iter().copied());
                (agent.program, words.chain(model).collect())
            }
        };
        (program.into(), words.into_iter().map(OsString::from).collect())
    }
}

/// Starts other agents in a directory, in a sandbox.
pub(super) struct ExternalPrograms {
    bench: Workbench,
    sandbox: Option<Sandbox>,
    place: LoadedProject,
    service: LocalService,
    /// Notes for the user.
    pub(super) notices: Vec<String>,
}

impl ExternalPrograms {
    /// Prepares the sandbox for other agents.
    pub(super) async fn open(
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
        let gate = assembly::gate(&parts, &parts.supervisor, &environment, &commands, None)?;
        let bench = assembly::bench(&parts, commands, &environment, &gate, &mut notices);
        drop(parts);
        Ok(Self { bench, sandbox, place, service: service.clone(), notices })
    }

    /// Runs an agent to its end. Undo records what an actor changes under the id `call`.
    pub(super) async fn run(
        &self,
        agent: &ExternalAgent,
        role: Role,
        prompt: &str,
        call: &str,
        time: Duration,
    ) -> Result<ActorOutput, ServiceError> {
        let checkpoint = match role {
            Role::Actor => self.checkpoint(call).await?,
            Role::Critic => None,
        };
        let cancel = CancellationToken::new();
        let _guard = CancelOnDrop(cancel.clone());
        let (program, words) = agent.words(prompt, role, self.sandbox.is_some());
        let capture =
            CaptureLimits { head: OUTPUT_LIMIT / 2, tail: OUTPUT_LIMIT / 2, ..CaptureLimits::default() };
        let parts = self.service.parts(
            &self.place,
            SessionId::from(call),
            Purpose::Inspecting,
            SessionOptions::default(),
        );
        let mut launch = Launch::new(program, self.place.path())
            .with_arguments(words)
            .with_environment(self.place.environment(&parts.environment))
            .with_output(Output::Separate)
            .with_capture(capture)
            .with_time(Some(time));
        if let Some(sandbox) = &self.sandbox {
            launch = launch.with_sandbox(self.sandbox_of(sandbox, agent, role));
        }
        let ran = self.bench.supervisor().run(launch, &cancel).await;
        if let Some(checkpoint) = checkpoint {
            checkpoint.end().await;
        }
        let ran =
            ran.map_err(|error| ServiceError::ExternalAgent(format!("could not run {agent}: {error}")))?;
        let mut output = ActorOutput::default();
        output.text = ran.output.text();
        output.stderr = ran.errors.text();
        output.seconds = ran.elapsed.as_secs_f64();
        output.exit_code = match (ran.exit, ran.end) {
            (Exit::Code(code), End::Exited) => i64::from(code),
            _ => KILLED,
        };
        Ok(output)
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

#[cfg(test)]
mod tests {
    //! Tests of command lines.

    use super::*;

    fn words(text: &str, role: Role, is_confined: bool) -> Vec<String> {
        let super::super::LoopAgent::External(agent) = super::super::LoopAgent::parse(text).unwrap() else {
            panic!("{text} is not another program");
        };
        let (program, words) = agent.words("do 'it'; rm -rf $HOME", role, is_confined);
        std::iter::once(program).chain(words).map(|word| word.into_string().unwrap()).collect()
    }

    #[test]
    fn agents_skip_their_own_questions_only_in_the_sandbox() {
        let prompt = "do 'it'; rm -rf $HOME";
        assert_eq!(
            words("claude:opus", Role::Actor, true),
            ["claude", "-p", prompt, "--dangerously-skip-permissions", "--model", "opus"]
        );
        assert_eq!(
            words("claude", Role::Actor, false),
            ["claude", "-p", prompt, "--permission-mode", "acceptEdits"]
        );
        assert_eq!(
            words("codex", Role::Critic, true),
            ["codex", "exec", "--skip-git-repo-check", prompt, "--sandbox", "read-only"]
        );
    }

    #[test]
    fn prompt_is_an_argument_of_a_command_and_never_a_part_of_the_script() {
        for text in ["agent -m {prompt}", "agent -m \"{prompt}\"", "agent -m '{prompt}'"] {
            assert_eq!(
                words(text, Role::Actor, true),
                ["bash", "-c", "agent -m \"$1\"", "bash", "do 'it'; rm -rf $HOME"]
            );
        }
    }
}
