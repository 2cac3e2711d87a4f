//! The effective settings as typed values.
//!
//! [`SettingSources::settings`](super::SettingSources::settings) builds them once; callers read fields. Every field is one row of
//! [`KEYS`](super::KEYS), with the same path, and the defaults are here and nowhere else. A limit that is not set is `None`.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

use lariat_core::model::ThinkingLevel;
use lariat_core::usage::Cost;
use lariat_guard::Mode;

/// All settings. [`Settings::default`] holds the built-in defaults.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(test, derive(serde::Serialize))]
#[non_exhaustive]
pub struct Settings {
    /// The model; `None` for the default model of the first provider with a key.
    pub model: Option<String>,
    /// The model for summaries; `None` for the main model.
    pub small_model: Option<String>,
    /// Models to switch to, in this order, when the previous one fails.
    pub fallback_models: Vec<String>,
    /// How much the model thinks before it answers.
    pub thinking: ThinkingLevel,
    /// Maximum tokens of one reply.
    pub max_tokens: Option<NonZeroU64>,
    /// The permission mode; `None` leaves the choice to the permission rules' `defaultMode`.
    #[cfg_attr(test, serde(serialize_with = "ignore"))]
    pub mode: Option<Mode>,
    /// The sandbox of commands and hooks.
    pub sandbox: SandboxSettings,
    /// Retries of failed model requests.
    pub retry: RetrySettings,
    /// Limits of one run.
    pub limits: LimitSettings,
    /// Limits over several runs.
    pub budget: BudgetSettings,
    /// The context window and its compaction.
    pub context: ContextSettings,
    /// What Lariat remembers about projects.
    pub memory: MemorySettings,
    /// Checkpoints of file changes.
    pub undo: UndoSettings,
    /// Which instruction files of a project the model receives.
    pub instruction_files: InstructionFiles,
    /// The user's own providers, by name.
    pub providers: BTreeMap<String, ProviderSettings>,
    /// Where API keys are stored.
    pub auth: AuthSettings,
    /// Connections to other machines.
    pub network: NetworkSettings,
    /// The session database.
    pub store: StoreSettings,
    /// The trace file.
    pub trace: TraceSettings,
    /// Files that programs made for Claude Code read.
    pub claude: ClaudeSettings,
    /// Traces and metrics for a collector.
    pub telemetry: TelemetrySettings,
    /// The display in the terminal.
    pub ui: UiSettings,
}

/// The table `sandbox`.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(test, derive(serde::Serialize))]
#[non_exhaustive]
pub struct SandboxSettings {
    /// Whether commands run in the kernel sandbox.
    pub enabled: bool,
    /// Whether hooks that use a project's files run in the sandbox.
    pub hooks: bool,
    /// Whether sandboxed commands may use the network.
    pub network: bool,
    /// The only hosts that sandboxed commands may reach; empty if `network` decides alone.
    pub hosts: Vec<AllowedHost>,
    /// Maximum memory of a command.
    pub memory: MemoryLimit,
}

impl Default for SandboxSettings {
    fn default() -> Self {
        Self { enabled: true, hooks: true, network: false, hosts: Vec::new(), memory: MemoryLimit::Automatic }
    }
}

/// A host that sandboxed commands may reach.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(test, derive(serde::Serialize))]
#[non_exhaustive]
pub struct AllowedHost {
    /// A host name, an IPv4 address, or `*.` and a domain for all names below it.
    pub host: String,
    /// The port; `None` means any.
    pub port: Option<u16>,
}

impl AllowedHost {
    /// Parses `HOST`, `HOST:PORT`, `*.DOMAIN` or `*.DOMAIN:PORT`. Anything else, such as a URL, is not a host.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (host, port) = match text.split_once(':') {
            Some((host, port)) => (host, Some(port.parse().ok().filter(|port| *port > 0)?)),
            None => (text, None),
        };
        let is_label = |label: &str| {
            let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
            !label.is_empty() && label.chars().all(is_letter)
        };
        let name = host.strip_prefix("*.").unwrap_or(host);
        name.split('.').all(is_label).then(|| Self { host: host.to_owned(), port })
    }
}

impl std::fmt::Display for AllowedHost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.port {
            Some(port) => write!(f, "{}:{port}", self.host),
            None => f.write_str(&self.host),
        }
    }
}

/// Maximum memory of a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(test, derive(serde::Serialize))]
pub enum MemoryLimit {
    /// Three quarters of the machine's memory, per process.
    #[default]
    Automatic,
    /// This many MiB, for all processes of the command together.
    Mebibytes(NonZeroU64),
}

