//! What the tools of one agent share.
//!
//! Owns nothing but the handles: the workspace and what has been read of it, who starts commands and what confines them,
//! outputs that were cut, what can be undone, and who can ask a person. Cloning shares.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use lariat_host::files::{FileMemory, Workspace};
use lariat_host::process::{Environment, Supervisor};
use lariat_host::sandbox::Sandbox;
use lariat_host::undo::{Undo, UndoError};

use crate::Asker;
use crate::Outputs;
use crate::bash::Background;
#[cfg(feature = "map")]
use crate::map::Outlines;
use crate::shown::ShownFiles;

/// The handles that the tools of one agent share. Cloning shares them.
#[derive(Clone, Debug)]
pub struct Workbench {
    shared: Arc<Shared>,
}

#[derive(Clone, Debug)]
struct Shared {
    workspace: Workspace,
    memory: FileMemory,
    shown: ShownFiles,
    #[cfg(feature = "map")]
    outlines: Outlines,
    supervisor: Supervisor,
    commands: Commands,
    environment: Environment,
    background: Background,
    outputs: Outputs,
    asker: Option<Arc<dyn Asker>>,
    internal_hosts: Vec<String>,
    undo: Option<Keeping>,
    hidden: Hidden,
}

/// Where is kept what the tools change: opened when something is about to be changed, because that looks at everything.
#[derive(Clone)]
struct Keeping {
    open: Arc<OpenUndo>,
    opened: Arc<OnceLock<Undo>>,
}

type OpenUndo = dyn Fn() -> Result<Undo, UndoError> + Send + Sync;

impl std::fmt::Debug for Keeping {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.opened.fmt(f)
    }
}

/// Says of a path beneath the workspace whether tools that look at many files leave it out.
type Hides = dyn Fn(&str) -> bool + Send + Sync;

/// What rules deny to read, for sandboxes, which must know it before a command starts.
pub trait DeniedReads: Send + Sync {
    /// Folders and files at which everything begins that is denied.
    fn starts(&self) -> Vec<PathBuf>;

    /// Whether an absolute path that has no links in it is denied.
    fn denies(&self, path: &Path) -> bool;
}

/// Files that are left out.
#[derive(Clone, Default)]
pub(crate) struct Hidden {
    hides: Option<Arc<Hides>>,
    denied: Option<Arc<dyn DeniedReads>>,
}

impl Hidden {
    pub(crate) fn has(&self, path: &str) -> bool {
        self.hides.as_ref().is_some_and(|hides| hides(path))
    }

    pub(crate) fn starts(&self) -> Vec<PathBuf> {
        self.denied.as_ref().map(|denied| denied.starts()).unwrap_or_default()
    }

    pub(crate) fn denies(&self, path: &Path) -> bool {
        self.denied.as_ref().is_some_and(|denied| denied.denies(path))
    }
}

impl std::fmt::Debug for Hidden {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.hides.is_some() { "by a rule" } else { "none" })
    }
}

/// Whether commands are run, and what confines them.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Commands {
    /// They are not run: nobody chose a sandbox, or to do without.
    #[default]
    Refused,
    /// In a sandbox.
    Confined(Sandbox),
    /// With everything that we may do ourselves.
    Unconfined,
}

impl Workbench {
    /// A bench in a workspace of which nothing has been read. Commands are refused until
    /// [`with_commands`](Self::with_commands) says how they are confined.
    pub fn new(workspace: Workspace) -> Self {
        Self {
            shared: Arc::new(Shared {
                workspace,
                memory: FileMemory::default(),
                shown: ShownFiles::default(),
                #[cfg(feature = "map")]
                outlines: Outlines::default(),
                supervisor: Supervisor::new(),
                commands: Commands::default(),
                environment: Environment::default(),
                background: Background::default(),
                outputs: Outputs::default(),
                asker: None,
                internal_hosts: Vec::new(),
                undo: None,
                hidden: Hidden::default(),
            }),
        }
    }

    /// Sets whether commands are run, and what confines them.
    #[must_use]
    pub fn with_commands(self, commands: Commands) -> Self {
        self.with(|shared| shared.commands = commands)
    }

    /// Sets the variables that commands get.
    #[must_use]
    pub fn with_environment(self, environment: Environment) -> Self {
        self.with(|shared| shared.environment = environment)
    }

