//! Maps the tool names in rules and hooks to Lariat's tools, and knows what a call of each tool is about.
//!
//! Lists the names that Claude Code's settings use, the argument of each tool that specifiers match, and the one table of
//! names and arguments on Claude Code's wires ([`WIRE_TOOLS`]). A tool that no table lists (of an embedding program, or a new one) has every name that its effects stand for where a rule or a hook
//! restricts; an allow rule never matches it that way.

use lariat_core::tool::ToolEffects;

/// What the specifier of a rule for a tool matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallSubject {
    /// A shell command, in `command`.
    Command,
    /// Text for a program that is already running, in `text`.
    Input,
    /// A file or directory that is read, in `path`.
    Read,
    /// A file that is written, in `path`.
    Write,
    /// Files that are written, in `patch`.
    Patch,
    /// An address, in `url`.
    Address,
    /// An agent, by its name.
    Agent,
    /// A skill, by its name and arguments.
    Skill,
    /// A directory to work in, in `path`.
    Directory,
    /// Nothing that rules can match.
    Nothing,
}

/// Whether a name in settings accepts path specifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PathSpecifiers {
    /// It does.
    Consulted,
    /// It does not: `Read(...)` or `Edit(...)` must be used.
    Ignored,
}

/// A name in settings.
pub(crate) struct Alias {
    pub(crate) name: &'static str,
    pub(crate) tools: &'static [&'static str],
    pub(crate) call_subject: CallSubject,
    pub(crate) paths: PathSpecifiers,
}

const READERS: &[&str] = &["read_file", "list_files", "glob", "search"];
const WRITERS: &[&str] = &["write_file", "edit_file", "multi_edit", "apply_patch"];

const fn alias(name: &'static str, tools: &'static [&'static str], call_subject: CallSubject) -> Alias {
    Alias { name, tools, call_subject, paths: PathSpecifiers::Consulted }
}

const fn pathless(name: &'static str, tools: &'static [&'static str], call_subject: CallSubject) -> Alias {
    Alias { name, tools, call_subject, paths: PathSpecifiers::Ignored }
}

/// The names that Claude Code's settings use.
const ALIASES: &[Alias] = &[
    alias("Bash", &["bash", "bash_input", "bash_output", "bash_stop"], CallSubject::Command),
    alias("BashOutput", &["bash_output"], CallSubject::Nothing),
    alias("KillBash", &["bash_stop"], CallSubject::Nothing),
    alias("KillShell", &["bash_stop"], CallSubject::Nothing),
    alias("Read", READERS, CallSubject::Read),
    pathless("LS", &["list_files"], CallSubject::Read),
    pathless("Glob", &["glob"], CallSubject::Read),
    pathless("Grep", &["search"], CallSubject::Read),
    pathless("NotebookRead", &["read_file"], CallSubject::Read),
    alias("Edit", WRITERS, CallSubject::Write),
    pathless("MultiEdit", WRITERS, CallSubject::Write),
    pathless("Write", WRITERS, CallSubject::Write),
    pathless("NotebookEdit", WRITERS, CallSubject::Write),
    alias("WebFetch", &["fetch"], CallSubject::Address),
    alias("WebSearch", &["web_search"], CallSubject::Nothing),
    alias("Agent", &["agent", "task"], CallSubject::Agent),
    alias("Task", &["agent", "task"], CallSubject::Agent),
    alias("Skill", &["skill"], CallSubject::Skill),
    alias("Cd", &["cd"], CallSubject::Directory),
    alias("TodoWrite", &["todo"], CallSubject::Nothing),
    alias("AskUserQuestion", &["ask_user"], CallSubject::Nothing),
];

/// Lariat's own tools.
const OWN: &[(&str, CallSubject)] = &[
    ("bash", CallSubject::Command),
    ("bash_input", CallSubject::Input),
    ("read_file", CallSubject::Read),
    ("list_files", CallSubject::Read),
    ("glob", CallSubject::Read),
    ("search", CallSubject::Read),
    ("write_file", CallSubject::Write),
    ("edit_file", CallSubject::Write),
    ("multi_edit", CallSubject::Write),
    ("apply_patch", CallSubject::Patch),
    ("fetch", CallSubject::Address),
    ("agent", CallSubject::Agent),
    ("task", CallSubject::Agent),
    ("skill", CallSubject::Skill),
    ("cd", CallSubject::Directory),
];

/// Main arguments of tools: no parameter rule can match them.
pub(crate) const PRIMARY: &[&str] =
    &["command", "path", "file_path", "notebook_path", "url", "patch", "content", "text", "prompt"];

/// The prefix of the name of a tool of an MCP server.
pub(crate) const MCP: &str = "mcp__";
/// The prefix of the name of an operation of an OpenAPI document.
const OPENAPI: &str = "openapi__";

/// Splits the name of a tool that is not Lariat's own (`mcp__server__tool`, `openapi__api__operation`) after its prefix.
pub(crate) fn connected(tool: &str) -> Option<(&'static str, &str)> {
    [MCP, OPENAPI].into_iter().find_map(|prefix| Some((prefix, tool.strip_prefix(prefix)?)))
}

/// Whether a tool is an operation of an OpenAPI document. The user named the host of its requests, so an operation that
/// declares only to read is like a read of a file.
pub(crate) fn is_operation(tool: &str) -> bool {
    tool.starts_with(OPENAPI)
}

/// Returns the entry of a name in settings.
pub(crate) fn alias_of(name: &str) -> Option<&'static Alias> {
    ALIASES.iter().find(|alias| alias.name == name)
}

/// Returns the names in settings that stand for a tool.
pub(crate) fn aliases_of(tool: &str) -> impl Iterator<Item = &'static str> {
    ALIASES.iter().filter(move |alias| alias.tools.contains(&tool)).map(|alias| alias.name)
}

