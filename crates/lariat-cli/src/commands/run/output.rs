//! Writes a run's output: the plain answer, a live screen for the user, or JSON.
//!
//! The only writer of standard output. A closed pipe is not an error: the run ends.

use std::io::Write as _;

use lariat_core::display;
use lariat_core::event::EventRecord;
use lariat_core::id::SessionId;
use lariat_core::time::Timestamp;
use lariat_service::clock;
use lariat_service::mcp::McpServerReport;
use lariat_service::{AgentFacts, LoadedProject, UserDirectories};
use lariat_terminal::finished_call::Verbosity;
use lariat_terminal::theme::{Style, Theme};
use rustix::fs::FileType;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::args::run::Output;
use crate::args::task::Task;
use crate::screen::piped::PipedAnswer;
use crate::screen::printer::Printer;
use crate::wire::json::{Ending, SchemaCheck};
use crate::wire::stream_json::{SessionFacts, StreamJson};

/// Standard output.
#[derive(Debug, Default)]
pub(super) struct Stdout {
    broken: bool,
}

impl Stdout {
    /// Writes and flushes.
    pub(super) fn write(&mut self, text: &str) {
        if self.broken || text.is_empty() {
            return;
        }
        let mut out = std::io::stdout().lock();
        self.broken = out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_err();
    }

    pub(super) fn line(&mut self, value: &Value) {
        self.write(&format!("{}\n", lariat_core::display::json(&value.to_string())));
    }

    /// Whether the reader closed standard output.
    pub(super) const fn is_broken(&self) -> bool {
        self.broken
    }
}

/// The output of a run.
pub(super) struct RunOutput {
    kind: OutputKind,
    pub(super) out: Stdout,
}

enum OutputKind {
    /// The plain answer: streamed, or whole at the end if it must match a schema.
    Quiet(Option<PipedAnswer>),
    /// A live screen for the user.
    Screen(Box<Printer>),
    /// One JSON document at the end.
    Json(Box<StreamJson>),
    /// One JSON document per line.
    StreamJson(Box<StreamJson>),
}

impl RunOutput {
    /// Chooses the form from the task and from what standard output can show.
    pub(super) fn new(
        task: &Task,
        session_id: &SessionId,
        facts: impl Fn() -> SessionFacts,
        theme: Theme,
    ) -> Self {
        let mut out = Stdout::default();
        let lines = || {
            let mut lines = StreamJson::new(session_id.to_string(), task.stream_options);
            let init = lines.init(&facts(), Uuid::new_v4());
            (Box::new(lines), init)
        };
        let kind = match task.output {
            Output::Text if theme.is_terminal && task.schema.is_none() => {
                let verbosity = if task.verbose { Verbosity::Verbose } else { Verbosity::Normal };
                OutputKind::Screen(Box::new(Printer::new(theme, verbosity)))
            }
            // An answer that goes to a file or must match a schema is written whole.
            Output::Text if task.schema.is_some() || is_file() => OutputKind::Quiet(None),
            Output::Text => OutputKind::Quiet(Some(PipedAnswer::default())),
            Output::Json => OutputKind::Json(lines().0),
            Output::StreamJson => {
                let (lines, init) = lines();
                out.line(&init);
                OutputKind::StreamJson(lines)
            }
        };
        Self { kind, out }
    }

    /// The output of the actor in a loop: a live screen, or nothing.
    pub(super) fn of_loop(theme: Theme, is_verbose: bool, is_json: bool) -> Self {
        let verbosity = if is_verbose { Verbosity::Verbose } else { Verbosity::Normal };
        let kind = match theme.is_terminal && !is_json {
            true => OutputKind::Screen(Box::new(Printer::new(theme, verbosity))),
            false => OutputKind::Quiet(None),
        };
        Self { kind, out: Stdout::default() }
    }

    /// Ends the live screen, if there is one.
    pub(super) fn close_screen(&mut self) {
        if let OutputKind::Screen(printer) = &mut self.kind {
            self.out.write(&printer.finish());
        }
    }

    /// Whether this is a live screen for the user.
    pub(super) const fn is_screen(&self) -> bool {
        matches!(self.kind, OutputKind::Screen(_))
    }

    /// Redraws what changes with time.
    pub(super) fn tick(&mut self) {
        if let OutputKind::Screen(printer) = &mut self.kind {
            self.out.write(&printer.tick(now()));
        }
    }

