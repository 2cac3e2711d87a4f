//! Waits for everything that can happen during a session: run events, signals, keys, input lines, questions from tools, ticks.
//!
//! Holds the only `select!`. A separate thread reads the terminal and standard input, because such a read cannot be cancelled.
//! A line longer than [`sdk::LINE`] is an error and ends the input.

use std::io::{BufRead as _, Read as _};
use std::sync::Arc;
use std::time::Duration;

use lariat_core::event::Event;
use lariat_runtime::RunStream;
use lariat_tools::Asker;
use rustix::process::{Signal as Number, getpid, kill_process};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

use super::ask::{self, Asked};
use super::keys::Key;
use super::terminal::{Terminal, Typed};
use crate::exit::Exit;
use crate::problem::Problem;
use crate::wire::sdk;

/// Interval of ticks, for output that changes with time.
const TICK: Duration = Duration::from_millis(100);

/// Maximum number of queued lines. When the queue is full, the writing program blocks.
const LINES: usize = 16;

/// Something that happened.
pub(super) enum Heard {
    /// An event of the run.
    Event(Event),
    /// The run ended.
    Over,
    /// A signal asked the program to stop.
    Stop(Stop),
    /// The user suspended the program (Ctrl-Z).
    Suspend,
    /// The controlling program wrote a line.
    Line(Line),
    /// The user pressed a key.
    Key(Key),
    /// The terminal was closed.
    HungUp,
    /// A tool asks a question.
    Asked(Asked),
    /// [`TICK`] passed.
    Tick,
}

/// Input from standard input.
#[derive(Debug)]
pub(super) enum Line {
    /// A line, without its line ending.
    Text(String),
    /// End of input.
    End,
    /// Invalid input, and why. Ends the input.
    Broken(String),
}

/// Who stopped the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The user, with Ctrl-C.
    Interrupt,
    /// SIGTERM, or a closed terminal.
    Terminate,
    /// The user, with Ctrl-\: exit at once.
    Quit,
}

impl Stop {
    pub(super) const fn exit(self) -> Exit {
        match self {
            Self::Interrupt | Self::Quit => Exit::Interrupted,
            Self::Terminate => Exit::Terminated,
        }
    }
}

/// Optional sources to wait for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Listening {
    /// Lines of the controlling program on standard input.
    pub(super) lines: bool,
    /// Ticks.
    pub(super) ticks: bool,
}

/// All sources to wait for.
pub(super) struct Ears {
    interrupt: Signal,
    terminate: Signal,
    at_terminal: Option<AtTerminal>,
    asked: Option<mpsc::Receiver<Asked>>,
    lines: Option<mpsc::Receiver<Line>>,
}

/// Sources that exist only with a terminal.
struct AtTerminal {
    terminal: Terminal,
    keys: mpsc::Receiver<Typed>,
    suspend: Signal,
    resumed: Signal,
    hang_up: Signal,
    quit: Signal,
}

impl Ears {
    /// Installs the signal handlers. With a terminal, also reads keys and accepts questions from tools.
    pub(super) fn new(terminal: Option<Terminal>) -> Result<(Self, Option<Arc<dyn Asker>>), Problem> {
        let listen = |kind| signal(kind).map_err(|error| Problem::new(Exit::Failed, error.to_string()));
        let number = |signal: Number| SignalKind::from_raw(signal.as_raw());
        let (asker, asked) = terminal.is_some().then(ask::person).unzip();
        let at_terminal = match terminal {
            None => None,
            Some(terminal) => Some(AtTerminal {
                keys: terminal.keys(),
                terminal,
                suspend: listen(number(Number::TSTP))?,
                resumed: listen(number(Number::CONT))?,
                hang_up: listen(SignalKind::hangup())?,
                quit: listen(SignalKind::quit())?,
            }),
        };
        let ears = Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            at_terminal,
            asked,
            lines: None,
        };
        Ok((ears, asker))
    }

    /// Waits for the next thing to happen.
    pub(super) async fn next(&mut self, run: Option<&mut RunStream>, listening: Listening) -> Heard {
        if listening.lines && self.lines.is_none() {
            self.lines = Some(reader());
        }
        let Self { interrupt, terminate, at_terminal, asked, lines } = self;
        tokio::select! {
            biased;
            _ = interrupt.recv() => Heard::Stop(Stop::Interrupt),
            _ = terminate.recv() => Heard::Stop(Stop::Terminate),
            heard = from_terminal(at_terminal) => heard,
            event = event(run) => event.map_or(Heard::Over, Heard::Event),
            line = line(lines), if listening.lines => Heard::Line(line),
            asked = question(asked) => Heard::Asked(asked),
            () = tokio::time::sleep(TICK), if listening.ticks => Heard::Tick,
        }
    }

    /// Suspends this process until the user resumes it, with the terminal's original mode restored meanwhile.
    pub(super) fn suspend(&mut self) {
        let Some(at) = &mut self.at_terminal else { return };
        at.terminal.leave();
        let _ = kill_process(getpid(), Number::STOP);
        at.terminal.enter();
    }
}

async fn from_terminal(at_terminal: &mut Option<AtTerminal>) -> Heard {
    let Some(AtTerminal { terminal, keys, suspend, resumed, hang_up, quit }) = at_terminal else {
        return std::future::pending().await;
    };
    loop {
        tokio::select! {
            biased;
            _ = quit.recv() => return Heard::Stop(Stop::Quit),
            _ = hang_up.recv() => return Heard::Stop(Stop::Terminate),
            _ = suspend.recv() => return Heard::Suspend,
            // Resumed in the foreground: take the terminal again.
            _ = resumed.recv() => terminal.enter(),
            typed = keys.recv() => match typed {
                Some(Typed::Key(key)) => return Heard::Key(key),
                Some(Typed::Gone) => return Heard::HungUp,
                None => return std::future::pending().await,
            },
        }
    }
}

async fn event(run: Option<&mut RunStream>) -> Option<Event> {
    match run {
        Some(run) => run.next().await,
        None => std::future::pending().await,
    }
}

async fn line(lines: &mut Option<mpsc::Receiver<Line>>) -> Line {
    match lines {
        Some(lines) => lines.recv().await.unwrap_or(Line::End),
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

/// Reads standard input by line until its end, on a thread that ends with the process.
fn reader() -> mpsc::Receiver<Line> {
    let (sender, receiver) = mpsc::channel(LINES);
    std::thread::spawn(move || {
        let mut input = std::io::stdin().lock();
        loop {
            let mut line = Vec::new();
            let most = sdk::LINE as u64 + 1;
            let read = match (&mut input).take(most).read_until(b'\n', &mut line) {
                Ok(0) => Line::End,
                Ok(_) if line.len() > sdk::LINE => {
                    Line::Broken(format!("a line of input is longer than {} bytes", sdk::LINE))
                }
                Ok(_) => match String::from_utf8(line) {
                    Ok(line) => Line::Text(line.trim_end_matches(['\n', '\r']).to_owned()),
                    Err(error) => Line::Broken(format!("the input is not UTF-8: {error}")),
                },
                Err(error) => Line::Broken(error.to_string()),
            };
            let is_last = !matches!(read, Line::Text(_));
            if sender.blocking_send(read).is_err() || is_last {
                return;
            }
        }
    });
    receiver
}