/// Returns what a call of a tool is about.
pub(crate) fn call_subject(tool: &str) -> CallSubject {
    OWN.iter().find(|(name, _)| *name == tool).map_or(CallSubject::Nothing, |(_, call_subject)| *call_subject)
}

/// The names that each effect of a tool stands for.
const BY_EFFECT: &[(ToolEffects, &[&str])] = &[
    (ToolEffects::EXECUTES, &["Bash"]),
    (ToolEffects::WRITES, &["Edit", "Write", "MultiEdit", "NotebookEdit"]),
    (ToolEffects::NETWORK, &["WebFetch"]),
    (ToolEffects::READS, &["Read", "Grep", "Glob", "LS"]),
];

/// A tool on Claude Code's wires: stream-json, control requests and hooks.
struct WireTool {
    tool: &'static str,
    /// Claude Code's names; programs and handlers receive the first one. Each tool must keep the names of its strongest
    /// effect; a tool that is not listed has all names of all its effects.
    names: &'static [&'static str],
    /// The arguments that have another name or form there.
    fields: &'static [WireField],
}

/// An argument with another name or form on Claude Code's wires.
pub(crate) struct WireField {
    pub(crate) ours: &'static str,
    pub(crate) theirs: &'static str,
    pub(crate) form: WireForm,
}

