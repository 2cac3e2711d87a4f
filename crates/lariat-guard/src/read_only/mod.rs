//! Recognises commands that only read.
//!
//! The tables are in `commands` and `git`. A command is read-only only if its program and every option it has are listed.
//! Anything else, including what a later version of the program may add, requires approval.

mod commands;
mod git;

use crate::arguments::Arguments;
use crate::program::options_before_subcommand;
use crate::shell::Word;

use commands::{COMMANDS, FIND, Row};
use git::GIT;

/// What the operands of a command are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operands {
    /// Files, of which the content or the names are read.
    Files,
    /// A pattern, then files.
    PatternThenFiles,
    /// Plain words.
    Words,
    /// Variables of the script, in lower case.
    Variables,
    /// One file; the command would write a second one.
    OneFile,
    /// Only these words, and formats that start with `+`.
    Only(&'static [&'static str]),
}

use Operands::{Files, OneFile, Only, PatternThenFiles, Variables, Words};

/// How far a command reads into the directories that it is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    /// Names only, not the content of files.
    Names,
    /// The files directly in them, through links.
    Files,
    /// Everything below them, except through links.
    Everything {
        /// Includes hidden files.
        hidden: bool,
    },
}

/// A command that only reads, and which of its words are files.
#[derive(Clone, Debug)]
pub(crate) struct ReadOnlyCommand {
    pub(crate) operands: Operands,
    /// Every word that is a path, as the command opens it.
    pub(crate) paths: Vec<Word>,
    pub(crate) depth: Depth,
}

impl ReadOnlyCommand {
    fn new(operands: Operands, paths: Vec<Word>) -> Self {
        Self { operands, paths, depth: Depth::Names }
    }

    /// Whether its operands are words, not files.
    pub(crate) const fn takes_words_only(&self) -> bool {
        matches!(self.operands, Words | Variables | Only(_))
    }
}

/// Programs that print their version harmlessly. Excludes `yarn` and `bundle`, which load code of the project first.
const VERSION_PRINTERS: &[&str] = &[
    "bash", "bun", "cargo", "clang", "cmake", "deno", "docker", "gcc", "gh", "git", "go", "java", "javac",
    "just", "make", "node", "npm", "npx", "perl", "php", "pip", "pip3", "pnpm", "psql", "python", "python3",
    "rg", "ruby", "rustc", "rustup", "sqlite3", "tsc", "uv",
];

/// Programs that obey files in the directory where they start, whatever their arguments: git its configuration, the others a
/// file that names a version of themselves to download and run.
const REPOSITORY_READERS: &[&str] = &["git", "cargo", "go", "npm", "npx", "pnpm", "rustc", "rustup"];

/// Returns what a command reads; `None` if it may do more than read.
pub(crate) fn read_only(words: &[Word]) -> Option<ReadOnlyCommand> {
    let (program, arguments) = words.split_first()?;
    let name = program.as_known()?;
    if let [only] = arguments
        && only.is_known
        && matches!(only.text.as_str(), "--version" | "-V" | "version")
        && VERSION_PRINTERS.contains(&name)
        && (only.text != "version" || matches!(name, "go" | "docker" | "gh"))
    {
        return Some(ReadOnlyCommand::new(Only(&[]), Vec::new()));
    }
    // `command -v` prints where a program is and does not run it.
    if let [option, ..] = arguments
        && name == "command"
        && option.is_known
        && matches!(option.text.as_str(), "-v" | "-V")
    {
        return Some(ReadOnlyCommand::new(Words, Vec::new()));
    }
    match name {
        "sed" => prints_lines(arguments),
        "git" => git(arguments),
        "find" => find(arguments),
        _ => analyse_listed(COMMANDS.iter().find(|row| row.name == name)?, arguments),
    }
}

/// Whether a program is known to only read, at least with some options.
pub(crate) fn is_listed(program: &str) -> bool {
    matches!(program, "sed" | "git" | "find") || COMMANDS.iter().any(|row| row.name == program)
}

/// Whether a repository can change what a command does.
pub(crate) fn obeys_repository(words: &[Word]) -> bool {
    words.first().is_some_and(|program| REPOSITORY_READERS.contains(&program.text.as_str()))
}

/// Accepts `sed -n 1,20p file` and nothing else that sed can do.
fn prints_lines(arguments: &[Word]) -> Option<ReadOnlyCommand> {
    let [quiet, script, files @ ..] = arguments else { return None };
    let lines = script.as_known()?.strip_suffix('p')?;
    let is_plain = quiet.as_known() == Some("-n")
        && lines.starts_with(|c: char| c.is_ascii_digit() || c == '$')
        && lines.chars().all(|c| c.is_ascii_digit() || c == ',' || c == '$')
        && files.iter().all(|word| !word.may_be_option() && !word.text.starts_with('-'));
    is_plain.then(|| ReadOnlyCommand::new(Files, files.to_vec()))
}

