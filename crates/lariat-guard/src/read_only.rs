//! Commands that only read.
//!
//! Owns the table of commands that run without a rule, each with the options that would make it write or run something.
//! A command is in it only if everything else it can be given reads. Options may be shortened, so the start of a
//! forbidden one is forbidden, too.

use crate::program::options_before_subcommand;
use crate::shell::Word;
use crate::shell_rule::hides_an_option;

/// What the operands of a command are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operands {
    /// Files; their content or names are read.
    Files,
    /// A pattern, then files.
    PatternThenFiles,
    /// Words.
    Words,
    /// Variables of the script, in small letters.
    Variables,
    /// One file; a second would be written.
    OneFile,
    /// There are none but these, and formats, which begin with `+`.
    Only(&'static [&'static str]),
}

use Operands::{Files, OneFile, Only, PatternThenFiles, Variables, Words};

/// A command, its operands, the options that it may not have.
type Row = (&'static str, Operands, &'static [&'static str]);

const NONE: &[&str] = &[];
/// Options by which `grep` goes where links lead, out of the workspace, too.
const FOLLOWING: &[&str] = &["-R", "--dereference-recursive"];
const DIFF: &[&str] = &["--output", "--ext-diff", "--textconv", "--no-index", "-O", "--open-files-in-pager"];

const COMMANDS: &[Row] = &[
    (":", Words, NONE),
    ("[", Words, &["-v", "-R"]),
    ("arch", Only(NONE), NONE),
    ("b2sum", Files, NONE),
    ("base64", Files, &["-o", "--output"]),
    ("basename", Words, NONE),
    ("break", Only(NONE), NONE),
    ("cat", Files, NONE),
    ("cksum", Files, NONE),
    ("cmp", Files, NONE),
    ("column", Files, NONE),
    ("comm", Files, NONE),
    ("continue", Only(NONE), NONE),
    ("cut", Files, NONE),
    ("date", Only(NONE), &["-s", "--set", "-f", "--file"]),
    ("df", Files, NONE),
    ("diff", Files, &["-r", "--recursive"]),
    ("dirname", Words, NONE),
    ("du", Files, &["--files0-from"]),
    ("echo", Words, NONE),
    ("egrep", PatternThenFiles, FOLLOWING),
    ("exit", Words, NONE),
    ("expr", Words, NONE),
    ("false", Words, NONE),
    ("fd", PatternThenFiles, &["-x", "-X", "--exec", "--exec-batch"]),
    ("fgrep", PatternThenFiles, FOLLOWING),
    ("file", Files, &["-C", "--compile", "-z", "-Z", "--uncompress"]),
    (
        "find",
        Files,
        &[
            "-exec",
            "-execdir",
            "-ok",
            "-okdir",
            "-delete",
            "-fprint",
            "-fprint0",
            "-fprintf",
            "-fls",
            "-files0-from",
        ],
    ),
    ("fold", Files, NONE),
    ("free", Only(NONE), NONE),
    ("grep", PatternThenFiles, FOLLOWING),
    ("head", Files, NONE),
    ("hexdump", Files, NONE),
    ("id", Words, NONE),
    ("jq", PatternThenFiles, &["-L", "-f", "--from-file", "--library-path"]),
    ("ls", Files, NONE),
    ("md5sum", Files, NONE),
    ("nl", Files, NONE),
    ("nproc", Only(NONE), NONE),
    ("od", Files, NONE),
    ("paste", Files, NONE),
    ("printf", Words, &["-v"]),
    ("ps", Only(&["aux", "ax", "auxw", "auxww"]), NONE),
    ("pwd", Only(NONE), NONE),
    ("read", Variables, NONE),
    ("readlink", Files, NONE),
    ("realpath", Files, NONE),
    ("return", Words, NONE),
    ("rev", Files, NONE),
    (
        "rg",
        PatternThenFiles,
        &[
            "--pre",
            "--pre-glob",
            "--hostname-bin",
            "-z",
            "--search-zip",
            "--hyperlink-format",
            "-L",
            "--follow",
        ],
    ),
    ("seq", Words, NONE),
    ("set", Only(&["errexit", "nounset", "pipefail", "xtrace"]), NONE),
    ("sha1sum", Files, NONE),
    ("sha256sum", Files, NONE),
    ("sha512sum", Files, NONE),
    ("sleep", Words, NONE),
    (
        "sort",
        Files,
        &["-o", "--output", "-T", "--temporary-directory", "--compress-program", "--files0-from"],
    ),
    ("stat", Files, NONE),
    ("strings", Files, NONE),
    ("tac", Files, NONE),
    ("tail", Files, NONE),
    ("test", Words, &["-v", "-R"]),
    ("tr", Words, NONE),
    ("tree", Files, &["-o", "--output", "--fromfile", "--fromtabfile"]),
    ("true", Words, NONE),
    ("tty", Only(NONE), NONE),
    ("type", Words, NONE),
    ("uname", Only(NONE), NONE),
    ("uniq", OneFile, NONE),
    ("uptime", Only(NONE), NONE),
    ("wait", Only(NONE), NONE),
    ("wc", Files, &["--files0-from"]),
    ("which", Words, NONE),
    ("whoami", Only(NONE), NONE),
];

/// Options of `git branch` that change something.
const BRANCH: &[&str] = &[
    "-d",
    "-D",
    "-m",
    "-M",
    "-c",
    "-C",
    "-f",
    "-u",
    "--delete",
    "--move",
    "--copy",
    "--force",
    "--set-upstream-to",
    "--unset-upstream",
    "--edit-description",
    "--create-reflog",
    "--track",
];

/// Options of `git config` that change something, or read another file.
const CONFIG: &[&str] = &[
    "--add",
    "--unset",
    "--unset-all",
    "--replace-all",
    "-e",
    "--edit",
    "--rename-section",
    "--remove-section",
    "-f",
    "--file",
    "--blob",
];

/// Options of `git tag` that change something.
const TAG: &[&str] =
    &["-d", "--delete", "-f", "-s", "-a", "-m", "-F", "-u", "--sign", "--force", "--annotate"];

/// Options of `git grep` that run something, or read another file.
const GREP: &[&str] = &["-O", "--open-files-in-pager", "--textconv", "--no-index", "-f"];

/// Subcommands of git. Its operands are objects and files of the repository; options that read files from elsewhere and
/// show them, if only in a complaint, are left out.
const GIT: &[Row] = &[
    ("blame", Words, &["--contents", "--textconv", "--ignore-revs-file", "-S"]),
    ("branch --list", Words, BRANCH),
    ("branch", Only(NONE), BRANCH),
    ("cat-file", Words, &["--textconv", "--filters", "--batch-command"]),
    ("check-ignore", Words, NONE),
    ("config --get", Words, CONFIG),
    ("config --list", Only(NONE), CONFIG),
    ("config -l", Only(NONE), CONFIG),
    ("count-objects", Only(NONE), NONE),
    ("describe", Words, NONE),
    ("diff", Files, DIFF),
    ("diff-tree", Words, DIFF),
    ("for-each-ref", Words, &["--shell", "--perl", "--python", "--tcl"]),
    ("grep", Words, GREP),
    ("log", Words, DIFF),
    ("ls-files", Words, &["-X", "--exclude-from"]),
    ("ls-tree", Words, NONE),
    ("merge-base", Words, NONE),
    ("name-rev", Words, NONE),
    ("reflog show", Words, DIFF),
    ("reflog", Only(NONE), DIFF),
    ("remote get-url", Words, NONE),
    ("remote", Only(NONE), NONE),
    ("rev-list", Words, NONE),
    ("rev-parse", Words, &["--parseopt"]),
    ("shortlog", Words, DIFF),
    ("show", Words, DIFF),
    ("stash list", Words, DIFF),
    ("stash show", Words, DIFF),
    ("status", Words, NONE),
    ("tag --list", Words, TAG),
    ("tag -l", Words, TAG),
    ("tag", Only(NONE), TAG),
    ("worktree list", Only(NONE), NONE),
];

/// Programs that may be asked for their version. Not `yarn` and not `bundle`: they load code of the project first.
const VERSIONED: &[&str] = &[
    "bash", "bun", "cargo", "clang", "cmake", "deno", "docker", "gcc", "gh", "git", "go", "java", "javac",
    "just", "make", "node", "npm", "npx", "perl", "php", "pip", "pip3", "pnpm", "psql", "python", "python3",
    "rg", "ruby", "rustc", "rustup", "sqlite3", "tsc", "uv",
];

/// Programs that obey files of the folder they are started in, whatever they are asked: git its configuration, the
/// others a file that names the version of themselves to fetch and run.
const OBEYING: &[&str] = &["git", "cargo", "go", "npm", "npx", "pnpm", "rustc", "rustup"];

/// The operands of a command that only reads; `None` for any other.
pub(crate) fn read_only(words: &[Word]) -> Option<Operands> {
    let (program, arguments) = words.split_first()?;
    if !program.is_known {
        return None;
    }
    if let [only] = arguments
        && only.is_known
        && matches!(only.text.as_str(), "--version" | "-V" | "version")
        && VERSIONED.contains(&program.text.as_str())
        && (only.text != "version" || matches!(program.text.as_str(), "go" | "docker" | "gh"))
    {
        return Some(Only(NONE));
    }
    // Where a program is, not what it does.
    if let [option, ..] = arguments
        && program.text == "command"
        && option.is_known
        && matches!(option.text.as_str(), "-v" | "-V")
    {
        return Some(Words);
    }
    if program.text == "sed" {
        return prints_lines(arguments).then_some(Files);
    }
    if program.text == "git" {
        return git(arguments);
    }
    // A module of jq is a file, from anywhere.
    let loads =
        |word: &Word| !word.is_known || ["import", "include"].iter().any(|name| word.text.contains(name));
    if program.text == "jq" && arguments.iter().any(loads) {
        return None;
    }
    let row = COMMANDS.iter().find(|(name, ..)| *name == program.text)?;
    keeps_to(row, arguments, program.text == "find").then_some(row.1)
}

/// True for what a repository can change the meaning of.
pub(crate) fn obeys_the_repository(words: &[Word]) -> bool {
    words.first().is_some_and(|program| OBEYING.contains(&program.text.as_str()))
}

/// `sed -n 1,20p file`: of all that sed can do, only this.
fn prints_lines(arguments: &[Word]) -> bool {
    let [quiet, script, files @ ..] = arguments else { return false };
    let lines = script.text.strip_suffix('p').unwrap_or_default();
    quiet.is_known
        && quiet.text == "-n"
        && script.is_known
        && lines.starts_with(|c: char| c.is_ascii_digit() || c == '$')
        && lines.chars().all(|c| c.is_ascii_digit() || c == ',' || c == '$')
        && files.iter().all(|word| !hides_an_option(word) && !word.text.starts_with('-'))
}

fn git(arguments: &[Word]) -> Option<Operands> {
    let global = options_before_subcommand("git", arguments.iter().map(|word| word.text.as_str()));
    let (options, rest) = arguments.split_at_checked(global)?;
    if !options
        .iter()
        .all(|word| word.is_known && matches!(word.text.as_str(), "--no-pager" | "--no-optional-locks"))
    {
        return None;
    }
    GIT.iter().find_map(|row| {
        let names: Vec<&str> = row.0.split(' ').collect();
        let fits = names.len() <= rest.len()
            && names.iter().zip(rest).all(|(name, word)| word.is_known && word.text == *name);
        (fits && keeps_to(row, rest.get(names.len()..).unwrap_or_default(), false)).then_some(row.1)
    })
}

/// Whether the arguments have no forbidden option and no operand too many.
fn keeps_to(row: &Row, arguments: &[Word], single_dash: bool) -> bool {
    let (_, operands, forbidden) = row;
    let strict = !forbidden.is_empty() || matches!(operands, OneFile | Only(_) | Variables);
    let mut count = 0;
    let mut only_operands = false;
    for word in arguments {
        if strict && hides_an_option(word) {
            return false;
        }
        if word.is_known && word.text == "--" && !single_dash {
            only_operands = true;
        } else if word.text.len() > 1 && word.text.starts_with('-') && !only_operands {
            if forbidden.iter().any(|option| is_option(&word.text, option, single_dash)) {
                return false;
            }
        } else {
            count += 1;
            if let Only(names) = operands
                && !names.contains(&word.text.as_str())
                && !word.text.starts_with('+')
            {
                return false;
            }
            // `read 'a[$(x)]'` runs x.
            let is_variable = word.text.chars().all(|c| c.is_ascii_lowercase() || c == '_');
            if *operands == Variables && !is_variable {
                return false;
            }
        }
    }
    *operands != OneFile || count <= 1
}

/// Whether a word is an option, or could be read as one: shortened, with a value, in a row of letters.
fn is_option(word: &str, option: &str, single_dash: bool) -> bool {
    if single_dash {
        return word == option;
    }
    let name = word.split('=').next().unwrap_or(word);
    match (name.strip_prefix("--"), option.strip_prefix("--")) {
        (Some(name), Some(option)) => !name.is_empty() && option.starts_with(name),
        (None, None) => option.strip_prefix('-').is_some_and(|letter| name.contains(letter)),
        _ => false,
    }
}
