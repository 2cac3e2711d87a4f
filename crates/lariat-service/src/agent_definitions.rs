//! The sub-agents that a session can start: the built-in ones and those of plugins, of the user and of the project.
//!
//! A definition that restricts in a way that cannot be enforced is left out, and the user receives a notice.

use std::path::PathBuf;

use lariat_connect::{AgentDefinition, AgentSet};
use lariat_core::display;
use lariat_guard::{Mode, tools_named};
use serde::Serialize;

use crate::{LoadedProject, UserDirectories, tools};

/// The sub-agent for a call that names none.
pub(crate) const GENERAL: &str = "general";
/// The sub-agent that only reads.
const EXPLORE: &str = "explore";
/// The tools of `explore`. Its mode keeps `bash` to reading.
const EXPLORE_TOOLS: [&str; 8] =
    ["read_file", "list_files", "search", "glob", "repo_map", "bash", "bash_output", "bash_stop"];

/// A sub-agent, for lists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ListedAgent {
    /// Its name.
    pub name: String,
    /// When to use it.
    pub description: String,
    /// Its tools, as its definition names them; all if `None`.
    pub tools: Option<Vec<String>>,
    /// Its model; the model of the session if `None`.
    pub model: Option<String>,
    /// Where it comes from: `built-in`, `user`, `project` or `plugin`.
    pub source: String,
    /// Its file; empty for a built-in one.
    pub path: PathBuf,
}

impl LoadedProject {
    /// Returns the sub-agents that a session here can start, and the problems found while loading them.
    pub(crate) fn agent_set(&self, folders: &UserDirectories) -> (AgentSet, Vec<String>) {
        let mut set = AgentSet::of(built_in());
        set.merge(self.command_files(folders).agents());
        let mut problems: Vec<String> =
            set.warnings().iter().map(|(path, problem)| format!("{}: {problem}", path.display())).collect();
        let mut usable = Vec::new();
        for agent in set.agents() {
            match checked(agent) {
                Ok(notes) => {
                    let place = agent.file_path.display();
                    problems.extend(notes.into_iter().map(|note| format!("{place}: {note}")));
                    usable.push(agent.clone());
                }
                Err(problem) => {
                    let place = agent.file_path.display();
                    problems.push(format!("{place}: {problem}; sub-agent `{}` skipped", agent.name));
                }
            }
        }
        (AgentSet::of(usable), problems)
    }

    /// Lists the sub-agents that a session here can start, sorted by name, and the problems found while loading them.
    pub fn agents(&self, folders: &UserDirectories) -> (Vec<ListedAgent>, Vec<String>) {
        let (set, problems) = self.agent_set(folders);
        let listed = |agent: &AgentDefinition| ListedAgent {
            name: agent.name.clone(),
            description: display::line(&agent.description).into_owned(),
            tools: agent.tools.clone(),
            model: agent.model.clone(),
            source: agent.source.clone(),
            path: agent.file_path.clone(),
        };
        (set.agents().iter().map(listed).collect(), problems)
    }
}

/// Checks what a definition says about tools and permissions. Returns what the user should know, or why it is not usable.
fn checked(agent: &AgentDefinition) -> Result<Vec<String>, String> {
    if let Some(mode) = agent.permission_mode.as_ref().filter(|mode| Mode::parse(mode).is_none()) {
        return Err(format!("`permissionMode: {mode}` is not a permission mode"));
    }
    let is_pattern = |name: &&String| name.contains('(');
    if let Some(pattern) = agent.tools.iter().flatten().chain(&agent.disallowed_tools).find(is_pattern) {
        return Err(format!(
            "`{pattern}` is a permission rule; name tools only, and put rules into the settings"
        ));
    }
    if let Some(name) = agent.disallowed_tools.iter().find(|name| !tools::is_tool(name)) {
        return Err(format!("`disallowedTools` names an unknown tool `{name}`"));
    }
    let unknown = agent.tools.iter().flatten().filter(|name| *name != "*" && !tools::is_tool(name));
    Ok(unknown.map(|name| format!("`tools` names an unknown tool `{name}`")).collect())
}

/// Whether a sub-agent may use a tool, by the names in its definition.
pub(crate) fn has_tool(agent: &AgentDefinition, tool: &str) -> bool {
    let is_listed = agent.tools.as_ref().is_none_or(|tools| is_named(tools, tool));
    is_listed && !is_named(&agent.disallowed_tools, tool)
}

/// Whether a sub-agent may share findings. A list of tools need not name `share_finding`: it touches nothing but the sessions of the tree.
pub(crate) fn may_share_findings(agent: &AgentDefinition) -> bool {
    !is_named(&agent.disallowed_tools, "share_finding")
}

fn is_named(names: &[String], tool: &str) -> bool {
    let is_it = |name: &String| {
        let aliased = tools_named(name).is_some_and(|tools| tools.into_iter().any(|named| named == tool));
        // `mcp__server` stands for all tools of the server.
        let of_server = name.starts_with("mcp__")
            && tool.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with("__"));
        name == "*" || name == tool || aliased || of_server
    };
    names.iter().any(is_it)
}

fn built_in() -> [AgentDefinition; 2] {
    let mut explore = AgentDefinition::new(
        EXPLORE,
        "Finds and reads code, and reports where things are and how they work. Changes nothing. Use it for questions that \
         need many searches, so that their output does not fill this conversation.",
        "You explore a directory and answer one question about it. You read and search; you change nothing.",
    );
    explore.tools = Some(EXPLORE_TOOLS.map(str::to_owned).to_vec());
    explore.permission_mode = Some("plan".to_owned());
    let general = AgentDefinition::new(
        GENERAL,
        "Does a task of several steps with all tools: research, edits, commands. Use it for independent parts of a larger \
         task; several can run at the same time.",
        "You do one task on behalf of another agent, completely and nothing more.",
    );
    [explore, general]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(tools: &[&str], not: &[&str]) -> AgentDefinition {
        let names = |list: &[&str]| list.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        let mut agent = AgentDefinition::new("a", "b", "c");
        (agent.tools, agent.disallowed_tools) = (Some(names(tools)), names(not));
        agent
    }

    #[test]
    fn names_of_claude_code_and_of_servers_select_tools() {
        let reviewer = agent(&["Read", "Bash", "mcp__docs"], &["bash_input"]);
        for tool in ["read_file", "glob", "bash", "bash_stop", "mcp__docs__find"] {
            assert!(has_tool(&reviewer, tool), "{tool}");
        }
        for tool in ["write_file", "bash_input", "mcp__docs2__find", "fetch"] {
            assert!(!has_tool(&reviewer, tool), "{tool}");
        }
        assert!(!has_tool(&agent(&[], &[]), "read_file"));
    }

    #[test]
    fn restriction_that_cannot_be_enforced_makes_a_definition_unusable() {
        assert!(checked(&agent(&["Bash(git:*)"], &[])).is_err());
        assert!(checked(&agent(&["Read"], &["Wrte"])).is_err());
        assert_eq!(checked(&agent(&["Read", "Nonsense"], &[])).unwrap().len(), 1);
        let mut moded = agent(&["Read"], &[]);
        moded.permission_mode = Some("reckless".to_owned());
        assert!(checked(&moded).is_err());
        built_in().iter().for_each(|agent| assert_eq!(checked(agent), Ok(Vec::new())));
    }
}
