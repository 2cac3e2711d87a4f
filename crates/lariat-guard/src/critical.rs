//! Commands that destroy what cannot be restored. They are asked in every mode, whatever allows them.
//!
//! Owns what counts: removing or moving a root, a top-level directory, a home, the workspace or a directory around it;
//! rewriting history that others have; overwriting devices. Writing our own policy is found by `protected`.

use std::path::{Path, PathBuf};

use crate::operand::{Operand, operands};
use crate::place::{Places, Resolver, Target};
use crate::program::{base, options_before_subcommand};
use crate::shell::{Command, Options, analyse};
use crate::shell_rule::may_run_its_words;

/// Programs that make a file system or a partition table.
const DISK: &[&str] =
    &["wipefs", "fdisk", "sfdisk", "cfdisk", "parted", "sgdisk", "blkdiscard", "mkswap", "mke2fs"];
const REMOVERS: &[&str] = &["rm", "rmdir", "unlink", "shred", "srm"];
const OWNERS: &[&str] = &["chmod", "chown", "chgrp", "setfacl"];
/// Words of a command that are looked at for a command inside.
const MOST_WORDS: usize = 64;
/// Options by which `rsync` empties the place it copies to, and takes away what it copies.
const DELETING: Options = Options::new(
    "--delete --delete-before --delete-during --delete-delay --delete-after --delete-excluded",
    "efM",
);
const TAKING: Options = Options::new("--remove-source-files", "efM");
const RECURSIVE: Options = Options::new("-R --recursive", "");
/// The option that names the folder which files are put into.
const TARGET: Options = Options::new("-t --target-directory", "S");
/// Tests of `find` that leave most files out.
const NARROWING: &[&str] = &[
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
/// Devices that take anything without harm.
const HARMLESS: &[&str] =
    &["null", "stdout", "stderr", "stdin", "tty", "zero", "full", "fd", "pts", "shm", "tcp", "udp"];

/// Where a command runs and what surrounds it.
pub(crate) struct Surroundings<'a> {
    pub(crate) places: &'a Places,
    /// The directories that count as workspace.
    pub(crate) workspace: &'a [PathBuf],
    pub(crate) resolver: &'a dyn Resolver,
}

/// Why a command is critical, in words for a person. So is one that runs such a command, or may: its arguments are looked at
/// as commands, too.
pub(crate) fn critical(
    command: &Command,
    directories: &[PathBuf],
    around: &Surroundings<'_>,
) -> Option<String> {
    let inner = || {
        let from = |at: usize| Some(Command { words: command.words.get(at..)?.to_vec(), ..command.clone() });
        let inside = (1..command.words.len().min(MOST_WORDS)).filter_map(from);
        let texts = command.words.iter().skip(1).take(MOST_WORDS).filter(|word| word.text.contains(' '));
        let in_texts =
            texts.filter(|_| !command.is_interpreter()).flat_map(|word| analyse(&word.text).commands);
        inside.chain(in_texts).find_map(|command| destroys(&command, directories, around))
    };
    destroys(command, directories, around).or_else(|| may_run_its_words(command).then(inner).flatten())
}