    /// Sets who starts commands, and ends them when the last bench that has it is gone.
    #[must_use]
    pub fn with_supervisor(self, supervisor: Supervisor) -> Self {
        self.with(|shared| shared.supervisor = supervisor)
    }

    /// Sets where long outputs are kept.
    #[must_use]
    pub fn with_outputs(self, outputs: Outputs) -> Self {
        self.with(|shared| shared.outputs = outputs)
    }

    /// Sets who can ask a person.
    #[must_use]
    pub fn with_asker(self, asker: Arc<dyn Asker>) -> Self {
        self.with(|shared| shared.asker = Some(asker))
    }

    /// Adds a host name or address that `fetch` may reach although it is this machine or in an internal network.
    #[must_use]
    pub fn with_internal_host(self, host: impl Into<String>) -> Self {
        self.with(|shared| shared.internal_hosts.push(host.into()))
    }

    /// Sets which files may not be read: tools that look at many leave them out, without a word. Paths are relative to
    /// the workspace. Reading one by its name is for the gate to deny.
    #[must_use]
    pub fn with_hidden(self, hides: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        self.with(|shared| shared.hidden.hides = Some(Arc::new(hides)))
    }

    /// Sets what the sandboxes of commands hide, because rules deny to read it.
    #[must_use]
    pub fn with_denied_reads(self, denied: Arc<dyn DeniedReads>) -> Self {
        self.with(|shared| shared.hidden.denied = Some(denied))
    }

    /// Sets where is kept what the tools change, so that it can be undone.
    #[must_use]
    pub fn with_undo(self, undo: Undo) -> Self {
        self.with_undo_by(move || Ok(undo.clone()))
    }

    /// As [`with_undo`](Self::with_undo), opened when the first call is about to change something. A call for which it cannot be
    /// opened does not run, and the next one tries again.
    #[must_use]
    pub fn with_undo_by(self, open: impl Fn() -> Result<Undo, UndoError> + Send + Sync + 'static) -> Self {
        let keeping = Keeping { open: Arc::new(open), opened: Arc::default() };
        self.with(|shared| shared.undo = Some(keeping))
    }

    fn with(mut self, set: impl FnOnce(&mut Shared)) -> Self {
        set(Arc::make_mut(&mut self.shared));
        self
    }

    /// Where the agent works.
    pub fn workspace(&self) -> &Workspace {
        &self.shared.workspace
    }

    /// What the agent has read.
    pub fn memory(&self) -> &FileMemory {
        &self.shared.memory
    }

    /// Who starts commands.
    pub fn supervisor(&self) -> &Supervisor {
        &self.shared.supervisor
    }

    /// What confines commands.
    pub fn commands(&self) -> &Commands {
        &self.shared.commands
    }

    /// The variables that commands get.
    pub fn environment(&self) -> &Environment {
        &self.shared.environment
    }

    /// Outputs that were cut.
    pub fn outputs(&self) -> &Outputs {
        &self.shared.outputs
    }

    /// Who can ask a person.
    pub fn asker(&self) -> Option<&Arc<dyn Asker>> {
        self.shared.asker.as_ref()
    }

    /// Hosts that `fetch` may reach although they are internal.
    pub fn internal_hosts(&self) -> &[String] {
        &self.shared.internal_hosts
    }

    /// Whether what the tools change can be undone.
    pub fn keeps_undo(&self) -> bool {
        self.shared.undo.is_some()
    }

    /// Where is kept what the tools change; none where that was not asked for. Looks at the whole workspace the first time.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn undo(&self) -> Result<Option<&Undo>, UndoError> {
        let Some(keeping) = &self.shared.undo else { return Ok(None) };
        if let Some(undo) = keeping.opened.get() {
            return Ok(Some(undo));
        }
        let undo = (keeping.open)()?;
        Ok(Some(keeping.opened.get_or_init(|| undo)))
    }

    pub(crate) fn hidden(&self) -> &Hidden {
        &self.shared.hidden
    }

    pub(crate) fn shown(&self) -> &ShownFiles {
        &self.shared.shown
    }

    #[cfg(feature = "map")]
    pub(crate) fn outlines(&self) -> &Outlines {
        &self.shared.outlines
    }

    pub(crate) fn background(&self) -> &Background {
        &self.shared.background
    }
}
