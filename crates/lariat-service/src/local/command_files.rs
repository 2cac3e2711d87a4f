//! The commands, skills and sub-agents of a workspace: those of plugins, of the user and of the project.
//!
//! They are read when they are needed, so a change of a file applies at once. A project that is not trusted has none.

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use lariat_connect::commands::is_invocation;
use lariat_connect::{AgentSet, CommandSet, Skill, SkillSet};
use lariat_core::BoxFuture;
use lariat_core::content::joined_text;
use lariat_core::context::{ContextSource, Note, NotesQuery};
use lariat_core::message::Origin;
use lariat_guard::Trust;
use lariat_host::files::Workspace;
use lariat_runtime::prompt::NoteWriter;

use super::context_sources::{agents, commands, index_section, skills};
use super::memory::{relative_path, touched_paths};
use super::plugins::Plugin;
use super::{FileOwnership, LoadedWorkspace};

/// The name of the note with the skills for certain files.
const SECTION: &str = "skills for files";

/// Where the commands and skills of a workspace are.
#[derive(Clone, Debug)]
pub struct CommandFiles {
    workspace: Workspace,
    home: PathBuf,
    trust: Trust,
    plugins: Vec<Plugin>,
}

impl CommandFiles {
    /// The files that apply in a workspace.
    pub fn new(workspace: &Workspace, home: &Path, opened: &LoadedWorkspace) -> Self {
        let (trust, plugins) = (opened.trust, opened.plugins.clone());
        Self { workspace: workspace.clone(), home: home.to_owned(), trust, plugins }
    }

    /// Loads the commands. Those of the project come before the user's, and those before the ones of plugins.
    pub fn commands(&self) -> CommandSet {
        let mut set = CommandSet::default();
        self.each_plugin(|plugin, files| {
            let of_plugin = CommandSet::load_in(files, "commands", "plugin");
            set.merge(of_plugin.of_plugin(&plugin.name, |body| plugin.with_root(body)));
        });
        set.merge(commands(&self.workspace, Some(self.home.as_path()), self.trust));
        set
    }

    /// Loads the skills, in the same order.
    pub fn skills(&self) -> SkillSet {
        let mut set = SkillSet::default();
        self.each_plugin(|plugin, files| {
            set.merge(SkillSet::load_in(files, "skills", "plugin").of_plugin(&plugin.name));
        });
        set.merge(skills(&self.workspace, Some(self.home.as_path()), self.trust));
        set
    }

    /// Loads the definitions of sub-agents, in the same order.
    pub fn agents(&self) -> AgentSet {
        let mut set = AgentSet::default();
        self.each_plugin(|plugin, files| {
            let of_plugin = AgentSet::load_in(files, "agents", "plugin");
            set.merge(of_plugin.of_plugin(&plugin.name, |prompt| plugin.with_root(prompt)));
        });
        set.merge(agents(&self.workspace, Some(self.home.as_path()), self.trust));
        set
    }

    fn each_plugin(&self, mut visit: impl FnMut(&Plugin, &Workspace)) {
        for plugin in &self.plugins {
            if let Ok(files) = Workspace::open(&plugin.path).map(Workspace::without_hints) {
                visit(plugin, &files);
            }
        }
    }

    /// The model that the command or skill in a message asks for; `None` for the model of the session.
    pub fn model_of(&self, message: &str) -> Option<String> {
        let (name, _) = is_invocation(message)?;
        if let Some(command) = self.commands().find(name) {
            return command.model.clone();
        }
        self.skills().skills().iter().find(|skill| skill.name == name)?.model.clone()
    }
}

/// Offers the skills that are about certain files once a tool call or a message of the user names such a file.
#[derive(Debug)]
pub struct SkillsForFiles {
    skills: SkillSet,
    /// The globs of each skill, by its name.
    globs: Vec<(String, GlobSet)>,
    territory: FileOwnership,
    writer: NoteWriter,
}

impl SkillsForFiles {
    /// Selects the skills with `paths`, and returns the problems with their globs; `None` if no skill has them.
    pub fn new(skills: &SkillSet, territory: &FileOwnership) -> (Option<Self>, Vec<String>) {
        let mut problems = Vec::new();
        let mut globs = Vec::new();
        for skill in skills.skills().iter().filter(|skill| !skill.paths.is_empty()) {
            match glob_set(skill) {
                Ok(set) => globs.push((skill.name.clone(), set)),
                Err(error) => problems.push(format!("{}: `paths`: {error}", skill.file_path.display())),
            }
        }
        let (territory, writer) = (territory.clone(), NoteWriter::default());
        let found = Self { skills: skills.clone(), globs, territory, writer };
        ((!found.globs.is_empty()).then_some(found), problems)
    }

    fn index(&self, query: &NotesQuery) -> String {
        let mut paths = touched_paths(query, &self.territory);
        paths.extend(mentioned_paths(query, &self.territory));
        let is_about = |skill: &Skill| {
            let globs = self.globs.iter().find(|(name, _)| *name == skill.name);
            globs.is_some_and(|(_, globs)| paths.iter().any(|path| globs.is_match(path)))
        };
        self.skills.format_for_paths(is_about)
    }
}

fn glob_set(skill: &Skill) -> Result<GlobSet, globset::Error> {
    let mut set = GlobSetBuilder::new();
    for glob in &skill.paths {
        set.add(GlobBuilder::new(glob).literal_separator(true).build()?);
    }
    set.build()
}

/// The words in messages of the user that may be paths, relative to the root of the project.
fn mentioned_paths(query: &NotesQuery, territory: &FileOwnership) -> Vec<String> {
    let mut paths = Vec::new();
    for user in query.window.iter().filter_map(|message| message.as_user()) {
        if !matches!(user.origin, Origin::Person) {
            continue;
        }
        let text = joined_text(&user.content);
        let words = text.split_whitespace().map(|word| {
            let word = word.trim_start_matches(['@', '(', '[', '"', '\'', '`']);
            word.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '"', '\'', '`'])
        });
        let names = words.filter(|word| word.contains(['/', '.']));
        paths.extend(names.filter_map(|word| relative_path(word, territory)));
    }
    paths
}

impl ContextSource for SkillsForFiles {
    fn notes(&self, query: NotesQuery) -> BoxFuture<'_, Vec<Note>> {
        let index = self.index(&query);
        let note = match index.as_str() {
            // What the model knows stays true: a skill is not withdrawn when its file leaves the context.
            "" => None,
            index => self.writer.note(SECTION, &index_section(index).bounded_text(), &query.told),
        };
        Box::pin(std::future::ready(note.into_iter().collect()))
    }

    fn is_read_only(&self) -> bool {
        true
    }
}
