//! Waits for everything that can happen during a session: events, signals, keys, input lines, ticks.
//!
//! A separate thread reads the terminal and standard input, because such a read cannot be cancelled.
//! A line longer than [`sdk::MAX_LINE_BYTES`] is an error and ends the input.

use std::io::{BufRead as _, Read as _};
use std::time::Duration;

use rustix::process::{Signal as Number, getpid, kill_process};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

use super::callbacks::CallbackCall;
use super::keys::TypedKey;
use super::terminal::{Terminal, TerminalEvent};
use crate::exit::Exit;
use crate::problem::Problem;
use crate::wire::sdk;

/// Interval of ticks, for output that changes with time.
const TICK: Duration = Duration::from_millis(100);

/// Maximum number of queued lines. When the queue is full, the writing program blocks.
const MAX_QUEUED_LINES: usize = 16;

/// Something that happened. `T` is what the session did.
pub(super) enum InputEvent<T> {
    /// The session did something.
    Session(T),
    /// A signal asked the program to stop.
    Stop(Stop),
    /// The user suspended the program (Ctrl-Z).
    Suspend,
    /// The controlling program wrote a line.
    Line(StdinLine),
    /// The user pressed a key.
    Key(TypedKey),
    /// The terminal was closed.
    TerminalClosed,
    /// A hook calls a function of the controlling program.
    Callback(CallbackCall),
    /// [`TICK`] passed.
    Tick,
}

/// Input from standard input.
#[derive(Debug)]
pub(super) enum StdinLine {
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
pub(super) struct OptionalInputs {
    /// Lines of the controlling program on standard input.
    pub(super) lines: bool,
    /// Ticks.
    pub(super) ticks: bool,
}

/// All sources to wait for.
pub(super) struct Inputs {
    interrupt: Signal,
    terminate: Signal,
    terminal_inputs: Option<TerminalInputs>,
    lines: Option<mpsc::Receiver<StdinLine>>,
    callbacks: Option<mpsc::Receiver<CallbackCall>>,
}

/// Sources that exist only with a terminal.
struct TerminalInputs {
    terminal: Terminal,
    keys: mpsc::Receiver<TerminalEvent>,
    suspend: Signal,
    resumed: Signal,
    hang_up: Signal,
    quit: Signal,
}

impl Inputs {
    /// Installs the signal handlers. With a terminal, also reads keys.
    pub(super) fn new(terminal: Option<Terminal>) -> Result<Self, Problem> {
        let listen = |kind| signal(kind).map_err(|error| Problem::new(Exit::Failed, error.to_string()));
        let number = |signal: Number| SignalKind::from_raw(signal.as_raw());
        let terminal_inputs = match terminal {
            None => None,
            Some(terminal) => Some(TerminalInputs {
                keys: terminal.keys(),
                terminal,
                suspend: listen(number(Number::TSTP))?,
                resumed: listen(number(Number::CONT))?,
                hang_up: listen(SignalKind::hangup())?,
                quit: listen(SignalKind::quit())?,
            }),
        };
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            terminal_inputs,
            lines: None,
            callbacks: None,
        })
    }

    /// Also waits for calls of the controlling program's functions.
    pub(super) fn take_callbacks(&mut self, calls: mpsc::Receiver<CallbackCall>) {
        self.callbacks = Some(calls);
    }

    /// Fails all calls of the controlling program's functions from now on.
    pub(super) fn close_callbacks(&mut self) {
        self.callbacks = None;
    }

    /// Waits for the next thing to happen. `session` waits for the session, and can be dropped and made again.
    pub(super) async fn next<T>(
        &mut self,
        session: impl Future<Output = T>,
        optional: OptionalInputs,
    ) -> InputEvent<T> {
        if optional.lines && self.lines.is_none() {
            self.lines = Some(read_lines());
        }
        let Self { interrupt, terminate, terminal_inputs, lines, callbacks } = self;
        tokio::select! {
            biased;
            _ = interrupt.recv() => InputEvent::Stop(Stop::Interrupt),
            _ = terminate.recv() => InputEvent::Stop(Stop::Terminate),
            terminal_event = next_terminal_event(terminal_inputs) => terminal_event,
            happened = session => InputEvent::Session(happened),
            line = line(lines), if optional.lines => InputEvent::Line(line),
            call = next_of(callbacks) => InputEvent::Callback(call),
            () = tokio::time::sleep(TICK), if optional.ticks => InputEvent::Tick,
        }
    }

    /// Suspends this process until the user resumes it, with the terminal's original mode restored meanwhile.
    pub(super) fn suspend(&mut self) {
        let Some(at) = &mut self.terminal_inputs else { return };
        at.terminal.leave();
        let _ = kill_process(getpid(), Number::STOP);
        at.terminal.enter();
    }
}

async fn next_terminal_event<T>(terminal_inputs: &mut Option<TerminalInputs>) -> InputEvent<T> {
    let Some(TerminalInputs { terminal, keys, suspend, resumed, hang_up, quit }) = terminal_inputs else {
        return std::future::pending().await;
    };
    loop {
        tokio::select! {
            biased;
            _ = quit.recv() => return InputEvent::Stop(Stop::Quit),
            _ = hang_up.recv() => return InputEvent::Stop(Stop::Terminate),
            _ = suspend.recv() => return InputEvent::Suspend,
            // Resumed in the foreground: take the terminal again.
            _ = resumed.recv() => terminal.enter(),
            typed = keys.recv() => match typed {
                Some(TerminalEvent::Key(key)) => return InputEvent::Key(key),
                Some(TerminalEvent::Closed) => return InputEvent::TerminalClosed,
                None => return std::future::pending().await,
            },
        }
    }
}

async fn line(lines: &mut Option<mpsc::Receiver<StdinLine>>) -> StdinLine {
    match lines {
        Some(lines) => lines.recv().await.unwrap_or(StdinLine::End),
        None => std::future::pending().await,
    }
}

/// The next item of a channel; never, if there is none or it is closed.
async fn next_of<T>(channel: &mut Option<mpsc::Receiver<T>>) -> T {
    let next = match channel {
        Some(channel) => channel.recv().await,
        None => None,
    };
    match next {
        Some(item) => item,
        None => std::future::pending().await,
    }
}

/// Reads standard input by line until its end, on a thread that ends with the process.
fn read_lines() -> mpsc::Receiver<StdinLine> {
    let (sender, receiver) = mpsc::channel(MAX_QUEUED_LINES);
    std::thread::spawn(move || {
        let mut input = std::io::stdin().lock();
        loop {
            let mut line = Vec::new();
            let most = sdk::MAX_LINE_BYTES as u64 + 1;
            let read = match (&mut input).take(most).read_until(b'\n', &mut line) {
                Ok(0) => StdinLine::End,
                Ok(_) if line.len() > sdk::MAX_LINE_BYTES => {
                    StdinLine::Broken(format!("a line of input is longer than {} bytes", sdk::MAX_LINE_BYTES))
                }
                Ok(_) => match String::from_utf8(line) {
                    Ok(line) => StdinLine::Text(line.trim_end_matches(['\n', '\r']).to_owned()),
                    Err(error) => StdinLine::Broken(format!("the input is not UTF-8: {error}")),
                },
                Err(error) => StdinLine::Broken(error.to_string()),
            };
            let is_last = !matches!(read, StdinLine::Text(_));
            if sender.blocking_send(read).is_err() || is_last {
                return;
            }
        }
    });
    receiver
}
