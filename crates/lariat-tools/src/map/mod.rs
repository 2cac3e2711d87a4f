//! `repo_map`: shows the outline of a repository within a token budget.
//!
//! - `rank`: which files and definitions other files mention most.
//! - `relevance`: which of them fit a task best.
//! - `page`: selects what fits into the budget.
//!
//! The same files always give the same map: outlines come in the order of the walk, ranks are sums in that order, and
//! ties are broken by path.

mod page;
mod rank;
mod relevance;

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use lariat_core::BoxFuture;
use lariat_core::cancel::CancellationToken;
use lariat_core::tool::{ToolContext, ToolEffects, ToolError, ToolResult};
use serde::Deserialize;
use serde_json::json;

use crate::Workbench;
use crate::arguments::{ArgumentKind, Field};
use crate::bench_tool::{BenchTool, blocking};
use crate::outline::language::{self, Grammars, LANGUAGES};
use crate::outline::{Outline, Outliner, Outlines};
use crate::tree::{Rules, VisitedFile, Visitor, Walk};

/// Default number of tokens of a map.
const TOKENS: u64 = 2_000;
/// Maximum number of source files to read.
const MAX_FILES: usize = 20_000;
/// Maximum number of bytes to parse in one call.
const MAX_BYTES: u64 = 256 * 1024 * 1024;
/// Maximum size of a file in bytes; larger ones are taken to be generated.
const MAX_FILE_BYTES: u64 = 512 * 1024;
/// How long to read files before the map is made of what was read.
const TIME: Duration = Duration::from_secs(30);
/// Number of files between two progress messages.
const PROGRESS: usize = 200;

/// The tool `repo_map`.
pub(crate) struct RepoMap;

/// The arguments of a tool call.
#[derive(Deserialize)]
pub(crate) struct Arguments {
    path: Option<String>,
    task: Option<String>,
    tokens: Option<u64>,
}

impl BenchTool for RepoMap {
    type Arguments = Arguments;
    const NAME: &'static str = "repo_map";
    const LABEL: &'static str = "Map";
    const DESCRIPTION: &'static str = "Show the outline of the repository: source files with the signatures of their definitions (line number, colon, signature). Files that other \
        files use most come first; with `task`, the files that fit the task best. Use it to get an overview of unfamiliar code. Supports Rust, Python, JavaScript, TypeScript, Go, Java, C and C++; leaves out what git ignores. \
        To see more, raise `tokens` or set `path`.";
    const FIELDS: &'static [Field] = &[
        Field::optional("path", ArgumentKind::Text, "The directory to map (default: the workspace)."),
        Field::optional(
            "task",
            ArgumentKind::Text,
            "What you want to do, in words; the files that fit it best come first.",
        ),
        Field::optional(
            "tokens",
            ArgumentKind::Number(100, 20_000),
            "Maximum length of the map in tokens (default 2000).",
        ),
    ];
    const EFFECTS: ToolEffects = ToolEffects::READS;

    fn run(
        bench: &Workbench,
        arguments: Arguments,
        context: ToolContext,
    ) -> BoxFuture<'_, Result<ToolResult, ToolError>> {
        Box::pin(async move {
            let (bench, late) = (bench.clone(), Arc::new(AtomicBool::new(false)));
            let (inner, is_late) = (context.clone(), Arc::clone(&late));
            let work = blocking(&context, move |cancel| map(&bench, &arguments, &inner, &is_late, cancel));
            if tokio::runtime::Handle::try_current().is_err() {
                return work.await;
            }
            tokio::pin!(work);
            tokio::select! {
                biased;
                done = &mut work => done,
                () = tokio::time::sleep(TIME) => {
                    late.store(true, Ordering::Relaxed);
                    work.await
                }
            }
        })
    }
}

/// A source file that the walk found.
#[derive(Debug)]
struct Source {
    path: String,
    /// `None` for a file that is too large, generated or unreadable.
    outline: Option<Arc<Outline>>,
}

