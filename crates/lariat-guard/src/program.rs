//! Tables of what is known about programs by their names.
//!
//! Command rules need to know which wrappers to look through, which programs run their arguments, which write files and
//! which variables are harmless. Nothing is known about a program that is in none of the tables.

use crate::shell::{Command, Options};

pub(crate) use crate::shell::options_before_subcommand;

/// Wrappers that an allow rule looks through.
const TRANSPARENT: &[&str] = &["timeout", "time", "nice", "nohup", "stdbuf", "command", "builtin", "noglob"];

/// Never allowed by a rule with `*`, because what they run is somewhere in their arguments.
const NEVER_BY_PATTERN: &[&str] = &["watch", "setsid", "ionice", "flock"];

/// Actions of `find` that run or write something.
const FIND_ACTIONS: &[&str] =
    &["-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf", "-fls"];

/// Programs that can do many different things, so that their name says little. Like programs that run their arguments, they
/// are allowed by a rule with `*` only if the rule starts with their name.
const BROAD: &[&str] = &[
    // Tasks and packages.
    "git",
    "cargo",
    "rustup",
    "go",
    "npm",
    "pnpm",
    "yarn",
    "pip",
    "pip3",
    "uv",
    "poetry",
    "pipenv",
    "conda",
    "gem",
    "bundle",
    "brew",
    "apt",
    "apt-get",
    "dnf",
    "nix-env",
    "task",
    "rake",
    "gradle",
    "mvn",
    "ant",
    "cmake",
    "ninja",
    "bazel",
    // Languages that can also be harmless.
    "awk",
    "gawk",
    "mawk",
    "nawk",
    "sed",
    "gsed",
    "man",
    // Other machines.
    "docker",
    "podman",
    "nerdctl",
    "kubectl",
    "helm",
    "terraform",
    "vagrant",
    "systemctl",
    "rsync",
    "scp",
    "mosh",
    "curl",
    "wget",
    "nc",
    "ncat",
    "telnet",
    "ftp",
    "gh",
    "glab",
    "aws",
    "gcloud",
    "az",
    // Programs that move many files.
    "tar",
    "zip",
    "unzip",
    "cpio",
    // Builtins that change the meaning of other commands.
    "alias",
    "enable",
    "mapfile",
    "readarray",
    "coproc",
    "env",
];

/// Of those, the subcommands that are safe enough to generalise in a suggested rule. Others are remembered word by word.
const WITH_SUBCOMMANDS: &[(&str, &[&str])] = &[
    (
        "git",
        &[
            "add",
            "commit",
            "status",
            "log",
            "diff",
            "show",
            "fetch",
            "pull",
            "push",
            "checkout",
            "switch",
            "branch",
            "stash",
            "merge",
            "rebase",
            "tag",
            "restore",
            "cherry-pick",
            "revert",
            "mv",
            "rm",
            "blame",
            "reset",
        ],
    ),
    (
        "cargo",
        &[
            "test", "build", "check", "clippy", "fmt", "doc", "bench", "nextest", "tree", "metadata",
            "update", "clean", "add", "remove",
        ],
    ),
    ("go", &["test", "build", "vet", "fmt", "mod", "list", "doc"]),
    ("npm", &["install", "ci", "ls", "outdated", "view", "audit"]),
    ("pnpm", &["install", "ls", "outdated", "audit"]),
    ("yarn", &["install", "list", "outdated", "audit"]),
    ("uv", &["sync", "lock", "pip"]),
    ("gh", &["pr", "issue", "repo", "release", "search"]),
];

/// Variables that may be set for a command without changing what it does.
const SAFE_VARIABLES: &[&str] = &[
    "CARGO_TERM_COLOR",
    "CGO_ENABLED",
    "CI",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "COLORTERM",
    "COLUMNS",
    "DEBUG",
    "FORCE_COLOR",
    "GO111MODULE",
    "GOARCH",
    "GOOS",
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_COLLATE",
    "LC_CTYPE",
    "LC_MESSAGES",
    "LC_NUMERIC",
    "LC_TIME",
    "LINES",
    "LOG_LEVEL",
    "NODE_ENV",
    "NO_COLOR",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONUNBUFFERED",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "RUST_TEST_THREADS",
    "TERM",
    "TZ",
];

/// Which operands of a program are files that it writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WrittenOperands {
    /// All of them.
    All,
    /// The last; the others are read.
    Last,
    /// All, if one of these options is present; otherwise they are read.
    With(Options),
}

