//! Reads the lists of mistakes and applies them to texts.
//!
//! A list is a text file in `xtask/mistakes`. A mistake has these lines, and empty lines and `#` comments are ignored:
//!
//! ```text
//! == NAME
//! proof BINARY              the proof that must find a fault, if there is one
//! test CARGO-TEST-WORDS     tests of which one must fail; may be repeated
//! file PATH                 the file to change; may be repeated, each with its own changes
//! - OLD                     the text to replace
//! + NEW                     its replacement
//! ```
//!
//! In the new text, `@active` stands for a condition that is true while the mistake is switched on, so one build
//! serves all mistakes. The condition reads an environment variable; a process that is started without ours never has
//! a mistake.
//!
//! Invariant: the old text of every change occurs exactly once in the unchanged file, and no two changes overlap, so
//! the order of the mistakes does not matter.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};

use crate::workspace::Workspace;

const LISTS: &str = "xtask/mistakes";
const ACTIVE: &str = "@active";
/// The crate that contains the switch in the copy.
const SWITCH_CRATE: &str = "crates/lariat-core/";

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Mistake {
    pub(super) name: String,
    pub(super) proof: Option<String>,
    pub(super) tests: Vec<String>,
    edits: Vec<Edit>,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Edit {
    file: String,
    old: String,
    new: String,
}

impl Mistake {
    fn check(&self) -> Result<()> {
        if self.edits.is_empty() || self.edits.iter().any(|edit| edit.file.is_empty()) {
            bail!("it changes no file");
        }
        if self.edits.iter().any(|edit| edit.old.is_empty() || edit.old == edit.new) {
            bail!("a change has no old text, or the same new text");
        }
        if !self.edits.iter().all(|edit| edit.new.contains(ACTIVE)) {
            bail!("a change without `{ACTIVE}` would stay on");
        }
        match &self.proof {
            None if self.tests.is_empty() => bail!("neither a proof nor a test catches it"),
            Some(proof) if !super::in_proofs::NAMES.contains(&proof.as_str()) => {
                bail!("unknown proof `{proof}`")
            }
            _ => Ok(()),
        }
    }
}

/// Reads every list.
pub(super) fn all(workspace: &Workspace) -> Result<Vec<Mistake>> {
    let mut mistakes: Vec<Mistake> = Vec::new();
    for name in workspace.names(LISTS, ".txt")? {
        let list = format!("{LISTS}/{name}.txt");
        for mistake in parse(&workspace.read(&list)?).with_context(|| list.clone())? {
            if mistakes.iter().any(|known| known.name == mistake.name) {
                bail!("{list}: `{}` exists twice", mistake.name);
            }
            mistakes.push(mistake);
        }
    }
    Ok(mistakes)
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
        let place = || format!("line {}: `{line}`", number + 1);
        let mistake =
            mistakes.last_mut().with_context(|| format!("{}: expected `== NAME` first", place()))?;
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "proof" => mistake.proof = Some(rest.to_owned()),
            "test" => mistake.tests.push(rest.to_owned()),
            "file" => mistake.edits.push(Edit { file: rest.to_owned(), ..Edit::default() }),
            "-" => {
                // Old text after new text begins the next change of the same file.
                let begun = mistake.edits.last().filter(|edit| !edit.new.is_empty());
                if let Some(file) = begun.map(|edit| edit.file.clone()) {
                    mistake.edits.push(Edit { file, ..Edit::default() });
                }
                add(mistake.edits.last_mut().map(|edit| &mut edit.old), rest).with_context(place)?;
            }
            "+" => add(mistake.edits.last_mut().map(|edit| &mut edit.new), rest).with_context(place)?,
            _ => bail!("{}: invalid line", place()),
        }
    }
    for mistake in &mistakes {
        mistake.check().with_context(|| format!("`{}`", mistake.name))?;
    }
    Ok(mistakes)
}

/// Adds a line to the old or new text of a change.
fn add(text: Option<&mut String>, line: &str) -> Result<()> {
    let text = text.context("expected `file PATH` first")?;
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(line);
    Ok(())
}

/// Plants mistakes in the sources that `read` returns. Returns the changed files.
pub(super) fn plant(
    mistakes: &[&Mistake],
    read: impl Fn(&str) -> Result<String>,
) -> Result<BTreeMap<String, String>> {
    let mut edits: BTreeMap<&str, Vec<(&str, &Edit)>> = BTreeMap::new();
    for mistake in mistakes {
        for edit in &mistake.edits {
            edits.entry(&edit.file).or_default().push((&mistake.name, edit));
        }
    }
    let mut planted = BTreeMap::new();
    for (file, edits) in edits {
        planted.insert(file.to_owned(), splice(file, &read(file)?, &edits)?);
    }
    Ok(planted)
}

/// Replaces the old text of every change by its new text.
fn splice(file: &str, text: &str, edits: &[(&str, &Edit)]) -> Result<String> {
    let mut places = Vec::new();
    for (name, edit) in edits {
        match text.matches(&edit.old).count() {
            1 => places.extend(text.find(&edit.old).map(|at| (at, *name, *edit))),
            count => bail!(
                "`{name}`: its old text occurs {count} times in {file}, not once:\n{}\nhint: change its `-` lines in {LISTS}",
                edit.old
            ),
        }
    }
    places.sort_by_key(|(at, ..)| *at);
    let mut spliced = String::new();
    let (mut end, mut before) = (0, "");
    for (at, name, edit) in places {
        let unchanged = text.get(end..at);
        let unchanged =
            unchanged.with_context(|| format!("`{before}` and `{name}` change the same text of {file}"))?;
        spliced.push_str(unchanged);
        spliced.push_str(&edit.new.replace(ACTIVE, &condition(file, name)));
        (end, before) = (at + edit.old.len(), name);
    }
    spliced.push_str(text.get(end..).unwrap_or_default());
    Ok(spliced)
}

/// The condition that is true while a mistake is switched on.
fn condition(file: &str, name: &str) -> String {
    let path = if file.starts_with(SWITCH_CRATE) { "crate" } else { "lariat_core" };
    format!("{path}::mistake_switch::is_active({name:?})")
}

#[cfg(test)]
#[path = "patch_tests.rs"]
mod tests;
