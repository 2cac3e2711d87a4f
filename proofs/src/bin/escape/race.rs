//! Reads, writes, creates and removes files through a directory that another thread keeps swapping for a link
//! to the outside.
//!
//! An operation may return something from inside or be refused. The kernel reports every open outside,
//! whether or not the result shows it.

use std::fs;
use std::time::Instant;

use lariat_host::files::{FileError, Sync, Workspace, WriteCondition};

use crate::fixture::{CANARY, text};
use crate::swaps::during;
use crate::{Fixture, Report};

/// Operations between two checks of what the kernel reports.
pub(crate) const LOOK: u64 = 64;
/// Number of faults after which the run stops.
pub(crate) const ENOUGH: usize = 20;

pub(crate) fn run(operations: u64) -> Result<Report, String> {
    let fixture = Fixture::new("race")?;
    fixture.put("swap/file", "inside\n")?;
    fixture.put("swap/deep/canary", "inside\n")?;
    fixture.put("nest/swap/file", "inside\n")?;
    fixture.link("other", fixture.absolute("out"))?;
    fixture.link("nest/other", "../../out")?;
    fixture.link("through", fixture.inside("swap"))?;
    let workspace = Workspace::open(fixture.inside("")).map_err(text)?.with_sync(Sync::Fast);
    let start = Instant::now();
    let pairs = [("swap", "other"), ("nest/swap", "nest/other")];
    let ((faults, served), swaps) = during(&fixture, &pairs, || operate(&fixture, &workspace, operations));
    let mut faults = faults;
    if let Some(path) = fixture.changed_outside()? {
        faults.push(format!("{path} was changed"));
    }
    for folder in ["swap", "other", "nest/swap", "nest/other"] {
        if fs::symlink_metadata(fixture.inside(folder)).is_ok_and(|data| data.is_symlink()) {
            continue;
        }
        let left = fs::read_dir(fixture.inside(folder)).map_err(text)?.filter_map(Result::ok);
        let left = left.filter(|entry| entry.file_name().to_string_lossy().starts_with(".lariat-")).count();
        if left > 0 {
            faults.push(format!("{left} temporary files left in {folder}"));
        }
    }
    let idle = KINDS.iter().zip(served).find(|(_, served)| *served == 0);
    let kinds: Vec<_> = KINDS.iter().zip(served).map(|(kind, served)| format!("{kind} {served}")).collect();
    let served: u64 = served.iter().sum();
    if faults.is_empty() && (idle.is_some() || served == operations || swaps < operations / 1_000) {
        faults.push(format!("there was no real race: {served} of {operations} served, {swaps} swaps"));
    }
    let line = format!(
        "race: {operations} operations, {swaps} swaps, {} faults, {:.0} s; {} refused, {served} served inside ({})",
        faults.len(),
        start.elapsed().as_secs_f64(),
        operations.saturating_sub(served),
        kinds.join(", ")
    );
    Ok(Report { faults, line })
}

/// The kinds of operations, performed in turn.
const KINDS: [&str; 5] = ["read", "read again", "write", "make and remove", "list"];

fn operate(fixture: &Fixture, workspace: &Workspace, operations: u64) -> (Vec<String>, [u64; 5]) {
    let mut faults = Vec::new();
    let mut served = [0; 5];
    for number in 0..operations {
        let path = ["swap/file", "nest/swap/file", "nest/../swap/deep/canary", "through/file"]
            .get(usize::try_from(number / 5 % 4).unwrap_or_default())
            .copied()
            .unwrap_or_default();
        let done = match number % 5 {
            0 | 1 => workspace.read(path, 1024).map(|content| {
                if String::from_utf8_lossy(&content.bytes).contains(CANARY) {
                    faults.push(format!("operation {number}: read {path} outside"));
                }
            }),
            2 => workspace.write(path, b"inside\n", &WriteCondition::Any).map(drop),
            3 => made_and_removed(workspace, &path.replace("file", "made").replace("canary", "made")),
            _ => workspace.list(path.rsplit_once('/').map_or(".", |(folder, _)| folder), 100).map(
                |(entries, _)| {
                    if entries.iter().any(|entry| entry.name == "hard") {
                        faults.push(format!("operation {number}: listed outside by {path}"));
                    }
                },
            ),
        };
        if let Some(served) = served.get_mut(usize::try_from(number % 5).unwrap_or_default()) {
            *served += u64::from(done.is_ok());
        }
        if number % LOOK == 0 {
            let opened = fixture.opened_outside();
            if !opened.is_empty() {
                faults.push(format!("by operation {number}, opened files outside: {}", opened.join(", ")));
            }
        }
        if faults.len() > ENOUGH {
            break;
        }
    }
    let opened = fixture.opened_outside();
    if !opened.is_empty() {
        faults.push(format!("opened files outside at the end: {}", opened.join(", ")));
    }
    (faults, served)
}

fn made_and_removed(workspace: &Workspace, path: &str) -> Result<(), FileError> {
    match workspace.write(path, b"inside\n", &WriteCondition::Absent) {
        Ok(_) | Err(FileError::Exists(_)) => workspace.remove(path, &WriteCondition::Any),
        Err(error) => Err(error),
    }
}
