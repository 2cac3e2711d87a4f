//! Names of other agents: how users write them, and which command line each one has, by ACP or in its headless mode.

use std::ffi::OsString;
use std::fmt;

use lariat_host::process::Environment;

use super::known_agents::{AcpProgram, KNOWN, KnownAgent};
use crate::models::KNOWN as PROVIDERS;

/// Where the prompt goes in a command of the user.
const PLACEHOLDER: &str = "{prompt}";
/// Before a command that speaks ACP.
const ACP: &str = "acp:";
/// Before the name of an agent that is to run in its headless mode.
const HEADLESS: &str = "headless:";

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
        transport: Transport,
    },
    /// A command of the user for `bash -c`, with a place for the prompt.
    Command(String),
    /// A command of the user for `bash -c` that speaks ACP.
    Acp(String),
}

/// How Lariat talks to a known agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Transport {
    /// By ACP, if its program for that is installed.
    Best,
    /// By its command line and its output.
    Headless,
}

/// What an agent may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
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
            Program::Known { agent, model, transport } => {
                let prefix = if *transport == Transport::Headless { HEADLESS } else { "" };
                write!(f, "{prefix}{}", agent.program)?;
                model.iter().try_for_each(|model| write!(f, ":{model}"))
            }
            Program::Command(command) => f.write_str(command),
            Program::Acp(command) => write!(f, "{ACP}{command}"),
        }
    }
}

impl ExternalAgent {
    /// A command of the user: one that speaks ACP, or one that has a place for the prompt.
    pub(super) fn of_command(text: &str) -> Option<Self> {
        if let Some(command) = text.strip_prefix(ACP).map(str::trim).filter(|command| !command.is_empty()) {
            return Some(Self(Program::Acp(command.to_owned())));
        }
        text.contains(PLACEHOLDER).then(|| Self(Program::Command(text.to_owned())))
    }

    /// A known agent by its name, with or without a model.
    pub(super) fn known(text: &str) -> Option<Self> {
        let (transport, text) = match text.strip_prefix(HEADLESS) {
            Some(rest) => (Transport::Headless, rest),
            None => (Transport::Best, text),
        };
        let (name, model) = match text.split_once(':') {
            Some((name, model)) => (name, Some(model.to_owned()).filter(|model| !model.is_empty())),
            None => (text, None),
        };
        let agent = KNOWN.iter().find(|agent| agent.program == name)?;
        Some(Self(Program::Known { agent, model, transport }))
    }

    pub(super) fn label(&self) -> &str {
        match &self.0 {
            Program::Known { agent, .. } => agent.label,
            Program::Command(command) | Program::Acp(command) => command,
        }
    }

    pub(super) fn model(&self) -> Option<&str> {
        match &self.0 {
            Program::Known { model, .. } => model.as_deref(),
            Program::Command(_) | Program::Acp(_) => None,
        }
    }

    /// Paths below the home directory that it writes.
    pub(super) fn state(&self) -> &'static [&'static str] {
        match &self.0 {
            Program::Known { agent, .. } => agent.state,
            Program::Command(_) | Program::Acp(_) => &[],
        }
    }

    /// Without these, an agent may refuse to skip its questions: Claude Code does so for root.
    pub(super) fn sandbox_variables(&self) -> &'static [(&'static str, &'static str)] {
        match &self.0 {
            Program::Known { agent, .. } => agent.in_sandbox,
            Program::Command(_) | Program::Acp(_) => &[],
        }
    }

    /// The variables that it needs in addition to those of every program.
    pub(super) fn variables(&self) -> Vec<&'static str> {
        let Program::Known { agent, .. } = &self.0 else { return Vec::new() };
        let providers = PROVIDERS.iter().filter(|_| agent.uses_any_provider);
        let of_providers = providers.flat_map(|provider| provider.variables.iter().chain(provider.addresses));
        agent.variables.iter().chain(of_providers).copied().collect()
    }

    /// The program that speaks ACP for it, and its arguments. `None` if it has none, it is not installed, or the user chose the
    /// headless mode.
    pub(super) fn acp(&self, environment: &Environment) -> Option<(OsString, Vec<OsString>)> {
        match &self.0 {
            Program::Acp(command) => Some(("bash".into(), vec!["-c".into(), command.into()])),
            Program::Known { agent, transport: Transport::Best, .. } => {
                let AcpProgram { program, arguments } = agent.acp.as_ref()?;
                // An agent that is not installed at all is reported by its own name.
                let is_own = *program == agent.program;
                let is_there = is_own || environment.find(program.as_ref()).is_some();
                is_there.then(|| ((*program).into(), arguments.iter().map(OsString::from).collect()))
            }
            Program::Known { .. } | Program::Command(_) => None,
        }
    }

    /// The program of its headless mode and its arguments. No shell reads the prompt.
    pub(super) fn words(&self, prompt: &str, role: Role, is_confined: bool) -> (OsString, Vec<OsString>) {
        let (program, words): (&str, Vec<&str>) = match &self.0 {
            Program::Acp(command) => return ("bash".into(), vec!["-c".into(), command.into()]),
            Program::Command(command) => {
                let script =
                    [format!("\"{PLACEHOLDER}\""), format!("'{PLACEHOLDER}'"), PLACEHOLDER.to_owned()]
                        .iter()
                        .fold(command.clone(), |script, place| script.replace(place, "\"$1\""));
                return ("bash".into(), vec!["-c".into(), script.into(), "bash".into(), prompt.into()]);
            }
            Program::Known { agent, model, .. } => {
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

    #[test]
    fn acp_is_used_where_its_program_is_installed() {
        let of = |text: &str, path: &str| {
            let super::super::LoopAgent::External(agent) = super::super::LoopAgent::parse(text).unwrap()
            else {
                panic!("{text} is not another program");
            };
            let environment = Environment::from_inherited([("PATH", path)]);
            let (program, words) = agent.acp(&environment)?;
            let all = std::iter::once(program).chain(words);
            Some(all.map(|word| word.into_string().unwrap()).collect::<Vec<_>>())
        };
        let nowhere = "/nowhere";
        assert_eq!(of("gemini:flash", nowhere).unwrap(), ["gemini", "--experimental-acp"]);
        assert_eq!(of("opencode", nowhere).unwrap(), ["opencode", "acp"]);
        assert_eq!(of("claude", nowhere), None, "its adapter is another program");
        assert_eq!(of("pi", nowhere), None);
        assert_eq!(of("headless:gemini:flash", nowhere), None);
        assert_eq!(of("acp: my-agent --acp", nowhere).unwrap(), ["bash", "-c", "my-agent --acp"]);
    }
}
