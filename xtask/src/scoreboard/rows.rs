//! The rows of the scoreboard: what each proves, by which commands, and what is still missing.

/// One row.
pub(super) struct Row {
    pub(super) number: u8,
    /// What is proven.
    pub(super) title: &'static str,
    /// The size that a run must have, and what must not happen.
    pub(super) target: &'static str,
    /// The commands of `cargo xtask` that prove it, in full size, and those with planted mistakes.
    pub(super) commands: &'static [&'static str],
    /// What keeps the row from being complete.
    pub(super) gap: Gap,
}

/// What a row lacks.
pub(super) enum Gap {
    /// Nothing: recorded commands make it green.
    None,
    /// The proof is smaller than the row demands.
    Partial(&'static str),
    /// There is nothing to prove yet.
    Waiting(&'static str),
}

pub(super) const ROWS: &[Row] = &[
    Row {
        number: 1,
        title: "Kills at every system call",
        target: "10,000 kills: no acknowledged event lost, no tool run twice, every session resumes",
        commands: &[
            "crash --store sqlite --random 3000",
            "crash --store jsonl --random 4000",
            "crash --store postgres --random 2500",
            "crash --store sqlite --planted",
            "kill-cli",
        ],
        gap: Gap::None,
    },
    Row {
        number: 2,
        title: "Power loss",
        target: "100,000 images: no durable event lost, nothing cut silently",
        commands: &[
            "power-loss --store sqlite --images 50000",
            "power-loss --store jsonl --images 50000",
            "power-loss --planted",
        ],
        gap: Gap::None,
    },
    Row {
        number: 3,
        title: "Disk faults",
        target: "every write and sync fails once: reported in the same turn, recovered when the disk works",
        commands: &[
            "disk-faults --store sqlite",
            "disk-faults --store jsonl",
            "disk-faults --store sqlite --planted",
        ],
        gap: Gap::None,
    },
    Row {
        number: 4,
        title: "Damaged sessions",
        target: "1,000,000 damaged files: every intact record recovered, all damage reported",
        commands: &["corrupt", "mistakes corrupt:"],
        gap: Gap::None,
    },
    Row {
        number: 5,
        title: "Several writers",
        target: "10,000 rounds: never two writers, a stopped owner is not robbed",
        commands: &[
            "writers --store sqlite",
            "writers --store jsonl --rounds 300",
            "writers --store sqlite --planted",
        ],
        gap: Gap::None,
    },
    Row {
        number: 6,
        title: "Huge sessions",
        target: "1,000,000 events, 100,000 sessions: bounded time and memory",
        commands: &[
            "sessions attach",
            "session-stores --store sqlite --sessions 100000",
            "session-stores --store jsonl",
            "session-stores --store sqlite --planted",
            "bench store",
        ],
        gap: Gap::None,
    },
    Row {
        number: 7,
        title: "Deterministic simulation",
        target: "1,000,000 seeds without a violation; a seed repeats exactly",
        commands: &[
            "simulate --seeds 250000",
            "simulate --start 250000 --seeds 250000",
            "simulate --start 500000 --seeds 250000",
            "simulate --start 750000 --seeds 250000",
            "simulate --planted",
            "budgets",
            "budgets --planted",
            "interleavings",
            "mistakes interleavings:",
        ],
        gap: Gap::None,
    },
    Row {
        number: 8,
        title: "Sessions of earlier versions",
        target: "500 stored sessions fold to the same state; a newer format is refused",
        commands: &["golden", "mistakes golden:"],
        gap: Gap::None,
    },
    Row {
        number: 9,
        title: "Split streams",
        target: "100,000,000 splits: the same events",
        commands: &["sse", "fuzz", "mistakes wire:"],
        gap: Gap::None,
    },
    Row {
        number: 10,
        title: "Provider faults",
        target: "every fault at every position of every protocol ends in a known way",
        commands: &["faults", "mistakes retry:"],
        gap: Gap::None,
    },
    Row {
        number: 11,
        title: "Tools run at most once",
        target: "10,000 cuts and kills: each call runs at most once, unknown outcomes are reported",
        commands: &["kill-cli", "kill-host", "faults", "cuts", "cuts --planted"],
        gap: Gap::None,
    },
    Row {
        number: 12,
        title: "Valid requests",
        target: "1,000,000 histories: every request is valid for its provider",
        commands: &[
            "histories --count 1000000",
            "compactions",
            "compactions --planted",
            "prefix",
            "prefix --planted",
        ],
        gap: Gap::None,
    },
    Row {
        number: 13,
        title: "Paths and races",
        target: "2,000 hostile paths for every file tool, 1,000,000 operations in a race: no escape",
        commands: &["escape", "escape --planted"],
        gap: Gap::None,
    },
    Row {
        number: 14,
        title: "Sandbox",
        target: "every hostile program contained, with every backend and user",
        commands: &["sandbox", "sandbox --planted"],
        gap: Gap::None,
    },
    Row {
        number: 15,
        title: "Hostile repositories",
        target: "250 repositories: nothing runs and nothing is sent before trust; a changed byte asks again",
        commands: &[
            "hostile-repos",
            "hostile-repos --planted",
            "hostile-repos --by-program",
            "hostile-repos --by-program --planted",
        ],
        gap: Gap::None,
    },
    Row {
        number: 16,
        title: "Shell analysis",
        target: "100,000 commands: nothing runs that was not judged",
        commands: &[
            "shell-diff --count 100000",
            "shell-diff --count 100000 --seed 100001",
            "shell-diff --planted",
        ],
        gap: Gap::None,
    },
    Row {
        number: 17,
        title: "Attacks on the local server",
        target: "every route refuses 150 requests",
        commands: &[],
        gap: Gap::Waiting("the table of routes"),
    },
    Row {
        number: 18,
        title: "Terminal",
        target: "10,000,000 random bytes through every field: no foreign effect",
        commands: &["terminal-bytes", "attacks", "mistakes terminal:"],
        gap: Gap::None,
    },
    Row {
        number: 19,
        title: "Secrets",
        target: "50 canaries: none in environments, logs, sessions, output or requests",
        commands: &["secrets", "secrets --planted", "mistakes secrets:"],
        gap: Gap::None,
    },
    Row {
        number: 20,
        title: "Egress",
        target: "300 addresses and redirects: no connection to a forbidden peer",
        commands: &["egress", "egress --planted"],
        gap: Gap::None,
    },
    Row {
        number: 21,
        title: "Injected text",
        target: "1,600 scenarios with an obedient model: nothing leaves without approval",
        commands: &["injections", "injections --planted"],
        gap: Gap::None,
    },
    Row {
        number: 22,
        title: "MCP and schemas",
        target: "the conformance suites pass without exceptions",
        commands: &["connect", "schemas", "mistakes mcp:", "mistakes schemas:"],
        gap: Gap::Partial("the part of the MCP suite for servers"),
    },
    Row {
        number: 23,
        title: "Processes",
        target: "1,000 runs: nothing survives its command",
        commands: &["processes", "processes --planted"],
        gap: Gap::None,
    },
    Row {
        number: 24,
        title: "10,000 concurrent sessions",
        target: "no event dropped, duplicated or misdirected for an hour",
        commands: &[],
        gap: Gap::Waiting("the load test of the server"),
    },
    Row {
        number: 25,
        title: "Fuzzing and supply chain",
        target: "every parser fuzzed, two builds identical, no known advisory",
        commands: &["fuzz", "dist --check", "deny --advisories"],
        gap: Gap::Partial(
            "Miri, whose interpreter cannot run what our unsafe code does: it calls the kernel",
        ),
    },
];
