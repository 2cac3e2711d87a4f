//! The table of `/` commands.
//!
//! The table is data: the composer completes from it, the help shows it, and [`parse`] finds a command by its name.
//! What a [`CommandName`] does is in the application. Invariant: a text that names no command of the table is not taken
//! for a message, so that the caller can leave it in the draft.

/// A command that a user types after `/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlashCommand {
    /// The name, without the slash.
    pub name: &'static str,
    /// The arguments as the help shows them: `<required>`, `[optional]`; empty for none.
    pub arguments: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// What the application does.
    pub verb: CommandName,
}

/// What a command does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandName {
    /// Shows the commands and keys.
    Help,
    /// Changes the permission mode.
    Mode,
    /// Changes the model.
    Model,
    /// Changes to plan mode.
    Plan,
    /// Compacts the conversation, or undoes that.
    Compact,
    /// Shows the permission mode and rules.
    Permissions,
    /// Checks the setup.
    Doctor,
    /// Shows the MCP servers.
    Servers,
    /// Shows the APIs.
    Apis,
    /// Lists sub-agents and forks.
    Agents,
    /// Exports the session.
    Share,
    /// Shows what fills the context window.
    Context,
    /// Shows tokens and cost.
    Cost,
    /// Shows what changed in files.
    Diff,
    /// Lists sessions.
    Sessions,
    /// Opens another session.
    Resume,
    /// Starts a new session.
    New,
    /// Continues in a copy of the session.
    Fork,
    /// Returns to an earlier message.
    Rewind,
    /// Names a point to return to.
    Checkpoint,
    /// Returns to a checkpoint.
    Restore,
    /// Changes the title.
    Rename,
    /// Shows the whole transcript.
    Pager,
    /// Copies the newest reply.
    Copy,
    /// Shows, continues or empties the queue.
    Queue,
    /// Sets a goal.
    Goal,
    /// Records a learning.
    Learn,
    /// Switches between inline and full screen.
    Full,
    /// Leaves; the session continues in its host.
    Detach,
    /// Ends the program.
    Quit,
}

const fn command(
    name: &'static str,
    arguments: &'static str,
    summary: &'static str,
    verb: CommandName,
) -> SlashCommand {
    SlashCommand { name, arguments, summary, verb }
}

/// All commands, in the order of the help.
pub const COMMANDS: &[SlashCommand] = &[
    command("help", "", "Show commands and keys", CommandName::Help),
    command("mode", "[name]", "Show or change the permission mode", CommandName::Mode),
    command("model", "[name] [effort]", "Show or change the model", CommandName::Model),
    command("plan", "", "Switch to plan mode: collect changes for approval", CommandName::Plan),
    command("permissions", "", "Show the permission mode and rules", CommandName::Permissions),
    command(
        "compact",
        "[focus|undo]",
        "Summarize the conversation to free context, or undo that",
        CommandName::Compact,
    ),
    command("context", "", "Show what fills the context window", CommandName::Context),
    command("cost", "", "Show tokens and cost of this session", CommandName::Cost),
    command("diff", "", "Show file changes of this session", CommandName::Diff),
    command("sessions", "[words]", "Find and open a session", CommandName::Sessions),
    command("resume", "[id]", "Open a session", CommandName::Resume),
    command("new", "", "Start a new session", CommandName::New),
    command("fork", "", "Continue in a copy of this session", CommandName::Fork),
    command("rewind", "[n]", "Go back n of your messages [1]", CommandName::Rewind),
    command("agents", "", "List sub-agents and forks, and open one", CommandName::Agents),
    command("share", "[file]", "Export this session to a file", CommandName::Share),
    command("checkpoint", "<label>", "Name a point to return to", CommandName::Checkpoint),
    command(
        "restore",
        "<label> [conversation|files|both]",
        "Return to a checkpoint [both]",
        CommandName::Restore,
    ),
    command("rename", "<title>", "Change the title of this session", CommandName::Rename),
    command("pager", "[all]", "Show the transcript; all: with earlier events", CommandName::Pager),
    command("copy", "", "Copy the newest reply", CommandName::Copy),
    command("queue", "[resume|clear]", "Show, resume or clear the queue", CommandName::Queue),
    command("goal", "<text>", "Set a goal for this and later sessions", CommandName::Goal),
    command("learn", "<text>", "Record a learning for later sessions", CommandName::Learn),
    command("mcp", "", "Show the MCP servers", CommandName::Servers),
    command("openapi", "", "Show the APIs whose operations are tools", CommandName::Apis),
    command("doctor", "", "Check your setup and suggest fixes", CommandName::Doctor),
    command("full", "", "Switch between inline and full screen", CommandName::Full),
    command("detach", "", "Leave a session of the background host; it continues", CommandName::Detach),
    command("quit", "", "Quit", CommandName::Quit),
];

/// What a submitted text is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SubmittedText<'a> {
    /// A message for the session.
    Message(&'a str),
    /// A command with the text after its name.
    Command(CommandName, &'a str),
    /// A name that is not in the table.
    Unknown(&'a str),
    /// A command that cannot run, with the reason.
    Refused(String),
}

/// Reads a submitted text. Two slashes at the start send one literally. A path such as `/usr/bin` is a message.
pub fn parse(text: &str) -> SubmittedText<'_> {
    let text = text.trim();
    let Some(rest) = text.strip_prefix('/') else { return SubmittedText::Message(text) };
    if rest.starts_with('/') {
        return SubmittedText::Message(rest);
    }
    let (name, arguments) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    if name.contains('/') {
        return SubmittedText::Message(text);
    }
    let arguments = arguments.trim();
    match COMMANDS.iter().find(|command| command.name == name) {
        None => SubmittedText::Unknown(name),
        Some(command) if arguments.is_empty() && command.arguments.starts_with('<') => {
            SubmittedText::Refused(format!("`/{name}` needs {}", command.arguments))
        }
        Some(command) => SubmittedText::Command(command.verb, arguments),
    }
}

#[cfg(test)]
mod tests {
    use super::{COMMANDS, CommandName, SubmittedText, parse};

    #[test]
    fn reads_messages_commands_and_literal_slashes() {
        assert_eq!(parse(" fix it "), SubmittedText::Message("fix it"));
        assert_eq!(parse("//help"), SubmittedText::Message("/help"));
        assert_eq!(parse("/usr/bin is full"), SubmittedText::Message("/usr/bin is full"));
        assert_eq!(parse("/compact the parser"), SubmittedText::Command(CommandName::Compact, "the parser"));
        assert_eq!(parse("/quit"), SubmittedText::Command(CommandName::Quit, ""));
    }

    #[test]
    fn refuses_unknown_commands_and_missing_arguments() {
        assert_eq!(parse("/nope now"), SubmittedText::Unknown("nope"));
        assert!(matches!(parse("/checkpoint  "), SubmittedText::Refused(why) if why.contains("<label>")));
    }

    #[test]
    fn every_name_is_unique() {
        for (at, command) in COMMANDS.iter().enumerate() {
            assert!(COMMANDS.iter().skip(at + 1).all(|other| other.name != command.name), "{}", command.name);
        }
    }
}
