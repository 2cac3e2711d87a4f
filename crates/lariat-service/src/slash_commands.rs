//! Gives the model the text of a `/` command, a skill or a prompt of an MCP server that the user invoked, and of the resources
//! of MCP servers that the user mentioned.
//!
//! The user's message stays as it was typed; the text of the command follows it as a note, so every front end and every way
//! to send a message has the same commands. Commands are read when they are invoked: a change of the file applies at once.
//!
//! The rules in a command's `allowed-tools` allow tool calls until the user's next message. They are ordinary allow rules: a
//! rule that denies or asks wins over them.
//!
//! Invariants: a project that is not trusted has no commands. A shell command in the text runs only if the permission rules
//! allow it without a question, and without write access; otherwise the model reads that it did not run, and can ask for it.

use std::path::PathBuf;
use std::sync::Arc;

use lariat_connect::commands::{ExpandedPart, is_invocation};
use lariat_connect::{CommandFile, Skill};
use lariat_core::BoxFuture;
use lariat_core::cancel::CancellationToken;
use lariat_core::content::{ToolCall, joined_text};
use lariat_core::context::{ContextSource, Note, NotesQuery};
use lariat_core::display;
use lariat_core::id::SessionId;
use lariat_core::message::Origin;
use lariat_core::permission::{PermissionPolicy as _, PolicyQuery, Verdict};
use lariat_core::tool::{Access, AgentTool, ToolContext};
use lariat_guard::{Effect, Layer, Level, Origin as RuleOrigin};
use lariat_runtime::Gate;
use serde::Serialize;
use serde_json::json;

use crate::local::CommandFiles;
use crate::mcp::{McpServers, known_prompts, mentions};
use crate::{LoadedProject, UserDirectories};

/// Number of messages, from the newest on, among which the user's newest message is looked for.
const MAX_MESSAGES: usize = 400;
/// Maximum characters of a command's text.
const MAX_CHARS: usize = 60_000;
/// What the list says about a skill that asks to run apart from the conversation.
const IN_SUB_AGENT: &str = "runs in a sub-agent";
/// Maximum time of a shell command in the text, in seconds.
const SHELL_SECONDS: u64 = 20;

/// A command or skill that a user can invoke with `/NAME`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SlashCommand {
    /// The name without the slash, after its namespace and a colon if it has one.
    pub name: String,
    /// The arguments to show to the user; empty for none.
    pub arguments: String,
    /// What it does, in a line.
    pub description: String,
    /// Where it comes from: `user`, `project`, `plugin` or `mcp`.
    pub source: String,
    /// Whether it is a skill.
    pub is_skill: bool,
    /// Its file; for a prompt of an MCP server, the record of the server.
    pub path: PathBuf,
}

impl LoadedProject {
    /// Where the commands and skills that apply here are.
    pub(crate) fn command_files(&self, folders: &UserDirectories) -> CommandFiles {
        CommandFiles::new(&self.workspace, &folders.home, &self.opened)
    }

    /// Lists the commands and skills that a user can invoke here, sorted by name, and the problems found while loading them. A
    /// command hides a skill of the same name.
    pub fn slash_commands(&self, folders: &UserDirectories) -> (Vec<SlashCommand>, Vec<String>) {
        let files = self.command_files(folders);
        let (commands, skills) = (files.commands(), files.skills());
        let mut all: Vec<SlashCommand> = commands.commands().iter().map(SlashCommand::of_command).collect();
        for skill in skills.skills().iter().filter(|skill| commands.find(&skill.name).is_none()) {
            all.push(SlashCommand::of_skill(skill));
        }
        all.extend(known_prompts(self, folders).into_iter().map(|known| SlashCommand {
            name: known.prompt.command_name(&known.server),
            arguments: known.prompt.argument_hint(),
            description: display::line(known.prompt.description.as_deref().unwrap_or_default()).into_owned(),
            source: "mcp".to_owned(),
            is_skill: false,
            path: known.path,
        }));
        all.sort_by(|one, other| one.name.cmp(&other.name));
        let warnings = commands.warnings().iter().map(|warning| (&warning.path, &warning.problem));
        let warnings =
            warnings.chain(skills.warnings().iter().map(|warning| (&warning.path, &warning.problem)));
        (all, warnings.map(|(path, problem)| format!("{}: {problem}", path.display())).collect())
    }
}

