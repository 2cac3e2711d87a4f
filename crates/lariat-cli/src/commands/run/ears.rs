//! Everything that can be heard while a session goes on: events, signals, typed lines, questions of tools, time.
//!
//! Owns the one `select!`. Standard input is read by a thread of its own, begun when somebody first listens, because a
//! read of a terminal cannot be taken back; what is typed while nobody asks is thrown away.
//! Invariant: no line is longer than its cap; a longer one is an error and ends the input.

use std::io::{BufRead as _, Read as _};
use std::sync::Arc;
use std::time::Duration;

use lariat_core::event::Event;
use lariat_runtime::RunStream;
use lariat_tools::Asker;
use rustix::termios::{QueueSelector, tcflush};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

use super::ask::{self, Asked};
use crate::exit::Exit;
use crate::problem::Problem;
use crate::wire::sdk;

/// Time between two looks at the clock, for what is drawn by time.
const TICK: Duration = Duration::from_millis(100);

/// Lines that wait to be heard. When it is full, whoever writes waits.
const LINES: usize = 16;

/// What was heard.
pub(super) enum Heard {
    /// Something happened in the run.
    Event(Event),
    /// The run is over.
    Over,
    /// Somebody wants it to end.
    Stop(Stop),
    /// A line was typed.
    Line(Typed),
    /// A tool asks something.
    Asked(Asked),
    /// Time passed.
    Tick,
}

/// What came in on standard input.
#[derive(Debug)]
pub(super) enum Typed {
    /// A line, without its end.
    Line(String),
    /// The end.
    End,
    /// Something that is no line of text, and why. Nothing comes after it.
    Broken(String),
}

/// Who wants it to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The person, with Ctrl-C.
    Interrupt,
    /// The system.
    Terminate,
}

impl Stop {
    pub(super) const fn exit(self) -> Exit {
        match self {
            Self::Interrupt => Exit::Interrupted,
            Self::Terminate => Exit::Terminated,
        }
    }
}

/// What is listened for besides the run.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Listening {
    /// Typed lines.
    pub(super) lines: bool,
    /// Time.
    pub(super) ticks: bool,
}

/// Whatever can be heard.
pub(super) struct Ears {
    interrupt: Signal,
    terminate: Signal,
    asked: Option<mpsc::Receiver<Asked>>,
    lines: Option<mpsc::Receiver<Typed>>,
}

impl Ears {
    /// Begins to listen. With somebody at the terminal, also to tools that ask.
    pub(super) fn new(attended: bool) -> Result<(Self, Option<Arc<dyn Asker>>), Problem> {
        let listen = |kind| signal(kind).map_err(|error| Problem::new(Exit::Failed, error.to_string()));
        let (asker, asked) = attended.then(ask::person).unzip();
        let ears = Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            asked,
            lines: None,
        };
        Ok((ears, asker))
    }

    /// The next thing that is heard.
    pub(super) async fn next(&mut self, run: Option<&mut RunStream>, listening: Listening) -> Heard {
        if listening.lines && self.lines.is_none() {
            self.lines = Some(reader());
        }
        let Self { interrupt, terminate, asked, lines } = self;
        tokio::select! {
            biased;
            _ = interrupt.recv() => Heard::Stop(Stop::Interrupt),
            _ = terminate.recv() => Heard::Stop(Stop::Terminate),
            event = event(run) => event.map_or(Heard::Over, Heard::Event),
            typed = typed(lines), if listening.lines => Heard::Line(typed),
            asked = question(asked) => Heard::Asked(asked),
            () = tokio::time::sleep(TICK), if listening.ticks => Heard::Tick,
        }
    }

    /// Forgets what was typed before anybody asked.
    pub(super) fn forget(&mut self) {
        // Where it is no terminal, nothing was typed.
        let _ = tcflush(std::io::stdin(), QueueSelector::IFlush);
        if let Some(lines) = &mut self.lines {
            while matches!(lines.try_recv(), Ok(Typed::Line(_))) {}
        }
    }
}

async fn event(run: Option<&mut RunStream>) -> Option<Event> {
    match run {
        Some(run) => run.next().await,
        None => std::future::pending().await,
    }
}

async fn typed(lines: &mut Option<mpsc::Receiver<Typed>>) -> Typed {
    match lines {
        Some(lines) => lines.recv().await.unwrap_or(Typed::End),
        None => std::future::pending().await,
    }
}

async fn question(asked: &mut Option<mpsc::Receiver<Asked>>) -> Asked {
    let next = match asked {
        Some(asked) => asked.recv().await,
        None => None,
    };
    match next {
        Some(asked) => asked,
        None => std::future::pending().await,
    }
}

/// Reads standard input line by line until it ends. The thread ends with the process.
fn reader() -> mpsc::Receiver<Typed> {
    let (sender, receiver) = mpsc::channel(LINES);
    std::thread::spawn(move || {
        let mut input = std::io::stdin().lock();
        loop {
            let mut line = Vec::new();
            let most = sdk::LINE as u64 + 1;
            let typed = match (&mut input).take(most).read_until(b'\n', &mut line) {
                Ok(0) => Typed::End,
                Ok(_) if line.len() > sdk::LINE => {
                    Typed::Broken(format!("a line of input is longer than {} bytes", sdk::LINE))
                }
                Ok(_) => match String::from_utf8(line) {
                    Ok(line) => Typed::Line(line.trim_end_matches(['\n', '\r']).to_owned()),
                    Err(error) => Typed::Broken(format!("the input is not UTF-8: {error}")),
                },
                Err(error) => Typed::Broken(error.to_string()),
            };
            let is_last = !matches!(typed, Typed::Line(_));
            if sender.blocking_send(typed).is_err() || is_last {
                return;
            }
        }
    });
    receiver
}
