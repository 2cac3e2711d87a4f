//! Which backend this machine has, found by trying.
//!
//! Owns the trial: a command that must be able to write where it may, and must not be able to write a protected path, a
//! path outside, or reach a listener of ours. A backend that does not pass is not offered, whatever is installed.

use std::path::{Path, PathBuf};
use std::time::Duration;

use lariat_core::cancel::CancellationToken;

use super::backend::{Backend, Sandbox};
use super::policy::Policy;
use crate::process::{Environment, Launch, Supervisor};

/// Where `bwrap` may be.
const BUBBLEWRAP: &[&str] = &["/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap"];

/// What a machine has.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Found {
    /// The backends that passed the trial, the preferred one first.
    pub backends: Vec<Backend>,
    /// The others by name, with the reason.
    pub refused: Vec<(&'static str, String)>,
}

/// Why there is no sandbox.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no sandbox works on this machine ({}); install bubblewrap, or choose to run commands without one",
    .0.iter().map(|(name, reason)| format!("{name}: {reason}")).collect::<Vec<_>>().join("; "))]
pub struct NoSandbox(pub Vec<(&'static str, String)>);

impl Sandbox {
    /// A policy, enforced by the first backend that passes its trial in `scratch`, a directory that is ours to use.
    ///
    /// # Errors
    /// [`NoSandbox`] with the reason of each backend.
    pub async fn find(policy: Policy, scratch: &Path, environment: &Environment) -> Result<Self, NoSandbox> {
        let found = probe(scratch, environment).await;
        match found.backends.into_iter().next() {
            Some(backend) => Ok(Self::new(policy, backend)),
            None => Err(NoSandbox(found.refused)),
        }
    }
}

/// Tries every backend in a directory that is ours to use and is left as it was.
pub async fn probe(directory: &Path, environment: &Environment) -> Found {
    let mut found = Found { backends: Vec::new(), refused: Vec::new() };
    attempt(Backend::Landlock, directory, environment, &mut found).await;
    match BUBBLEWRAP.iter().map(PathBuf::from).find(|path| path.exists()) {
        Some(path) => attempt(Backend::Bubblewrap(path), directory, environment, &mut found).await,
        None => found.refused.push(("bubblewrap", "`bwrap` is not installed".to_owned())),
    }
    found
}

async fn attempt(backend: Backend, directory: &Path, environment: &Environment, found: &mut Found) {
    match trial(&backend, directory, environment).await {
        Ok(()) => found.backends.push(backend),
        Err(reason) => found.refused.push((backend.name(), reason)),
    }
}

/// What the trial's command does. Every line that must fail ends the command with its own code when it does not.
const TRIAL: &str = r#"
echo mine > inside || exit 11
rm inside
(echo bad > .git/hooks) 2>/dev/null && exit 12
(mkdir .lariat/x) 2>/dev/null && exit 13
(echo bad > "$OUTSIDE/.lariat-trial") 2>/dev/null && exit 14
exit 10
"#;

#[expect(clippy::disallowed_methods, reason = "this is the host")]
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
        crate::process::Exit::Code(10) => Ok(()),
        crate::process::Exit::Code(11) => Err("a command cannot write in its workspace".to_owned()),
        crate::process::Exit::Code(12 | 13) => Err("a command can write protected paths".to_owned()),
        crate::process::Exit::Code(14) => Err("a command can write outside of its workspace".to_owned()),
        _ => Err(format!("a command cannot be started: {}", finished.output.text().trim())),
    }
}
