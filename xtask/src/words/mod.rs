//! Checks the wording of docs, comments, messages and function names against `xtask/words.txt`, and the names of types.
//!
//! `prose` extracts the text that people read from a file, `phrase` matches the phrases, `type_names` checks the types.
//! Exceptions are listed in `xtask/words-allowed.txt`, each with its reason; an exception that no longer matches anything
//! fails the check too.

mod phrase;
mod prose;
mod type_names;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, bail};

use crate::workspace::Workspace;
use phrase::Phrase;
use type_names::TypeNames;

const PHRASES: &str = "xtask/words.txt";
const ALLOWED: &str = "xtask/words-allowed.txt";
/// The file of an exception for the name of a type.
const TYPES: &str = "types";
/// Findings printed before the rest is only counted.
const SHOWN: usize = 200;

/// Fails if a phrase occurs in a file under one of `only`, or anywhere when `only` is empty.
pub(crate) fn run(workspace: &Workspace, only: &[String]) -> Result<()> {
    let phrases = Phrase::list(&workspace.read(PHRASES)?)?;
    let allowed = Allowance::list(&workspace.read(ALLOWED)?)?;
    let mut used = BTreeSet::new();
    let mut findings = Vec::new();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let files = workspace.files(&["md", "rs"])?;
    let in_scope =
        |file: &String| only.is_empty() || only.iter().any(|prefix| file.starts_with(prefix.as_str()));
    let mut type_names = TypeNames::default();
    for file in files.iter().filter(|file| in_scope(file)) {
        let source = workspace.read(file)?;
        type_names.add(file, &source);
        for (line, text) in prose::of(file, &source) {
            let words = phrase::words(&text);
            for phrase in phrases.iter().filter(|phrase| phrase.occurs_in(&words)) {
                match allowed.iter().position(|allowance| allowance.covers(file, phrase)) {
                    Some(index) => {
                        used.insert(index);
                    }
                    None => {
                        *counts.entry(phrase.source()).or_default() += 1;
                        findings.push(format!("{file}:{line}: `{}`: {}", phrase.source(), phrase.advice()));
                    }
                }
            }
        }
    }
    for (name, problem) in type_names.problems() {
        match allowed.iter().position(|allowance| allowance.file == TYPES && allowance.phrase == name) {
            Some(index) => {
                used.insert(index);
            }
            None => findings.push(format!("the type `{name}` {problem}")),
        }
    }
    if only.is_empty() {
        for (index, allowance) in allowed.iter().enumerate() {
            if !used.contains(&index) && !allowance.covers_everything() {
                findings.push(format!(
                    "{ALLOWED}: `{}: {}` matches nothing; delete it",
                    allowance.file, allowance.phrase
                ));
            }
        }
    }
    if !findings.is_empty() {
        let total = findings.len();
        findings.truncate(SHOWN);
        let counts: Vec<String> =
            counts.iter().map(|(phrase, count)| format!("{count:6}  {phrase}")).collect();
        bail!(
            "{total} places need other words (docs/writing.md):\n  {}\n{}",
            findings.join("\n  "),
            counts.join("\n")
        );
    }
    println!(
        "no phrase of {PHRASES} in {} files, and each type says what it is; {} exceptions",
        files.len(),
        allowed.len()
    );
    Ok(())
}

/// An exception: a phrase that is right in a file.
struct Allowance {
    file: String,
    phrase: String,
}

impl Allowance {
    fn list(text: &str) -> Result<Vec<Self>> {
        let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        lines.map(Self::parse).collect()
    }

    fn parse(line: &str) -> Result<Self> {
        let mut parts = line.splitn(3, ": ");
        match (parts.next(), parts.next(), parts.next()) {
            (Some(file), Some(phrase), Some(reason)) if !reason.trim().is_empty() => {
                Ok(Self { file: file.to_owned(), phrase: phrase.to_owned() })
            }
            _ => bail!("{ALLOWED}: `{line}` is not `FILE: PHRASE: REASON`"),
        }
    }

    fn covers(&self, file: &str, phrase: &Phrase) -> bool {
        let same_file = match self.file.strip_suffix('*') {
            Some(start) => file.starts_with(start),
            None => file == self.file,
        };
        same_file && (self.covers_everything() || self.phrase == phrase.source())
    }

    fn covers_everything(&self) -> bool {
        self.phrase == "*"
    }
}

#[cfg(test)]
mod tests;
