//! Builds the matchers for a search: the expression, and which files to search.

use grep_matcher::LineTerminator;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use ignore::overrides::{Override, OverrideBuilder};
use ignore::types::{Types, TypesBuilder};
use lariat_core::nearest::nearest;
use lariat_core::tool::ToolError;

use super::matches::FileMatches;
use super::{Arguments, Case, Mode};

/// The expression and how to search for it.
pub(super) struct Pattern {
    pub(super) matcher: RegexMatcher,
    pub(super) mode: Mode,
    pub(super) multiline: bool,
    pub(super) context: usize,
    /// Number of matches, or files, after which the search can end.
    pub(super) enough: usize,
}

impl Pattern {
    pub(super) fn new(arguments: &Arguments, enough: usize) -> Result<Self, ToolError> {
        let multiline = arguments.multiline == Some(true);
        let mut builder = RegexMatcherBuilder::new();
        builder
            .multi_line(true)
            .case_insensitive(arguments.case == Case::Insensitive)
            .case_smart(arguments.case == Case::Smart)
            .dot_matches_new_line(multiline);
        if !multiline {
            builder.line_terminator(Some(b'\n')).ban_byte(Some(b'\0'));
        }
        let matcher = builder.build(&arguments.pattern).map_err(|error| {
            let hint = if arguments.pattern.contains("\\n") && !multiline {
                " To match across lines, set `multiline`."
            } else {
                " To search for it literally, escape `\\ . + * ? ( ) [ ] { } ^ $ |` with a backslash."
            };
            ToolError::InvalidArgs(format!("`pattern` is not a valid regular expression: {error}.{hint}"))
        })?;
        let context = if arguments.mode == Mode::Lines { arguments.context.unwrap_or_default() } else { 0 };
        Ok(Self { matcher, mode: arguments.mode, multiline, context, enough })
    }

    /// How much of the limit the matches of a file use.
    pub(super) fn weight(&self, found: &FileMatches) -> usize {
        match self.mode {
            Mode::Lines => found.count,
            Mode::Files | Mode::Count => 1,
        }
    }

    pub(super) fn terminator(&self) -> LineTerminator {
        LineTerminator::byte(b'\n')
    }
}

/// Which files to search.
pub(crate) struct Filter {
    globs: Override,
    types: Types,
}

impl Filter {
    /// Selects files beneath a path by glob and type, if given.
    pub(crate) fn new(path: &str, glob: Option<&str>, kind: Option<&str>) -> Result<Self, ToolError> {
        let refused = |error: ignore::Error| {
            ToolError::InvalidArgs(format!(
                "The glob is not valid: {error}. Examples: `*.rs`, `src/**/*.{{js,ts}}`."
            ))
        };
        let globs = match glob {
            Some(glob) => {
                let mut builder = OverrideBuilder::new(if path == "." { "" } else { path });
                builder.add(glob.strip_prefix("./").unwrap_or(glob)).map_err(refused)?;
                builder.build().map_err(refused)?
            }
            None => Override::empty(),
        };
        let types = match kind {
            Some(kind) => types(kind)?,
            None => Types::empty(),
        };
        Ok(Self { globs, types })
    }

    /// Whether to search a file.
    pub(crate) fn wants(&self, path: &str) -> bool {
        (self.globs.is_empty() || !self.globs.matched(path, false).is_ignore())
            && (self.types.is_empty() || self.types.matched(path, false).is_whitelist())
    }
}

fn types(kind: &str) -> Result<Types, ToolError> {
    let mut builder = TypesBuilder::new();
    builder.add_defaults();
    builder.select(kind).build().map_err(|_| {
        let known = builder.definitions();
        let known: Vec<_> = known.iter().map(|known| known.name()).collect();
        let hint = nearest(kind, known.iter().copied()).map(|near| format!(" Did you mean `{near}`?")).unwrap_or_default();
        ToolError::InvalidArgs(format!(
            "Unknown file type `{kind}`.{hint} Types are named like `rust`, `py`, `js`, `ts`, `go`, `md`; or use `glob`."
        ))
    })
}
