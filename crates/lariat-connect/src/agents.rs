//! Loads definitions of sub-agents: Markdown files whose text is a system prompt.
//!
//! `.claude/agents/review.md` with `name: review` in its front matter defines the sub-agent `review`. A key that restricts
//! and cannot be understood makes the definition unusable; other unknown keys are ignored. Loading runs nothing.

use std::path::PathBuf;

use lariat_host::files::Workspace;

use crate::markdown_files::{MarkdownFile, markdown_files};
use crate::skills::FrontMatter;

/// Keys that other programs know and this one does not, with what that means.
const UNSUPPORTED: [(&str, &str); 4] = [
    ("hooks", "the hooks of the session apply"),
    ("mcpServers", "the MCP servers of the session apply"),
    ("isolation", "the sub-agent works in the directory of the session"),
    ("memory", "the sub-agent has no memory of its own"),
];

/// A sub-agent that a user or a project defines.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AgentDefinition {
    /// Its name: the `name` of its front matter, or else the name of its file.
    pub name: String,
    /// When to use it.
    pub description: String,
    /// The tools it may use, as the file names them; all if `None`.
    pub tools: Option<Vec<String>>,
    /// The tools it may not use.
    pub disallowed_tools: Vec<String>,
    /// Its model; the model of the session if `None`.
    pub model: Option<String>,
    /// Its permission mode; the one of the session if `None`.
    pub permission_mode: Option<String>,
    /// The skills that it reads before it starts.
    pub skills: Vec<String>,
    /// Maximum number of its model calls.
    pub max_turns: Option<usize>,
    /// Whether it always works in the background.
    pub is_background: bool,
    /// Its file; empty for a built-in one.
    pub file_path: PathBuf,
    /// Where it was loaded from: `built-in`, `user`, `project` or `plugin`.
    pub source: String,
    /// The system prompt.
    pub prompt: String,
}

impl AgentDefinition {
    /// Creates a definition that uses all tools and the model of the session.
    pub fn new(name: impl Into<String>, description: impl Into<String>, prompt: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            tools: None,
            disallowed_tools: Vec::new(),
            model: None,
            permission_mode: None,
            skills: Vec::new(),
            max_turns: None,
            is_background: false,
            file_path: PathBuf::new(),
            source: "built-in".to_owned(),
            prompt: prompt.into(),
        }
    }
}

/// Definitions sorted by name, and the problems from loading them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentSet {
    agents: Vec<AgentDefinition>,
    warnings: Vec<(PathBuf, String)>,
}

impl AgentSet {
    /// Creates a set of these definitions.
    pub fn of(agents: impl IntoIterator<Item = AgentDefinition>) -> Self {
        let mut set = Self { agents: agents.into_iter().collect(), warnings: Vec::new() };
        set.sort();
        set
    }

    /// Loads the definitions of a directory of `workspace`, through its handle: no link leads out of the workspace.
    pub fn load_in(workspace: &Workspace, directory: &str, source: &str) -> Self {
        let (files, problems) = markdown_files(workspace, directory);
        let mut set = Self { agents: Vec::new(), warnings: problems };
        files.into_iter().for_each(|file| set.add(file, source));
        set.sort();
        set
    }

    /// Adds the definitions of `other`. If two have the same name, the one of `other` wins.
    pub fn merge(&mut self, other: Self) {
        self.agents.retain(|agent| other.agents.iter().all(|newer| newer.name != agent.name));
        self.agents.extend(other.agents);
        self.warnings.extend(other.warnings);
        self.sort();
    }

    /// Puts the definitions of a plugin under its name, `plugin:agent`, without their permission modes: others wrote them.
    #[must_use]
    pub fn of_plugin(mut self, plugin: &str, fill: impl Fn(&str) -> String) -> Self {
        for agent in &mut self.agents {
            agent.name = format!("{plugin}:{}", agent.name);
            agent.prompt = fill(&agent.prompt);
            agent.permission_mode = None;
        }
        self.sort();
        self
    }

    /// The definitions, sorted by name.
    pub fn agents(&self) -> &[AgentDefinition] {
        &self.agents
    }

    /// The files with problems, and the problems.
    pub fn warnings(&self) -> &[(PathBuf, String)] {
        &self.warnings
    }

    /// Finds a definition by its name, in any case of its letters.
    pub fn find(&self, name: &str) -> Option<&AgentDefinition> {
        let exact = self.agents.iter().find(|agent| agent.name == name);
        exact.or_else(|| self.agents.iter().find(|agent| agent.name.eq_ignore_ascii_case(name)))
    }

    fn sort(&mut self) {
        self.agents.sort_by(|one, other| one.name.cmp(&other.name));
    }

    fn add(&mut self, file: MarkdownFile, source: &str) {
        let MarkdownFile { path, stem, text, .. } = file;
        let (front, body) = FrontMatter::split(&text);
        let Some(description) = front.get("description").filter(|text| !text.is_empty()) else {
            let problem =
                "missing description; sub-agent skipped. hint: add `description:` to its front matter";
            return self.warnings.push((path, problem.to_owned()));
        };
        let max_turns = match front.get("maxTurns").map(|turns| turns.trim().parse::<usize>()) {
            Some(Err(_)) => {
                let problem = "`maxTurns` is not a number; sub-agent skipped".to_owned();
                return self.warnings.push((path, problem));
            }
            Some(Ok(turns)) => Some(turns),
            None => None,
        };
        for (key, meaning) in UNSUPPORTED.iter().filter(|(key, _)| front.has(key)) {
            self.warnings.push((path.clone(), format!("`{key}` is ignored: {meaning}")));
        }
        let text =
            |key: &str| front.get(key).map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned);
        self.agents.push(AgentDefinition {
            name: text("name").unwrap_or(stem),
            tools: front.has("tools").then(|| front.rules("tools")),
            disallowed_tools: front.rules("disallowedTools"),
            model: front.model().map(str::to_owned),
            permission_mode: text("permissionMode"),
            skills: front.list("skills"),
            max_turns,
            is_background: front.get("background").is_some_and(|text| text.trim() == "true"),
            source: source.to_owned(),
            ..AgentDefinition::new("", description, body.trim())
        });
        if let Some(agent) = self.agents.last_mut() {
            agent.file_path = path;
        }
    }
}

#[cfg(test)]
#[path = "agents_tests.rs"]
mod tests;
