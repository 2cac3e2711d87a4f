//! What is written while a run goes on, and at its end: the answer, a screen for a person, or JSON.
//!
//! Owns standard output. A reader that is gone is not an error: the run ends.

use std::io::Write as _;
use std::path::Path;

use lariat_core::clock::Clock as _;
use lariat_core::event::EventRecord;
use lariat_core::time::Timestamp;
use lariat_guard::display;
use lariat_runtime::system::SystemClock;
use lariat_service::Session;
use rustix::fs::FileType;
use serde_json::Value;
use uuid::Uuid;

use crate::args::run::Output;
use crate::args::task::Task;
use crate::screen::look::{Look, Style};
use crate::screen::piped::Piped;
use crate::screen::printer::{Printer, Verbosity};
use crate::wire::json::{Ending, Form};
use crate::wire::stream_json::{Facts, StreamJson};

/// Standard output.
#[derive(Debug, Default)]
pub(super) struct Out {
    broken: bool,
}

impl Out {
    /// Writes, and sees that it leaves.
    pub(super) fn write(&mut self, text: &str) {
        if self.broken || text.is_empty() {
            return;
        }
        let mut out = std::io::stdout().lock();
        self.broken = out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_err();
    }

    pub(super) fn line(&mut self, value: &Value) {
        self.write(&format!("{}\n", lariat_guard::display::json(&value.to_string())));
    }

    /// Whether its reader is gone.
    pub(super) const fn is_broken(&self) -> bool {
        self.broken
    }
}

/// What is written.
pub(super) struct Face {
    kind: Kind,
    pub(super) out: Out,
}

enum Kind {
    /// The answer, as it comes or, where it must have a form, at the end.
    Quiet(Option<Piped>),
    /// A screen for a person.
    Screen(Box<Printer>),
    /// One document, at the end.
    Json(Box<StreamJson>),
    /// One document per line.
    StreamJson(Box<StreamJson>),
}

impl Face {
    /// What is written for a task, where standard output can show this.
    pub(super) fn new(task: &Task, session: &Session, cwd: &Path, look: Look) -> Self {
        let mut out = Out::default();
        let lines = || {
            let mut lines = StreamJson::new(session.id().to_string(), task.wishes);
            let init = lines.init(&facts(session, cwd), Uuid::new_v4());
            (Box::new(lines), init)
        };
        let kind = match task.output {
            Output::Text if look.is_terminal && task.schema.is_none() => {
                let verbosity = if task.verbose { Verbosity::Verbose } else { Verbosity::Normal };
                Kind::Screen(Box::new(Printer::new(look, verbosity)))
            }
            // What is written to a file or must have a form is written whole.
            Output::Text if task.schema.is_some() || is_file() => Kind::Quiet(None),
            Output::Text => Kind::Quiet(Some(Piped::default())),
            Output::Json => Kind::Json(lines().0),
            Output::StreamJson => {
                let (lines, init) = lines();
                out.line(&init);
                Kind::StreamJson(lines)
            }
        };
        Self { kind, out }
    }

    /// Whether a person reads it as it comes.
    pub(super) const fn is_for_person(&self) -> bool {
        matches!(self.kind, Kind::Screen(_))
    }

    /// Time passed.
    pub(super) fn tick(&mut self) {
        if let Kind::Screen(printer) = &mut self.kind {
            self.out.write(&printer.tick(now()));
        }
    }

    /// Shows what the person types; false where that is not drawn here.
    pub(super) fn draft(&mut self, draft: &str) -> bool {
        let Kind::Screen(printer) = &mut self.kind else { return false };
        self.out.write(&printer.draft(draft, now()));
        printer.is_live()
    }

    /// Shows a note of the program; false where that is not shown here.
    pub(super) fn note(&mut self, style: Style, words: &str) -> bool {
        let Kind::Screen(printer) = &mut self.kind else { return false };
        self.out.write(&printer.note(style, words, now()));
        true
    }

    /// Makes room for a question.
    pub(super) fn pause(&mut self) {
        if let Kind::Screen(printer) = &mut self.kind {
            self.out.write(&printer.pause());
        }
    }

    /// The question is answered.
    pub(super) fn resume(&mut self) {
        if let Kind::Screen(printer) = &mut self.kind {
            self.out.write(&printer.resume(now()));
        }
    }

    /// Something happened.
    pub(super) fn event(&mut self, record: &EventRecord) {
        match &mut self.kind {
            Kind::Quiet(None) => {}
            Kind::Quiet(Some(piped)) => self.out.write(&piped.event(record)),
            Kind::Screen(printer) => self.out.write(&printer.event(record, now())),
            Kind::Json(lines) => drop(lines.event(record)),
            Kind::StreamJson(lines) => {
                for line in lines.event(record) {
                    self.out.line(&line);
                }
            }
        }
    }

    /// It is over.
    pub(super) fn end(&mut self, ending: &Ending) {
        match &mut self.kind {
            Kind::Screen(printer) => self.out.write(&printer.finish()),
            Kind::Quiet(Some(piped)) => self.out.write(&piped.finish(&ending.text)),
            Kind::Quiet(None) => match &ending.form {
                Some(Form::Fits(value)) => self.out.line(value),
                Some(Form::Misfit(_)) => {}
                None if ending.text.is_empty() => {}
                None => self.out.write(&format!("{}\n", ending.text.trim_end_matches('\n'))),
            },
            Kind::Json(lines) | Kind::StreamJson(lines) => {
                let result = lines.result(ending, Uuid::new_v4());
                self.out.line(&result);
            }
        }
    }
}

/// Whether standard output is a file.
fn is_file() -> bool {
    let stat = rustix::fs::fstat(std::io::stdout());
    stat.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile)
}

fn now() -> Timestamp {
    SystemClock.now()
}

/// What a session is, for programs.
pub(super) fn facts(session: &Session, cwd: &Path) -> Facts {
    let model = session.model();
    let has_key = model.api_key.expose().is_some_and(|key| !key.is_empty());
    Facts {
        cwd: cwd.display().to_string(),
        model: model.id.clone(),
        key_source: if has_key { "user" } else { "none" }.to_owned(),
        window: model.context_window,
        tools: session.tools().to_vec(),
        mode: session.mode(),
    }
}

/// Tells something that is not the answer.
pub(super) fn tell(what: &str, words: &str) {
    say(&format!("{what}: {}\n", display::block(words)));
}

/// Writes to standard error. Where that is gone, there is no place to say so.
pub(super) fn say(text: &str) {
    let mut out = std::io::stderr().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
