//! The definitions of a workspace by name, for front ends that let a user mention one.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};

use lariat_core::cancel::CancellationToken;
use lariat_core::tool::ToolError;
use lariat_host::files::Workspace;

use crate::outline::language::{self, Grammars};
use crate::outline::{Outliner, read_source};
use crate::tree::{Rules, VisitedFile, Visitor, Walk};

/// Maximum number of symbols.
pub const MAX_SYMBOLS: usize = 100_000;
/// Maximum number of source files to read.
const MAX_FILES: usize = 20_000;
/// Maximum size of a file in bytes; larger ones are taken to be generated.
const MAX_FILE_BYTES: u64 = 512 * 1024;

/// A definition in a source file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Symbol {
    /// Its name.
    pub name: String,
    /// The path of the file, relative to the workspace.
    pub path: String,
    /// The line, starting at 1.
    pub line: usize,
    /// The definition without its body, on one line.
    pub signature: String,
}

/// Lists the definitions in the source files of a workspace, as `repo_map` finds them: what git ignores is left out, and
/// so is what is inside a function. Reads at most 20,000 files and returns at most [`MAX_SYMBOLS`]. Blocks.
///
/// # Errors
/// If the workspace cannot be read, or `cancel` is cancelled.
pub fn symbols(workspace: &Workspace, cancel: &CancellationToken) -> Result<Vec<Symbol>, ToolError> {
    let grammars = Grammars::default();
    let visitor = SymbolVisitor { grammars: &grammars, cancel, files: AtomicUsize::new(0) };
    let walk = Walk { workspace, path: ".", rules: Rules::above(workspace, "."), cancel };
    let mut symbols = Vec::new();
    walk.run(&visitor, |mut found| {
        symbols.append(&mut found);
        if symbols.len() >= MAX_SYMBOLS { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    symbols.truncate(MAX_SYMBOLS);
    Ok(symbols)
}

struct SymbolVisitor<'a> {
    grammars: &'a Grammars,
    cancel: &'a CancellationToken,
    files: AtomicUsize,
}

impl<'a> Visitor for SymbolVisitor<'a> {
    type Finding = Symbol;
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
        found: &mut Vec<Symbol>,
    ) -> ControlFlow<()> {
        if self.files.fetch_add(1, Ordering::Relaxed) >= MAX_FILES {
            return ControlFlow::Break(());
        }
        let Some(source) = read_source(file, MAX_FILE_BYTES) else { return ControlFlow::Continue(()) };
        let Some(language) = language::of(file.path) else { return ControlFlow::Continue(()) };
        let named = outliner.named(&source, language, &|| !self.cancel.is_cancelled());
        found.extend(named.into_iter().flatten().map(|(name, definition)| Symbol {
            name,
            path: file.path.to_owned(),
            line: definition.line,
            signature: definition.signature,
        }));
        ControlFlow::Continue(())
    }
}
