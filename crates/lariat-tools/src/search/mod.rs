//! `search`: searches the files of a tree for a regular expression.
//!
//! - `pattern`: the expression, and which files to search.
//! - `matches`: the matches in one file.
//! - `report`: formats the matches for the model, up to the limit.
//!
//! Files are read by handle in the order of [`crate::tree`]; the walk ends as soon as the report is full.

mod matches;
mod pattern;
mod report;

use std::ops::ControlFlow;

use lariat_core::BoxFuture;
use lariat_core::cancel::CancellationToken;
use lariat_core::tool::{ToolContext, ToolEffects, ToolError, ToolResult};
use lariat_host::files::EntryKind;
use serde::Deserialize;

use crate::Workbench;
use crate::arguments::{ArgumentKind, Field};
use crate::bench_tool::{BenchTool, blocking};
use crate::file_error::failed;
use crate::tree::{Rules, VisitedFile, Visitor, Walk};
use matches::{FileMatches, Reader};
pub(crate) use pattern::Filter;
use pattern::Pattern;
use report::Report;

/// Default number of matches to show.
const LIMIT: usize = 200;
/// Number of files between two progress messages.
const PROGRESS: usize = 20_000;

/// The tool `search`.
pub(crate) struct Search;

/// The arguments of a tool call.
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

/// What to show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Mode {
    #[default]
    Lines,
    Files,
    Count,
}

/// Whether the search is case-sensitive.
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
    const DESCRIPTION: &'static str = "Search file contents for a regular expression (Rust syntax: escape literal braces and parentheses, no look-around). Hidden files are searched; binary files, and \
        files that git ignores unless `all` is set, are not. Results are sorted by path and limited; a note says if more follow and how to get them. Use this instead of grep in a shell.";
    const FIELDS: &'static [Field] = &[
        Field::required("pattern", ArgumentKind::Text, "The regular expression."),
        Field::optional(
            "path",
            ArgumentKind::Text,
            "A directory or file to search (default: the workspace).",
        ),
        Field::optional(
            "glob",
            ArgumentKind::Text,
            "Search only matching files, such as `*.ts` or `src/**/*.{c,h}`; prefix it with `!` to exclude them.",
        ),
        Field::optional(
            "type",
            ArgumentKind::Text,
            "Search only files of a type, such as `rust`, `py`, `js`, `md`.",
        ),
        Field::optional(
            "mode",
            ArgumentKind::Word(&["lines", "files", "count"]),
            "Show matching lines (default), only the names of files with matches, or the number of matches per file.",
        ),
        Field::optional(
            "context",
            ArgumentKind::Number(0, 20),
            "Number of lines to show before and after each match.",
        ),
        Field::optional(
            "case",
            ArgumentKind::Word(&["sensitive", "insensitive", "smart"]),
            "Case sensitivity (default `sensitive`). `smart`: sensitive only if the pattern has capitals.",
        ),
        Field::optional(
            "multiline",
            ArgumentKind::Switch,
            "Let matches span lines (`.` also matches line ends). Off by default.",
        ),
        Field::optional("all", ArgumentKind::Switch, "Include files that git ignores."),
        Field::optional(
            "limit",
            ArgumentKind::Number(1, 5_000),
            "Maximum number of matches, or files, to show (default 200).",
        ),
        Field::optional(
            "offset",
            ArgumentKind::Number(0, 100_000),
            "Number of matches, or files, to skip first.",
        ),
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
    let visitor = SearchVisitor { pattern: &pattern, filter: &filter, context };
    let walk = Walk { workspace: bench.workspace(), path, rules, cancel };
    let seen = walk.run(&visitor, |found| report.take(found))?;
    Ok(report.result(arguments, seen.files, &[]))
}

struct SearchVisitor<'a> {
    pattern: &'a Pattern,
    filter: &'a Filter,
    context: &'a ToolContext,
}

struct SearchState {
    reader: Reader,
    files: usize,
}

impl Visitor for SearchVisitor<'_> {
    type Finding = FileMatches;
    type ThreadState = SearchState;

    fn thread_state(&self) -> SearchState {
        SearchState { reader: Reader::new(self.pattern), files: 0 }
    }

    fn wants(&self, path: &str) -> bool {
        self.filter.wants(path)
    }

    fn visit(
        &self,
        state: &mut SearchState,
        file: &VisitedFile<'_>,
        found: &mut Vec<FileMatches>,
    ) -> ControlFlow<()> {
        state.files += 1;
        if state.files.is_multiple_of(PROGRESS) {
            self.context.progress(format!("Searching {}", file.path));
        }
        let Ok((opened, stamp)) = file.folder.file(file.name) else { return ControlFlow::Continue(()) };
        found.extend(state.reader.search(self.pattern, file.path, opened, stamp.size()));
        let enough: usize = found.iter().map(|found| self.pattern.weight(found)).sum();
        if enough > self.pattern.enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

#[cfg(test)]
mod tests;
