//! What a map of a repository costs: the first, which parses everything, and the next ones, which look at times.
//!
//! Owns a repository of sources that use each other, and the two figures.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use lariat_core::tool::AgentTool;
use lariat_host::files::Workspace;
use lariat_tools::{Workbench, search_tools};
use serde_json::{Value, json};

use super::super::measure::{figure, goal, median};
use super::{called, timed};

/// Source files.
const FILES: u64 = 2_000;
/// Functions of each.
const FUNCTIONS: u64 = 20;
/// Milliseconds of the first map, and of the next ones.
const GOALS: (f64, f64) = (3_000.0, 100.0);

/// Measures both; false when one is missed.
pub(super) fn measure(runtime: &tokio::runtime::Runtime, slack: f64) -> bool {
    let folder = Folder(std::env::temp_dir().join(format!("lariat-bench-map-{}", std::process::id())));
    let bytes = match fill(&folder.0) {
        Ok(bytes) => bytes,
        Err(error) => {
            eprintln!("the sources cannot be made: {error}");
            return false;
        }
    };
    figure("repo_map: source files, their bytes", format!("{FILES}, {bytes}"));
    let Ok(workspace) = Workspace::open(&folder.0) else { return false };
    let tools = search_tools(&Workbench::new(workspace));
    let Some(map) = tools.iter().find(|tool| tool.name() == "repo_map") else { return false };
    // What was written a moment ago is known by content only; a repository rests.
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    let met = std::cell::Cell::new(true);
    let call = |parsed: u64| timed(&|| met.set(met.get() & is_whole(runtime, &**map, parsed)));
    let first = call(FILES);
    let next = median((0..11).map(|_| call(0)).collect());
    let mut met = met.get();
    met &= goal("repo_map, first call", first, "ms", GOALS.0 * slack);
    met & goal("repo_map, second call", next, "ms", GOALS.1 * slack)
}

/// Whether a map is of all files, and parsed so many.
fn is_whole(runtime: &tokio::runtime::Runtime, map: &dyn AgentTool, parsed: u64) -> bool {
    let result = called(runtime, map, json!({}));
    let details = result.map(|result| result.details).unwrap_or_default();
    let of = |what: &str| details.get(what).and_then(Value::as_u64);
    let whole = of("files") == Some(FILES) && of("parsed") == Some(parsed);
    if !whole {
        println!("repo_map: expected {FILES} files, {parsed} parsed: {details}");
    }
    whole
}

/// A folder that goes when this does.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Writes the sources, half of them Rust, half Python, and gives back their bytes.
fn fill(folder: &Path) -> io::Result<usize> {
    let _ = fs::remove_dir_all(folder);
    let mut bytes = 0;
    for file in 0..FILES {
        let place = folder.join(format!("package_{:02}/module_{:02}", file % 20, file % 7));
        fs::create_dir_all(&place)?;
        let (text, ending) = if file % 2 == 0 { (rust(file), "rs") } else { (python(file), "py") };
        bytes += text.len();
        fs::write(place.join(format!("file_{file:04}.{ending}")), text)?;
    }
    Ok(bytes)
}

/// Another file: low numbers are used more, as a few files of a project are.
fn used(file: u64, function: u64) -> (u64, u64) {
    let other = (file * 31 + function * 17) % FILES;
    (other * other / FILES, function * 7 % FUNCTIONS)
}

fn rust(file: u64) -> String {
    let mut text = format!(
        "//! File {file}.\n\npub struct Thing{file} {{\n    count: usize,\n}}\n\nimpl Thing{file} {{\n"
    );
    for function in 0..FUNCTIONS {
        let (other, called) = used(file, function);
        let _ = writeln!(
            text,
            "    /// Does a part of it.\n    pub fn part_{file}_{function}(&self, count: usize) -> Option<usize> {{"
        );
        let _ = writeln!(text, "        let next = part_{other}_{called}(count + {function})?;");
        let _ = writeln!(text, "        if next > self.count {{ None }} else {{ Some(next * 2) }}\n    }}\n");
    }
    text.push_str("}\n");
    text
}

fn python(file: u64) -> String {
    let mut text = format!("\"\"\"File {file}.\"\"\"\n\n\nclass Thing{file}:\n");
    for function in 0..FUNCTIONS {
        let (other, called) = used(file, function);
        let _ = writeln!(
            text,
            "    def part_{file}_{function}(self, count: int) -> int:\n        \"\"\"Does a part of it.\"\"\""
        );
        let _ = writeln!(text, "        following = part_{other}_{called}(count + {function})");
        let _ = writeln!(text, "        return following * 2 if following else self.count\n");
    }
    text
}
