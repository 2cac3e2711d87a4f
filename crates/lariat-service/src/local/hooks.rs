//! The handlers of hooks, started or reached.

use std::path::PathBuf;

use lariat_core::BoxFuture;
use lariat_core::cancel::CancellationToken;
use lariat_guard::hooks::{Ended, Handler, HookRunner, Way};
use lariat_host::process::{CaptureLimits, End, Environment, Exit, Input, Launch, Output, Supervisor};
use lariat_host::sandbox::Sandbox;
#[cfg(feature = "models")]
use lariat_model::http::ClientConfig;

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
    #[cfg(feature = "models")]
    posts: HookPosts,
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

    /// Confines them.
    #[must_use]
    pub fn with_sandbox(mut self, sandbox: Sandbox) -> Self {
        self.sandbox = Some(sandbox);
        self
    }
}

impl HookRunner for HookPrograms {
    fn run<'a>(&'a self, handler: &'a Handler, input: &'a str) -> BoxFuture<'a, Ended> {
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
        if let Some(sandbox) = &self.sandbox {
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
