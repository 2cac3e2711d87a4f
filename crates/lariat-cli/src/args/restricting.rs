//! A table of every input that restricts a run, with an invalid value for each.
//!
//! Unit tests compare the table with the settings, the flags and the documentation, so a new restricting setting or flag cannot
//! be forgotten. The integration tests try each invalid value; they include this file, so it holds data only.

/// An input that restricts a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Restricting {
    /// The name as users write it.
    pub(crate) name: &'static str,
    pub(crate) given: Given,
    /// An invalid value, in the syntax of that input.
    pub(crate) broken: &'static str,
}

/// Where an input comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Given {
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

const fn restricting(given: Given, name: &'static str, broken: &'static str) -> Restricting {
    Restricting { name, given, broken }
}

pub(crate) const RESTRICTING: &[Restricting] = &[
    restricting(Given::Setting, "mode", "\"plna\""),
    restricting(Given::Setting, "sandbox.enabled", "\"yes\""),
    restricting(Given::Setting, "sandbox.hooks", "\"yes\""),
    restricting(Given::Setting, "sandbox.network", "\"off\""),
    restricting(Given::Setting, "sandbox.memory", "\"much\""),
    restricting(Given::Setting, "limits.turns", "\"abc\""),
    restricting(Given::Setting, "limits.tool_calls", "-1"),
    restricting(Given::Setting, "limits.tokens", "1.5"),
    restricting(Given::Setting, "limits.cost", "\"1 dollar\""),
    restricting(Given::Setting, "limits.time", "\"ten\""),
    restricting(Given::Setting, "budget.session", "\"5 USD\""),
    restricting(Given::Setting, "budget.day", "-1"),
    restricting(Given::Setting, "max_tokens", "\"many\""),
    restricting(Given::Setting, "undo.enabled", "\"on\""),
    restricting(Given::Setting, "instruction_files", "\"nothing\""),
    restricting(Given::Setting, "auth.store", "\"keyrign\""),
    restricting(Given::Setting, "telemetry.content", "\"no\""),
    restricting(Given::Setting, "limits.turn", "5"),
    restricting(Given::Setting, "sandboks.enabled", "true"),
    restricting(Given::Flag, "--max-turns", "abc"),
    restricting(Given::Flag, "--max-cost", "-1"),
    restricting(Given::Flag, "--max-time", "10"),
    restricting(Given::Flag, "--mode", "plna"),
    restricting(Given::Flag, "--deny", "Raed(.env)"),
    restricting(Given::ClaudeFlag, "--max-turns", "abc"),
    restricting(Given::ClaudeFlag, "--max-budget-usd", "1 dollar"),
    restricting(Given::ClaudeFlag, "--max-thinking-tokens", "few"),
    restricting(Given::ClaudeFlag, "--permission-mode", "plna"),
    restricting(Given::ClaudeFlag, "--disallowedTools", "Read(.env"),
    restricting(Given::ClaudeFlag, "--disallowed-tools", "Raed"),
    restricting(Given::ClaudeFlag, "--tools", "Raed"),
    restricting(Given::ClaudeFlag, "--settings", "{\"permissions\":{\"deny\":[\"Read(.env\"]}}"),
    restricting(Given::ClaudeFlag, "--setting-sources", "projcet"),
    restricting(Given::ClaudeFlag, "--task-budget", "1000"),
    restricting(Given::ClaudeFlag, "--of-tomorrow", "1"),
    restricting(Given::Permissions, "deny", "[\"Read(.env\"]"),
    restricting(Given::Permissions, "ask", "[\"Raed(.env)\"]"),
    restricting(Given::Permissions, "deny", "[\"Raed\"]"),
    restricting(Given::Permissions, "deny", "[\"Read([)\"]"),
    restricting(Given::Permissions, "deny", "[\"Bash(command:rm *)\"]"),
    restricting(Given::Permissions, "deny", "[3]"),
    restricting(Given::Permissions, "ask", "[{ \"tool\": \"Bash\" }]"),
    restricting(Given::Permissions, "dney", "[\"Bash\"]"),
    restricting(Given::Permissions, "defaultMode", "\"plna\""),
    restricting(Given::Hooks, "PreToolUse", "{ \"matcher\": \"Bash\" }"),
    restricting(Given::Hooks, "PreToolUse", "[{ \"matcher\": \"Bash\" }]"),
    restricting(Given::Hooks, "PreToolUse", "[{ \"hooks\": [{ \"type\": \"prompt\", \"prompt\": \"x\" }] }]"),
    restricting(
        Given::Hooks,
        "PreToolUse",
        "[{ \"matcher\": \"(\", \"hooks\": [{ \"command\": \"true\" }] }]",
    ),
    restricting(Given::Hooks, "PreToolUes", "[{ \"hooks\": [{ \"command\": \"true\" }] }]"),
    restricting(Given::ClaudeSetting, "sandbox.filesystem.denyRead", "[\"~/.aws\"]"),
    restricting(Given::ClaudeSetting, "sandbox.filesystem.denyWrite", "[\"src\"]"),
    restricting(Given::ClaudeSetting, "sandbox.network.deniedDomains", "[\"example.com\"]"),
    restricting(Given::ClaudeSetting, "availableModels", "[\"sonnet\"]"),
    restricting(Given::ClaudeSetting, "permisions", "{ \"deny\": [\"Bash\"] }"),
    restricting(Given::File, "not well-formed", "{ \"permissions\": "),
    restricting(Given::File, "not a table", "[1]"),
];
