//! Informs the model about a workspace, besides its memory files: skills, a map of its source, the state of git.

use lariat_connect::{AgentSet, CommandSet, SkillSet};
use lariat_core::BoxFuture;
use lariat_core::cancel::CancellationToken;
use lariat_core::content::joined_text;
use lariat_core::context::{ContextSource, Note, NotesQuery};
use lariat_core::file_access::FileAccessCheck;
use lariat_core::tool::ToolContext;
use lariat_guard::Trust;
use lariat_host::files::Workspace;
use lariat_host::git::{Git, GitError};
use lariat_runtime::prompt::{NoteWriter, Section, SectionQuery, SectionSource, SectionStability};
use lariat_tools::Workbench;
use serde_json::json;
use std::path::Path;
#[cfg(feature = "service")]
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::{FileOwnership, Owner};

/// The skill directories in a home and in a workspace; the later one wins.
const SKILLS: [&str; 2] = [".claude/skills", ".agents/skills"];
/// The directory of commands in a home and in a workspace.
const COMMANDS: [&str; 1] = [".claude/commands"];
/// The directory of sub-agents in a home and in a workspace.
const AGENTS: [&str; 1] = [".claude/agents"];
/// Maximum entries of a skill directory to check for links.
#[cfg(feature = "service")]
const MAX_SKILL_ENTRIES: usize = 500;
/// Maximum number of linked skills, because each is kept open.
#[cfg(feature = "service")]
const MAX_LINKED_SKILLS: usize = 32;
/// Maximum tokens of the skill index.
const SKILLS_TOKENS: u64 = 6_000;
/// The name of the map section.
const MAP: &str = "map";
/// Maximum characters of a prompt that choose what the map shows.
const TASK_CHARS: usize = 8_000;
/// Maximum lines of git's status in a note.
const STATUS_LINES: usize = 30;
/// Maximum age of a status that is reused.
const MAX_STATUS_AGE: Duration = Duration::from_secs(1);

/// Loads the user's skills and, if the project is trusted, the project's, which take precedence.
pub fn skills(workspace: &Workspace, home: Option<&Path>, trust: Trust) -> SkillSet {
    let mut set = SkillSet::default();
    each_folder(workspace, home, trust, &SKILLS, |root, folder, source| {
        set.merge(SkillSet::load_in(root, folder, source));
    });
    set
}

/// Loads the user's commands and, if the project is trusted, the project's, which take precedence.
pub fn commands(workspace: &Workspace, home: Option<&Path>, trust: Trust) -> CommandSet {
    let mut set = CommandSet::default();
    each_folder(workspace, home, trust, &COMMANDS, |root, folder, source| {
        set.merge(CommandSet::load_in(root, folder, source));
    });
    set
}

/// Loads the user's sub-agents and, if the project is trusted, the project's, which take precedence.
pub(super) fn agents(workspace: &Workspace, home: Option<&Path>, trust: Trust) -> AgentSet {
    let mut set = AgentSet::default();
    each_folder(workspace, home, trust, &AGENTS, |root, folder, source| {
        set.merge(AgentSet::load_in(root, folder, source));
    });
    set
}

/// Visits the folders with these names: those of the home, then, if the project is trusted, those of the project from its root
/// to the workspace.
fn each_folder(
    workspace: &Workspace,
    home: Option<&Path>,
    trust: Trust,
    names: &[&str],
    mut visit: impl FnMut(&Workspace, &str, &str),
) {
    let territory = FileOwnership::of(workspace.path(), home);
    if let Some(home) = home.and_then(|home| Workspace::open(home).ok()).map(Workspace::without_hints) {
        names.iter().for_each(|folder| visit(&home, folder, "user"));
    }
    if trust == Trust::Trusted
        && let Ok(project) = Workspace::open(territory.root()).map(Workspace::without_hints)
    {
        for directory in territory.directories_to_root() {
            let folders = names.iter().map(|folder| directory.join(folder));
            let is_of_project =
                |path: &std::path::PathBuf| territory.owner(&project.path().join(path)) == Owner::Project;
            for folder in folders.filter(is_of_project).filter_map(|folder| Some(folder.to_str()?.to_owned()))
            {
                visit(&project, &folder, "project");
            }
        }
    }
}

/// The directories of the user's own skills, including the targets of links in them.
#[cfg(feature = "service")]
pub(crate) fn skill_folders(home: &Path) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> =
        SKILLS.iter().map(|folder| home.join(folder)).filter(|folder| folder.is_dir()).collect();
    let linked: Vec<PathBuf> = folders
        .iter()
        .filter_map(|folder| folder.read_dir().ok())
        .flat_map(|entries| entries.filter_map(Result::ok).take(MAX_SKILL_ENTRIES))
        .map(|entry| entry.path())
        .filter(|path| path.is_symlink() && path.join("SKILL.md").is_file())
        .filter_map(|path| path.canonicalize().ok())
        .take(MAX_LINKED_SKILLS)
        .collect();
    folders.extend(linked);
    folders
}

