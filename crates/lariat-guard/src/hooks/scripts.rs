//! Finds and pins the workspace scripts that a hook's command runs, because the agent could change them.
//!
//! [`named_scripts`] finds the files, [`Pin`] records their state when the user trusted the hook, and [`Scripts::check`] compares
//! before each run. Only the words of the command are examined, split as a shell would; what a script starts in turn is not
//! followed, which is why project hooks also run in the sandbox.
//! A hook does not run if a pinned file has changed.

use std::path::{Component, Path};

use serde_json::Value;

use crate::workspace_reader::WorkspaceReader;

/// Maximum bytes of a script; a longer one is not run.
const MAX_SCRIPT_BYTES: usize = 16 * 1024 * 1024;

/// The workspace files that a handler runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Scripts {
    /// Whether the project's own settings configure the handler.
    pub of_project: bool,
    /// Files that must not have changed.
    pub pins: Vec<Pin>,
    /// Why the handler may not run at all, if so.
    pub refused: Option<String>,
}

/// A workspace file as it was when the user trusted the hook.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pin {
    /// Its path in the workspace.
    pub path: String,
    /// Hash of the part of it that is run; `None` for a file that must not appear.
    pub hash: Option<String>,
}

/// A path that a command may run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamedScript {
    pub(crate) path: String,
    /// It is run for certain; otherwise only if its content or its name is that of a script.
    pub(crate) is_certain: bool,
}

impl Scripts {
    /// Pins the workspace files that a command runs.
    ///
    /// # Errors
    /// A file that the command names cannot be read.
    pub fn of(
        command: &str,
        root: &Path,
        home: &Path,
        look: &dyn WorkspaceReader,
    ) -> Result<Vec<Pin>, String> {
        let mut pins: Vec<Pin> = Vec::new();
        for name in named_scripts(command, root, home) {
            if pins.iter().any(|pin| pin.path == name.path) {
                continue;
            }
            let bytes = read(look, &name.path)?;
            let is_run = name.is_certain
                || bytes.as_deref().map_or(has_script_name(&name.path), |bytes| is_script(&name.path, bytes));
            if is_run {
                let hash = bytes.map(|bytes| hash(&name.path, &bytes));
                pins.push(Pin { path: name.path, hash });
            }
        }
        Ok(pins)
    }

    /// Whether the handler runs something from the workspace, so that it must run in the sandbox like a command.
    pub fn run_workspace_code(&self) -> bool {
        self.of_project || self.pins.iter().any(|pin| pin.hash.is_some())
    }

    /// Files that the agent may change only with approval. Excludes `package.json`, of which only the scripts are pinned.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        let files = self.pins.iter().filter(|pin| pin.hash.is_some() && !is_package(&pin.path));
        files.map(|pin| pin.path.as_str())
    }

    /// Checks that the handler may run now.
    ///
    /// # Errors
    /// What changed, in words for the user.
    pub fn check(&self, look: &dyn WorkspaceReader) -> Result<(), String> {
        if let Some(why) = &self.refused {
            return Err(why.clone());
        }
        for pin in &self.pins {
            let now = read(look, &pin.path)?.map(|bytes| hash(&pin.path, &bytes));
            if now != pin.hash {
                let what = match (&pin.hash, &now) {
                    (None, _) => "appeared",
                    (_, None) => "was removed",
                    _ => "changed",
                };
                return Err(format!("`{}` {what} since the hook was trusted", pin.path));
            }
        }
        Ok(())
    }
}

fn read(look: &dyn WorkspaceReader, path: &str) -> Result<Option<Vec<u8>>, String> {
    let bytes =
        look.read(path, MAX_SCRIPT_BYTES + 1).map_err(|why| format!("cannot read `{path}`: {why}"))?;
    match bytes {
        Some(bytes) if bytes.len() > MAX_SCRIPT_BYTES => {
            Err(format!("`{path}` is larger than {MAX_SCRIPT_BYTES} bytes"))
        }
        bytes => Ok(bytes),
    }
}

fn hash(path: &str, bytes: &[u8]) -> String {
    blake3::hash(&executed_part(path, bytes)).to_hex().to_string()
}

