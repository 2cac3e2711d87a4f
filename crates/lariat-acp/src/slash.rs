//! The `/` commands that Lariat offers in every editor, besides those of the user and the project.
//!
//! A message that starts with the name of one of these runs it instead of asking the model. The model never sees it, and
//! the journal has only what it changes. Commands for which an editor has its own controls (modes, models, new sessions)
//! are not here, nor is rewinding: an editor cannot forget what it shows.

use lariat_api::{Action, CheckpointParts, ContextUse, FileChange, FileDiff, PromptContent, SessionView};
use lariat_core::content::Content;

use crate::project::{EditorCommand, Project};
use crate::tool_call::code_block;
use crate::wire::{AvailableCommand, CommandInput};

/// What a command does.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SlashAction {
    /// Sends an action to the session, and says this when it is done.
    Send(Box<Action>, &'static str),
    /// Shows what fills the context window.
    Context,
    /// Shows tokens and cost.
    Cost,
    /// Shows what changed in files.
    Diff,
    /// Cannot run, for this reason.
    Refuse(String),
}

/// Name, arguments and summary of each command.
const COMMANDS: &[(&str, &str, &str)] = &[
    ("compact", "[focus]", "Summarize the conversation to free context"),
    ("context", "", "Show what fills the context window"),
    ("cost", "", "Show tokens and cost of this session"),
    ("diff", "", "Show file changes of this session"),
    ("rename", "<title>", "Change the title of this session"),
    ("checkpoint", "<label>", "Name a point to return to"),
    ("restore", "<label>", "Return the files to a checkpoint"),
];

/// The commands that an editor offers in a project. The project's own come before ours with the same name.
pub(crate) fn available(project: &Project) -> Vec<AvailableCommand> {
    let own = project.commands.iter().map(|command: &EditorCommand| {
        available_command(&command.name, &command.arguments, &command.description)
    });
    let is_free = |name: &str| !project.commands.iter().any(|own| own.name == name);
    let ours = COMMANDS.iter().filter(|(name, ..)| is_free(name));
    own.chain(ours.map(|(name, arguments, summary)| available_command(name, arguments, summary))).collect()
}

fn available_command(name: &str, arguments: &str, description: &str) -> AvailableCommand {
    let input = (!arguments.is_empty()).then(|| CommandInput { hint: arguments.to_owned() });
    AvailableCommand { name: name.to_owned(), description: description.to_owned(), input }
}

/// The command that a message invokes; `None` if it is for the model.
pub(crate) fn parse(message: &PromptContent, project: &Project) -> Option<SlashAction> {
    let [Content::Text { text }] = message.0.as_slice() else { return None };
    let invoked = text.trim().strip_prefix('/')?;
    let (name, rest) = invoked.split_once(char::is_whitespace).unwrap_or((invoked, ""));
    let (_, arguments, _) = COMMANDS.iter().find(|(known, ..)| *known == name)?;
    if project.commands.iter().any(|own| own.name == name) {
        return None;
    }
    let rest = rest.trim().to_owned();
    if rest.is_empty() && arguments.starts_with('<') {
        return Some(SlashAction::Refuse(format!("`/{name}` needs {arguments}")));
    }
    let send = |action, done| SlashAction::Send(Box::new(action), done);
    Some(match name {
        "compact" => send(
            Action::Compact { focus: Some(rest).filter(|focus| !focus.is_empty()) },
            "The conversation is compacted.",
        ),
        "context" => SlashAction::Context,
        "cost" => SlashAction::Cost,
        "diff" => SlashAction::Diff,
        "rename" => send(Action::Describe { title: Some(rest), tags: None }, "The title is changed."),
        "checkpoint" => send(Action::Checkpoint { label: rest }, "The checkpoint is recorded."),
        _ => send(
            Action::Restore { label: rest, parts: CheckpointParts::Files },
            "The files are as they were at the checkpoint.",
        ),
    })
}

/// What fills the context window, as a table.
pub(crate) fn context_text(context: &ContextUse) -> String {
    let used: u64 = context.parts.iter().map(|(_, tokens)| tokens).sum();
    let mut text = match context.window {
        0 => format!("About {used} tokens.\n\n"),
        window => format!("About {used} of {window} tokens.\n\n"),
    };
    text.push_str("| part | tokens |\n| --- | ---: |\n");
    for (part, tokens) in &context.parts {
        text.push_str(&format!("| {part} | {tokens} |\n"));
    }
    text
}

/// Tokens and cost of a session.
pub(crate) fn cost_text(view: &SessionView) -> String {
    let usage = &view.usage;
    format!(
        "Cost: {}\n\nTokens: {} read, {} from the cache, {} written",
        usage.cost,
        usage.input.saturating_add(usage.cache_write),
        usage.cache_read,
        usage.output
    )
}

/// What a session changed in files.
pub(crate) fn diff_text(files: &[FileDiff]) -> String {
    if files.is_empty() {
        return "This session changed no files.".to_owned();
    }
    let mut text = String::new();
    for file in files {
        let change = match file.change {
            FileChange::Added => "added",
            FileChange::Deleted => "deleted",
            _ => "modified",
        };
        text.push_str(&format!("{} ({change})\n\n", file.path));
        if let Some(diff) = &file.diff {
            text.push_str(&code_block("diff", diff));
            text.push_str("\n\n");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use lariat_api::{Action, PromptContent};

    use super::{COMMANDS, SlashAction, available, parse};
    use crate::project::{EditorCommand, Project};

    #[test]
    fn a_message_invokes_a_command_by_its_name() {
        let project = Project::default();
        let parsed = |text: &str| parse(&PromptContent::text(text), &project);
        let action = |text: &str| match parsed(text) {
            Some(SlashAction::Send(action, _)) => *action,
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(action("/compact the parser "), Action::Compact { focus: Some("the parser".to_owned()) });
        assert_eq!(action("/compact"), Action::Compact { focus: None });
        assert_eq!(action("/checkpoint a b"), Action::Checkpoint { label: "a b".to_owned() });
        assert_eq!(parsed("/cost"), Some(SlashAction::Cost));
        assert!(matches!(parsed("/rename  "), Some(SlashAction::Refuse(why)) if why.contains("<title>")));
        for message in ["compact", "/compacted", "/usr/bin is full", "/review", "//cost"] {
            assert_eq!(parsed(message), None, "{message}");
        }
        for (name, ..) in COMMANDS {
            assert!(parsed(&format!("/{name} x")).is_some(), "{name}");
        }
    }

    #[test]
    fn a_command_of_the_project_hides_ours() {
        let mut project = Project::default();
        let own = EditorCommand { name: "cost".to_owned(), ..Default::default() };
        project.commands.push(own);
        assert_eq!(parse(&PromptContent::text("/cost"), &project), None);
        assert_eq!(available(&project).iter().filter(|command| command.name == "cost").count(), 1);
    }
}