    /// Draws what the user types. Returns false if this output does not draw it.
    pub(super) fn draft(&mut self, draft: &str) -> bool {
        let OutputKind::Screen(printer) = &mut self.kind else { return false };
        self.out.write(&printer.draft(draft, now()));
        printer.is_live()
    }

    /// Whether this output lists queued messages.
    pub(super) const fn shows_queue(&self) -> bool {
        matches!(&self.kind, OutputKind::Screen(printer) if printer.is_live())
    }

    /// Shows a note. Returns false if this output does not show notes.
    pub(super) fn note(&mut self, style: Style, words: &str) -> bool {
        let OutputKind::Screen(printer) = &mut self.kind else { return false };
        self.out.write(&printer.note(style, words, now()));
        true
    }

    pub(super) fn pause(&mut self) {
        if let OutputKind::Screen(printer) = &mut self.kind {
            self.out.write(&printer.pause());
        }
    }

    /// Continues after a question.
    pub(super) fn resume(&mut self) {
        if let OutputKind::Screen(printer) = &mut self.kind {
            self.out.write(&printer.resume(now()));
        }
    }

    pub(super) fn event(&mut self, record: &EventRecord) {
        match &mut self.kind {
            OutputKind::Quiet(None) => {}
            OutputKind::Quiet(Some(piped)) => self.out.write(&piped.event(record)),
            OutputKind::Screen(printer) => self.out.write(&printer.event(record, now())),
            OutputKind::Json(lines) => drop(lines.event(record)),
            OutputKind::StreamJson(lines) => {
                for line in lines.event(record) {
                    self.out.line(&line);
                }
            }
        }
    }

    /// Writes what belongs at the end of the run.
    pub(super) fn end(&mut self, ending: &Ending) {
        match &mut self.kind {
            OutputKind::Screen(printer) => self.out.write(&printer.finish()),
            OutputKind::Quiet(Some(piped)) => self.out.write(&piped.finish(&ending.text)),
            OutputKind::Quiet(None) => match &ending.schema_check {
                Some(SchemaCheck::Match(value)) => self.out.line(value),
                Some(SchemaCheck::Mismatch(_)) => {}
                None if ending.text.is_empty() => {}
                None => self.out.write(&format!("{}\n", ending.text.trim_end_matches('\n'))),
            },
            OutputKind::Json(lines) | OutputKind::StreamJson(lines) => {
                let result = lines.result(ending, Uuid::new_v4());
                self.out.line(&result);
            }
        }
    }
}

fn is_file() -> bool {
    let stat = rustix::fs::fstat(std::io::stdout());
    stat.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile)
}

fn now() -> Timestamp {
    clock::now()
}

/// The MCP servers of a session, as programs that control Claude Code read them.
pub(super) fn mcp_servers(servers: &[McpServerReport]) -> Vec<Value> {
    let server = |report: &McpServerReport| json!({ "name": report.name, "status": report.status });
    servers.iter().map(server).collect()
}

/// Facts about a session for the JSON output.
pub(super) fn facts(agent: &AgentFacts, place: &LoadedProject, folders: &UserDirectories) -> SessionFacts {
    let model = &agent.model;
    let (commands, _) = place.slash_commands(folders);
    let skills = commands.iter().filter(|command| command.is_skill);
    let has_key = model.api_key.expose().is_some_and(|key| !key.is_empty());
    SessionFacts {
        cwd: place.path().display().to_string(),
        model: model.id.clone(),
        key_source: if has_key { "user" } else { "none" }.to_owned(),
        window: model.context_window,
        tools: agent.tools.clone(),
        mcp_servers: mcp_servers(&agent.mcp_servers),
        mode: agent.mode,
        skills: skills.map(|skill| skill.name.clone()).collect(),
        slash_commands: commands.iter().map(|command| command.name.clone()).collect(),
        agents: place.agents(folders).0.into_iter().map(|agent| agent.name).collect(),
    }
}

/// Writes `what: words` to standard error.
pub(super) fn report(what: &str, words: &str) {
    write_stderr(&format!("{what}: {}\n", display::block(words)));
}

/// Writes to standard error, ignoring failures.
pub(super) fn write_stderr(text: &str) {
    let mut out = std::io::stderr().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
