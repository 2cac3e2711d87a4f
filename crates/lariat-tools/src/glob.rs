//! `glob`: finds files by name, newest first.
//!
//! Sorts by modification time, then by path.

use std::ops::ControlFlow;

use lariat_core::BoxFuture;
use lariat_core::cancel::CancellationToken;
use lariat_core::tool::{ToolContext, ToolEffects, ToolError, ToolResult};
use serde::Deserialize;
use serde_json::json;

use crate::Workbench;
use crate::arguments::{ArgumentKind, Field};
use crate::bench_tool::{BenchTool, blocking};
use crate::document::counted;
use crate::output::LIMIT as BYTES;
use crate::search::Filter;
use crate::tree::{Rules, VisitedFile, Visitor, Walk};

/// Default number of files to show.
const LIMIT: usize = 200;

/// The tool `glob`.
pub(crate) struct Glob;

/// The arguments of a tool call.
#[derive(Deserialize)]
pub(crate) struct Arguments {
    pattern: String,
    path: Option<String>,
    limit: Option<usize>,
    all: Option<bool>,
}

impl BenchTool for Glob {
    type Arguments = Arguments;
    const NAME: &'static str = "glob";
    const LABEL: &'static str = "Find files";
    const DESCRIPTION: &'static str = "Find files by name: `*.rs` anywhere, `src/**/*.{js,ts}` inside `src`. The most recently changed come first. Files that git ignores are left out unless \
        `all` is set. To find files by content, use `search`.";
    const FIELDS: &'static [Field] = &[
        Field::required(
            "pattern",
            ArgumentKind::Text,
            "A glob. Without `/` it matches names at any depth; with `/` it matches paths relative to `path`.",
        ),
        Field::optional("path", ArgumentKind::Text, "The directory to search (default: the workspace)."),
        Field::optional(
            "limit",
            ArgumentKind::Number(1, 5_000),
            "Maximum number of files to show (default 200).",
        ),
        Field::optional("all", ArgumentKind::Switch, "Include files that git ignores."),
    ];
    const EFFECTS: ToolEffects = ToolEffects::READS;

    fn run(
        bench: &Workbench,
        arguments: Arguments,
        context: ToolContext,
    ) -> BoxFuture<'_, Result<ToolResult, ToolError>> {
        Box::pin(async move {
            let bench = bench.clone();
            blocking(&context, move |cancel| glob(&bench, &arguments, cancel)).await
        })
    }
}

fn glob(
    bench: &Workbench,
    arguments: &Arguments,
    cancel: &CancellationToken,
) -> Result<ToolResult, ToolError> {
    if arguments.pattern.starts_with('!') {
        return Err(ToolError::InvalidArgs(
            "`pattern` must match the files to find; it cannot begin with `!`.".to_owned(),
        ));
    }
    let path = arguments.path.as_deref().unwrap_or(".");
    let visitor = NameVisitor(Filter::new(path, Some(&arguments.pattern), None)?);
    let rules = match arguments.all {
        Some(true) => Rules::Nothing,
        _ => Rules::above(bench.workspace(), path),
    };
    let mut files = Vec::new();
    let walk = Walk { workspace: bench.workspace(), path, rules, cancel };
    walk.run(&visitor, |mut found: Vec<(i128, String)>| {
        files.append(&mut found);
        ControlFlow::Continue(())
    })?;
    files.sort_unstable_by(|(a, left), (b, right)| b.cmp(a).then_with(|| left.cmp(right)));
    let limit = arguments.limit.unwrap_or(LIMIT);
    let (mut text, mut shown) = (String::new(), 0);
    for (_, path) in files.iter().take(limit) {
        if text.len() + path.len() > BYTES {
            break;
        }
        text.push_str(path);
        text.push('\n');
        shown += 1;
    }
    if files.is_empty() {
        text = format!("No file matches `{}`.\n", arguments.pattern);
        if arguments.all != Some(true) {
            text.push_str("[Files that git ignores were left out; set `all` to include them.]\n");
        }
    } else if shown < files.len() {
        text.push_str(&format!(
            "[{shown} of {} shown, newest first. Narrow `pattern` or `path`, or raise `limit`.]\n",
            counted(files.len(), "file"),
        ));
    }
    let details = json!({ "shown": shown, "files": files.len() });
    Ok(ToolResult::text(text).with_details(details))
}

struct NameVisitor(Filter);

impl Visitor for NameVisitor {
    type Finding = (i128, String);
    type ThreadState = ();

    fn thread_state(&self) {}

    fn wants(&self, path: &str) -> bool {
        self.0.wants(path)
    }

    fn visit(&self, (): &mut (), file: &VisitedFile<'_>, found: &mut Vec<(i128, String)>) -> ControlFlow<()> {
        if let Ok(stamp) = file.folder.stamp(file.name) {
            found.push((stamp.modified(), file.path.to_owned()));
        }
        ControlFlow::Continue(())
    }
}
