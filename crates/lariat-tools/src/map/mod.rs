//! `repo_map`: the outline of a repository within a budget of tokens.
//!
//! - `language`: what a definition is, by grammar.
//! - `outline`: the definitions and mentions of one file.
//! - `memory`: outlines of files that did not change.
//! - `rank`: which files and definitions others mention most.
//! - `page`: what of them fits.
//!
//! Owns the call and its bounds. The same files give the same map: outlines come in the order of the walk, ranks are
//! sums in that order, and ties are broken by path.

mod language;
mod memory;
mod outline;
mod page;
mod rank;

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
use crate::arguments::{Field, Kind};
use crate::bench_tool::{BenchTool, blocking};
use crate::tree::{Rules, Visit, Visited, Walk};
use language::{Grammars, LANGUAGES};
pub(crate) use memory::Outlines;
use outline::{Outline, Outliner};

/// Tokens of a map, unless a call asks for others.
const TOKENS: u64 = 2_000;
/// Source files that are looked at.
const MOST_FILES: usize = 20_000;
/// Bytes of source that are parsed in one call.
const MOST_BYTES: u64 = 256 * 1024 * 1024;
/// Bytes of one file: above, somebody's program wrote it.
const MOST_FILE: u64 = 512 * 1024;
/// How long files are looked at before the map is made of what there is.
const TIME: Duration = Duration::from_secs(30);
/// Files between two words about progress.
const PROGRESS: usize = 200;

/// The tool.
pub(crate) struct RepoMap;

/// What a call says.
#[derive(Deserialize)]
pub(crate) struct Arguments {
    path: Option<String>,
    tokens: Option<u64>,
}

impl BenchTool for RepoMap {
    type Arguments = Arguments;
    const NAME: &'static str = "repo_map";
    const LABEL: &'static str = "Map";
    const DESCRIPTION: &'static str = "Shows the outline of the repository: source files with the signatures of what they define (number, colon, signature), the files that \
        others use most first. Good for a first look at code you do not know. Knows Rust, Python, JavaScript, TypeScript, Go, Java, C and C++; leaves out what git ignores. \
        To see more, raise `tokens` or set `path`.";
    const FIELDS: &'static [Field] = &[
        Field::optional("path", Kind::Text, "The directory to map; the workspace if left out."),
        Field::optional("tokens", Kind::Number(100, 20_000), "How long the map may be; 2000 if left out."),
    ];
    const EFFECTS: ToolEffects = ToolEffects::READS;

    fn run(
        bench: &Workbench,
        arguments: Arguments,
        context: ToolContext,
    ) -> BoxFuture<'_, Result<ToolResult, ToolError>> {
        Box::pin(async move {
            let (bench, late) = (bench.clone(), Arc::new(AtomicBool::new(false)));
            let (told, is_late) = (context.clone(), Arc::clone(&late));
            let work = blocking(&context, move |cancel| map(&bench, &arguments, &told, &is_late, cancel));
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

/// A source file of the walk.
#[derive(Debug)]
struct Source {
    path: String,
    /// Nothing for a file that is no source anybody wrote.
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
    let outlining = Outlining {
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
    walk.run(&outlining, |mut found| {
        sources.append(&mut found);
        if sources.len() >= MOST_FILES || outlining.is_over() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })?;
    let cut = sources.len() >= MOST_FILES || outlining.is_over();
    let left_out = sources.iter().filter(|source| source.outline.is_none()).count();
    let files: Vec<(String, Arc<Outline>)> =
        sources.into_iter().filter_map(|source| Some((source.path, source.outline?))).collect();
    let ranks = rank::rank(&files);
    let tokens = arguments.tokens.unwrap_or(TOKENS);
    let mut page = page::page(&files, &ranks, tokens);
    if files.is_empty() {
        let known: Vec<_> = LANGUAGES.iter().map(|language| language.name).collect();
        page.text = format!("There is no source in `{path}` that can be mapped ({}).\n", known.join(", "));
    }
    if left_out > 0 {
        page.text.push_str(&format!("[{left_out} more left out: too large, generated or not readable.]\n"));
    }
    if cut {
        page.text.push_str(&format!(
            "[Only {} files were looked at, which is the bound. Set `path` to map one directory.]\n",
            files.len() + left_out
        ));
    }
    let parsed = outlining.parsed.into_inner();
    let details = json!({ "files": files.len(), "shown": page.shown, "parsed": parsed, "left_out": left_out, "cut": cut });
    Ok(ToolResult::text(page.text).with_details(details))
}

struct Outlining<'a> {
    outlines: &'a Outlines,
    grammars: &'a Grammars,
    context: &'a ToolContext,
    late: &'a AtomicBool,
    cancel: &'a CancellationToken,
    files: AtomicUsize,
    bytes: AtomicU64,
    parsed: AtomicUsize,
}

impl Outlining<'_> {
    fn is_over(&self) -> bool {
        self.late.load(Ordering::Relaxed) || self.bytes.load(Ordering::Relaxed) > MOST_BYTES
    }
}

impl<'a> Visit for Outlining<'a> {
    type Found = Source;
    type Tools = Outliner<'a>;

    fn tools(&self) -> Outliner<'a> {
        Outliner::new(self.grammars)
    }

    fn wants(&self, path: &str) -> bool {
        language::of(path).is_some()
    }

    fn visit(
        &self,
        outliner: &mut Outliner<'a>,
        file: &Visited<'_>,
        found: &mut Vec<Source>,
    ) -> ControlFlow<()> {
        if self.is_over() {
            return ControlFlow::Break(());
        }
        if self.files.fetch_add(1, Ordering::Relaxed).is_multiple_of(PROGRESS) {
            self.context.progress(format!("Mapping {}", file.path));
        }
        let goes_on = || !self.cancel.is_cancelled() && !self.late.load(Ordering::Relaxed);
        let outline = self.outlines.outline(file, MOST_FILE, |source, language| {
            self.bytes.fetch_add(source.len() as u64, Ordering::Relaxed);
            self.parsed.fetch_add(1, Ordering::Relaxed);
            outliner.outline(source, language, &goes_on)
        });
        found.push(Source { path: file.path.to_owned(), outline });
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
#[path = "../map_tests.rs"]
mod tests;
