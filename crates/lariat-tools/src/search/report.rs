//! Formats the matches of a search for the model, up to a limit.
//!
//! The limit applies to matches and bytes. The report takes files in order and says when it is full; it takes one match
//! more than it shows, to know whether more follow.

use std::ops::ControlFlow;

use lariat_core::tool::ToolResult;
use serde_json::json;

use super::matches::{FileMatches, ReportLine};
use super::{Arguments, Mode};
use crate::document::counted;
use crate::output::LIMIT as BYTES;

pub(super) struct Report {
    mode: Mode,
    /// Number of matches still to skip.
    skip: usize,
    limit: usize,
    shown: usize,
    files: usize,
    matches: usize,
    text: String,
    more: bool,
}

impl Report {
    pub(super) const fn new(mode: Mode, skip: usize, limit: usize) -> Self {
        Self { mode, skip, limit, shown: 0, files: 0, matches: 0, text: String::new(), more: false }
    }

    /// Adds the next files. `Break` if the report is full.
    pub(super) fn take(&mut self, found: Vec<FileMatches>) -> ControlFlow<()> {
        for file in found {
            self.files += 1;
            self.matches += file.count;
            match self.mode {
                Mode::Lines => self.lines(file)?,
                Mode::Files => self.line(file.path)?,
                Mode::Count => self.line(format!("{}: {}", file.path, file.count))?,
            }
        }
        ControlFlow::Continue(())
    }

    fn is_full(&self) -> bool {
        self.shown >= self.limit || self.text.len() >= BYTES
    }

    fn full(&mut self) -> ControlFlow<()> {
        self.more = true;
        ControlFlow::Break(())
    }

    fn line(&mut self, line: String) -> ControlFlow<()> {
        if self.skip > 0 {
            self.skip -= 1;
            return ControlFlow::Continue(());
        }
        if self.is_full() {
            return self.full();
        }
        self.shown += 1;
        self.text.push_str(&line);
        self.text.push('\n');
        ControlFlow::Continue(())
    }

    fn lines(&mut self, file: FileMatches) -> ControlFlow<()> {
        if self.skip >= file.count {
            self.skip -= file.count;
            return ControlFlow::Continue(());
        }
        let mut named = false;
        // The context before a match is shown only if the match is.
        let mut lead = String::new();
        let mut follows = false;
        for line in &file.lines {
            match line {
                ReportLine::Match { number, text } => {
                    if self.skip > 0 {
                        self.skip -= 1;
                        lead.clear();
                        follows = false;
                        continue;
                    }
                    if self.is_full() {
                        return self.full();
                    }
                    if !named {
                        let gap = if self.text.is_empty() { "" } else { "\n" };
                        self.text.push_str(&format!("{gap}{}\n", file.path));
                        named = true;
                    }
                    self.text.push_str(&std::mem::take(&mut lead));
                    self.text.push_str(&format!("{number}: {text}\n"));
                    self.shown += 1;
                    follows = true;
                }
                ReportLine::Context { number, text, before } => {
                    let text = format!("{number}- {text}\n");
                    match *before {
                        true => lead.push_str(&text),
                        false if follows => self.text.push_str(&text),
                        false => {}
                    }
                }
                ReportLine::Break if follows => lead.push_str("--\n"),
                ReportLine::Break => {}
            }
        }
        ControlFlow::Continue(())
    }

    /// Returns the result. `searched` is the number of files that were searched.
    pub(super) fn result(mut self, arguments: &Arguments, searched: usize, skipped: &[String]) -> ToolResult {
        let what = if self.mode == Mode::Lines { "match" } else { "file" };
        let next = arguments.offset + self.shown;
        if self.shown == 0 && arguments.offset > 0 && self.files > 0 {
            self.text = format!("No more matches from `offset` {} on.\n", arguments.offset);
        } else if self.shown == 0 {
            self.text = format!("No matches in {}.\n", counted(searched, "file"));
            for reason in skipped {
                self.text.push_str(&format!("[Not searched: {reason}.]\n"));
            }
            if arguments.all != Some(true) && searched == 0 {
                self.text.push_str("[Files that git ignores were left out; set `all` to include them.]\n");
            }
        } else if self.more {
            self.text.push_str(&format!(
                "[{} shown; more follow. Continue with `offset` {next}, or narrow the search with `path`, `glob` or `pattern`.]\n",
                plural(self.shown, what),
            ));
        } else {
            let files = counted(self.files, "file");
            let matches = plural(self.matches, "match");
            self.text.push_str(&match self.mode {
                Mode::Files => format!("[{files}.]\n"),
                Mode::Lines | Mode::Count => format!("[{matches} in {files}.]\n"),
            });
        }
        let details = json!({
            "shown": self.shown,
            "files": self.files,
            "more": self.more,
            "next_offset": self.more.then_some(next),
        });
        ToolResult::text(self.text).with_details(details)
    }
}

fn plural(count: usize, what: &str) -> String {
    match (what, count) {
        ("match", 1) => "1 match".to_owned(),
        ("match", count) => format!("{count} matches"),
        (what, count) => counted(count, what),
    }
}
