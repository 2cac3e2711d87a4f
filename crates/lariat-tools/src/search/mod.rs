//! `search`: a regular expression through the files of a tree.
//!
//! - `pattern`: what is looked for and in which files.
//! - `matches`: what one file has of it.
//! - `report`: what the model reads of that, and where it was cut.
//!
//! Owns the call. Files are read by handle in the order of [`crate::tree`]; the walk ends as soon as the report is full.

mod matches;
mod pattern;
mod report;

use std::ops::ControlFlow;

use lariat_core::BoxFuture;
use lariat_core::cancel::CancellationToken;
use lariat_core::tool::{ToolContext, ToolEffects, ToolError, ToolResult};
use lariat_host::files::Kind as EntryKind;
use serde::Deserialize;

use crate::Workbench;
use crate::arguments::{Field, Kind};
use crate::bench_tool::{BenchTool, blocking};
use crate::file_tool::failed;
use crate::tree::{Rules, Visit, Visited, Walk};
use matches::{FileMatches, Reader};
pub(crate) use pattern::Filter;
use pattern::Pattern;
use report::Report;

/// Matches that are shown, unless a call asks for others.
const LIMIT: usize = 200;
/// Files after each of which a person is told how far it is.
const PROGRESS: usize = 20_000;

/// The tool.
pub(crate) struct Search;

/// What a call says.
#[derive(Deserialize)]
pub(crate) struct Arguments {
    pattern: String,
    path: Option<String>,
    glob: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    mode: Mode,
    context: Option<usize>,
    #[serde(default)]
    case: Case,
    multiline: Option<bool>,
    all: Option<bool>,
    limit: Option<usize>,
    #[serde(default)]
    offset: usize,
}

/// What is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Mode {
    #[default]
    Lines,
    Files,
    Count,
}

/// Whether case counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Case {
    #[default]
    Sensitive,
    Insensitive,
    Smart,
}

impl BenchTool for Search {
    type Arguments = Arguments;
    const NAME: &'static str = "search";
    const LABEL: &'static str = "Search";
    const DESCRIPTION: &'static str = "Searches file contents for a regular expression (Rust syntax: escape literal braces and parentheses, no look-around). Hidden files are searched; binary files, and \
        what git ignores unless `all` is set, are not. Results are ordered by path and bounded; it says when more follow and how to get them. Use it instead of grep in a shell.";
    const FIELDS: &'static [Field] = &[
        Field::required("pattern", Kind::Text, "The regular expression."),
        Field::optional("path", Kind::Text, "A directory or file to search in; the workspace if left out."),
        Field::optional(
            "glob",
            Kind::Text,
            "Only files that match, such as `*.ts` or `src/**/*.{c,h}`; `!` before it for all others.",
        ),
        Field::optional("type", Kind::Text, "Only files of a type, such as `rust`, `py`, `js`, `md`."),
        Field::optional(
            "mode",
            Kind::Word(&["lines", "files", "count"]),
            "Show matching lines (if left out), only the files that have some, or their number per file.",
        ),
        Field::optional("context", Kind::Number(0, 20), "Lines to show before and after each match."),
        Field::optional(
            "case",
            Kind::Word(&["sensitive", "insensitive", "smart"]),
            "Whether case counts; `smart`: only if the pattern has capitals. Sensitive if left out.",
        ),
        Field::optional(
            "multiline",
            Kind::Switch,
            "Let matches span lines (`.` matches line ends, too). Off if left out.",
        ),
        Field::optional("all", Kind::Switch, "Search what git ignores, too."),
        Field::optional("limit", Kind::Number(1, 5_000), "Matches, or files, to show; 200 if left out."),
        Field::optional("offset", Kind::Number(0, 100_000), "Matches, or files, to pass over first."),
    ];
    const EFFECTS: ToolEffects = ToolEffects::READS;

    fn run(
        bench: &Workbench,
        arguments: Arguments,
        context: ToolContext,
    ) -> BoxFuture<'_, Result<ToolResult, ToolError>> {
        Box::pin(async move {
            let (bench, inner) = (bench.clone(), context.clone());
            blocking(&context, move |cancel| search(&bench, &arguments, &inner, cancel)).await
        })
    }
}

fn search(
    bench: &Workbench,
    arguments: &Arguments,
    context: &ToolContext,
    cancel: &CancellationToken,
) -> Result<ToolResult, ToolError> {
    let limit = arguments.limit.unwrap_or(LIMIT);
    let pattern = Pattern::new(arguments, arguments.offset + limit)?;
    let path = arguments.path.as_deref().unwrap_or(".");
    let mut report = Report::new(arguments.mode, arguments.offset, limit);
    if bench.workspace().kind(path).map_err(failed)? != EntryKind::Directory {
        let (file, stamp) = bench.workspace().file(path).map_err(failed)?;
        let mut reader = Reader::new(&pattern);
        let found = reader.search(&pattern, path, file, stamp.size());
        let _ = report.take(found.into_iter().collect());
        return Ok(report.result(arguments, 1, &reader.skipped));
    }
    let filter = Filter::new(path, arguments.glob.as_deref(), arguments.kind.as_deref())?;
    let rules = match arguments.all {
        Some(true) => Rules::Nothing,
        _ => Rules::above(bench.workspace(), path),
    };
    let looking = Looking { pattern: &pattern, filter: &filter, context };
    let walk = Walk { workspace: bench.workspace(), path, rules, cancel };
    let seen = walk.run(&looking, |found| report.take(found))?;
    Ok(report.result(arguments, seen.files, &[]))
}

struct Looking<'a> {
    pattern: &'a Pattern,
    filter: &'a Filter,
    context: &'a ToolContext,
}

struct Tools {
    reader: Reader,
    files: usize,
}

impl Visit for Looking<'_> {
    type Found = FileMatches;
    type Tools = Tools;

    fn tools(&self) -> Tools {
        Tools { reader: Reader::new(self.pattern), files: 0 }
    }

    fn wants(&self, path: &str) -> bool {
        self.filter.wants(path)
    }

    fn visit(&self, tools: &mut Tools, file: &Visited<'_>, found: &mut Vec<FileMatches>) -> ControlFlow<()> {
        tools.files += 1;
        if tools.files.is_multiple_of(PROGRESS) {
            self.context.progress(format!("Searching {}", file.path));
        }
        let Ok((opened, stamp)) = file.folder.file(file.name) else { return ControlFlow::Continue(()) };
        found.extend(tools.reader.search(self.pattern, file.path, opened, stamp.size()));
        let enough: usize = found.iter().map(|found| self.pattern.weight(found)).sum();
        if enough > self.pattern.enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

#[cfg(test)]
#[path = "../search_tests.rs"]
mod tests;
