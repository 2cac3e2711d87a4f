//! A table of every input that restricts a run, with an invalid value for each.
//!
//! Unit tests compare the table with the settings, the flags and the documentation, so a new restricting setting or flag cannot
//! be forgotten. The integration tests try each invalid value; they include this file, so it holds data only.

/// An input that restricts a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RestrictingInput {
    /// The name as users write it.
    pub(crate) name: &'static str,
    pub(crate) kind: InputKind,
    /// An invalid value, in the syntax of that input.
    pub(crate) broken: &'static str,
}

/// Where an input comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InputKind {
    /// A Lariat setting: in `config.toml`, in `lariat.toml` of a trusted project unless it is user-only, or in a variable.
    Setting,
    /// A flag of `lariat run`.
    Flag,
    /// A Claude Code flag.
    ClaudeFlag,
    /// A key of `permissions`, in any settings file, trusted or not, or in `--settings`.
    Permissions,
    /// A key of `hooks`, in any settings file in effect.
    Hooks,
    /// A Claude Code setting that Lariat does not support.
    ClaudeSetting,
    /// A whole settings file.
    File,
}

const fn input(kind: InputKind, name: &'static str, broken: &'static str) -> RestrictingInput {
    RestrictingInput { name, kind, broken }
}

pub(crate) const RESTRICTING: &[RestrictingInput] = &[
    input(InputKind::Setting, "mode", "\"plna\""),
    input(InputKind::Setting, "sandbox.enabled", "\"yes\""),
    input(InputKind::Setting, "sandbox.hooks", "\"yes\""),
    input(InputKind::Setting, "sandbox.network", "\"off\""),
    input(InputKind::Setting, "sandbox.hosts", "[\"https://example.org\"]"),
    input(InputKind::Setting, "sandbox.memory", "\"much\""),
    input(InputKind::Setting, "limits.turns", "\"abc\""),
    input(InputKind::Setting, "limits.tool_calls", "-1"),
    input(InputKind::Setting, "limits.tokens", "1.5"),
    input(InputKind::Setting, "limits.cost", "\"1 dollar\""),
    input(InputKind::Setting, "limits.time", "\"ten\""),
    input(InputKind::Setting, "budget.session", "\"5 USD\""),
    input(InputKind::Setting, "budget.day", "-1"),
    input(InputKind::Setting, "max_tokens", "\"many\""),
    input(InputKind::Setting, "memory.enabled", "\"off\""),
    input(InputKind::Setting, "memory.tokens", "\"few\""),
    input(InputKind::Setting, "undo.enabled", "\"on\""),
    input(InputKind::Setting, "instruction_files", "\"nothing\""),
    input(InputKind::Setting, "auth.store", "\"keyrign\""),
    input(InputKind::Setting, "telemetry.content", "\"no\""),
    input(InputKind::Setting, "limits.turn", "5"),
    input(InputKind::Setting, "sandboks.enabled", "true"),
    input(InputKind::Flag, "--max-turns", "abc"),
    input(InputKind::Flag, "--max-cost", "-1"),
    input(InputKind::Flag, "--max-time", "10"),
    input(InputKind::Flag, "--mode", "plna"),
    input(InputKind::Flag, "--deny", "Raed(.env)"),
    input(InputKind::ClaudeFlag, "--max-turns", "abc"),
    input(InputKind::ClaudeFlag, "--max-budget-usd", "1 dollar"),
    input(InputKind::ClaudeFlag, "--max-thinking-tokens", "few"),
    input(InputKind::ClaudeFlag, "--permission-mode", "plna"),
    input(InputKind::ClaudeFlag, "--disallowedTools", "Read(.env"),
    input(InputKind::ClaudeFlag, "--disallowed-tools", "Raed"),
    input(InputKind::ClaudeFlag, "--tools", "Raed"),
    input(InputKind::ClaudeFlag, "--settings", "{\"permissions\":{\"deny\":[\"Read(.env\"]}}"),
    input(InputKind::ClaudeFlag, "--setting-sources", "projcet"),
    input(InputKind::ClaudeFlag, "--task-budget", "1000"),
    input(InputKind::ClaudeFlag, "--of-tomorrow", "1"),
    input(InputKind::Permissions, "deny", "[\"Read(.env\"]"),
    input(InputKind::Permissions, "ask", "[\"Raed(.env)\"]"),
    input(InputKind::Permissions, "deny", "[\"Raed\"]"),
    input(InputKind::Permissions, "deny", "[\"Read([)\"]"),
    input(InputKind::Permissions, "deny", "[\"Bash(command:rm *)\"]"),
    input(InputKind::Permissions, "deny", "[3]"),
    input(InputKind::Permissions, "ask", "[{ \"tool\": \"Bash\" }]"),
    input(InputKind::Permissions, "dney", "[\"Bash\"]"),
    input(InputKind::Permissions, "defaultMode", "\"plna\""),
    input(InputKind::Permissions, "additionalDirectories", "[3]"),
    input(InputKind::Hooks, "PreToolUse", "{ \"matcher\": \"Bash\" }"),
    input(InputKind::Hooks, "PreToolUse", "[{ \"matcher\": \"Bash\" }]"),
    input(InputKind::Hooks, "PreToolUse", "[{ \"hooks\": [{ \"type\": \"prompt\", \"prompt\": \"x\" }] }]"),
    input(InputKind::Hooks, "PreToolUse", "[{ \"matcher\": \"(\", \"hooks\": [{ \"command\": \"true\" }] }]"),
    input(InputKind::Hooks, "PreToolUes", "[{ \"hooks\": [{ \"command\": \"true\" }] }]"),
    input(InputKind::ClaudeSetting, "sandbox.filesystem.denyRead", "[\"~/.aws\"]"),
    input(InputKind::ClaudeSetting, "sandbox.filesystem.denyWrite", "[\"src\"]"),
    input(InputKind::ClaudeSetting, "sandbox.network.deniedDomains", "[\"example.com\"]"),
    input(InputKind::ClaudeSetting, "availableModels", "[\"sonnet\"]"),
    input(InputKind::ClaudeSetting, "permisions", "{ \"deny\": [\"Bash\"] }"),
    input(InputKind::File, "not well-formed", "{ \"permissions\": "),
    input(InputKind::File, "not a table", "[1]"),
];