/// Returns the part of a file that is run: of a `package.json` its scripts, so that a new dependency is not a change.
pub(crate) fn executed_part<'a>(path: &str, bytes: &'a [u8]) -> std::borrow::Cow<'a, [u8]> {
    if is_package(path)
        && let Ok(Value::Object(fields)) = serde_json::from_slice(bytes)
    {
        let scripts = fields.get("scripts").unwrap_or(&Value::Null);
        return scripts.to_string().into_bytes().into();
    }
    bytes.into()
}

pub(crate) fn is_package(path: &str) -> bool {
    path.rsplit('/').next() == Some("package.json")
}

const SCRIPT_ENDINGS: &[&str] = &[
    "sh", "bash", "zsh", "fish", "ksh", "py", "pyz", "js", "mjs", "cjs", "ts", "mts", "cts", "rb", "pl",
    "php", "lua", "awk", "jq", "mk", "ps1", "tcl", "r",
];

fn has_script_name(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.')
        .is_some_and(|(_, ending)| SCRIPT_ENDINGS.contains(&ending.to_ascii_lowercase().as_str()))
}

fn is_script(path: &str, bytes: &[u8]) -> bool {
    has_script_name(path) || bytes.starts_with(b"#!") || bytes.starts_with(b"\x7fELF")
}

/// Programs whose first operand is a script.
const INTERPRETERS: &[&str] = &[
    "sh",
    "bash",
    "dash",
    "zsh",
    "ksh",
    "fish",
    "source",
    ".",
    "exec",
    "node",
    "deno",
    "bun",
    "tsx",
    "ts-node",
    "ruby",
    "perl",
    "php",
    "lua",
    "awk",
    "gawk",
    "osascript",
    "pwsh",
    "Rscript",
    "uv",
    "poetry",
    "pipenv",
];

/// Programs that obey a file in the directory they run in.
const RUNNERS: &[(&str, &[&str])] = &[
    ("make", MAKEFILES),
    ("gmake", MAKEFILES),
    ("just", &["justfile", "Justfile", ".justfile"]),
    ("task", &["Taskfile.yml", "Taskfile.yaml"]),
    ("rake", &["Rakefile", "rakefile"]),
    ("npm", PACKAGE),
    ("npx", PACKAGE),
    ("pnpm", PACKAGE),
    ("yarn", PACKAGE),
    ("bun", PACKAGE),
    ("composer", &["composer.json"]),
    ("lefthook", &["lefthook.yml", "lefthook.yaml"]),
    ("pre-commit", &[".pre-commit-config.yaml"]),
];
/// Words followed by the directory that a command works in.
const DIRECTORY_OPTIONS: &[&str] = &["cd", "pushd", "-C", "--prefix", "--cwd", "--dir", "--directory"];

const MAKEFILES: &[&str] = &["GNUmakefile", "makefile", "Makefile"];
const PACKAGE: &[&str] = &["package.json"];