/// The table `retry`.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(test, derive(serde::Serialize))]
#[non_exhaustive]
pub struct RetrySettings {
    /// Maximum number of retries of a model request; 0 disables retries.
    pub attempts: u64,
    /// Maximum time to retry a model request.
    pub patience: Duration,
}

impl Default for RetrySettings {
    fn default() -> Self {
        Self { attempts: 10, patience: Duration::from_secs(600) }
    }
}

/// The table `limits`: limits of one run.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(test, derive(serde::Serialize))]
#[non_exhaustive]
pub struct LimitSettings {
    /// Maximum model requests.
    pub turns: Option<NonZeroU64>,
    /// Maximum tool calls; with 0 the model cannot use tools.
    pub tool_calls: Option<u64>,
    /// Maximum tokens.
    pub tokens: Option<NonZeroU64>,
    /// Maximum cost.
    pub cost: Option<Cost>,
    /// Maximum duration.
    pub time: Option<Duration>,
}

impl Default for LimitSettings {
    fn default() -> Self {
        Self { turns: NonZeroU64::new(500), tool_calls: None, tokens: None, cost: None, time: None }
    }
}

/// The table `budget`: limits over several runs.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(test, derive(serde::Serialize))]
#[non_exhaustive]
pub struct BudgetSettings {
    /// Maximum cost per session.
    pub session: Option<Cost>,
    /// Maximum cost per day, over all sessions on this machine.
    pub day: Option<Cost>,
}

/// The table `context`. Thresholds are percentages of the context window.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(test, derive(serde::Serialize))]
#[non_exhaustive]
pub struct ContextSettings {
    /// Whether the context is compacted automatically.
    pub enabled: bool,
    /// The context window in tokens; `None` for the model's.
    pub window: Option<NonZeroU64>,
    /// Where compaction is prepared.
    pub warn_at: u8,
    /// Where the context is compacted.
    pub compact_at: u8,
    /// Where no request is sent before compaction.
    pub emergency_at: u8,
    /// Tokens for a source outline in the first prompt; 0 for none.
    pub map: u64,
    /// Whether the model is advised how to approach a large task or a small context window.
    pub guidance: bool,
    /// The share of the context window, in percent, above which definitions of connected tools are not sent.
    pub tools: u8,
}

impl Default for ContextSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            window: None,
            warn_at: 80,
            compact_at: 90,
            emergency_at: 98,
            map: 0,
            guidance: true,
            tools: 10,
        }
    }
}

/// The table `memory`.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(test, derive(serde::Serialize))]
#[non_exhaustive]
pub struct MemorySettings {
    /// Whether sessions use the memory of the project: its prompt section, `learn` and `past_sessions`.
    pub enabled: bool,
    /// Tokens for remembered entries in the first prompt; 0 for none.
    pub tokens: u64,
}

impl Default for MemorySettings {
    fn default() -> Self {
        Self { enabled: true, tokens: 1_000 }
    }
}

/// The table `undo`.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(test, derive(serde::Serialize))]
#[non_exhaustive]
pub struct UndoSettings {
    /// Whether Lariat keeps checkpoints, so that file changes can be undone.
    pub enabled: bool,
    /// Whether runs name points that `lariat restore` can return to.
    pub checkpoints: bool,
}

impl Default for UndoSettings {
    fn default() -> Self {
        Self { enabled: true, checkpoints: true }
    }
}

/// Which instruction files of a project the model receives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(test, derive(serde::Serialize))]
pub enum InstructionFiles {
    /// `CLAUDE.md` only.
    Claude,
    /// `CLAUDE.md`, and `AGENTS.md` where a project has no `CLAUDE.md`.
    #[default]
    ClaudeOrAgents,
    /// `CLAUDE.md` and `AGENTS.md`.
    ClaudeAndAgents,
    /// No instruction file.
    None,
}

/// A table `providers.NAME`.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(test, derive(serde::Serialize))]
#[non_exhaustive]
pub struct ProviderSettings {
    /// The API protocol.
    pub api: Option<ProviderApi>,
    /// The URL of the API.
    pub base_url: Option<String>,
    /// The environment variable with the API key.
    pub key_env: Option<String>,
    /// The models, if the provider does not list them.
    pub models: Vec<String>,
    /// The context window of the models, in tokens.
    pub context: Option<NonZeroU64>,
    /// The price of a million input tokens.
    pub input_price: Option<Cost>,
    /// The price of a million output tokens.
    pub output_price: Option<Cost>,
}

