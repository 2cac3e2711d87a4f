//! Finds commands that destroy what cannot be restored. They require approval in every mode, whatever rule allows them.
//!
//! Critical are: removing or moving a root, a top-level directory, a home directory, the workspace or a parent of it;
//! rewriting history that others have fetched; overwriting devices. The module `protected` finds writes to Lariat's own
//! permission policy.

use std::path::{Path, PathBuf};

use crate::operand::{Operand, operands};
use crate::program::{base, options_before_subcommand};
use crate::resolve::{ResolvedPath, Resolver, SessionDirectories};
use crate::shell::{Command, Options, analyse};
use crate::shell_rule::may_run_its_words;

/// Programs that create a file system or change a partition table.
const DISK_PROGRAMS: &[&str] =
    &["wipefs", "fdisk", "sfdisk", "cfdisk", "parted", "sgdisk", "blkdiscard", "mkswap", "mke2fs"];
const REMOVING_PROGRAMS: &[&str] = &["rm", "rmdir", "unlink", "shred", "srm"];
const MODE_PROGRAMS: &[&str] = &["chmod", "chown", "chgrp", "setfacl"];
/// Maximum words of a command that are examined for a command among its arguments.
const MAX_WORDS: usize = 64;
/// Options by which `rsync` deletes files in the target directory; below, the one by which it removes what it copied.
const DELETES_TARGET: Options = Options::new(
    "--delete --delete-before --delete-during --delete-delay --delete-after --delete-excluded",
    "efM",
);
const REMOVES_SOURCE: Options = Options::new("--remove-source-files", "efM");
const RECURSIVE: Options = Options::new("-R --recursive", "");
/// The option that names the directory into which files are put.
const TARGET: Options = Options::new("-t --target-directory", "S");
/// Tests of `find` that exclude most files.
const NARROWING_TESTS: &[&str] = &[
    "-name",
    "-iname",
    "-path",
    "-ipath",
    "-wholename",
    "-regex",
    "-iregex",
    "-newer",
    "-mtime",
    "-mmin",
    "-size",
    "-empty",
    "-lname",
];
/// Devices that may be written without harm.
const HARMLESS_DEVICES: &[&str] =
    &["null", "stdout", "stderr", "stdin", "tty", "zero", "full", "fd", "pts", "shm", "tcp", "udp"];

/// Where a command runs and what surrounds it.
pub(crate) struct CommandContext<'a> {
    pub(crate) places: &'a SessionDirectories,
    /// The directories that belong to the workspace.
    pub(crate) workspace: &'a [PathBuf],
    pub(crate) resolver: &'a dyn Resolver,
}

/// Returns why a command is critical, in words for the user. A command that runs another command, or may run one, is as
/// critical as that one: its arguments are examined as commands, too.
pub(crate) fn critical_reason(
    command: &Command,
    directories: &[PathBuf],
    surroundings: &CommandContext<'_>,
) -> Option<String> {
    let inner = || {
        let from = |at: usize| Some(Command { words: command.words.get(at..)?.to_vec(), ..command.clone() });
        let inside = (1..command.words.len().min(MAX_WORDS)).filter_map(from);
        let texts = command.words.iter().skip(1).take(MAX_WORDS).filter(|word| word.text.contains(' '));
        let in_texts =
            texts.filter(|_| !command.is_interpreter()).flat_map(|word| analyse(&word.text).commands);
        inside.chain(in_texts).find_map(|command| destruction_reason(&command, directories, surroundings))
    };
    destruction_reason(command, directories, surroundings)
        .or_else(|| may_run_its_words(command).then(inner).flatten())
}

fn destruction_reason(
    command: &Command,
    directories: &[PathBuf],
    surroundings: &CommandContext<'_>,
) -> Option<String> {
    let program = base(&command.words.first()?.text);
    let words = || command.words.iter().skip(1).map(|word| word.text.as_str());
    if program == "git" {
        return pushes_by_force(command)
            .then(|| "it rewrites or deletes history that others may have fetched".to_owned());
    }
    if program.starts_with("mkfs")
        || (DISK_PROGRAMS.contains(&program) && words().any(|word| !word.starts_with('-')))
    {
        return Some("it overwrites a disk".to_owned());
    }
    let mut targets = operands(&command.words, surroundings.places);
    let arguments = command.words.get(1..).unwrap_or_default();
    if program == "rsync" {
        let emptied = DELETES_TARGET.are_in(arguments).then(|| targets.last().cloned()).flatten();
        let removed =
            REMOVES_SOURCE.are_in(arguments).then(|| targets.clone()).into_iter().flatten().flatten();
        let lost: Vec<Operand> = emptied.into_iter().flatten().chain(removed).collect();
        return vital_target(&lost, directories, surroundings, &|_| false);
    }
    if program == "dd" {
        let device = targets
            .iter()
            .flatten()
            .any(|target| matches!(target, Operand::Path(path) if is_device(Path::new(path))));
        return (device && words().any(|word| word.starts_with("of=/dev")))
            .then(|| "it overwrites a device".to_owned());
    }
    let deletes = || words().any(|word| word == "-delete" || REMOVING_PROGRAMS.contains(&base(word)));
    if program == "find" && deletes() {
        targets.truncate(words().take_while(|word| !word.starts_with('-')).count());
        if targets.is_empty() {
            targets.push(vec![Operand::Path(".".to_owned())]);
        }
        let narrowed = words().any(|word| NARROWING_TESTS.contains(&word));
        let own = |path: &Path| narrowed && surroundings.workspace.iter().any(|own| path == own);
        return vital_target(&targets.concat(), directories, surroundings, &own);
    }
    let is_destructive = REMOVING_PROGRAMS.contains(&program)
        || program == "mv"
        || (MODE_PROGRAMS.contains(&program) && RECURSIVE.are_in(arguments));
    if program == "mv" && !TARGET.are_in(arguments) {
        targets.pop();
    }
    is_destructive.then(|| vital_target(&targets.concat(), directories, surroundings, &|_| false)).flatten()
}