/// Returns the workspace paths that a command may run.
pub(crate) fn named_scripts(command: &str, root: &Path, home: &Path) -> Vec<NamedScript> {
    let mut found: Vec<NamedScript> = Vec::new();
    let words = words(command);
    // `make -C sub` names its directory after the program that reads a file in it.
    let entered = words.windows(2).filter_map(|pair| match pair {
        [way, folder] if DIRECTORY_OPTIONS.contains(&way.text.as_str()) => {
            workspace_path(&folder.text, root, home)
        }
        _ => None,
    });
    let folders: Vec<String> = std::iter::once(String::new()).chain(entered).collect();
    for (at, word) in words.iter().enumerate() {
        if word.is_output || word.text.is_empty() {
            continue;
        }
        let before = |back: usize| at.checked_sub(back).and_then(|at| words.get(at));
        // Options between an interpreter and its script are skipped, and so is `run` (`uv run`, `bun run`).
        let operand_of = words.get(..at).unwrap_or_default().iter().rev();
        let mut operand_of = operand_of.skip_while(|word| word.is_option() || word.text == "run");
        let interpreter = operand_of.next().filter(|word| word.is_interpreter()).is_some();
        let enters = before(1).is_some_and(|word| DIRECTORY_OPTIONS.contains(&word.text.as_str()));
        let mut add = |path: &str, is_certain: bool| {
            for folder in &folders {
                let path = if folder.is_empty() { path.to_owned() } else { format!("{folder}/{path}") };
                let known = |name: &&mut NamedScript| name.path == path;
                match found.iter_mut().find(known) {
                    Some(name) => name.is_certain |= is_certain,
                    None => found.push(NamedScript { path, is_certain }),
                }
            }
        };
        if let Some((_, files)) = RUNNERS.iter().find(|(runner, _)| *runner == word.program()) {
            files.iter().for_each(|file| add(file, true));
        }
        if before(1).is_some_and(|word| word.text == "-m") {
            let path = word.text.replace('.', "/");
            let package = path.split('/').next().unwrap_or_default().to_owned();
            for file in [
                format!("{path}.py"),
                format!("{path}/__main__.py"),
                format!("{path}/__init__.py"),
                format!("{package}/__init__.py"),
            ] {
                add(&file, true);
            }
        }
        let Some(path) = workspace_path(&word.text, root, home) else { continue };
        if enters {
            continue;
        }
        let runs = interpreter || (word.begins && word.text.contains('/'));
        add(&path, runs);
    }
    found
}

/// Resolves a word to a path in the workspace; `None` if it is not a path or leads elsewhere.
fn workspace_path(word: &str, root: &Path, home: &Path) -> Option<String> {
    if word.starts_with('-') || word.contains(['*', '?', '[', '{', '\0']) || word.contains("://") {
        return None;
    }
    let word = match word.strip_prefix("~/") {
        Some(rest) => home.join(rest),
        None => Path::new(word).to_owned(),
    };
    let within = if word.is_absolute() { word.strip_prefix(root).ok()?.to_owned() } else { word };
    let mut names: Vec<&str> = Vec::new();
    for component in within.components() {
        match component {
            Component::Normal(name) => names.push(name.to_str()?),
            Component::CurDir => {}
            Component::ParentDir => drop(names.pop()?),
            _ => return None,
        }
    }
    (!names.is_empty()).then(|| names.join("/"))
}

#[derive(Debug, Default)]
struct Word {
    text: String,
    /// It is the first word of a command.
    begins: bool,
    /// The shell writes to it.
    is_output: bool,
}

impl Word {
    fn program(&self) -> &str {
        self.text.rsplit('/').next().unwrap_or_default()
    }

    fn is_option(&self) -> bool {
        self.text.starts_with('-') && self.text != "-m"
    }

    fn is_interpreter(&self) -> bool {
        let program = self.program();
        INTERPRETERS.contains(&program) || program.starts_with("python") || program.starts_with("pypy")
    }
}

/// Splits a command into words without quotes and expansions; the project directory variable becomes `.`.
fn words(command: &str) -> Vec<Word> {
    let mut command = command.to_owned();
    for variable in ["${CLAUDE_PROJECT_DIR}", "$CLAUDE_PROJECT_DIR"] {
        command = command.replace(variable, ".");
    }
    let mut words = vec![Word { begins: true, ..Word::default() }];
    for letter in command.chars() {
        let next = |begins, is_output| Word { text: String::new(), begins, is_output };
        let last_is_empty = words.last().is_some_and(|word| word.text.is_empty());
        match letter {
            '"' | '\'' | '\\' => {}
            ';' | '|' | '&' | '(' | ')' | '`' | '\n' | '$' => words.push(next(true, false)),
            '>' => words.push(next(false, true)),
            '<' | '=' => words.push(next(false, false)),
            letter if letter.is_whitespace() => {
                if !last_is_empty {
                    words.push(next(false, false));
                }
            }
            letter => {
                if let Some(word) = words.last_mut() {
                    word.text.push(letter);
                }
            }
        }
    }
    words.retain(|word| !word.text.is_empty());
    words
}

#[cfg(test)]
#[path = "scripts_tests.rs"]
mod tests;
