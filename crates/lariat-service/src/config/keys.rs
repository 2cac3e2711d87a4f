//! Every setting there is.

use super::kind::{Key, Kind};

const fn key(name: &'static str, kind: Kind, default: &'static str, about: &'static str) -> Key {
    Key { name, kind, default, raises: false, about }
}

/// One that only the person's own settings may have.
const fn own(name: &'static str, kind: Kind, default: &'static str, about: &'static str) -> Key {
    Key { name, kind, default, raises: true, about }
}

const MODES: Kind = Kind::Word(&[
    "default",
    "accept-edits",
    "plan",
    "auto",
    "dont-ask",
    "bypass",
    "acceptEdits",
    "dontAsk",
    "bypassPermissions",
]);
const APIS: Kind = Kind::Word(&[
    "anthropic-messages",
    "openai-chat",
    "openai-responses",
    "azure-responses",
    "google-gemini",
    "google-vertex",
    "bedrock-converse",
]);

/// Every setting there is, in the order a person would look for it.
pub const KEYS: &[Key] = &[
    key("model", Kind::Text, "", "The model that answers: `provider/model`, or a name from `lariat models`."),
    key("small_model", Kind::Text, "", "A cheaper model for summaries; the model itself when it is not set."),
    key(
        "fallback_models",
        Kind::Texts,
        "",
        "Models that go on, in order, when the one before fails for good.",
    ),
    key(
        "thinking",
        Kind::Word(&["off", "minimal", "low", "medium", "high", "max"]),
        "off",
        "How hard the model thinks.",
    ),
    key("max_tokens", Kind::Count, "", "Tokens that one reply may have."),
    own("mode", MODES, "", "What runs without a question."),
    own("sandbox.enabled", Kind::Flag, "true", "Whether commands run in the kernel's sandbox."),
    own(
        "sandbox.network",
        Kind::Flag,
        "false",
        "Whether commands in the sandbox reach the network, services of this machine included; the mode `auto` then asks.",
    ),
    own(
        "sandbox.memory",
        Kind::Count,
        "0",
        "Memory that a command may use, in MiB (0 = three quarters of the machine's, for each process).",
    ),
    key("limits.turns", Kind::Count, "500", "Model calls of one run."),
    key("limits.tool_calls", Kind::Count, "", "Tool calls of one run."),
    key("limits.tokens", Kind::Count, "", "Tokens of one run."),
    key("limits.cost", Kind::Money, "", "Dollars of one run."),
    key("limits.time", Kind::Time, "", "Time that one run may take."),
    key("budget.session", Kind::Money, "", "Dollars of one session, over all of its runs."),
    key("budget.day", Kind::Money, "", "Dollars of one day, over all sessions of this machine."),
    key("context.enabled", Kind::Flag, "true", "Whether room is made in the window by itself."),
    key("context.window", Kind::Count, "", "Tokens of the window, where the model's own is not meant."),
    key("context.warn_at", Kind::Percent, "80", "How full the window is when making room is prepared."),
    key("context.compact_at", Kind::Percent, "90", "How full it is when room is made."),
    key(
        "context.emergency_at",
        Kind::Percent,
        "98",
        "How full it is when nothing is sent before room is made.",
    ),
    key(
        "context.map",
        Kind::Count,
        "0",
        "Tokens of an outline of the source that the model is told at the beginning.",
    ),
    own("undo.enabled", Kind::Flag, "true", "Whether what calls change can be taken back."),
    key(
        "instruction_files",
        Kind::Word(&["claude-md", "claude-md-or-agents-md", "claude-md-and-agents-md", "none"]),
        "claude-md-or-agents-md",
        "Which memory files of a project are told to the model.",
    ),
    own("providers.*.api", APIS, "", "The protocol that a service speaks."),
    own("providers.*.base_url", Kind::Text, "", "Where a service is."),
    own("providers.*.key_env", Kind::Text, "", "The variable that holds its key."),
    own("providers.*.models", Kind::Texts, "", "The models it has, where it does not list them."),
    own("providers.*.context", Kind::Count, "", "Tokens that the windows of its models have."),
    own(
        "auth.store",
        Kind::Word(&["auto", "keyring", "file"]),
        "auto",
        "Where `lariat auth login` stores keys: in the system's keyring, in a file, or in the file where there is no keyring.",
    ),
    own("store.path", Kind::Text, "", "The database of the sessions."),
    own("trace.file", Kind::Text, "", "A file that every event is written to, one JSON line each."),
    own(
        "telemetry.endpoint",
        Kind::Text,
        "",
        "Where traces and metrics are sent (OTLP over HTTP); nowhere when it is not set.",
    ),
    own("telemetry.content", Kind::Flag, "false", "Whether prompts and replies are sent along."),
    key("ui.color", Kind::Word(&["auto", "always", "never"]), "auto", "Whether the terminal gets colours."),
    key("ui.links", Kind::Flag, "true", "Whether file names are links where the terminal can show them."),
];

/// Keys that others read: the guard, the hooks, the tool servers, and what Claude Code's files hold besides.
const ELSEWHERE: &[&str] = &["permissions", "hooks", "env", "mcpServers", "mcp_servers", "$schema"];

/// The key of a path.
pub(super) fn find(path: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| fits(key.name, path))
}

/// Whether a path names a table of settings.
pub(super) fn is_table(path: &str) -> bool {
    let depth = path.split('.').count();
    let head = |name: &'static str| name.split('.').take(depth).collect::<Vec<_>>().join(".");
    KEYS.iter().any(|key| key.name.split('.').count() > depth && fits(&head(key.name), path))
}

/// Whether somebody else reads a key.
pub(super) fn is_elsewhere(path: &str) -> bool {
    ELSEWHERE.contains(&path.split('.').next().unwrap_or(path))
}

/// The names of the tables at the top.
pub(super) fn tables() -> impl Iterator<Item = &'static str> {
    KEYS.iter().filter_map(|key| Some(key.name.split_once('.')?.0))
}

/// The names of all keys.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    KEYS.iter().map(|key| key.name)
}

fn fits(name: &str, path: &str) -> bool {
    let mut names = name.split('.');
    let mut words = path.split('.');
    loop {
        match (names.next(), words.next()) {
            (None, None) => return true,
            (Some("*"), Some(_)) => {}
            (Some(name), Some(word)) if name == word => {}
            _ => return false,
        }
    }
}
