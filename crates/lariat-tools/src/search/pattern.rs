//! What is looked for, and in which files.
//!
//! Owns how a call's words become matchers, and what is said where they cannot.

use grep_matcher::LineTerminator;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use ignore::overrides::{Override, OverrideBuilder};
use ignore::types::{Types, TypesBuilder};
use lariat_core::nearest::nearest;
use lariat_core::tool::ToolError;

use super::matches::FileMatches;
use super::{Arguments, Case, Mode};

/// What is looked for.
pub(super) struct Pattern {
    pub(super) matcher: RegexMatcher,
    pub(super) mode: Mode,
    pub(super) multiline: bool,
    pub(super) context: usize,
    /// Matches, or files, after which nothing more is needed.
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
            ToolError::InvalidArgs(format!("`pattern` is not a regular expression: {error}.{hint}"))
        })?;
        let context = if arguments.mode == Mode::Lines { arguments.context.unwrap_or_default() } else { 0 };
        Ok(Self { matcher, mode: arguments.mode, multiline, context, enough })
    }

    /// How much of a report the matches of a file take.
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

/// Which files are looked at.
pub(crate) struct Filter {
    globs: Override,
    types: Types,
}

impl Filter {
    /// Files beneath a path by glob and type; each where given.
    pub(crate) fn new(path: &str, glob: Option<&str>, kind: Option<&str>) -> Result<Self, ToolError> {
        let refused = |error: ignore::Error| {
            ToolError::InvalidArgs(format!(
                "The glob cannot be read: {error}. Examples: `*.rs`, `src/**/*.{{js,ts}}`."
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

    /// Whether a file is looked at.
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
            "There is no file type `{kind}`.{hint} Types are named like `rust`, `py`, `js`, `ts`, `go`, `md`; or use `glob`."
        ))
    })
}
