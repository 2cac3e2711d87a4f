//! Runs hook handlers: starts programs and sends HTTP requests.
//!
//! A handler that the workspace configures, or that runs a file of the workspace, is sandboxed like a command, and runs only
//! while those files are unchanged since the workspace was opened.

use std::path::PathBuf;

use lariat_core::BoxFuture;
use lariat_core::cancel::CancellationToken;
use lariat_guard::hooks::{Handler, HandlerResult, HookRunner, Invocation};
use lariat_host::files::Workspace;
use lariat_host::process::{CaptureLimits, End, Environment, Exit, Input, Launch, Output, Supervisor};
use lariat_host::sandbox::Sandbox;
#[cfg(feature = "models")]
use lariat_model::http::ClientConfig;

use super::WorkspaceFiles;
#[cfg(feature = "models")]
use super::http_hooks::HttpHooks;

/// Starts programs for hooks in the project's directory with the given environment, and ends them with all their child
/// processes on timeout. With the feature `models`, also sends HTTP requests for hooks.
#[derive(Clone, Debug)]
pub struct HookPrograms {
    supervisor: Supervisor,
    directory: PathBuf,
    environment: Environment,
    sandbox: Option<Sandbox>,
    of_project: ProjectHooks,
    workspace: Option<Workspace>,
    #[cfg(feature = "models")]
    http_hooks: HttpHooks,
}

/// How to run handlers that the workspace configures, or that run a file of it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ProjectHooks {
    /// In this sandbox.
    Confined(Sandbox),
    /// Without a sandbox, like any program of the user.
    Unconfined,
    /// Not at all, for this reason.
    Refused(String),
}

/// Maximum bytes of a hook's output.
const KEPT: usize = 1024 * 1024;

impl HookPrograms {
    /// Runs programs in a directory, which `CLAUDE_PROJECT_DIR` names.
    pub fn new(supervisor: Supervisor, directory: impl Into<PathBuf>, environment: Environment) -> Self {
        let directory = directory.into();
        let environment = environment.with("CLAUDE_PROJECT_DIR", directory.as_os_str());
        Self {
            supervisor,
            directory,
            environment,
            sandbox: None,
            of_project: ProjectHooks::Refused("no sandbox was configured for hooks of a project".to_owned()),
            workspace: None,
            #[cfg(feature = "models")]
            http_hooks: HttpHooks::default(),
        }
    }

    /// Sets variables for HTTP headers. A handler may use those that its `allowedEnvVars` lists.
    #[cfg(feature = "models")]
    #[must_use]
    pub fn with_header_variables(
        mut self,
        variables: impl IntoIterator<Item = (impl Into<String>, impl Into<String>)>,
    ) -> Self {
        let variables = variables.into_iter().map(|(name, value)| (name.into(), value.into()));
        self.http_hooks = self.http_hooks.with_variables(variables.collect());
        self
    }

    /// Sets the proxy and certificates for HTTP requests.
    #[cfg(feature = "models")]
    #[must_use]
    pub fn with_client(mut self, config: ClientConfig) -> Self {
        self.http_hooks = self.http_hooks.with_client(config);
        self
    }

    /// Sets how to run handlers of the workspace. By default, they do not run.
    #[must_use]
    pub fn with_project_hooks(mut self, of_project: ProjectHooks) -> Self {
        self.of_project = of_project;
        self
    }

    /// Sets the workspace whose scripts are checked before each run.
    #[must_use]
    pub fn with_workspace(mut self, workspace: &Workspace) -> Self {
        self.workspace = Some(workspace.clone().without_hints());
        self
    }

    /// Sandboxes all handlers.
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
                return Err("the scripts that it runs cannot be checked".to_owned());
            };
            let renew = "; hint: review it, then run `lariat trust`";
            scripts.check(&WorkspaceFiles(workspace)).map_err(|why| format!("{why}{renew}"))?;
        }
        let of_workspace = scripts.run_workspace_code();
        match &self.of_project {
            ProjectHooks::Confined(sandbox) if of_workspace || self.may_run_writable_programs() => {
                Ok(Some(sandbox))
            }
            ProjectHooks::Refused(why) if of_workspace => Err(why.clone()),
            _ => Ok(self.sandbox.as_ref()),
        }
    }

    /// Whether a bare program name may resolve to a file that the agent can write, as with an active virtual environment.
    fn may_run_writable_programs(&self) -> bool {
        self.environment.searches_untrusted(&[&self.directory])
    }
}

impl HookRunner for HookPrograms {
    fn run<'a>(&'a self, handler: &'a Handler, input: &'a str) -> BoxFuture<'a, HandlerResult> {
        let sandbox = match self.confinement(handler) {
            Ok(sandbox) => sandbox,
            Err(_) if matches!(handler.way, Invocation::Post { .. }) => None,
            Err(why) => return Box::pin(async move { HandlerResult::Refused(why) }),
        };
        let launch = match &handler.way {
            Invocation::Shell(command) => Launch::shell(command, &self.directory),
            Invocation::Program(program, arguments) => {
                Launch::new(program, &self.directory).with_arguments(arguments)
            }
            #[cfg(feature = "models")]
            Invocation::Post { .. } => return Box::pin(self.http_hooks.send(handler, input, KEPT)),
            Invocation::Callback(_) => {
                let why = "no program that controls the session runs callbacks";
                return Box::pin(async move { HandlerResult::Failed(why.to_owned()) });
            }
            #[cfg(not(feature = "models"))]
            Invocation::Post { .. } => {
                let why = "HTTP hooks need the feature `models` of lariat";
                return Box::pin(async move { HandlerResult::Failed(why.to_owned()) });
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
                Ok(done) if done.end == End::TimedOut => HandlerResult::TimedOut,
                Ok(done) => match done.exit {
                    Exit::Code(code) => {
                        HandlerResult::Exited { code, output: done.output.text(), errors: done.errors.text() }
                    }
                    other => HandlerResult::Failed(format!("it ended with {other:?}")),
                },
                Err(error) => HandlerResult::Failed(error.to_string()),
            }
        })
    }
}
