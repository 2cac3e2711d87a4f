//! Finds the `/` commands of a directory: Markdown files whose text is a prompt with places for arguments.
//!
//! `.claude/commands/review.md` is the command `/review`. A file in a subdirectory, `.claude/commands/db/migrate.md`, is
//! `/migrate` and also `/db:migrate`. Loading is lenient: unknown keys of the front matter are kept out of the way, and a file
//! that cannot be read becomes a warning. Loading runs nothing.

mod expansion;

use std::path::PathBuf;

use lariat_host::files::Workspace;

pub use expansion::{ExpandedPart, is_invocation, words};

use crate::markdown_files::{MarkdownFile, markdown_files};
use crate::skills::FrontMatter;

/// Maximum characters of the first line that describes a command without a description.
const MAX_DESCRIPTION_CHARS: usize = 120;

/// A prompt that a user sends by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CommandFile {
    /// The name without the slash: the name of its file.
    pub name: String,
    /// The subdirectories that the file is in, joined by `:`; empty for none.
    pub namespace: String,
    /// What it does: the `description` of its front matter, or else its first line.
    pub description: String,
    /// The arguments to show to the user, such as `[issue] [priority]`.
    pub argument_hint: String,
    /// The permission rules that allow its tool calls, from `allowed-tools`.
    pub allowed_tools: Vec<String>,
    /// The model that the run of its message uses; the model of the session if `None`.
    pub model: Option<String>,
    /// Its file.
    pub file_path: PathBuf,
    /// Where it was loaded from: `user`, `project` or `plugin`.
    pub source: String,
    /// The text after the front matter.
    pub body: String,
}

impl CommandFile {
    /// Whether a user means this command with `name`: `migrate` or `db:migrate`.
    pub fn has_name(&self, name: &str) -> bool {
        let full = name.strip_suffix(&self.name).and_then(|rest| rest.strip_suffix(':'));
        name == self.name || full.is_some_and(|namespace| namespace == self.namespace)
    }

    /// Splits the text into what to send and what to run first, with the arguments filled in.
    pub fn expand(&self, arguments: &str) -> Vec<ExpandedPart> {
        expansion::expand(&self.body, arguments)
    }
}

/// A file that could not be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandWarning {
    /// The affected file or directory.
    pub path: PathBuf,
    /// What is wrong with it.
    pub problem: String,
}

/// Commands sorted by name, and the warnings from loading them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandSet {
    commands: Vec<CommandFile>,
    warnings: Vec<CommandWarning>,
}

impl CommandSet {
    /// Loads the commands of a directory of `workspace`, through its handle: no link leads out of the workspace.
    pub fn load_in(workspace: &Workspace, directory: &str, source: &str) -> Self {
        let mut set = Self::default();
        let (files, problems) = markdown_files(workspace, directory);
        files.into_iter().for_each(|file| set.add(file, source));
        set.warnings.extend(problems.into_iter().map(|(path, problem)| CommandWarning { path, problem }));
        set.sort();
        set
    }

    /// Adds the commands of `other`. If two commands share a name and a namespace, the one of `other` wins.
    pub fn merge(&mut self, other: Self) {
        let is_same = |one: &CommandFile, other: &CommandFile| {
            one.name == other.name && one.namespace == other.namespace
        };
        self.commands.retain(|command| !other.commands.iter().any(|newer| is_same(newer, command)));
        self.commands.extend(other.commands);
        self.warnings.extend(other.warnings);
        self.sort();
    }

    /// Puts the commands of a plugin under its name, `/plugin:command`, and lets `fill` fill in their texts.
    #[must_use]
    pub fn of_plugin(mut self, plugin: &str, fill: impl Fn(&str) -> String) -> Self {
        for command in &mut self.commands {
            command.body = fill(&command.body);
            command.namespace = match command.namespace.as_str() {
                "" => plugin.to_owned(),
                inner => format!("{plugin}:{inner}"),
            };
        }
        self.sort();
        self
    }

    /// The commands, sorted by name.
    pub fn commands(&self) -> &[CommandFile] {
        &self.commands
    }

    /// The problems found while loading.
    pub fn warnings(&self) -> &[CommandWarning] {
        &self.warnings
    }

    /// Finds a command. If several share the name, those of the project come first, then those without a namespace.
    pub fn find(&self, name: &str) -> Option<&CommandFile> {
        let fitting = self.commands.iter().filter(|command| command.has_name(name));
        fitting.min_by_key(|command| (command.source != "project", !command.namespace.is_empty()))
    }

    fn sort(&mut self) {
        self.commands.sort_by(|one, other| (&one.name, &one.namespace).cmp(&(&other.name, &other.namespace)));
    }

    fn add(&mut self, file: MarkdownFile, source: &str) {
        let (front, body) = FrontMatter::split(&file.text);
        let first =
            body.lines().map(|line| line.trim_start_matches('#').trim()).find(|line| !line.is_empty());
        let described = front.get("description").filter(|text| !text.is_empty()).or(first);
        let description = described.unwrap_or_default().chars().take(MAX_DESCRIPTION_CHARS).collect();
        self.commands.push(CommandFile {
            name: file.stem,
            namespace: file.below.join(":"),
            description,
            argument_hint: argument_hint(&front),
            allowed_tools: front.rules("allowed-tools"),
            model: front.model().map(str::to_owned),
            file_path: file.path,
            source: source.to_owned(),
            body: body.trim().to_owned(),
        });
    }
}

/// The `argument-hint`. Users write `[number]`, which YAML reads as a list.
fn argument_hint(front: &FrontMatter) -> String {
    match front.get("argument-hint") {
        Some(text) if !text.is_empty() => text.to_owned(),
        _ => {
            let items = front.list("argument-hint");
            if items.is_empty() { String::new() } else { format!("[{}]", items.join(", ")) }
        }
    }
}

#[cfg(test)]
mod tests;