fn git(arguments: &[Word]) -> Option<ReadOnlyCommand> {
    let global = options_before_subcommand("git", arguments.iter().map(|word| word.text.as_str()));
    let (options, rest) = arguments.split_at_checked(global)?;
    let is_plain = |word: &Word| matches!(word.as_known(), Some("--no-pager" | "--no-optional-locks"));
    if !options.iter().all(is_plain) {
        return None;
    }
    GIT.iter().find_map(|row| {
        let names: Vec<&str> = row.name.split(' ').collect();
        let fits = names.len() <= rest.len()
            && names.iter().zip(rest).all(|(name, word)| word.as_known() == Some(*name));
        let reading =
            fits.then(|| analyse_listed(row, rest.get(names.len()..).unwrap_or_default())).flatten()?;
        Some(ReadOnlyCommand { depth: Depth::Names, ..reading })
    })
}

/// Reads the arguments of `find`: the directories come first, then tests, which read names only.
fn find(arguments: &[Word]) -> Option<ReadOnlyCommand> {
    let is_start = |word: &&Word| !word.text.starts_with(['-', '(', ')', '!', ',']) && !word.may_be_option();
    let mut paths: Vec<Word> = arguments.iter().take_while(is_start).cloned().collect();
    let mut rest = arguments.iter().skip(paths.len());
    while let Some(word) = rest.next() {
        let name = word.as_known()?;
        let marks = FIND
            .iter()
            .flat_map(|names| names.split(' '))
            .find_map(|listed| listed.strip_prefix(name).filter(|marks| matches!(*marks, "" | "=" | "@")))?;
        if marks.is_empty() {
            continue;
        }
        let value = rest.next().filter(|value| value.is_known || !value.may_be_option())?;
        if marks == "@" {
            paths.push(value.clone());
        }
    }
    Some(ReadOnlyCommand::new(Files, paths))
}

/// Reads the arguments of a command of a table.
fn analyse_listed(row: &Row, arguments: &[Word]) -> Option<ReadOnlyCommand> {
    let Some(options) = row.options else {
        let is_fine = match row.name {
            "test" | "[" => is_plain_test(arguments),
            "printf" => !arguments.iter().any(|word| word.text.starts_with("-v")),
            _ => true,
        };
        return is_fine.then(|| ReadOnlyCommand::new(row.operands, Vec::new()));
    };
    let found = options.read(arguments)?;
    let are_fine = match row.operands {
        Only(names) => found
            .operands
            .iter()
            .all(|word| word.is_known && (names.contains(&word.text.as_str()) || word.text.starts_with('+'))),
        // `read 'a[$(x)]'` runs x.
        Variables => found
            .operands
            .iter()
            .all(|word| word.is_known && word.text.chars().all(|c| c.is_ascii_lowercase() || c == '_')),
        OneFile => found.operands.len() <= 1 && found.operands.iter().all(|word| !word.may_become_several()),
        Files | PatternThenFiles | Words => true,
    };
    let is_odd = match row.name {
        "jq" => found.operands.first().is_some_and(|filter| !is_plain_filter(filter)),
        // A file that contains options.
        "strings" => found.operands.iter().any(|word| word.text.starts_with('@')),
        _ => false,
    };
    (are_fine && !is_odd).then(|| build(row, found))
}

/// Rejects tests such as `test -v 'a[$(id)]'`, which runs `id`; either of the two words may come from a variable.
fn is_plain_test(arguments: &[Word]) -> bool {
    let unknown = arguments.iter().filter(|word| !word.is_known).count();
    let has_index = |word: &Word| word.is_known && word.text != "[" && word.text.contains('[');
    let evaluates = |word: &Word| matches!(word.text.as_str(), "-v" | "-R");
    !arguments.iter().any(evaluates) && (unknown == 0 || unknown == 1 && !arguments.iter().any(has_index))
}

/// Rejects jq filters that load a module, which is a file from anywhere, or read the environment, which contains secrets.
fn is_plain_filter(filter: &Word) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$');
    filter.is_known
        && filter.text.split(|c| !is_word(c)).all(|name| {
            !matches!(
                name,
                "import" | "include" | "modulemeta" | "env" | "$ENV" | "input_filename" | "get_search_list"
            ) && !name.starts_with("env.")
                && !name.starts_with("$ENV.")
        })
}

fn build(row: &Row, found: Arguments) -> ReadOnlyCommand {
    let depth = depth(row.name, &found);
    let has_pattern = found.has(&["-e", "-f", "--regexp", "--file", "--files", "--type-list"]);
    let Arguments { mut operands, paths, .. } = found;
    if row.operands == PatternThenFiles && !has_pattern {
        operands.drain(..operands.len().min(1));
    }
    // Without a file they read what is below the working directory.
    if operands.is_empty() && matches!(depth, Depth::Everything { .. }) {
        operands.push(Word { text: ".".to_owned(), is_known: true });
    }
    if matches!(row.operands, Words | Variables | Only(_)) {
        operands.clear();
    }
    operands.extend(paths);
    ReadOnlyCommand { operands: row.operands, paths: operands, depth }
}

fn depth(program: &str, found: &Arguments) -> Depth {
    match program {
        "grep" | "egrep" | "fgrep" if found.has(&["-r", "--recursive", "-d", "--directories"]) => {
            Depth::Everything { hidden: true }
        }
        "rg" if !found.has(&["--files", "--type-list"]) => {
            const HIDDEN: &[&str] = &["-.", "--hidden", "-u", "--unrestricted", "-g", "--glob", "--iglob"];
            Depth::Everything { hidden: found.has(HIDDEN) }
        }
        "diff" => Depth::Files,
        _ => Depth::Names,
    }
}