/// The name of an API protocol that Lariat supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(test, derive(serde::Serialize))]
pub struct ProviderApi(pub(super) &'static str);

impl ProviderApi {
    /// All names.
    pub(super) const NAMES: &'static [&'static str] = &[
        "anthropic-messages",
        "openai-chat",
        "openai-responses",
        "azure-responses",
        "google-gemini",
        "google-vertex",
        "bedrock-converse",
    ];

    /// The name, as in `ModelConfig::api`.
    pub const fn as_str(self) -> &'static str {
        self.0
    }
}

/// The table `auth`.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(test, derive(serde::Serialize))]
#[non_exhaustive]
pub struct AuthSettings {
    /// Where `lariat auth login` stores keys.
    pub store: KeyStorage,
}

/// Where API keys are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(test, derive(serde::Serialize))]
pub enum KeyStorage {
    /// In the system keyring, or in the private file if no keyring responds.
    #[default]
    Auto,
    /// In the system keyring only.
    Keyring,
    /// In the private file only.
    File,
}

/// The table `network`.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(test, derive(serde::Serialize))]
#[non_exhaustive]
pub struct NetworkSettings {
    /// PEM files with additional certificates to trust.
    pub certificates: Vec<PathBuf>,
}

/// The table `store`.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(test, derive(serde::Serialize))]
#[non_exhaustive]
pub struct StoreSettings {
    /// What stores sessions.
    pub kind: StoreKind,
    /// The session database, or the directory of session files; `None` for the one in the user's state directory.
    pub path: Option<PathBuf>,
    /// The PostgreSQL database, as a URL or as `key=value` pairs.
    pub url: Option<String>,
}

/// What stores sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(test, derive(serde::Serialize))]
pub enum StoreKind {
    /// One SQLite database.
    #[default]
    Sqlite,
    /// A directory with one file per session.
    Jsonl,
    /// A PostgreSQL server.
    Postgres,
}

/// The table `trace`.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(test, derive(serde::Serialize))]
#[non_exhaustive]
pub struct TraceSettings {
    /// The file that receives every event as a JSON line.
    pub file: Option<PathBuf>,
}

/// The table `claude`.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(test, derive(serde::Serialize))]
#[non_exhaustive]
pub struct ClaudeSettings {
    /// Whether sessions are also written to Claude Code's session files.
    pub transcripts: bool,
}

/// The table `telemetry`.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(test, derive(serde::Serialize))]
#[non_exhaustive]
pub struct TelemetrySettings {
    /// The URL of an OTLP/HTTP collector; `None` for the one in `OTEL_EXPORTER_OTLP_ENDPOINT`.
    pub endpoint: Option<String>,
    /// HTTP headers for the collector, each as `NAME: VALUE`.
    pub headers: Vec<String>,
    /// Whether telemetry includes prompts and replies.
    pub content: bool,
}

/// The table `ui`.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(test, derive(serde::Serialize))]
#[non_exhaustive]
pub struct UiSettings {
    /// When the terminal shows colors.
    pub color: ColorChoice,
    /// Whether to show links where the terminal supports them.
    pub links: bool,
    /// Whether the terminal UI edits with vim keys.
    pub vim: bool,
    /// Keys of the terminal UI, each as `ACTION = KEY`.
    pub keys: Vec<String>,
    /// Items of the status line of the terminal UI, in order.
    pub status: Vec<String>,
    /// Whether the terminal UI prints every change as a line, for screen readers.
    pub screen_reader: bool,
    /// Whether the terminal UI shows images where the terminal supports them.
    pub images: bool,
    /// Whether the terminal may show animations and running clocks.
    pub motion: bool,
}

impl Default for UiSettings {
    fn default() -> Self {
        Self {
            color: ColorChoice::Auto,
            links: true,
            vim: false,
            keys: Vec::new(),
            status: Vec::new(),
            screen_reader: false,
            images: true,
            motion: true,
        }
    }
}

/// When the terminal shows colors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(test, derive(serde::Serialize))]
pub enum ColorChoice {
    /// If the terminal supports them and no variable says otherwise.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// [`Mode`] has no serde form; the tests that list the fields need only their names.
#[cfg(test)]
#[expect(clippy::ref_option, reason = "the signature that serde calls")]
fn ignore<S: serde::Serializer>(_: &Option<Mode>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_none()
}
