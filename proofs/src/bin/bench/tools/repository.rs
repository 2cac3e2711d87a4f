//! Generates a repository to search in, from a seed, with files like those of real projects.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Files per directory.
const PER_DIRECTORY: u64 = 20;
/// Directories per package.
const PER_PACKAGE: u64 = 25;
/// One in this many files contains the rare words.
const RARE: u64 = 1_000;

const WORDS: &[&str] = &[
    "value", "index", "result", "buffer", "request", "handler", "session", "config", "stream", "parser",
    "error", "context", "message", "state", "count", "writer", "reader", "token", "cursor", "batch",
];

/// A repository whose directory is removed on drop.
pub(super) struct Repository {
    pub(super) path: PathBuf,
    pub(super) small: String,
    pub(super) files: u64,
}

impl Drop for Repository {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

impl Repository {
    /// Writes `files` files of about two kilobytes, including some that git ignores.
    pub(super) fn make(files: u64) -> io::Result<Self> {
        let path = std::env::temp_dir().join(format!("lariat-bench-tools-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(path.join(".git"))?;
        fs::write(path.join(".git/HEAD"), "ref: refs/heads/main\n")?;
        fs::write(path.join(".gitignore"), "*.log\n/build/\nnode_modules/\n!keep.log\n")?;
        let repository = Self { small: "package_000/module_00".to_owned(), path, files };
        let mut random = 0x9e37_79b9_7f4a_7c15_u64;
        for file in 0..files {
            repository.file(file, &mut random)?;
        }
        Ok(repository)
    }

    fn file(&self, number: u64, random: &mut u64) -> io::Result<()> {
        let directory = number / PER_DIRECTORY;
        let (package, module) = (directory / PER_PACKAGE, directory % PER_PACKAGE);
        let place = match directory % 40 {
            39 => format!("package_{package:03}/node_modules/m{module:02}"),
            _ => format!("package_{package:03}/module_{module:02}"),
        };
        let folder = self.path.join(place);
        if number.is_multiple_of(PER_DIRECTORY) {
            fs::create_dir_all(&folder)?;
            if directory.is_multiple_of(PER_PACKAGE) {
                fs::write(folder.join(".gitignore"), "*.tmp\n")?;
            }
        }
        let ending = match number % 10 {
            0 => "md",
            1 => "log",
            2 | 3 => "py",
            4 => "json",
            _ => "rs",
        };
        let middle = if number.is_multiple_of(50) { "_test" } else { "" };
        fs::write(folder.join(format!("file_{number:06}{middle}.{ending}")), text(number, random))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

fn text(number: u64, random: &mut u64) -> String {
    let mut text = String::new();
    let lines = 20 + next(random) % 50;
    for line in 0..lines {
        let [one, two, three] = [word(random), word(random), word(random)];
        let _ = match line % 4 {
            0 => writeln!(text, "pub fn {one}_{two}({three}: &str) -> Option<usize> {{"),
            1 => writeln!(text, "    let {one} = {two}.{three}({line}); // {two}"),
            2 => writeln!(text, "    {one}.push({two} + {number});"),
            _ => writeln!(text, "}}"),
        };
    }
    if number % RARE == 7 {
        let _ = writeln!(text, "fn find_me_needle_{number}() {{}}");
    }
    text
}

fn next(random: &mut u64) -> u64 {
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    *random
}

fn word(random: &mut u64) -> &'static str {
    let at = usize::try_from(next(random) % WORDS.len() as u64).unwrap_or_default();
    WORDS.get(at).copied().unwrap_or("word")
}
