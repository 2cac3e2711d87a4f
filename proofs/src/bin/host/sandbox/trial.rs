//! Runs one case and judges the result.

use std::time::Duration;

use lariat_core::cancel::CancellationToken;
use lariat_host::process::{Environment, Launch, LaunchHelper, Output, ProcessResult, Size, Supervisor};
use lariat_host::sandbox::{Backend, Destination, LocalSockets, Network, Policy, Rule, Sandbox};

use super::case::{Case, Language};
use super::scene::{CaseDirectories, Scene};

/// Time limit of a program.
const TIME: Duration = Duration::from_secs(10);
/// Output that shows that a program never tried what it should.
const BROKEN: [&str; 7] = [
    "SyntaxError",
    "NameError",
    "AttributeError",
    "TypeError",
    "ImportError",
    "command not found",
    "syntax error",
];

/// A planted hole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PlantedMistake {
    Unprotected,
    Unhidden,
    SharedNetwork,
    LocalSockets,
    WideRoot,
    NoSandbox,
}

impl PlantedMistake {
    /// The family of cases that must notice it.
    pub(super) fn family(self) -> &'static str {
        match self {
            Self::Unprotected => "protected",
            Self::Unhidden | Self::WideRoot => "outside",
            Self::SharedNetwork | Self::LocalSockets => "network",
            Self::NoSandbox => "all",
        }
    }
}

pub(super) const PLANTS: [(&str, PlantedMistake); 6] = [
    ("protected-paths-left-out", PlantedMistake::Unprotected),
    ("hidden-paths-left-out", PlantedMistake::Unhidden),
    ("network-shared", PlantedMistake::SharedNetwork),
    ("local-sockets-allowed", PlantedMistake::LocalSockets),
    ("writable-root-too-wide", PlantedMistake::WideRoot),
    ("no-sandbox", PlantedMistake::NoSandbox),
];

/// Result of a case.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    /// Ways in which it escaped.
    pub(super) escapes: Vec<String>,
    /// Other problems: it did not run, a control did not work, a denial is missing.
    pub(super) faults: Vec<String>,
}

pub(super) struct Bench {
    pub(super) backend: Backend,
    pub(super) plant: Option<PlantedMistake>,
    supervisor: Supervisor,
}

impl Bench {
    pub(super) fn new(backend: Backend, plant: Option<PlantedMistake>) -> Self {
        Self {
            backend,
            plant,
            supervisor: Supervisor::with_launch_helper(LaunchHelper::current_executable()),
        }
    }

    pub(super) async fn judge(&self, scene: &mut Scene, case: &Case) -> Result<Verdict, String> {
        let stage = scene.stage(case)?;
        let variables = scene.variables(&stage);
        let mut verdict = Verdict::default();
        let mut last = None;
        for program in &case.programs {
            match self.run(case, program, &stage, &variables).await {
                Ok(finished) => last = Some(finished),
                // A program that was not started is contained, but a case must run unless it expects a
                // refusal.
                Err(error) if case.wants("refusal") => last = last.take().inspect(|_| drop(error)),
                Err(error) => verdict.faults.push(error),
            }
        }
        let text = last.as_ref().map(|finished| finished.output.text()).unwrap_or_default();
        match &case.prints {
            Some(words) => {
                if !text.contains(words) || text.contains("ESCAPED") {
                    verdict.faults.push(format!("does not print `{words}` but:\n{text}"));
                }
                // A control may change what it is meant to change.
                let _ = scene.damage(&stage, &text);
            }
            None => {
                verdict.escapes = scene.damage(&stage, &text);
                if let Some(word) = BROKEN.iter().find(|word| text.contains(**word)) {
                    verdict.faults.push(format!("{word}:\n{text}"));
                }
            }
        }
        if let Some(finished) = &last {
            verdict.faults.extend(missing_denials(case, finished));
        }
        Ok(verdict)
    }