/// The skill index as a section of the system prompt. The model reads a skill's file when it needs it.
pub fn skills_section(skills: &SkillSet) -> Section {
    index_section(skills.format_for_prompt())
}

/// An index of skills as a section.
pub(super) fn index_section(index: impl Into<String>) -> Section {
    Section::new("skills", SectionStability::Static, index.into()).with_max_tokens(SKILLS_TOKENS)
}

/// An outline of the workspace's source as a section of the system prompt: the files that fit the first prompt best.
pub struct MapSection {
    bench: Workbench,
    tokens: u64,
    files: Option<Arc<dyn FileAccessCheck>>,
}

impl std::fmt::Debug for MapSection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MapSection").field("tokens", &self.tokens).finish_non_exhaustive()
    }
}

impl MapSection {
    /// Limits the map to `tokens`.
    pub fn new(bench: &Workbench, tokens: u64) -> Self {
        Self { bench: bench.clone(), tokens, files: None }
    }

    /// Omits files that may not be read.
    #[must_use]
    pub fn with_access_check(mut self, files: Arc<dyn FileAccessCheck>) -> Self {
        self.files = Some(files);
        self
    }
}

impl SectionSource for MapSection {
    fn sections(&self, query: SectionQuery) -> BoxFuture<'_, Vec<Section>> {
        Box::pin(async move {
            if let Some(sent) = query.sent_section(MAP) {
                return vec![Section::new(MAP, sent.place, &*sent.text).without_updates()];
            }
            let tools = lariat_tools::search_tools(&self.bench);
            let Some(map) = tools.into_iter().find(|tool| tool.name() == "repo_map") else {
                return Vec::new();
            };
            let (session, run) = ("".into(), "".into());
            let mut context = ToolContext::new("".into(), "repo_map", session, run, CancellationToken::new());
            context.files = self.files.clone();
            let mut arguments = json!({ "tokens": self.tokens.clamp(100, 20_000) });
            let task: String = query.prompt.chars().take(TASK_CHARS).collect();
            if let Some(arguments) = arguments.as_object_mut().filter(|_| !task.trim().is_empty()) {
                arguments.insert("task".to_owned(), task.into());
            }
            let Ok(drawn) = map.execute(arguments, context).await else {
                return Vec::new();
            };
            if drawn.details.get("files").and_then(serde_json::Value::as_u64) == Some(0) {
                return Vec::new();
            }
            let text = format!(
                "# Map of the repository at the start of the session\n{}",
                joined_text(&drawn.content)
            );
            let section = Section::new(MAP, SectionStability::SemiStatic, text)
                .with_max_tokens(self.tokens + self.tokens / 4);
            vec![section.with_full_text_at("call `repo_map`").without_updates()]
        })
    }
}

/// Reports the branch and the changes in the work tree at the start of a run. Later changes are the model's own.
#[derive(Debug)]
pub struct GitNotes {
    git: Arc<Git>,
    teller: NoteWriter,
    query: Mutex<Option<StatusQuery>>,
}

/// A status query that was started in advance.
#[derive(Debug)]
struct StatusQuery {
    at: Instant,
    status: JoinHandle<Result<String, GitError>>,
}

impl GitNotes {
    /// Reports the state of this repository.
    pub fn new(git: Git) -> Self {
        Self { git: Arc::new(git), teller: NoteWriter::default(), query: Mutex::new(None) }
    }

    /// Starts the status query now, so that git works while the session is built. Needs a Tokio runtime.
    #[must_use]
    pub fn start_query(self) -> Self {
        let git = Arc::clone(&self.git);
        let status = tokio::spawn(async move { git.status().await });
        *self.query.lock().unwrap_or_else(PoisonError::into_inner) =
            Some(StatusQuery { at: Instant::now(), status });
        self
    }

    async fn status(&self) -> Result<String, GitError> {
        let query = self.query.lock().unwrap_or_else(PoisonError::into_inner).take();
        let query = query.filter(|query| query.at.elapsed() < MAX_STATUS_AGE);
        if let Some(query) = query
            && let Ok(status) = query.status.await
        {
            return status;
        }
        self.git.status().await
    }
}

impl ContextSource for GitNotes {
    fn notes(&self, query: NotesQuery) -> BoxFuture<'_, Vec<Note>> {
        Box::pin(async move {
            if query.turn_index > 0 {
                return Vec::new();
            }
            let Ok(status) = self.status().await else { return Vec::new() };
            let mut text: String =
                status.lines().take(STATUS_LINES).map(|line| format!("{line}\n")).collect();
            let more = status.lines().count().saturating_sub(STATUS_LINES);
            if more > 0 {
                text.push_str(&format!("[{more} more; call git to see them]\n"));
            }
            self.teller.note("git", &text, &query.told).into_iter().collect()
        })
    }

    fn is_read_only(&self) -> bool {
        true
    }
}
