//! Defines what the tools of one agent share: the workspace and what was read of it, the supervisor and sandbox of commands,
//! outputs that were cut, undo, and who can ask the user.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use lariat_core::editor_files::EditorFiles;
use lariat_core::tool::ToolContext;
use lariat_host::files::text::Text;
use lariat_host::files::{FileMemory, Workspace};
use lariat_host::process::{Environment, Supervisor};
use lariat_host::sandbox::Sandbox;
use lariat_host::undo::{Undo, UndoError};

use crate::OutgoingHttp;
use crate::Outputs;
use crate::UserPrompter;
use crate::background::Background;
use crate::file_texts::FileTexts;
#[cfg(feature = "map")]
use crate::outline::Outlines;
use crate::session_memories::SessionMemories;
use crate::shown_files::ShownFiles;
use crate::unsaved_files::{Editor, UnsavedFiles};

/// The resources that the tools of one agent share. Clones share them.
#[derive(Clone, Debug)]
pub struct Workbench {
    workspace: Workspace,
    /// What differs in the editor, for the workbench of one tool call.
    unsaved: UnsavedFiles,
    /// What the session has read, for the workbench of one tool call.
    memory: FileMemory,
    shared: Arc<SharedTools>,
}

#[derive(Clone, Debug)]
struct SharedTools {
    memories: SessionMemories,
    shown: ShownFiles,
    texts: FileTexts,
    #[cfg(feature = "map")]
    outlines: Outlines,
    supervisor: Supervisor,
    commands: Commands,
    environment: Environment,
    background: Background,
    outputs: Outputs,
    asker: Option<Arc<dyn UserPrompter>>,
    editor: Option<Editor>,
    internal_hosts: Vec<String>,
    egress: OutgoingHttp,
    hidden: HiddenReads,
    undo: Option<UndoStore>,
}

/// The undo store. It is opened before the first change, because opening it scans the whole workspace.
#[derive(Clone)]
struct UndoStore {
    open: Arc<OpenUndo>,
    opened: Arc<OnceLock<Undo>>,
}

type OpenUndo = dyn Fn() -> Result<Undo, UndoError> + Send + Sync;

impl std::fmt::Debug for UndoStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.opened.fmt(f)
    }
}

/// What permission rules deny reading. Sandboxes must know it before a command starts.
pub trait DeniedReads: Send + Sync {
    /// Directories and files that contain everything that is denied.
    fn starts(&self) -> Vec<PathBuf>;

    /// Whether an absolute path without links is denied.
    fn denies(&self, path: &Path) -> bool;
}

/// Files that the sandboxes of commands hide.
#[derive(Clone, Default)]
pub(crate) struct HiddenReads(Option<Arc<dyn DeniedReads>>);

impl HiddenReads {
    pub(crate) fn starts(&self) -> Vec<PathBuf> {
        self.0.as_ref().map(|denied| denied.starts()).unwrap_or_default()
    }

    pub(crate) fn denies(&self, path: &Path) -> bool {
        self.0.as_ref().is_some_and(|denied| denied.denies(path))
    }
}

impl std::fmt::Debug for HiddenReads {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_some() { "by a rule" } else { "none" })
    }
}

/// Whether commands may run, and in which sandbox.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Commands {
    /// Commands do not run, because neither a sandbox nor unsandboxed execution was chosen.
    #[default]
    Refused,
    /// Commands run in this sandbox.
    Confined(Sandbox),
    /// Commands run unsandboxed, with all permissions of this process.
    Unconfined,
}

impl Workbench {
    /// Creates a workbench for a workspace of which nothing has been read. Commands are denied until
    /// [`with_commands`](Self::with_commands) sets how they run.
    pub fn new(workspace: Workspace) -> Self {
        let memory = FileMemory::default();
        Self {
            workspace,
            unsaved: UnsavedFiles::default(),
            memory: memory.clone(),
            shared: Arc::new(SharedTools {
                memories: SessionMemories::new(memory),
                shown: ShownFiles::default(),
                texts: FileTexts::default(),
                #[cfg(feature = "map")]
                outlines: Outlines::default(),
                supervisor: Supervisor::new(),
                commands: Commands::default(),
                environment: Environment::default(),
                background: Background::default(),
                outputs: Outputs::default(),
                asker: None,
                editor: None,
                internal_hosts: Vec::new(),
                egress: OutgoingHttp::default(),
                hidden: HiddenReads::default(),
                undo: None,
            }),
        }
    }

    /// Sets whether commands may run, and in which sandbox.
    #[must_use]
    pub fn with_commands(self, commands: Commands) -> Self {
        self.with(|shared| shared.commands = commands)
    }

    /// Sets the environment variables of commands.
    #[must_use]
    pub fn with_environment(self, environment: Environment) -> Self {
        self.with(|shared| shared.environment = environment)
    }

    /// Sets the supervisor that starts commands. They end when the last workbench with it is dropped.
    #[must_use]
    pub fn with_supervisor(self, supervisor: Supervisor) -> Self {
        self.with(|shared| shared.supervisor = supervisor)
    }

    /// Shows the content of a file each time that it is read, for callers that do not see earlier results.
    #[must_use]
    pub fn with_repeated_reads(self) -> Self {
        self.with(|shared| shared.shown = ShownFiles::forgetful())
    }

    /// Sets where long outputs are stored.
    #[must_use]
    pub fn with_outputs(self, outputs: Outputs) -> Self {
        self.with(|shared| shared.outputs = outputs)
    }

