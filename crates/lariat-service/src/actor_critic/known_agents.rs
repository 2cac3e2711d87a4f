//! The agents that Lariat knows: how their programs are started without a terminal, and what they need.

/// A known agent.
#[derive(Debug)]
pub(super) struct KnownAgent {
    /// Its program, and its name on the command line.
    pub(super) program: &'static str,
    pub(super) label: &'static str,
    /// Arguments before the prompt.
    pub(super) arguments: &'static [&'static str],
    /// Arguments after it, for an actor in the sandbox, for one without a sandbox, and for a critic.
    pub(super) confined: &'static [&'static str],
    pub(super) unconfined: &'static [&'static str],
    pub(super) reading: &'static [&'static str],
    pub(super) model: &'static str,
    /// The program that speaks ACP for it.
    pub(super) acp: Option<AcpProgram>,
    /// Paths below the home directory that it writes.
    pub(super) state: &'static [&'static str],
    /// The variables with its keys and addresses. Other programs do not get them.
    pub(super) variables: &'static [&'static str],
    /// Whether it also needs those of all providers, because the user chooses one.
    pub(super) uses_any_provider: bool,
    /// Variables that tell it that it runs in a sandbox.
    pub(super) in_sandbox: &'static [(&'static str, &'static str)],
}

/// A program that speaks ACP on its standard input and output.
#[derive(Debug)]
pub(super) struct AcpProgram {
    pub(super) program: &'static str,
    pub(super) arguments: &'static [&'static str],
}

const fn acp(program: &'static str, arguments: &'static [&'static str]) -> Option<AcpProgram> {
    Some(AcpProgram { program, arguments })
}

/// In the sandbox an agent need not ask, because the sandbox decides what it may change.
pub(super) const KNOWN: &[KnownAgent] = &[
    KnownAgent {
        program: "claude",
        label: "Claude Code",
        arguments: &["-p"],
        confined: &["--dangerously-skip-permissions"],
        unconfined: &["--permission-mode", "acceptEdits"],
        reading: &["--permission-mode", "plan"],
        model: "--model",
        acp: acp("claude-code-acp", &[]),
        state: &[".claude", ".claude.json"],
        variables: &[
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_AUTH_TOKEN",
            "ANTHROPIC_BASE_URL",
            "ANTHROPIC_MODEL",
            "CLAUDE_CODE_OAUTH_TOKEN",
            "CLAUDE_CODE_USE_BEDROCK",
            "CLAUDE_CODE_USE_VERTEX",
            "CLAUDE_CONFIG_DIR",
        ],
        uses_any_provider: false,
        in_sandbox: &[("IS_SANDBOX", "1")],
    },
    KnownAgent {
        program: "codex",
        label: "Codex",
        arguments: &["exec", "--skip-git-repo-check"],
        confined: &["--dangerously-bypass-approvals-and-sandbox"],
        unconfined: &["--sandbox", "workspace-write"],
        reading: &["--sandbox", "read-only"],
        model: "--model",
        // `codex-acp` 0.16.0 exists, but the sandbox that it starts for commands does not work inside ours, and its commands fail.
        acp: None,
        state: &[".codex"],
        variables: &["OPENAI_API_KEY", "OPENAI_BASE_URL", "CODEX_API_KEY", "CODEX_HOME"],
        uses_any_provider: false,
        in_sandbox: &[],
    },
    KnownAgent {
        program: "gemini",
        label: "Gemini CLI",
        arguments: &["-p"],
        confined: &["--yolo"],
        unconfined: &["--approval-mode", "auto_edit"],
        reading: &[],
        model: "--model",
        acp: acp("gemini", &["--experimental-acp"]),
        state: &[".gemini"],
        variables: &[
            "GEMINI_API_KEY",
            "GOOGLE_API_KEY",
            "GOOGLE_GEMINI_BASE_URL",
            "GOOGLE_CLOUD_LOCATION",
            "GOOGLE_CLOUD_PROJECT",
            "GOOGLE_GENAI_USE_VERTEXAI",
        ],
        uses_any_provider: false,
        in_sandbox: &[],
    },
    KnownAgent {
        program: "opencode",
        label: "opencode",
        arguments: &["run"],
        confined: &[],
        unconfined: &[],
        reading: &["--agent", "plan"],
        model: "--model",
        acp: acp("opencode", &["acp"]),
        state: &[".config/opencode", ".local/share/opencode", ".local/state/opencode", ".cache/opencode"],
        variables: &["OPENCODE_API_KEY"],
        uses_any_provider: true,
        in_sandbox: &[],
    },
    KnownAgent {
        program: "goose",
        label: "goose",
        arguments: &["run", "--no-session", "-t"],
        confined: &[],
        unconfined: &[],
        reading: &[],
        model: "--model",
        acp: acp("goose", &["acp"]),
        state: &[".config/goose", ".local/share/goose", ".local/state/goose"],
        variables: &["GOOSE_PROVIDER", "GOOSE_MODEL"],
        uses_any_provider: true,
        in_sandbox: &[],
    },
    KnownAgent {
        program: "pi",
        label: "pi",
        arguments: &["--no-session", "-p"],
        confined: &[],
        unconfined: &[],
        reading: &["--tools", "read,grep,find,ls"],
        model: "--model",
        acp: None,
        state: &[".pi"],
        variables: &[],
        uses_any_provider: true,
        in_sandbox: &[],
    },
];