/// Names the first of these targets that is vital (see [`is_vital`]), in words for the user.
fn vital_target(
    targets: &[Operand],
    directories: &[PathBuf],
    surroundings: &CommandContext<'_>,
    except: &dyn Fn(&Path) -> bool,
) -> Option<String> {
    targets.iter().find_map(|target| {
        let (path, shown) = match target {
            Operand::Path(path) if is_drive(path) => {
                return Some(format!("it would remove the drive `{path}`"));
            }
            Operand::Path(path) => (path.as_str(), path),
            Operand::Matching(directory, pattern) if matches_everything(pattern) => {
                (directory.as_str(), pattern)
            }
            Operand::Matching(..) => return None,
            Operand::Hidden(text) => {
                return empties_unknown_directory(text).then(|| {
                    format!("`{text}` is everything in a directory that is known only at run time")
                });
            }
        };
        directories.iter().find_map(|directory| {
            let target = ResolvedPath::new(path, directory, surroundings.resolver);
            let vital = target.forms().find(|form| is_vital(form, surroundings) && !except(form))?;
            Some(format!("`{shown}` is {}", describe_vital(vital, surroundings)))
        })
    })
}

/// Whether a path is the root, a top-level directory, the home directory, the workspace, the project, or a parent of one.
fn is_vital(path: &Path, surroundings: &CommandContext<'_>) -> bool {
    path.components().count() <= 2
        || surroundings.places.home.starts_with(path)
        || surroundings.places.project.starts_with(path)
        || surroundings.workspace.iter().any(|own| own.starts_with(path))
}

fn describe_vital(path: &Path, surroundings: &CommandContext<'_>) -> String {
    let what = if path == surroundings.places.home {
        "the home directory"
    } else if surroundings.workspace.iter().any(|own| own == path) {
        "the workspace"
    } else if path.components().count() <= 2 {
        "the root directory or a directory directly below it"
    } else {
        "a parent of the workspace or of the home directory"
    };
    format!("{what} ({})", path.display())
}

/// Whether the last part of a pattern matches everything: `dir/*`, `*`, `.*`.
fn matches_everything(pattern: &str) -> bool {
    let last = pattern.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    !last.is_empty() && last.chars().all(|c| "*.?[!]".contains(c))
}

/// Whether a word names everything below an unknown directory: `$X/*`, `$X/`, `/{bin,etc}`.
fn empties_unknown_directory(text: &str) -> bool {
    let bare: String = text.chars().filter(|c| *c != '"').collect();
    let starts_open = bare.starts_with(['$', '`']) || bare.starts_with("/$") || bare.starts_with("/{");
    // `~name` is a home directory, too.
    let is_home = bare.starts_with('~') && !bare.trim_end_matches(['/', '*']).contains('/');
    is_home || (starts_open && (bare.ends_with('/') || bare.contains('*') || bare.starts_with('/')))
}

/// Whether a path is a whole Windows drive: `C:\`, `d:/`.
fn is_drive(path: &str) -> bool {
    let mut letters = path.chars();
    letters.next().is_some_and(|c| c.is_ascii_alphabetic())
        && letters.next() == Some(':')
        && letters.all(|c| matches!(c, '/' | '\\' | '*'))
}

/// Whether writing a path overwrites a device.
pub(crate) fn is_device(path: &Path) -> bool {
    let mut names = path.components().skip(1).map(|name| name.as_os_str().to_string_lossy());
    names.next().is_some_and(|first| first == "dev")
        && names.next().is_some_and(|name| !HARMLESS_DEVICES.contains(&name.as_ref()))
}

fn pushes_by_force(command: &Command) -> bool {
    let words = || command.words.iter().skip(1).map(|word| word.text.as_str());
    let mut words = words().skip(options_before_subcommand("git", words()));
    if words.next() != Some("push") {
        return false;
    }
    words.any(|word| match word.strip_prefix("--") {
        // Git accepts abbreviated options.
        Some(long) => {
            long.starts_with("for")
                || long.starts_with("mi")
                || long.starts_with("de")
                || long.starts_with("pru")
        }
        None => match word.strip_prefix('-') {
            Some(short) => !short.starts_with('o') && short.contains(['f', 'd']),
            None => word.starts_with('+') || (word.starts_with(':') && word.len() > 1),
        },
    })
}
