//! Measures the repository map: the first call, which parses everything, and later ones, which only compare
//! file times.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use lariat_core::tool::AgentTool;
use lariat_host::files::Workspace;
use lariat_tools::{Workbench, search_tools};
use serde_json::{Value, json};

use super::super::measure::{figure, goal, median};
use super::{call_tool, timed};

/// Number of source files.
const FILES: u64 = 2_000;
/// Functions per file.
const FUNCTIONS: u64 = 20;
/// Goals in milliseconds for the first map and for later ones.
const GOALS: (f64, f64) = (3_000.0, 100.0);

/// Measures both. Returns false if a goal is missed.
pub(super) fn measure(runtime: &tokio::runtime::Runtime, slack: f64) -> bool {
    let folder = TempDirectory(std::env::temp_dir().join(format!("lariat-bench-map-{}", std::process::id())));
    let bytes = match fill(&folder.0) {
        Ok(bytes) => bytes,
        Err(error) => {
            eprintln!("cannot create the source files: {error}");
            return false;
        }
    };
    figure("repo_map: source files, their bytes", format!("{FILES}, {bytes}"));
    let Ok(workspace) = Workspace::open(&folder.0) else { return false };
    let tools = search_tools(&Workbench::new(workspace));
    let Some(map) = tools.iter().find(|tool| tool.name() == "repo_map") else { return false };
    // Files written a moment ago are recognized only by content; wait until the file times can be used.
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    let met = std::cell::Cell::new(true);
    let call = |parsed: u64| timed(&|| met.set(met.get() & is_whole(runtime, &**map, parsed)));
    let first = call(FILES);
    let next = median((0..11).map(|_| call(0)).collect());
    let mut met = met.get();
    met &= goal("repo_map, first call", first, "ms", GOALS.0 * slack);
    met & goal("repo_map, second call", next, "ms", GOALS.1 * slack)
}

/// Checks that a map covers all files and parsed this many of them.
fn is_whole(runtime: &tokio::runtime::Runtime, map: &dyn AgentTool, parsed: u64) -> bool {
    let result = call_tool(runtime, map, json!({}));
    let details = result.map(|result| result.details).unwrap_or_default();
    let of = |what: &str| details.get(what).and_then(Value::as_u64);
    let whole = of("files") == Some(FILES) && of("parsed") == Some(parsed);
    if !whole {
        println!("repo_map: expected {FILES} files, {parsed} parsed: {details}");
    }
    whole
}

/// A directory that is removed on drop.
struct TempDirectory(PathBuf);

impl Drop for TempDirectory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Writes the sources, half Rust and half Python, and returns their size in bytes.
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

/// Chooses another file to call: low numbers are called more often, as a few files in every project are.
fn callee(file: u64, function: u64) -> (u64, u64) {
    let other = (file * 31 + function * 17) % FILES;
    (other * other / FILES, function * 7 % FUNCTIONS)
}

fn rust(file: u64) -> String {
    let mut text = format!(
        "//! File {file}.\n\npub struct Thing{file} {{\n    count: usize,\n}}\n\nimpl Thing{file} {{\n"
    );
    for function in 0..FUNCTIONS {
        let (other, called) = callee(file, function);
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
        let (other, called) = callee(file, function);
        let _ = writeln!(
            text,
            "    def part_{file}_{function}(self, count: int) -> int:\n        \"\"\"Does a part of it.\"\"\""
        );
        let _ = writeln!(text, "        following = part_{other}_{called}(count + {function})");
        let _ = writeln!(text, "        return following * 2 if following else self.count\n");
    }
    text
}