/// How the value of an argument differs.
#[derive(Clone, Copy)]
pub(crate) enum WireForm {
    /// It does not.
    Same,
    /// Seconds here, milliseconds there.
    Millis,
    /// One of these words here and there.
    Words(&'static [(&'static str, &'static str)]),
    /// This word here, `true` there; the second word is `false`.
    Switch(&'static str, &'static str),
}

const fn same(ours: &'static str, theirs: &'static str) -> WireField {
    WireField { ours, theirs, form: WireForm::Same }
}

const fn millis(ours: &'static str, theirs: &'static str) -> WireField {
    WireField { ours, theirs, form: WireForm::Millis }
}

const fn wire(tool: &'static str, names: &'static [&'static str], fields: &'static [WireField]) -> WireTool {
    WireTool { tool, names, fields }
}

const FILE: &[WireField] = &[same("path", "file_path")];

const SEARCH: &[WireField] = &[
    WireField {
        ours: "mode",
        theirs: "output_mode",
        form: WireForm::Words(&[("lines", "content"), ("files", "files_with_matches"), ("count", "count")]),
    },
    same("context", "-C"),
    WireField { ours: "case", theirs: "-i", form: WireForm::Switch("insensitive", "sensitive") },
    same("limit", "head_limit"),
];

/// Lariat's tools on Claude Code's wires. The only table of these names and arguments.
const WIRE_TOOLS: &[WireTool] = &[
    wire("bash", &["Bash"], &[millis("timeout_seconds", "timeout"), same("background", "run_in_background")]),
    wire("bash_input", &["Bash"], &[same("text", "command")]),
    wire("bash_output", &["BashOutput", "TaskOutput"], &[same("id", "bash_id")]),
    wire("bash_stop", &["KillShell", "KillBash", "TaskStop"], &[same("id", "shell_id")]),
    wire("read_file", &["Read", "NotebookRead"], FILE),
    wire("list_files", &["LS", "Glob", "Read"], &[]),
    wire("glob", &["Glob", "Read"], &[]),
    wire("search", &["Grep", "Read"], SEARCH),
    wire("write_file", &["Write", "Edit", "MultiEdit", "NotebookEdit"], FILE),
    wire("edit_file", &["Edit", "Write", "MultiEdit", "NotebookEdit"], FILE),
    wire("multi_edit", &["MultiEdit", "Edit", "Write", "NotebookEdit"], FILE),
    wire("apply_patch", &["Edit", "Write", "MultiEdit", "NotebookEdit"], &[]),
    wire("fetch", &["WebFetch"], &[]),
    wire("web_search", &["WebSearch"], &[]),
    wire("agent", &["Task", "Agent"], &[]),
    wire("task", &["Task", "Agent"], &[]),
    wire("skill", &["Skill"], &[]),
    wire("todo", &["TodoWrite"], &[same("items", "todos")]),
    wire("ask_user", &["AskUserQuestion"], &[]),
    // What it shows was already shown in this session.
    wire("recall", &[], &[]),
    // It stores a proposal that only the user can approve.
    wire("learn", &[], &[]),
    // The user's own sessions of the same directory.
    wire("past_sessions", &[], &[]),
];

fn wire_tool(tool: &str) -> Option<&'static WireTool> {
    WIRE_TOOLS.iter().find(|known| known.tool == tool)
}

/// Returns the arguments of a tool that have another name or form on Claude Code's wires.
pub(crate) fn wire_fields(tool: &str) -> &'static [WireField] {
    wire_tool(tool).map_or(&[], |known| known.fields)
}

/// Returns the names of Claude Code's tools that stand for a tool, and whether it is listed in [`WIRE_TOOLS`].
pub(crate) fn claude_names(tool: &str, effects: ToolEffects) -> (Vec<&'static str>, bool) {
    if let Some(known) = wire_tool(tool) {
        return (known.names.to_vec(), true);
    }
    (by_effects(tool, effects).collect(), false)
}

/// Returns the names of an unlisted tool by its effects. Tools of servers and APIs have their own names in hooks and rules
/// (`mcp__server__tool`, `openapi__api__operation`).
pub(crate) fn by_effects(tool: &str, effects: ToolEffects) -> impl Iterator<Item = &'static str> {
    let is_listed =
        connected(tool).is_some() || wire_tool(tool).is_some() || aliases_of(tool).next().is_some();
    let stands = move |effect: &ToolEffects| !is_listed && effects.contains(*effect);
    BY_EFFECT.iter().filter(move |(effect, _)| stands(effect)).flat_map(|(_, names)| *names).copied()
}

/// Returns Lariat's tools that a name means: a name of Claude Code's settings, or a name of a tool that rules know.
pub fn tools_named(name: &str) -> Option<Vec<&'static str>> {
    let own = || OWN.iter().find(|(known, _)| *known == name).map(|(known, _)| vec![*known]);
    alias_of(name).map(|alias| alias.tools.to_vec()).or_else(own)
}

/// Returns every name that Claude Code's settings use for a tool.
pub fn foreign_tool_names() -> impl Iterator<Item = &'static str> {
    ALIASES.iter().map(|alias| alias.name).chain(ABSENT.iter().copied())
}

/// Tools of Claude Code that Lariat does not have: a rule about one restricts nothing and is not a typo.
const ABSENT: &[&str] = &[
    "CronCreate",
    "CronDelete",
    "CronList",
    "EnterPlanMode",
    "EnterWorktree",
    "ExitPlanMode",
    "ExitWorktree",
    "ListMcpResourcesTool",
    "LSP",
    "Monitor",
    "PowerShell",
    "ReadMcpResourceTool",
    "SendMessage",
    "SlashCommand",
    "TaskCreate",
    "TaskGet",
    "TaskList",
    "TaskOutput",
    "TaskStop",
    "TaskUpdate",
    "TeamCreate",
    "TeamDelete",
    "ToolSearch",
];
