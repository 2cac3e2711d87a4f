//! Plants mistakes in a copy of the sources, one at a time, and checks that the tests fail.
//!
//! `xtask/mistakes.txt` lists the mistakes: a line `== name`, the file, the test, the text to replace (`- `)
//! and its replacement (`+ `). A mistake that does not compile, or whose text no longer exists, also fails,
//! because it proves nothing.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::command_line::CommandLine;
use crate::workspace::Workspace;

const LIST: &str = "xtask/mistakes.txt";

/// One planted mistake.
#[derive(Debug, Default, PartialEq, Eq)]
struct Mistake {
    name: String,
    file: String,
    test: String,
    old: String,
    new: String,
}

/// Plants every mistake whose name starts with one of `names`; all of them if `names` is empty.
pub(crate) fn run(workspace: &Workspace, names: &[String]) -> Result<()> {
    let mistakes = parse(&workspace.read(LIST)?)?;
    let wanted = |mistake: &&Mistake| {
        names.is_empty() || names.iter().any(|name| mistake.name.starts_with(name.as_str()))
    };
    let mistakes: Vec<&Mistake> = mistakes.iter().filter(wanted).collect();
    if mistakes.is_empty() {
        bail!("no mistake in {LIST} starts with `{}`", names.join("`, `"));
    }
    let place = format!("{}/mistakes", workspace.target());
    let copy = workspace.root().join(&place).join("sources");
    copy_sources(workspace, &copy)?;
    let manifest = copy.join("Cargo.toml").to_string_lossy().into_owned();
    let mut unnoticed = 0;
    for mistake in &mistakes {
        let outcome = plant(workspace, mistake, &copy, &manifest, &place)?;
        println!("{}: {outcome}", mistake.name);
        unnoticed += u32::from(outcome != "noticed");
    }
    if unnoticed > 0 {
        bail!("the tests missed {unnoticed} of {} planted mistakes", mistakes.len());
    }
    println!("the tests caught all {} planted mistakes", mistakes.len());
    Ok(())
}

/// Plants one mistake, runs its test and restores the file.
fn plant(
    workspace: &Workspace,
    mistake: &Mistake,
    copy: &Path,
    manifest: &str,
    place: &str,
) -> Result<&'static str> {
    let file = copy.join(&mistake.file);
    let original = std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", mistake.file))?;
    if original.matches(&mistake.old).count() != 1 {
        return Ok("its text does not occur exactly once");
    }
    std::fs::write(&file, original.replacen(&mistake.old, &mistake.new, 1))?;
    let (words, filter) = mistake.test.split_once(" -- ").unwrap_or((mistake.test.as_str(), ""));
    let test = |more: &[&str]| {
        CommandLine::cargo("test --locked --quiet --manifest-path")
            .with_arguments([manifest, "--target-dir", &format!("{place}/target")])
            .with_arguments(words.split_whitespace())
            .with_arguments(more.iter().copied())
            .with_environment("RUSTFLAGS", "-Awarnings")
    };
    let compiles = test(&["--no-run"]).succeeds_quietly(workspace);
    let filter: Vec<&str> = std::iter::once("--").chain(filter.split_whitespace()).collect();
    let passes = compiles && test(&filter).succeeds_quietly(workspace);
    std::fs::write(&file, original)?;
    Ok(match (compiles, passes) {
        (false, _) => "does not compile",
        (true, true) => "NOT NOTICED",
        (true, false) => "noticed",
    })
}

/// Copies the files that git tracks, in their current state. Unchanged files are not rewritten, so that they
/// are not recompiled.
fn copy_sources(workspace: &Workspace, copy: &Path) -> Result<()> {
    let files = CommandLine::of("git", "ls-files --cached --others --exclude-standard").capture(workspace)?;
    for file in files.lines() {
        let (from, to): (PathBuf, PathBuf) = (workspace.root().join(file), copy.join(file));
        let Ok(bytes) = std::fs::read(&from) else { continue };
        if std::fs::read(&to).is_ok_and(|known| known == bytes) {
            continue;
        }
        if let Some(folder) = to.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(&to, bytes).with_context(|| format!("cannot write {}", to.display()))?;
    }
    Ok(())
}

fn parse(text: &str) -> Result<Vec<Mistake>> {
    let mut mistakes: Vec<Mistake> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(name) = line.strip_prefix("== ") {
            mistakes.push(Mistake { name: name.to_owned(), ..Mistake::default() });
            continue;
        }
        let mistake = mistakes
            .last_mut()
            .with_context(|| format!("{LIST}:{}: expected `== name` first", number + 1))?;
        let add = |text: &mut String, line: &str| {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(line);
        };
        match line.split_at_checked(2) {
            Some(("- ", rest)) => add(&mut mistake.old, rest),
            Some(("+ ", rest)) => add(&mut mistake.new, rest),
            _ => match line.split_once(' ') {
                Some(("file", path)) => path.clone_into(&mut mistake.file),
                Some(("test", words)) => words.clone_into(&mut mistake.test),
                _ => bail!("{LIST}:{}: invalid line `{line}`", number + 1),
            },
        }
    }
    let broken = |mistake: &&Mistake| {
        mistake.file.is_empty()
            || mistake.test.is_empty()
            || mistake.old.is_empty()
            || mistake.old == mistake.new
    };
    match mistakes.iter().find(broken) {
        Some(mistake) => bail!("{LIST}: `{}` is incomplete", mistake.name),
        None => Ok(mistakes),
    }
}

#[cfg(test)]
mod tests {
    use super::{LIST, parse};

    #[test]
    fn every_mistake_parses_and_its_text_occurs_once() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let mistakes = parse(&std::fs::read_to_string(root.join(LIST)).unwrap()).unwrap();
        assert!(mistakes.len() >= 12);
        for mistake in &mistakes {
            let text = std::fs::read_to_string(root.join(&mistake.file)).unwrap();
            assert_eq!(text.matches(&mistake.old).count(), 1, "{}: {}", mistake.name, mistake.old);
        }
    }

    #[test]
    fn rejects_incomplete_mistakes() {
        assert!(parse("== a\nfile x\ntest y\n- b").unwrap()[0].new.is_empty());
        assert!(parse("== a\nfile x\n- b\n+ c").is_err());
        assert!(parse("- b").is_err());
        assert!(parse("== a\nhorse").is_err());
    }
}