    async fn run(
        &self,
        case: &Case,
        program: &str,
        stage: &CaseDirectories,
        variables: &[(String, String)],
    ) -> Result<ProcessResult, String> {
        let value = |name: &str| variables.iter().find(|(known, _)| known == name).map(|(_, value)| value);
        let directory = match &case.directory {
            Some(directory) => variables.iter().fold(directory.clone(), |text, (name, value)| {
                text.replace(&format!("${name}/"), &format!("{value}/"))
            }),
            None => stage.workspace.display().to_string(),
        };
        let mut environment = Environment::default();
        for (name, value) in variables {
            environment = environment.with(name, value);
        }
        if case.wants("preload") {
            environment = environment.with("LD_PRELOAD", stage.workspace.join("evil.so"));
        }
        let mut launch = match case.language {
            Language::Bash => Launch::shell(program, directory),
            Language::Python => Launch::new("/usr/bin/python3", directory).with_arguments(["-c", program]),
        };
        launch = launch.with_environment(environment).with_time(Some(TIME));
        if case.wants("terminal") {
            launch = launch.with_output(Output::Terminal(Size::default()));
        }
        if case.wants("short") {
            launch = launch.with_time(Some(Duration::from_millis(1500)));
        }
        if self.plant != Some(PlantedMistake::NoSandbox) {
            let port = value("TCP4").and_then(|port| port.parse().ok());
            launch = launch.with_sandbox(Sandbox::new(self.policy(case, stage, port), self.backend.clone()));
        }
        self.supervisor.run(launch, &CancellationToken::new()).await.map_err(|error| error.to_string())
    }

    fn policy(&self, case: &Case, stage: &CaseDirectories, port: Option<u16>) -> Policy {
        let mut policy = Policy::workspace(&stage.workspace, Some(&stage.home));
        if case.wants("read-only") {
            policy = Policy::read_only(Some(&stage.home));
        }
        if case.wants("temporary") {
            policy = policy.with_temporary(&stage.temporary);
        }
        if case.wants("root-inside") {
            policy = policy.with_writable(stage.workspace.join("inner"));
        }
        if case.wants("listed") {
            let listed = Destination { host: "127.0.0.1".to_owned(), port };
            policy = policy.with_network(Network::Only(vec![
                listed,
                Destination::host("localhost"),
                Destination::host("*.example.com"),
            ]));
        }
        if case.wants("memory") {
            policy.memory = Some(256 * 1024 * 1024);
        }
        if case.wants("few") {
            policy.processes = Some(301);
        }
        match self.plant {
            Some(PlantedMistake::Unprotected) => policy.protected.clear(),
            Some(PlantedMistake::Unhidden) => policy.hidden.clear(),
            Some(PlantedMistake::SharedNetwork) => policy.network = Network::On,
            Some(PlantedMistake::LocalSockets) => policy.local_sockets = LocalSockets::Allowed,
            Some(PlantedMistake::WideRoot) => {
                policy.writable.extend(stage.workspace.parent().map(Into::into))
            }
            Some(PlantedMistake::NoSandbox) | None => {}
        }
        policy
    }
}

/// Denials that a case must cause and that were not reported.
fn missing_denials(case: &Case, finished: &ProcessResult) -> Vec<String> {
    let is_reported = |rule: &str, what: &str| {
        finished.denials.iter().any(|denial| name(&denial.rule) == rule && denial.what.contains(what))
    };
    let missing = case.denies.iter().filter(|(rule, what)| !is_reported(rule, what));
    missing
        .map(|(rule, what)| format!("no denial `{rule}` of `{what}` among {:?}", finished.denials))
        .collect()
}

fn name(rule: &Rule) -> &'static str {
    match rule {
        Rule::NotWritable => "not-writable",
        Rule::Protected(_) => "protected",
        Rule::NetworkOff => "network-off",
        Rule::NotListed => "not-listed",
        Rule::InternalAddress => "internal-address",
        Rule::LocalSockets => "local-sockets",
        Rule::KernelCall => "kernel-call",
        _ => "another",
    }
}
