//! Trusts a repository with `lariat trust`, changes one byte of each file that the trust covers, and asks the program
//! again: it must not be trusted any more, must name the file, and a run must start nothing of it.

use std::collections::BTreeMap;
use std::path::Path;

use lariat::serde_json::{self, Value};

use super::ProgramMistake;
use super::session::{ProgramRun, Session};

/// Results of one repository.
#[derive(Debug, Default)]
pub(super) struct TrustedReport {
    pub(super) faults: Vec<String>,
    pub(super) trusted: usize,
    pub(super) changes: usize,
    /// Runs in a changed repository.
    pub(super) runs: usize,
    /// Runs of the trusted repository in which its payload ran: what the untrusted ones prevented.
    pub(super) effects: usize,
}

/// Files that are changed, at most, in each repository.
const FILES: usize = 4;

pub(super) fn check(session: &Session<'_>, root: &Path, mark: &Path) -> Result<TrustedReport, String> {
    let mut report = TrustedReport::default();
    let accepted = session.run(root, &["trust", "--yes", "--json"])?;
    // What cannot be listed cannot be trusted.
    if accepted.code != Some(0) || standing(session, root)?.as_deref() != Some("trusted") {
        return Ok(report);
    }
    report.trusted = 1;
    let before = session.run(root, &["run", "What is this?"])?;
    let started = before.trace.forbidden.iter().any(|what| what.starts_with("started"));
    report.effects = usize::from(started || mark.exists());
    let covered = covered(&accepted);
    for (file, what) in covered.iter().take(FILES) {
        let path = root.join(file);
        // A link is changed by the library's part of the proof.
        if !path.symlink_metadata().is_ok_and(|metadata| metadata.is_file()) {
            continue;
        }
        let bytes = std::fs::read(&path).map_err(|error| error.to_string())?;
        std::fs::write(&path, changed(&bytes, what)).map_err(|error| error.to_string())?;
        report.changes += 1;
        if session.mistake == Some(ProgramMistake::KeepsTrust) {
            session.run(root, &["trust", "--yes", "--json"])?;
        }
        // A file that cannot be read any more has no standing at all.
        if standing(session, root)?.as_deref() == Some("trusted") {
            report.faults.push(format!("{file} changed and it is still trusted"));
        }
        let _ = std::fs::remove_file(mark);
        let again = session.run(root, &["run", "And now?"])?;
        report.runs += 1;
        let started = again.trace.forbidden.iter().map(|what| format!("{file} changed: a run {what}"));
        report.faults.extend(started);
        if mark.exists() {
            report.faults.push(format!("{file} changed and the payload ran"));
        }
        std::fs::write(&path, bytes).map_err(|error| error.to_string())?;
    }
    if before.code.is_none() {
        report.faults.push(format!("the trusted run was killed: {}", before.stderr.trim_end()));
    }
    Ok(report)
}

/// The standing of a repository, as the program states it. `None` if it cannot be opened.
fn standing(session: &Session<'_>, root: &Path) -> Result<Option<String>, String> {
    let shown = session.run(root, &["trust", "--json"])?;
    Ok(parse(&shown)?.get("standing").and_then(Value::as_str).map(str::to_owned))
}

/// The files that the trust covers, each with what it does.
fn covered(shown: &ProgramRun) -> BTreeMap<String, String> {
    let report = parse(shown).unwrap_or_default();
    let items = report.get("brings").and_then(Value::as_array).cloned().unwrap_or_default();
    let text = |item: &Value, name: &str| item.get(name).and_then(Value::as_str).map(str::to_owned);
    items.iter().filter_map(|item| Some((text(item, "file")?, text(item, "what")?))).collect()
}

/// A file with one changed byte: in the program that it starts, in what was approved, or in its middle. Trust covers
/// neither blanks between settings, nor a setting that a later one replaces, nor usual values of git.
fn changed(bytes: &[u8], what: &str) -> Vec<u8> {
    let text = String::from_utf8_lossy(bytes);
    let place = |part: &str| text.rfind(part).filter(|_| !part.is_empty()).map(|at| at + part.len() / 2);
    // A setting of git is shown with its section, which is on another line of its file.
    let setting = what.split_once("] ").map_or(what, |(_, setting)| setting);
    let at = place("payload").or_else(|| place(what)).or_else(|| place(setting)).unwrap_or(bytes.len() / 2);
    let mut changed = bytes.to_vec();
    match changed.get_mut(at) {
        Some(byte) => *byte ^= 1,
        None => changed.push(b'x'),
    }
    changed
}

fn parse(shown: &ProgramRun) -> Result<Value, String> {
    if shown.code != Some(0) {
        return Ok(Value::Null);
    }
    serde_json::from_str(&shown.stdout).map_err(|error| format!("`trust --json` printed no JSON: {error}"))
}
