//! Defines what the program that serves an editor tells about a directory.

use std::path::Path;
use std::sync::Arc;

use lariat_api::{Problem, Sessions};
use lariat_core::BoxFuture;
use lariat_core::id::SessionId;
use serde_json::{Map, Value};

/// Tells the editor what it can choose in a directory.
pub trait Projects: Send + Sync {
    /// Reads what applies in a directory.
    fn project<'a>(&'a self, directory: &'a Path) -> BoxFuture<'a, Result<Project, Problem>>;

    /// Gives a session the tool servers of the editor, before its agent is built.
    fn set_servers(&self, session_id: &SessionId, servers: EditorServers);

    /// Deletes a session. One that does not exist is deleted already.
    fn delete<'a>(&'a self, session_id: &'a SessionId) -> BoxFuture<'a, Result<(), Problem>>;

    /// Returns the host that runs a session now, if it is another one than the host of new sessions.
    fn running_elsewhere<'a>(
        &'a self,
        session_id: &'a SessionId,
    ) -> BoxFuture<'a, Option<Arc<dyn Sessions>>> {
        let _ = session_id;
        Box::pin(std::future::ready(None))
    }
}

/// What applies in a directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Project {
    /// The directory as sessions record it.
    pub directory: String,
    /// The permission modes. The session refuses one that the settings forbid.
    pub modes: Vec<Choice>,
    /// The mode of a session that chose none.
    pub mode: String,
    /// The models that can be used.
    pub models: Vec<Choice>,
    /// The model of a session that chose none; empty if none is configured.
    pub model: String,
    /// The levels of reasoning effort.
    pub efforts: Vec<Choice>,
    /// The effort of a session that chose none.
    pub effort: String,
    /// The commands and skills of the user and the project.
    pub commands: Vec<EditorCommand>,
    /// What the user should know, such as that the project is not trusted.
    pub notices: Vec<String>,
}

/// A value that the user can choose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// The value.
    pub value: String,
    /// Its name for the user.
    pub name: String,
    /// What it does; may be empty.
    pub description: String,
}

impl Choice {
    /// Creates a choice whose name is its value.
    pub fn new(value: impl Into<String>, description: impl Into<String>) -> Self {
        let value = value.into();
        Self { name: value.clone(), value, description: description.into() }
    }
}

/// A command that the user can type after `/`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EditorCommand {
    /// The name without the slash.
    pub name: String,
    /// The arguments as the help shows them; empty for none.
    pub arguments: String,
    /// What it does, in one line.
    pub description: String,
}

/// The tool servers that an editor configured, by name, each in the format of an entry of `mcpServers`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EditorServers(pub Map<String, Value>);