impl SlashCommand {
    fn of_command(command: &CommandFile) -> Self {
        let CommandFile { name, namespace, .. } = command;
        Self {
            name: if namespace.is_empty() { name.clone() } else { format!("{namespace}:{name}") },
            arguments: command.argument_hint.clone(),
            description: command.description.clone(),
            source: command.source.clone(),
            is_skill: false,
            path: command.file_path.clone(),
        }
    }

    fn of_skill(skill: &Skill) -> Self {
        Self {
            name: skill.name.clone(),
            arguments: String::new(),
            description: match skill.is_forked {
                true => format!("{} [{IN_SUB_AGENT}]", skill.description),
                false => skill.description.clone(),
            },
            source: skill.source.clone(),
            is_skill: true,
            path: skill.file_path.clone(),
        }
    }
}

/// The commands and skills of a session.
pub(crate) struct InvokedCommands {
    pub(crate) files: CommandFiles,
    pub(crate) session_id: SessionId,
    pub(crate) gate: Arc<Gate>,
    /// The MCP servers, for their prompts and resources.
    pub(crate) mcp: Arc<McpServers>,
    /// The tool that runs shell commands, if the session has it.
    pub(crate) shell: Option<Arc<dyn AgentTool>>,
    /// Whether the session can start sub-agents.
    pub(crate) has_sub_agents: bool,
}

impl ContextSource for InvokedCommands {
    fn notes(&self, query: NotesQuery) -> BoxFuture<'_, Vec<Note>> {
        Box::pin(async move {
            self.gate.set_command_rules(self.rules_of_newest(&query));
            let mut notes = Vec::new();
            let (messages, sent) = unanswered(&query);
            let servers = self.mcp.names();
            for message in messages {
                if let Some((name, arguments)) = is_invocation(&message)
                    && !sent.contains(&section(name))
                {
                    let text = self.text(name, arguments).await;
                    notes.extend(text.map(|text| Note::new(section(name), text)));
                }
                for (server, uri) in mentions(&message, &servers) {
                    let section = format!("resource @{server}:{uri}");
                    if !sent.contains(&section) {
                        notes.extend(self.mcp.resource_note(section, server, uri).await);
                    }
                }
            }
            notes
        })
    }

    /// Shell commands have no write access.
    fn is_read_only(&self) -> bool {
        true
    }
}

/// The newest messages of the user that have no answer yet, the oldest first, and the sections of the notes that follow them.
fn unanswered(query: &NotesQuery) -> (Vec<String>, Vec<String>) {
    let (mut messages, mut sent) = (Vec::new(), Vec::new());
    let mut has_prompt = false;
    for message in query.window.iter_back().take(MAX_MESSAGES) {
        if has_prompt && message.as_assistant().is_some() {
            break;
        }
        let Some(user) = message.as_user() else { continue };
        match &user.origin {
            Origin::Person => {
                has_prompt = true;
                messages.push(joined_text(&user.content));
            }
            Origin::Note { section } => sent.push(section.clone()),
            _ => {}
        }
    }
    messages.reverse();
    (messages, sent)
}

/// The name of the note of a command.
fn section(name: &str) -> String {
    format!("command /{name}")
}

/// The newest message of the user.
fn newest_prompt(query: &NotesQuery) -> Option<String> {
    let mut messages = query.window.iter_back().take(MAX_MESSAGES).filter_map(|message| message.as_user());
    let newest = messages.find(|user| matches!(user.origin, Origin::Person))?;
    Some(joined_text(&newest.content))
}

impl InvokedCommands {
    /// The allow rules of the command that the user's newest message invokes.
    fn rules_of_newest(&self, query: &NotesQuery) -> Option<Layer> {
        let prompt = newest_prompt(query)?;
        let (name, _) = is_invocation(&prompt)?;
        let commands = self.files.commands();
        let command = commands.find(name).filter(|command| !command.allowed_tools.is_empty())?;
        // Others wrote the commands of a project and of a plugin.
        let level = if command.source == "user" { Level::User } else { Level::Project };
        let layer = Layer::new(RuleOrigin::file(level, &command.file_path));
        let rules = command.allowed_tools.iter();
        Some(rules.fold(layer, |layer, rule| layer.with_rule(Effect::Allow, rule)))
    }

