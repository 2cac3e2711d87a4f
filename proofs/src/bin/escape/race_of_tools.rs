//! Calls the tools that read, list, search and map, as a model calls them, while another thread keeps swapping
//! directories and files for links to the outside.
//!
//! A walk reads the names of a directory first and opens them later, so a swap can come in between. A result may contain
//! what is inside or leave it out. The kernel reports every open outside, whether or not the result shows it.

use std::time::Instant;

use lariat_host::files::{Sync, Workspace};
use lariat_tools::Workbench;
use serde_json::json;

use crate::calls::{PathArgument, READ, SOUGHT, answer, call, tools};
use crate::fixture::{CANARY, OUTSIDE_NAME, text};
use crate::race::{ENOUGH, LOOK};
use crate::swaps::during;
use crate::{Fixture, Report};

/// What a tool call gets the path of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Target {
    Folder,
    File,
}

use Target::{File, Folder};

/// The tool calls, made in turn with each directory.
const CALLS: [(PathArgument, Target); 8] = [
    (("search", |path| json!({ "path": path, "pattern": SOUGHT })), Folder),
    (("search", |path| json!({ "path": path, "pattern": SOUGHT, "all": true, "mode": "files" })), Folder),
    (("search", |path| json!({ "path": path, "pattern": SOUGHT })), File),
    (("glob", |path| json!({ "path": path, "pattern": "**/*" })), Folder),
    (("glob", |path| json!({ "path": path, "pattern": "*.rs", "all": true })), Folder),
    (("repo_map", |path| json!({ "path": path, "tokens": 2_000 })), Folder),
    (("list_files", |path| json!({ "path": path, "depth": 4, "all": true })), Folder),
    (READ, File),
];

/// Directories that are swapped, or from which a walk comes to one that is.
const FOLDERS: [&str; 6] = [".", "swap", "nest", "nest/swap", "nest/../swap/deep", "through"];

pub(crate) fn run(calls: u64) -> Result<Report, String> {
    let fixture = Fixture::new("race-of-tools")?;
    for folder in ["swap", "swap/deep", "nest/swap", "nest/swap/deep"] {
        fixture.put(&format!("{folder}/inside.rs"), "pub fn inside_function() {}\n")?;
    }
    fixture.put("leaf.rs", "pub fn plain() {}\n")?;
    fixture.link("other", fixture.absolute("out"))?;
    fixture.link("nest/other", "../../out")?;
    fixture.link("other_leaf.rs", fixture.absolute(&format!("out/{OUTSIDE_NAME}.rs")))?;
    fixture.link("through", fixture.inside("swap"))?;
    let workspace = Workspace::open(fixture.inside("")).map_err(text)?.with_sync(Sync::Fast);
    let start = Instant::now();
    let pairs = [("swap", "other"), ("nest/swap", "nest/other"), ("leaf.rs", "other_leaf.rs")];
    let ((mut faults, served), swaps) = during(&fixture, &pairs, || make_calls(&fixture, workspace, calls));
    if let Some(path) = fixture.changed_outside()? {
        faults.push(format!("{path} was changed"));
    }
    let total: u64 = served.iter().sum();
    if faults.is_empty() {
        let each = calls / CALLS.len() as u64;
        for (((name, _), _), served) in CALLS.iter().zip(served) {
            if served == 0 || served >= each {
                faults.push(format!(
                    "there was no real race: {name} found something in {served} of {each} calls"
                ));
            }
        }
        if swaps < calls / 10 {
            faults.push(format!("there was no real race: {swaps} swaps in {calls} calls"));
        }
    }
    let kinds: Vec<_> =
        CALLS.iter().zip(served).map(|(((name, _), _), served)| format!("{name} {served}")).collect();
    let line = format!(
        "race of tools: {calls} calls, {swaps} swaps, {} faults, {:.0} s; {total} found what is inside ({})",
        faults.len(),
        start.elapsed().as_secs_f64(),
        kinds.join(", ")
    );
    Ok(Report { faults, line })
}

/// Returns the faults, and how many calls of each kind found something inside.
fn make_calls(fixture: &Fixture, workspace: Workspace, calls: u64) -> (Vec<String>, [u64; CALLS.len()]) {
    let mut faults = Vec::new();
    let mut served = [0; CALLS.len()];
    let tools = tools(&Workbench::new(workspace));
    let kinds = CALLS.iter().enumerate().cycle();
    let folders = FOLDERS.iter().flat_map(|folder| std::iter::repeat_n(folder, CALLS.len())).cycle();
    for (number, ((kind, ((name, arguments), target)), folder)) in (0..calls).zip(kinds.zip(folders)) {
        let path = if *target == File { format!("{folder}/inside.rs") } else { (*folder).to_owned() };
        let result = call(&tools, name, arguments(&path));
        let answer = answer(&result);
        if answer.contains(CANARY) || answer.contains(OUTSIDE_NAME) {
            faults.push(format!("call {number}: {name} {path} returned something from outside"));
        }
        if let Some(served) = served.get_mut(kind) {
            *served += u64::from(result.is_ok() && answer.contains("inside"));
        }
        if number % LOOK == 0 {
            faults.extend(opened(fixture, number));
        }
        if faults.len() > ENOUGH {
            break;
        }
    }
    faults.extend(opened(fixture, calls));
    (faults, served)
}

fn opened(fixture: &Fixture, number: u64) -> Option<String> {
    let opened = fixture.opened_outside();
    (!opened.is_empty()).then(|| format!("by call {number}, opened files outside: {}", opened.join(", ")))
}
