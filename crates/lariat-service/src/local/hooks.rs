//! The handlers of hooks, started or reached.
//!
//! Owns what a handler may do: one that the workspace configures, or that runs a file of it, is confined like a command,
//! and runs only while those files are as they were when the workspace was opened.

use std::path::PathBuf;

use lariat_core::BoxFuture;
use lariat_core::cancel::CancellationToken;
use lariat_guard::hooks::{Ended, Handler, HookRunner, Way};
use lariat_host::files::Workspace;
use lariat_host::process::{CaptureLimits, End, Environment, Exit, Input, Launch, Output, Supervisor};
use lariat_host::sandbox::Sandbox;
#[cfg(feature = "models")]
use lariat_model::http::ClientConfig;

use super::WorkspaceFiles;
#[cfg(feature = "models")]
use super::posts::HookPosts;

/// Starts programs for hooks: in the project's directory, with an environment of the caller's choice, and gone with
/// everything they started when their time is over. Reaches addresses for hooks, with the feature `models`.
#[derive(Clone, Debug)]
pub struct HookPrograms {
    supervisor: Supervisor,
    directory: PathBuf,
    environment: Environment,
    sandbox: Option<Sandbox>,
    of_project: ProjectHooks,
    workspace: Option<Workspace>,
    #[cfg(feature = "models")]
    posts: HookPosts,
}

/// How handlers run that the workspace configures, or that run a file of it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ProjectHooks {
    /// In this sandbox.
    Confined(Sandbox),
    /// Like every other program of the person's.
    Unconfined,
    /// Not at all, for this reason.
    Refused(String),
}

/// What is kept of a hook's output.
const KEPT: usize = 1024 * 1024;

impl HookPrograms {
    /// Programs in a directory. `CLAUDE_PROJECT_DIR` names it to them.
    pub fn new(supervisor: Supervisor, directory: impl Into<PathBuf>, environment: Environment) -> Self {
        let directory = directory.into();
        let environment = environment.with("CLAUDE_PROJECT_DIR", directory.as_os_str());
        Self {
            supervisor,
            directory,
            environment,
            sandbox: None,
            of_project: ProjectHooks::Refused("no sandbox was chosen for hooks of a project".to_owned()),
            workspace: None,
            #[cfg(feature = "models")]
            posts: HookPosts::default(),
        }
    }

    /// Gives variables for the headers of addresses. A handler gets those that its `allowedEnvVars` lists.
    #[cfg(feature = "models")]
    #[must_use]
    pub fn with_header_variables(
        mut self,
        variables: impl IntoIterator<Item = (impl Into<String>, impl Into<String>)>,
    ) -> Self {
        let variables = variables.into_iter().map(|(name, value)| (name.into(), value.into()));
        self.posts = self.posts.with_variables(variables.collect());
        self
    }

    /// Reaches addresses through a client of this configuration: a proxy, certificates.
    #[cfg(feature = "models")]
    #[must_use]
    pub fn with_client(mut self, config: ClientConfig) -> Self {
        self.posts = self.posts.with_client(config);
        self
    }

    /// Chooses how handlers of the workspace run; without it they do not.
    #[must_use]
    pub fn with_project_hooks(mut self, of_project: ProjectHooks) -> Self {
        self.of_project = of_project;
        self
    }

    /// Gives the workspace in which the scripts of handlers are looked at before each run.
    #[must_use]
    pub fn with_workspace(mut self, workspace: &Workspace) -> Self {
        self.workspace = Some(workspace.clone().without_hints());
        self
    }

    /// Confines all of them.
    #[must_use]
    pub fn with_sandbox(mut self, sandbox: Sandbox) -> Self {
        self.sandbox = Some(sandbox);
        self
    }
}

impl HookPrograms {
    /// The sandbox of a handler, or why it may not run.
    fn confinement(&self, handler: &Handler) -> Result<Option<&Sandbox>, String> {
        let scripts = &handler.scripts;
        if let Some(why) = &scripts.refused {
            return Err(why.clone());
        }
        if !scripts.pins.is_empty() {
            let Some(workspace) = &self.workspace else {
                return Err("nothing can look at the scripts that it runs".to_owned());
            };
            let renew = "; hint: review it, then `lariat trust`";
            scripts.check(&WorkspaceFiles(workspace)).map_err(|why| format!("{why}{renew}"))?;
        }
        let of_workspace = scripts.are_of_the_workspace();
        match &self.of_project {
            ProjectHooks::Confined(sandbox) if of_workspace || self.finds_programs_here() => {
                Ok(Some(sandbox))
            }
            ProjectHooks::Refused(why) if of_workspace => Err(why.clone()),
            _ => Ok(self.sandbox.as_ref()),
        }
    }

    /// True when a name alone may lead to a program of the workspace: an active virtual environment, for example.
    fn finds_programs_here(&self) -> bool {
        let here = |place: PathBuf| place.is_relative() || place.starts_with(&self.directory);
        self.environment.value("PATH").is_some_and(|places| std::env::split_paths(places).any(here))
    }
}

impl HookRunner for HookPrograms {
    fn run<'a>(&'a self, handler: &'a Handler, input: &'a str) -> BoxFuture<'a, Ended> {
        let sandbox = match self.confinement(handler) {
            Ok(sandbox) => sandbox,
            Err(_) if matches!(handler.way, Way::Post { .. }) => None,
            Err(why) => return Box::pin(async move { Ended::Refused(why) }),
        };
        let launch = match &handler.way {
            Way::Shell(command) => Launch::shell(command, &self.directory),
            Way::Program(program, arguments) => {
                Launch::new(program, &self.directory).with_arguments(arguments)
            }
            #[cfg(feature = "models")]
            Way::Post { .. } => return Box::pin(self.posts.tell(handler, input, KEPT)),
            #[cfg(not(feature = "models"))]
            Way::Post { .. } => {
                let why = "hooks by HTTP need the feature `models` of lariat";
                return Box::pin(async move { Ended::Failed(why.to_owned()) });
            }
        };
        let mut launch = launch
            .with_environment(self.environment.clone())
            .with_input(Input::Bytes(input.as_bytes().to_vec()))
            .with_output(Output::Separate)
            .with_capture(CaptureLimits { head: KEPT, tail: 0, ..CaptureLimits::default() })
            .with_time(Some(handler.timeout));
        if let Some(sandbox) = sandbox {
            launch = launch.with_sandbox(sandbox.clone());
        }
        Box::pin(async move {
            match self.supervisor.run(launch, &CancellationToken::new()).await {
                Ok(done) if done.end == End::TimedOut => Ended::TimedOut,
                Ok(done) => match done.exit {
                    Exit::Code(code) => {
                        Ended::Exited { code, output: done.output.text(), errors: done.errors.text() }
                    }
                    other => Ended::Failed(format!("it ended by {other:?}")),
                },
                Err(error) => Ended::Failed(error.to_string()),
            }
        })
    }
}