    /// The note for a command or a skill; `None` if there is none of this name.
    async fn text(&self, name: &str, arguments: &str) -> Option<String> {
        if let Some(text) = self.mcp.prompt_text(name, arguments).await {
            return Some(text);
        }
        let commands = self.files.commands();
        if let Some(command) = commands.find(name) {
            return Some(self.command(command, arguments).await);
        }
        let skills = self.files.skills();
        let skill = skills.skills().iter().find(|skill| skill.name == name)?;
        Some(skill_text(skill, arguments, skill.is_forked && self.has_sub_agents))
    }

    async fn command(&self, command: &CommandFile, arguments: &str) -> String {
        let mut text = String::new();
        for part in command.expand(arguments) {
            match part {
                ExpandedPart::Text(part) => text.push_str(&part),
                ExpandedPart::Shell(line) => text.push_str(&self.run(&line).await),
            }
        }
        if text.chars().count() > MAX_CHARS {
            text = text.chars().take(MAX_CHARS).collect();
            text.push_str("\n[the rest of the command is left out]");
        }
        let (name, source) = (&command.name, &command.source);
        format!(
            "<command name=\"/{name}\" source=\"{source}\">\nThe user invoked this command. Follow its instructions.\n\n{text}\n</command>"
        )
    }

    /// The output of a shell command, or why it did not run.
    async fn run(&self, line: &str) -> String {
        match self.try_run(line).await {
            Ok(output) => output.trim_end().to_owned(),
            Err(reason) => format!("[`{line}` did not run: {reason}]"),
        }
    }

    async fn try_run(&self, line: &str) -> Result<String, String> {
        let shell = self.shell.as_ref().ok_or("this session has no shell")?;
        let (session_id, loop_id) = (self.session_id.clone(), "".into());
        let mut call = ToolCall {
            id: "command".into(),
            name: shell.name().to_owned(),
            arguments: json!({ "command": line, "timeout_seconds": SHELL_SECONDS }),
            signature: None,
        };
        let verdict = self.gate.check(PolicyQuery::new(&session_id, &loop_id, &call, shell.effects())).await;
        match verdict {
            Verdict::Allow => {}
            Verdict::Rewrite(arguments) => call.arguments = (*arguments).clone(),
            Verdict::Deny(reason) => return Err(reason),
            Verdict::Ask(_) => {
                return Err("it needs the user's approval; call the tool if you need it".to_owned());
            }
            _ => {
                return Err("a hook or the permission mode prevents it".to_owned());
            }
        }
        let mut context = ToolContext::new(
            call.id.clone(),
            shell.name(),
            session_id.clone(),
            loop_id.clone(),
            CancellationToken::new(),
        );
        context.access = Access::Reads;
        context.files = Some(self.gate.read_check());
        let result = shell.execute(call.arguments, context).await.map_err(|error| error.to_string())?;
        Ok(joined_text(&result.content))
    }
}

/// What the note of an invoked skill says. A skill with `context: fork` ([`Skill::is_forked`]) asks for a conversation of its
/// own: a sub-agent runs it.
fn skill_text(skill: &Skill, arguments: &str, in_sub_agent: bool) -> String {
    let (name, path) = (&skill.name, skill.file_path.display());
    let how = match in_sub_agent {
        true => format!(
            "It runs in a conversation of its own: call the tool `{}` once, with the subagent_type `{}` and a prompt that says \
             to read {path} and to follow it, and that contains what the user said. Then tell the user the result.",
            crate::agent_tool::NAME,
            skill.agent.as_deref().unwrap_or(crate::agent_definitions::GENERAL)
        ),
        false => format!("Read {path} and follow it."),
    };
    let mut text = format!(
        "<command name=\"/{name}\" source=\"{}\">\nThe user invoked the skill `{name}`. {how}",
        skill.source
    );
    if !arguments.is_empty() {
        text.push_str(&format!("\n\nARGUMENTS: {arguments}"));
    }
    text + "\n</command>"
}