/// Programs that write files they are given.
const WRITERS: &[(&str, WrittenOperands)] = &[
    ("cp", WrittenOperands::Last),
    ("install", WrittenOperands::Last),
    ("ln", WrittenOperands::All),
    ("rsync", WrittenOperands::Last),
    ("scp", WrittenOperands::Last),
    ("mv", WrittenOperands::All),
    ("rm", WrittenOperands::All),
    ("rmdir", WrittenOperands::All),
    ("unlink", WrittenOperands::All),
    ("shred", WrittenOperands::All),
    ("mkdir", WrittenOperands::All),
    ("touch", WrittenOperands::All),
    ("tee", WrittenOperands::All),
    ("truncate", WrittenOperands::All),
    ("chmod", WrittenOperands::All),
    ("chown", WrittenOperands::All),
    ("chgrp", WrittenOperands::All),
    ("dd", WrittenOperands::All),
    ("patch", WrittenOperands::All),
    ("mkfifo", WrittenOperands::All),
    ("mktemp", WrittenOperands::All),
    ("sed", WrittenOperands::With(Options::new("-i --in-place", "efl"))),
    ("perl", WrittenOperands::With(Options::new("-i -p", "eEFIMm"))),
    ("sort", WrittenOperands::With(Options::new("-o --output", "kSTt"))),
    ("curl", WrittenOperands::With(Options::new("-o --output", "ACDEFHKPQTXYbcdehmrtuwxyz"))),
    ("wget", WrittenOperands::With(Options::new("-O --output-document", "aoeiBtTwQPUlADRIX"))),
];

/// Of those, the ones that change a workspace as an edit does: undo can restore everything.
const EDITORS: &[&str] = &["mkdir", "touch", "cp", "mv", "tee", "rmdir"];

/// Programs whose operands are words, not files.
const WORD_PROGRAMS: &[&str] =
    &["echo", "printf", "expr", "seq", "sleep", "kill", "test", "[", "true", "false", ":", "git", "export"];

/// Builtins of bash that run none of their arguments.
const BUILTINS: &[&str] = &[
    "alias",
    "bg",
    "bind",
    "break",
    "caller",
    "cd",
    "compgen",
    "complete",
    "compopt",
    "continue",
    "declare",
    "dirs",
    "disown",
    "enable",
    "fc",
    "fg",
    "getopts",
    "hash",
    "help",
    "history",
    "jobs",
    "let",
    "local",
    "logout",
    "mapfile",
    "popd",
    "pushd",
    "read",
    "readarray",
    "readonly",
    "shift",
    "shopt",
    "suspend",
    "times",
    "typeset",
    "ulimit",
    "umask",
    "unalias",
    "unset",
    "wait",
];

/// Returns the name of a program without its directory.
pub(crate) fn base(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// Whether an allow rule looks through a wrapper, given as written.
pub(crate) fn is_transparent(wrapper: &str) -> bool {
    let name = wrapper.split_whitespace().next().unwrap_or_default();
    TRANSPARENT.contains(&name) || wrapper == "xargs"
}

/// Whether no rule with `*` allows a program.
pub(crate) fn needs_exact_rule(program: &str) -> bool {
    NEVER_BY_PATTERN.contains(&base(program))
}

/// Whether a word makes `find` run or write something.
pub(crate) fn is_find_action(word: &str) -> bool {
    FIND_ACTIONS.contains(&word)
}

/// Whether a rule with `*` must start with the name of the program to allow a command.
pub(crate) fn is_broad(command: &Command) -> bool {
    command.program().is_none_or(|program| BROAD.contains(&program))
}

/// Returns the subcommands of a program that a suggested rule may generalise.
pub(crate) fn subcommands(program: &str) -> Option<&'static [&'static str]> {
    WITH_SUBCOMMANDS.iter().find(|(name, _)| *name == program).map(|(_, names)| *names)
}

/// Whether a variable set before a command does not change what it does.
pub(crate) fn is_safe_variable(name: &str) -> bool {
    SAFE_VARIABLES.contains(&name)
}

/// Returns which operands of a program it writes.
pub(crate) fn writes(program: &str) -> Option<WrittenOperands> {
    WRITERS.iter().find(|(name, _)| *name == base(program)).map(|(_, writes)| *writes)
}

/// Whether a program changes files as an edit does.
pub(crate) fn is_editor(program: &str) -> bool {
    EDITORS.contains(&program)
}

/// Whether a word is a builtin of bash that runs none of its arguments.
pub(crate) fn is_builtin(program: &str) -> bool {
    BUILTINS.contains(&program)
}

/// Whether the operands of a program are words, not files.
pub(crate) fn takes_words(program: &str) -> bool {
    WORD_PROGRAMS.contains(&base(program))
}