fn destroys(command: &Command, directories: &[PathBuf], around: &Surroundings<'_>) -> Option<String> {
    let program = base(&command.words.first()?.text);
    let words = || command.words.iter().skip(1).map(|word| word.text.as_str());
    if program == "git" {
        return pushes_by_force(command)
            .then(|| "it rewrites or deletes what others may have fetched".to_owned());
    }
    if program.starts_with("mkfs") || (DISK.contains(&program) && words().any(|word| !word.starts_with('-')))
    {
        return Some("it overwrites a disk".to_owned());
    }
    let mut targets = operands(&command.words, around.places);
    let arguments = command.words.get(1..).unwrap_or_default();
    if program == "rsync" {
        let emptied = DELETING.are_in(arguments).then(|| targets.last().cloned()).flatten();
        let taken = TAKING.are_in(arguments).then(|| targets.clone()).into_iter().flatten().flatten();
        let lost: Vec<Operand> = emptied.into_iter().flatten().chain(taken).collect();
        return found(&lost, directories, around, &|_| false);
    }
    if program == "dd" {
        let device = targets
            .iter()
            .flatten()
            .any(|target| matches!(target, Operand::Path(path) if is_device(Path::new(path))));
        return (device && words().any(|word| word.starts_with("of=/dev")))
            .then(|| "it overwrites a device".to_owned());
    }
    let deletes = || words().any(|word| word == "-delete" || REMOVERS.contains(&base(word)));
    if program == "find" && deletes() {
        targets.truncate(words().take_while(|word| !word.starts_with('-')).count());
        if targets.is_empty() {
            targets.push(vec![Operand::Path(".".to_owned())]);
        }
        let narrowed = words().any(|word| NARROWING.contains(&word));
        let own = |path: &Path| narrowed && around.workspace.iter().any(|own| path == own);
        return found(&targets.concat(), directories, around, &own);
    }
    let counts = REMOVERS.contains(&program)
        || program == "mv"
        || (OWNERS.contains(&program) && RECURSIVE.are_in(arguments));
    if program == "mv" && !TARGET.are_in(arguments) {
        targets.pop();
    }
    counts.then(|| found(&targets.concat(), directories, around, &|_| false)).flatten()
}

/// The first of these targets that is a place nobody means to lose.
fn found(
    targets: &[Operand],
    directories: &[PathBuf],
    around: &Surroundings<'_>,
    except: &dyn Fn(&Path) -> bool,
) -> Option<String> {
    targets.iter().find_map(|target| {
        let (path, shown) = match target {
            Operand::Path(path) if is_drive(path) => return Some(format!("it would take `{path}`")),
            Operand::Path(path) => (path.as_str(), path),
            Operand::Fitting(directory, pattern) if takes_all(pattern) => (directory.as_str(), pattern),
            Operand::Fitting(..) => return None,
            Operand::Hidden(text) => {
                return empties_a_variable(text).then(|| {
                    format!("`{text}` is everything in a directory that is known only when it runs")
                });
            }
        };
        directories.iter().find_map(|directory| {
            let target = Target::new(path, directory, around.resolver);
            let lost = target.forms().find(|form| is_vital(form, around) && !except(form))?;
            Some(format!("`{shown}` is {}", named(lost, around)))
        })
    })
}

/// Root, a directory of the root, a home, the workspace, or something around them.
fn is_vital(path: &Path, around: &Surroundings<'_>) -> bool {
    path.components().count() <= 2
        || around.places.home.starts_with(path)
        || around.places.project.starts_with(path)
        || around.workspace.iter().any(|own| own.starts_with(path))
}

fn named(path: &Path, around: &Surroundings<'_>) -> String {
    let what = if path == around.places.home {
        "the home directory"
    } else if around.workspace.iter().any(|own| own == path) {
        "the workspace"
    } else if path.components().count() <= 2 {
        "a root or a directory right below it"
    } else {
        "a directory around the workspace or the home directory"
    };
    format!("{what} ({})", path.display())
}

/// `dir/*`, `*`, `.*`: a last part that leaves nothing out.
fn takes_all(pattern: &str) -> bool {
    let last = pattern.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    !last.is_empty() && last.chars().all(|c| "*.?[!]".contains(c))
}

/// `$X/*`, `$X/`, `/{bin,etc}`: what it takes depends on something unknown, and it takes all of that.
fn empties_a_variable(text: &str) -> bool {
    let bare: String = text.chars().filter(|c| *c != '"').collect();
    let starts_open = bare.starts_with(['$', '`']) || bare.starts_with("/$") || bare.starts_with("/{");
    // `~name` is a home, too.
    let is_home = bare.starts_with('~') && !bare.trim_end_matches(['/', '*']).contains('/');
    is_home || (starts_open && (bare.ends_with('/') || bare.contains('*') || bare.starts_with('/')))
}

/// `C:\`, `d:/`.
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
        && names.next().is_some_and(|name| !HARMLESS.contains(&name.as_ref()))
}

fn pushes_by_force(command: &Command) -> bool {
    let words = || command.words.iter().skip(1).map(|word| word.text.as_str());
    let mut words = words().skip(options_before_subcommand("git", words()));
    if words.next() != Some("push") {
        return false;
    }
    words.any(|word| match word.strip_prefix("--") {
        // Options of git may be shortened.
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