fn map(
    bench: &Workbench,
    arguments: &Arguments,
    context: &ToolContext,
    late: &AtomicBool,
    cancel: &CancellationToken,
) -> Result<ToolResult, ToolError> {
    let path = arguments.path.as_deref().unwrap_or(".");
    let outlines = bench.outlines();
    let visitor = OutlineVisitor {
        outlines,
        grammars: outlines.grammars(),
        context,
        late,
        cancel,
        files: AtomicUsize::new(0),
        bytes: AtomicU64::new(0),
        parsed: AtomicUsize::new(0),
    };
    let rules = Rules::above(bench.workspace(), path);
    let walk = Walk { workspace: bench.workspace(), path, rules, cancel };
    let mut sources: Vec<Source> = Vec::new();
    walk.run(&visitor, |mut found| {
        sources.append(&mut found);
        if sources.len() >= MAX_FILES || visitor.is_over() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })?;
    let cut = sources.len() >= MAX_FILES || visitor.is_over();
    let left_out = sources.iter().filter(|source| source.outline.is_none()).count();
    let files: Vec<(String, Arc<Outline>)> =
        sources.into_iter().filter_map(|source| Some((source.path, source.outline?))).collect();
    let mut ranks = rank::rank(&files);
    if let Some(task) = arguments.task.as_deref().filter(|task| !task.trim().is_empty()) {
        let used = bench.memory().paths();
        ranks = relevance::rank(&files, ranks, task, |path| is_used(&used, path));
    }
    let tokens = arguments.tokens.unwrap_or(TOKENS);
    let mut page = page::page(&files, &ranks, tokens);
    if files.is_empty() {
        let known: Vec<_> = LANGUAGES.iter().map(|language| language.name).collect();
        page.text =
            format!("No source files found in `{path}`. Supported languages: {}.\n", known.join(", "));
    }
    if left_out > 0 {
        page.text.push_str(&format!("[{left_out} more left out: too large, generated or not readable.]\n"));
    }
    if cut {
        page.text.push_str(&format!(
            "[Only {} files were read, which is the limit. Set `path` to map one directory.]\n",
            files.len() + left_out
        ));
    }
    let parsed = visitor.parsed.into_inner();
    let details = json!({ "files": files.len(), "shown": page.shown, "parsed": parsed, "left_out": left_out, "cut": cut });
    Ok(ToolResult::text(page.text).with_details(details))
}

/// Whether one of the paths that the agent used is this file.
fn is_used(used: &[String], path: &str) -> bool {
    used.iter().any(|used| used.strip_suffix(path).is_some_and(|rest| rest.is_empty() || rest.ends_with('/')))
}

struct OutlineVisitor<'a> {
    outlines: &'a Outlines,
    grammars: &'a Grammars,
    context: &'a ToolContext,
    late: &'a AtomicBool,
    cancel: &'a CancellationToken,
    files: AtomicUsize,
    bytes: AtomicU64,
    parsed: AtomicUsize,
}

impl OutlineVisitor<'_> {
    fn is_over(&self) -> bool {
        self.late.load(Ordering::Relaxed) || self.bytes.load(Ordering::Relaxed) > MAX_BYTES
    }
}

impl<'a> Visitor for OutlineVisitor<'a> {
    type Finding = Source;
    type ThreadState = Outliner<'a>;

    fn thread_state(&self) -> Outliner<'a> {
        Outliner::new(self.grammars)
    }

    fn wants(&self, path: &str) -> bool {
        language::of(path).is_some()
    }

    fn visit(
        &self,
        outliner: &mut Outliner<'a>,
        file: &VisitedFile<'_>,
        found: &mut Vec<Source>,
    ) -> ControlFlow<()> {
        if self.is_over() {
            return ControlFlow::Break(());
        }
        if self.files.fetch_add(1, Ordering::Relaxed).is_multiple_of(PROGRESS) {
            self.context.progress(format!("Mapping {}", file.path));
        }
        let should_continue = || !self.cancel.is_cancelled() && !self.late.load(Ordering::Relaxed);
        let outline = self.outlines.outline(file, MAX_FILE_BYTES, |source, language| {
            self.bytes.fetch_add(source.len() as u64, Ordering::Relaxed);
            self.parsed.fetch_add(1, Ordering::Relaxed);
            outliner.outline(source, language, &should_continue)
        });
        found.push(Source { path: file.path.to_owned(), outline });
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests;