    /// Sets who asks the user questions.
    #[must_use]
    pub fn with_asker(self, asker: Arc<dyn UserPrompter>) -> Self {
        self.with(|shared| shared.asker = Some(asker))
    }

    /// Sets the editor whose unsaved texts the file tools read and protect.
    #[must_use]
    pub fn with_editor(self, editor: Arc<dyn EditorFiles>) -> Self {
        self.with(|shared| shared.editor = Some(Editor(editor)))
    }

    /// Adds a host name or address that `fetch` may access although it is this machine or in an internal network.
    #[must_use]
    pub fn with_internal_host(self, host: impl Into<String>) -> Self {
        self.with(|shared| shared.internal_hosts.push(host.into()))
    }

    /// Sets the proxies and certificates of `fetch`.
    #[must_use]
    pub fn with_egress(self, egress: OutgoingHttp) -> Self {
        self.with(|shared| shared.egress = egress)
    }

    /// Sets what the sandboxes of commands hide, because permission rules deny reading it.
    #[must_use]
    pub fn with_denied_reads(self, denied: Arc<dyn DeniedReads>) -> Self {
        self.with(|shared| shared.hidden = HiddenReads(Some(denied)))
    }

    /// Sets the undo store that records what the tools change.
    #[must_use]
    pub fn with_undo(self, undo: Undo) -> Self {
        self.with_undo_by(move || Ok(undo.clone()))
    }

    /// Like [`with_undo`](Self::with_undo), but opens the store before the first tool call that changes something. If
    /// it cannot be opened, the tool call does not run, and the next one tries again.
    #[must_use]
    pub fn with_undo_by(self, open: impl Fn() -> Result<Undo, UndoError> + Send + Sync + 'static) -> Self {
        let store = UndoStore { open: Arc::new(open), opened: Arc::default() };
        self.with(|shared| shared.undo = Some(store))
    }

    fn with(mut self, set: impl FnOnce(&mut SharedTools)) -> Self {
        set(Arc::make_mut(&mut self.shared));
        self
    }

    /// The workspace of the agent.
    pub fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// The workbench of one tool call: every opened file is checked against the permissions of that call.
    pub(crate) fn of_call(&self, context: &ToolContext) -> Self {
        let memory = self.shared.memories.of(&context.conversation_id());
        match &context.files {
            Some(judge) => Self {
                workspace: self.workspace.clone().with_access_check(Arc::clone(judge)),
                memory,
                ..self.clone()
            },
            None => Self { memory, ..self.clone() },
        }
    }

    /// What the agent has read.
    pub fn memory(&self) -> &FileMemory {
        &self.memory
    }

    /// The supervisor that starts commands.
    pub fn supervisor(&self) -> &Supervisor {
        &self.shared.supervisor
    }

    /// Whether commands may run, and in which sandbox.
    pub fn commands(&self) -> &Commands {
        &self.shared.commands
    }

    /// The environment variables of commands.
    pub fn environment(&self) -> &Environment {
        &self.shared.environment
    }

    /// Outputs that were cut.
    pub fn outputs(&self) -> &Outputs {
        &self.shared.outputs
    }

    /// Who asks the user questions.
    pub fn asker(&self) -> Option<&Arc<dyn UserPrompter>> {
        self.shared.asker.as_ref()
    }

    /// The editor of the session.
    pub fn editor(&self) -> Option<&Arc<dyn EditorFiles>> {
        self.shared.editor.as_ref().map(|editor| &editor.0)
    }

    /// The same workbench with what differs in the editor.
    pub(crate) fn with_unsaved(&self, unsaved: UnsavedFiles) -> Self {
        Self { unsaved, ..self.clone() }
    }

    /// The text that the editor shows instead of a file on disk.
    pub(crate) fn unsaved(&self, path: &str) -> Option<&Text> {
        self.unsaved.text(path)
    }

    /// Hosts that `fetch` may access although they are internal.
    pub fn internal_hosts(&self) -> &[String] {
        &self.shared.internal_hosts
    }

    /// The proxies and certificates of `fetch`.
    pub fn egress(&self) -> &OutgoingHttp {
        &self.shared.egress
    }

    /// Whether the tools' changes can be undone.
    pub fn keeps_undo(&self) -> bool {
        self.shared.undo.is_some()
    }

    /// The undo store; `None` if undo was not requested. The first call scans the whole workspace.
    ///
    /// # Errors
    /// If the store cannot be opened.
    pub fn undo(&self) -> Result<Option<&Undo>, UndoError> {
        let Some(store) = &self.shared.undo else { return Ok(None) };
        if let Some(undo) = store.opened.get() {
            return Ok(Some(undo));
        }
        let undo = (store.open)()?;
        Ok(Some(store.opened.get_or_init(|| undo)))
    }

    pub(crate) fn hidden(&self) -> &HiddenReads {
        &self.shared.hidden
    }

    pub(crate) fn shown(&self) -> &ShownFiles {
        &self.shared.shown
    }

    /// The texts of files that any session has read.
    pub(crate) fn texts(&self) -> &FileTexts {
        &self.shared.texts
    }

    #[cfg(feature = "map")]
    pub(crate) fn outlines(&self) -> &Outlines {
        &self.shared.outlines
    }

    pub(crate) fn background(&self) -> &Background {
        &self.shared.background
    }
}
