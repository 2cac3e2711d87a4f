//! `list_files`: lists a directory as a tree.
//!
//! Walks level by level, so that the limit cuts the deepest levels first. Links are shown but not followed. Every
//! directory is opened by handle; `ignored` decides what git ignores.

mod ignored;

use std::collections::{HashMap, VecDeque};

use lariat_core::tool::{ToolContext, ToolEffects, ToolError, ToolResult};
use lariat_host::files::EntryKind;
use serde::Deserialize;
use serde_json::json;

use crate::Workbench;
use crate::arguments::{ArgumentKind, Field};
use crate::document::{counted, result};
use crate::file_error::failed;
use crate::file_tool::FileTool;
use ignored::IgnoreRules;

/// Default number of levels to show.
const DEPTH: usize = 3;
/// Default number of names to show.
const LIMIT: usize = 500;
/// Maximum number of names to read from one directory.
const MAX_NAMES: usize = 20_000;

/// The tool `list_files`.
pub(crate) struct ListFiles;

/// The arguments of a tool call.
#[derive(Clone, Deserialize)]
pub(crate) struct Arguments {
    path: Option<String>,
    depth: Option<usize>,
    limit: Option<usize>,
    all: Option<bool>,
}

/// The content of a directory.
#[derive(Default)]
struct DirectoryListing {
    names: Vec<(String, EntryKind)>,
    /// Number of names that are not in `names`.
    cut: usize,
    ignored: usize,
}

impl FileTool for ListFiles {
    type Arguments = Arguments;
    const NAME: &'static str = "list_files";
    const LABEL: &'static str = "List";
    const DESCRIPTION: &'static str = "List a directory of the workspace as a tree. Directories end in `/`, links in `@`. Names that git ignores are left out unless `all` is set. A note says what was \
        cut and how to see it. To find files by name use `glob`, by content `search`.";
    const FIELDS: &'static [Field] = &[
        Field::optional("path", ArgumentKind::Text, "The directory (default: the workspace)."),
        Field::optional("depth", ArgumentKind::Number(1, 20), "Number of levels to show (default 3)."),
        Field::optional(
            "limit",
            ArgumentKind::Number(1, 10_000),
            "Maximum number of names to show (default 500).",
        ),
        Field::optional("all", ArgumentKind::Switch, "Include names that git ignores."),
    ];
    const EFFECTS: ToolEffects = ToolEffects::READS;

    fn subject(_: &Arguments) -> Option<&str> {
        None
    }

    fn run(bench: &Workbench, arguments: Arguments, _: &ToolContext) -> Result<ToolResult, ToolError> {
        let path = arguments.path.as_deref().unwrap_or(".");
        let (depth, limit) = (arguments.depth.unwrap_or(DEPTH), arguments.limit.unwrap_or(LIMIT));
        let ignored = match arguments.all {
            Some(true) => IgnoreRules::nothing(),
            _ => IgnoreRules::of_parents(bench.workspace(), path),
        };
        let mut listed = HashMap::new();
        let mut left = limit;
        let mut ahead = VecDeque::from([(String::new(), 1, ignored)]);
        while let Some((below, level, ignored)) = ahead.pop_front() {
            if left == 0 {
                break;
            }
            let here = join(path, &below);
            let (entries, more) = match bench.workspace().list(&here, MAX_NAMES) {
                Ok(found) => found,
                Err(error) if below.is_empty() => return Err(failed(error)),
                Err(_) => continue,
            };
            let ignored = ignored.with(bench.workspace(), &here);
            let mut found = DirectoryListing { cut: usize::from(more), ..DirectoryListing::default() };
            for entry in entries {
                let name = entry.name.to_string_lossy().into_owned();
                let inner = join(&below, &name);
                let whole = join(path, &inner);
                if ignored.has(&whole, entry.kind == EntryKind::Directory) {
                    found.ignored += 1;
                } else if left == 0 {
                    found.cut += 1;
                } else {
                    left -= 1;
                    if entry.kind == EntryKind::Directory && level < depth {
                        ahead.push_back((inner, level + 1, ignored.clone()));
                    }
                    found.names.push((name, entry.kind));
                }
            }
            listed.insert(below, found);
        }
        let mut tree = Tree { text: String::new(), listed: &listed, depth, skipped: 0, ignored: 0 };
        tree.put("", 1);
        let shown = limit - left;
        let mut text = format!("{path} ({})\n{}", counted(shown, "name"), tree.text);
        if shown == 0 {
            text.push_str("The directory is empty.\n");
        }
        if tree.ignored > 0 {
            text.push_str(&format!(
                "[Left out {} that git ignores; set `all` to include them.]\n",
                counted(tree.ignored, "name")
            ));
        }
        if tree.skipped > 0 {
            text.push_str("[Cut at `…`: list those directories separately, or raise `depth` or `limit`.]\n");
        }
        result(text, json!({ "path": path, "names": shown, "ignored": tree.ignored }))
    }
}

struct Tree<'a> {
    text: String,
    listed: &'a HashMap<String, DirectoryListing>,
    depth: usize,
    skipped: usize,
    ignored: usize,
}

impl Tree<'_> {
    fn put(&mut self, below: &str, level: usize) {
        let Some(listed) = self.listed.get(below) else { return };
        let indent = "  ".repeat(level);
        self.ignored += listed.ignored;
        for (name, kind) in &listed.names {
            let inner = join(below, name);
            let mark = match kind {
                EntryKind::Directory if self.listed.contains_key(&inner) => "/",
                EntryKind::Directory => {
                    self.skipped += 1;
                    "/ …"
                }
                EntryKind::Link => "@",
                EntryKind::File => "",
                _ => " (neither file nor directory)",
            };
            self.text.push_str(&format!("{indent}{}{mark}\n", printable(name)));
            if level < self.depth {
                self.put(&inner, level + 1);
            }
        }
        if listed.cut > 0 {
            self.skipped += 1;
            self.text.push_str(&format!("{indent}… {} more\n", listed.cut));
        }
    }
}

/// Replaces control characters, so that each line of the tree is one name.
fn printable(name: &str) -> String {
    name.chars().map(|char| if char.is_control() { char::REPLACEMENT_CHARACTER } else { char }).collect()
}

fn join(path: &str, name: &str) -> String {
    match (path, name) {
        ("", name) => name.to_owned(),
        (path, "") => path.to_owned(),
        (".", name) => name.to_owned(),
        (path, name) => format!("{}/{name}", path.trim_end_matches('/')),
    }
}
