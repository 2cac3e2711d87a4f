//! Takes the results of what the client read or did for the application.

use lariat_api::{Action, ContextUse, FileChange, FileDiff, Problem, SessionPage, SessionSummary};
use lariat_core::content;
use lariat_core::time::Timestamp;
use lariat_terminal::theme::Style;
use lariat_terminal::{diff, human, text};

use super::{App, AppEffect, Purpose, session_list};
use crate::composer::{Request, Suggestion};
use crate::overlay::Overlay;
use crate::pages::Page;

impl App {
    /// A command was not accepted. A message comes back into the draft, a question is shown again.
    pub fn refused(&mut self, action: &Action, problem: &Problem) {
        match action {
            Action::Prompt { content, .. } => {
                let words = content::joined_text(&content.0);
                let draft = self.composer.draft();
                let draft = if draft.is_empty() { words } else { format!("{words}\n{draft}") };
                self.composer.set_draft(&draft);
                self.effects.push(AppEffect::SaveDraft);
                self.say(Style::Bad, &format!("not sent: {}", problem.message));
            }
            Action::Answer { ask_id, .. } => {
                self.asks.failed(ask_id);
                self.effects.push(AppEffect::Refresh);
                self.say(Style::Bad, &format!("not answered: {}", problem.message));
            }
            Action::Compact { .. } => {
                self.facts.end_compaction();
                self.failed(problem);
            }
            _ => self.failed(problem),
        }
    }

    /// Something that the client tried did not work.
    pub fn failed(&mut self, problem: &Problem) {
        self.problem(problem);
    }

    /// The image in the clipboard is in this file; `None` if there was no image.
    pub fn image(&mut self, path: Option<&str>) {
        match path {
            Some(path) => {
                self.composer.mention(path);
                self.effects.push(AppEffect::SaveDraft);
            }
            None => self.say(Style::Dim, "the clipboard has no image"),
        }
    }

    /// Offers completions for a request, best first.
    pub fn completed(&mut self, request: &Request, items: Vec<Suggestion>) {
        self.composer.completed(request, items);
    }

    /// The editor returned.
    pub fn edited(&mut self, text: &str) {
        self.composer.set_draft(text);
        self.effects.push(AppEffect::SaveDraft);
    }

    /// Shows the list of sessions, or opens the one that `/resume` named.
    pub fn sessions(&mut self, page: &SessionPage, now: Timestamp) {
        let id = |summary: &SessionSummary| summary.archived.session_id.clone();
        if let Some(start) = self.resume.take() {
            let mut found = page.sessions.iter().filter(|summary| id(summary).as_str().starts_with(&start));
            match (found.next(), found.next()) {
                (Some(summary), None) => self.effects.push(AppEffect::OpenSession(id(summary))),
                (None, _) => self.say(Style::Warning, &format!("no session begins with `{start}`")),
                _ => self.say(Style::Warning, &format!("several sessions begin with `{start}`")),
            }
            return;
        }
        if page.sessions.is_empty() {
            self.say(Style::Dim, "no session found");
            return;
        }
        self.pick_session(session_list::items(&page.sessions, now));
    }

    /// Whether the list of sessions is open.
    pub fn lists_sessions(&self) -> bool {
        matches!(self.overlay, Some((Purpose::Session, _)))
    }

    /// Shows what changed in the list of sessions, if it is open.
    pub fn sessions_changed(&mut self, page: &SessionPage, now: Timestamp) {
        if let Some((Purpose::Session, Overlay::Picker(picker))) = &mut self.overlay {
            picker.set_items(session_list::items(&page.sessions, now));
        }
    }

    /// Shows what fills the context window.
    pub fn context(&mut self, report: &ContextUse) {
        let total: u64 = report.parts.iter().map(|(_, tokens)| tokens).sum();
        let window = if report.window == 0 { total } else { report.window }.max(1);
        let theme = self.theme();
        let row = |(name, tokens): &(String, u64)| {
            let percent = tokens.saturating_mul(100) / window;
            let bar = theme.mark("█", "#").repeat(usize::try_from(percent / 5).unwrap_or_default());
            let words = format!("{percent:>3}%  {:>7}  {}  {bar}", human::count(*tokens), text::line(name));
            text::cut(&words, theme.width, &theme).into_owned()
        };
        let mut rows: Vec<String> = report.parts.iter().map(row).collect();
        let sum = format!("{} of {} tokens", human::count(total), human::count(window));
        rows.push(theme.paint(Style::Strong, &text::cut(&sum, theme.width, &theme)));
        self.page("Context window", rows, false);
    }

    /// Shows what changed in files.
    pub fn diff(&mut self, files: &[FileDiff]) {
        if files.is_empty() {
            self.say(Style::Dim, "the session changed no file");
            return;
        }
        let theme = self.theme();
        let mut rows = Vec::new();
        for file in files {
            let change = match file.change {
                FileChange::Added => "added",
                FileChange::Deleted => "deleted",
                _ => "modified",
            };
            let title = format!("{change} {}", text::line(&file.path));
            rows.push(theme.paint(Style::Heading, &text::cut(&title, theme.width, &theme)));
            match &file.diff {
                Some(words) => {
                    rows.extend(diff::exact(words, usize::MAX, &theme).lines().map(str::to_owned));
                }
                None => rows.push(theme.paint(Style::Dim, "binary file")),
            }
        }
        self.page("File changes", rows, false);
    }

    /// Shows a transcript with earlier events, of which this many are still not read.
    pub fn earlier(&mut self, rows: Vec<String>, skipped: u64) {
        self.notice = None;
        let theme = self.theme();
        let mut shown = Vec::new();
        if skipped > 0 {
            let words = format!("{} not read", human::counted(skipped, "earlier event", "earlier events"));
            shown.push(theme.paint(Style::Dim, &text::cut(&words, theme.width, &theme)));
        }
        shown.extend(rows);
        self.page("Transcript", shown, true);
    }

    /// Shows a page that the program made.
    pub fn show_page(&mut self, page: Page, text: &str) {
        self.notice = None;
        match page {
            Page::Compaction { focus } => self.confirm_compaction(focus, text),
            Page::Export { .. } => self.say(Style::Good, text),
            page => {
                let width = self.theme().width;
                let rows = text::lines(text).flat_map(|line| text::wrap(&line, width)).collect();
                self.page(page.title(), rows, false);
            }
        }
    }

    /// The program has no pages: the session is on another machine.
    pub fn lacks_page(&mut self, page: Page) {
        match page {
            Page::Compaction { focus } => {
                let context = self.facts.view.as_ref().map(|view| view.context).unwrap_or_default();
                let used = human::count(context.used);
                self.confirm_compaction(focus, &format!("{used} tokens are in the context window."));
            }
            page => {
                let words = format!("`/{}` works only on the machine of the session", page.command());
                self.say(Style::Warning, &words);
            }
        }
    }

    /// The client did something for the user.
    pub fn done(&mut self, words: &str) {
        self.say(Style::Dim, words);
    }
}
