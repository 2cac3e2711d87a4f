//! Finds out which sandbox backends work on this machine, by trying them.
//!
//! The trial runs a command that must be able to write in its workspace, but not to a protected path or to a path
//! outside. A backend that fails the trial is not offered, even if it is installed.

use std::path::{Path, PathBuf};
use std::time::Duration;

use lariat_core::cancel::CancellationToken;

use crate::process::{Environment, Exit, Launch, Supervisor};
use crate::sandbox::{Backend, Policy, Sandbox};

/// Possible paths of `bwrap`.
const BUBBLEWRAP: &[&str] = &["/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap"];

/// The result of probing a machine.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ProbeResult {
    /// The backends that passed the trial, in order of preference.
    pub backends: Vec<Backend>,
    /// The names of the others, with the reason.
    pub refused: Vec<(&'static str, String)>,
}

/// Why no sandbox is available.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no sandbox works on this machine ({}); install bubblewrap, or choose to run commands unsandboxed",
    .0.iter().map(|(name, reason)| format!("{name}: {reason}")).collect::<Vec<_>>().join("; "))]
pub struct NoSandbox(pub Vec<(&'static str, String)>);

impl Sandbox {
    /// Creates a sandbox with the first backend that passes its trial in `scratch`, a directory that we may use.
    ///
    /// # Errors
    /// [`NoSandbox`] with the reason for each backend.
    pub async fn find(policy: Policy, scratch: &Path, environment: &Environment) -> Result<Self, NoSandbox> {
        let found = probe(scratch, environment).await;
        match found.backends.into_iter().next() {
            Some(backend) => Ok(Self::new(policy, backend)),
            None => Err(NoSandbox(found.refused)),
        }
    }
}

/// Tries every backend in a directory that we may use; leaves the directory as it was.
pub async fn probe(directory: &Path, environment: &Environment) -> ProbeResult {
    let mut found = ProbeResult { backends: Vec::new(), refused: Vec::new() };
    attempt(Backend::Landlock, directory, environment, &mut found).await;
    match BUBBLEWRAP.iter().map(PathBuf::from).find(|path| path.exists()) {
        Some(path) => attempt(Backend::Bubblewrap(path), directory, environment, &mut found).await,
        None => found.refused.push(("bubblewrap", "`bwrap` is not installed".to_owned())),
    }
    found
}

async fn attempt(backend: Backend, directory: &Path, environment: &Environment, found: &mut ProbeResult) {
    match trial(&backend, directory, environment).await {
        Ok(()) => found.backends.push(backend),
        Err(reason) => found.refused.push((backend.name(), reason)),
    }
}

/// The script of the trial. Each line that must fail exits with its own code if it succeeds.
const TRIAL: &str = r#"
echo mine > inside || exit 11
rm inside
(echo bad > .git/hooks) 2>/dev/null && exit 12
(mkdir .lariat/x) 2>/dev/null && exit 13
(echo bad > "$OUTSIDE/.lariat-trial") 2>/dev/null && exit 14
exit 10
"#;

#[expect(clippy::disallowed_methods, reason = "lariat-host may access the operating system")]
async fn trial(backend: &Backend, directory: &Path, environment: &Environment) -> Result<(), String> {
    let inside = directory.join("workspace");
    let _ = std::fs::remove_dir_all(&inside);
    std::fs::create_dir_all(&inside).map_err(|error| error.to_string())?;
    let sandbox = Sandbox::new(Policy::workspace(&inside, None), backend.clone());
    let launch = Launch::shell(TRIAL, &inside)
        .with_environment(environment.clone().with("OUTSIDE", directory))
        .with_time(Some(Duration::from_secs(10)))
        .with_sandbox(sandbox);
    let finished = Supervisor::new().run(launch, &CancellationToken::new()).await;
    let _ = std::fs::remove_dir_all(&inside);
    let finished = finished.map_err(|error| error.to_string())?;
    match finished.exit {
        Exit::Code(10) => Ok(()),
        Exit::Code(11) => Err("a command cannot write in its workspace".to_owned()),
        Exit::Code(12 | 13) => Err("a command can write to protected paths".to_owned()),
        Exit::Code(14) => Err("a command can write outside its workspace".to_owned()),
        _ => Err(format!("a command cannot be started: {}", finished.output.text().trim())),
    }
}
