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

const fn restricting(kind: InputKind, name: &'static str, broken: &'static str) -> RestrictingInput {
    RestrictingInput { name, kind, broken }
}

pub(crate) const RESTRICTING: &[RestrictingInput] = &[
    restricting(InputKind::Setting, "mode", "\"plna\""),
    restricting(InputKind::Setting, "sandbox.enabled", "\"yes\""),
    restricting(InputKind::Setting, "sandbox.hooks", "\"yes\""),
    restricting(InputKind::Setting, "sandbox.network", "\"off\""),
    restricting(InputKind::Setting, "sandbox.memory", "\"much\""),
    restricting(InputKind::Setting, "limits.turns", "\"abc\""),
    restricting(InputKind::Setting, "limits.tool_calls", "-1"),
    restricting(InputKind::Setting, "limits.tokens", "1.5"),
    restricting(InputKind::Setting, "limits.cost", "\"1 dollar\""),
    restricting(InputKind::Setting, "limits.time", "\"ten\""),
    restricting(InputKind::Setting, "budget.session", "\"5 USD\""),
    restricting(InputKind::Setting, "budget.day", "-1"),
    restricting(InputKind::Setting, "max_tokens", "\"many\""),
    restricting(InputKind::Setting, "undo.enabled", "\"on\""),
    restricting(InputKind::Setting, "instruction_files", "\"nothing\""),
    restricting(InputKind::Setting, "auth.store", "\"keyrign\""),
    restricting(InputKind::Setting, "telemetry.content", "\"no\""),
    restricting(InputKind::Setting, "limits.turn", "5"),
    restricting(InputKind::Setting, "sandboks.enabled", "true"),
    restricting(InputKind::Flag, "--max-turns", "abc"),
    restricting(InputKind::Flag, "--max-cost", "-1"),
    restricting(InputKind::Flag, "--max-time", "10"),
    restricting(InputKind::Flag, "--mode", "plna"),
    restricting(InputKind::Flag, "--deny", "Raed(.env)"),
    restricting(InputKind::ClaudeFlag, "--max-turns", "abc"),
    restricting(InputKind::ClaudeFlag, "--max-budget-usd", "1 dollar"),
    restricting(InputKind::ClaudeFlag, "--max-thinking-tokens", "few"),
    restricting(InputKind::ClaudeFlag, "--permission-mode", "plna"),
    restricting(InputKind::ClaudeFlag, "--disallowedTools", "Read(.env"),
    restricting(InputKind::ClaudeFlag, "--disallowed-tools", "Raed"),
    restricting(InputKind::ClaudeFlag, "--tools", "Raed"),
    restricting(InputKind::ClaudeFlag, "--settings", "{\"permissions\":{\"deny\":[\"Read(.env\"]}}"),
    restricting(InputKind::ClaudeFlag, "--setting-sources", "projcet"),
    restricting(InputKind::ClaudeFlag, "--task-budget", "1000"),
    restricting(InputKind::ClaudeFlag, "--of-tomorrow", "1"),
    restricting(InputKind::Permissions, "deny", "[\"Read(.env\"]"),
    restricting(InputKind::Permissions, "ask", "[\"Raed(.env)\"]"),
    restricting(InputKind::Permissions, "deny", "[\"Raed\"]"),
    restricting(InputKind::Permissions, "deny", "[\"Read([)\"]"),
    restricting(InputKind::Permissions, "deny", "[\"Bash(command:rm *)\"]"),
    restricting(InputKind::Permissions, "deny", "[3]"),
    restricting(InputKind::Permissions, "ask", "[{ \"tool\": \"Bash\" }]"),
    restricting(InputKind::Permissions, "dney", "[\"Bash\"]"),
    restricting(InputKind::Permissions, "defaultMode", "\"plna\""),
    restricting(InputKind::Hooks, "PreToolUse", "{ \"matcher\": \"Bash\" }"),
    restricting(InputKind::Hooks, "PreToolUse", "[{ \"matcher\": \"Bash\" }]"),
    restricting(
        InputKind::Hooks,
        "PreToolUse",
        "[{ \"hooks\": [{ \"type\": \"prompt\", \"prompt\": \"x\" }] }]",
    ),
    restricting(
        InputKind::Hooks,
        "PreToolUse",
        "[{ \"matcher\": \"(\", \"hooks\": [{ \"command\": \"true\" }] }]",
    ),
    restricting(InputKind::Hooks, "PreToolUes", "[{ \"hooks\": [{ \"command\": \"true\" }] }]"),
    restricting(InputKind::ClaudeSetting, "sandbox.filesystem.denyRead", "[\"~/.aws\"]"),
    restricting(InputKind::ClaudeSetting, "sandbox.filesystem.denyWrite", "[\"src\"]"),
    restricting(InputKind::ClaudeSetting, "sandbox.network.deniedDomains", "[\"example.com\"]"),
    restricting(InputKind::ClaudeSetting, "availableModels", "[\"sonnet\"]"),
    restricting(InputKind::ClaudeSetting, "permisions", "{ \"deny\": [\"Bash\"] }"),
    restricting(InputKind::File, "not well-formed", "{ \"permissions\": "),
    restricting(InputKind::File, "not a table", "[1]"),
];
