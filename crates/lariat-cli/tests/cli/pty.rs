//! The program on a pseudo terminal, and vt100 as what shows it.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::num::NonZero;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Termios, Winsize, tcgetattr, tcsetwinsize};

use crate::fixture::{Fixture, wait_for};

/// Rows that have left the screen and are kept.
const SCROLLBACK: usize = 100_000;
/// Begins a synchronized update: one for each frame that is drawn.
const FRAME: &[u8] = b"\x1b[?2026h";
/// How often a wait looks at the screen. Waits are part of what is timed.
const LOOK: Duration = Duration::from_micros(200);

/// A terminal that runs the program.
pub(crate) struct Pty {
    pub(crate) child: Child,
    master: File,
    shown: Arc<Mutex<Shown>>,
    /// The line discipline before the program started.
    before: Termios,
}

/// What the program wrote.
struct Shown {
    parser: vt100::Parser,
    modes: Modes,
    /// The character that is not complete yet.
    character: Vec<u8>,
    bytes: u64,
    frames: u64,
}

impl Shown {
    /// Shows bytes. vt100 always wraps rows; terminals that programs switched to not wrapping keep what is too long out of the
    /// next row, also in a frame that was made for a wider terminal.
    fn write(&mut self, bytes: &[u8]) {
        let mut ready = Vec::with_capacity(bytes.len());
        for &byte in bytes {
            let is_text = byte >= 0x20 && self.modes.sequence.is_empty();
            self.modes.read(&[byte]);
            if !is_text || self.modes.on.contains("7") {
                ready.append(&mut self.character);
                ready.push(byte);
                continue;
            }
            self.character.push(byte);
            let Ok(text) = std::str::from_utf8(&self.character) else { continue };
            let width = lariat_terminal::text::width(text);
            self.parser.process(&std::mem::take(&mut ready));
            let (_, column) = self.parser.screen().cursor_position();
            let (_, columns) = self.parser.screen().size();
            if usize::from(column) + width <= usize::from(columns.get()) {
                ready.append(&mut self.character);
            }
            self.character.clear();
        }
        self.parser.process(&ready);
    }
}

/// The private modes (`ESC [ ? N h` and `l`) and the keyboard flags (`ESC [ > N u` and `<`) that are on.
struct Modes {
    /// The sequence that is not complete yet.
    sequence: String,
    on: BTreeSet<String>,
}

impl Modes {
    /// The modes of a terminal that nothing has changed: rows wrap and the caret is shown.
    fn usual() -> BTreeSet<String> {
        ["7", "25"].map(str::to_owned).into()
    }

    fn read(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            let letter = char::from(byte);
            match byte {
                0x1b => self.sequence = letter.to_string(),
                _ if self.sequence.is_empty() => {}
                b'[' | b'?' | b'<' | b'>' | b'0'..=b'9' => self.sequence.push(letter),
                _ => self.end(letter),
            }
        }
    }

    fn end(&mut self, last: char) {
        let sequence = std::mem::take(&mut self.sequence);
        let mode = sequence.strip_prefix("\x1b[?").unwrap_or("keyboard flags").to_owned();
        match (sequence.get(2..3), last) {
            (Some("?"), 'h') | (Some(">"), 'u') => _ = self.on.insert(mode),
            (Some("?"), 'l') | (Some("<"), 'u') => _ = self.on.remove(&mode),
            _ => {}
        }
    }
}

impl Pty {
    /// Starts the program as the leader of a session of its own, as a terminal does.
    pub(crate) fn start(fixture: &Fixture, args: &[&str], columns: u16, rows: u16) -> Self {
        Self::run(&fixture.command(args), columns, rows)
    }

    /// Starts any program.
    pub(crate) fn run(program: &Command, columns: u16, rows: u16) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let slave = File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
        tcsetwinsize(&slave, size(columns, rows)).unwrap();
        let before = tcgetattr(&slave).unwrap();
        let mut command = Command::new("setsid");
        command.arg("--ctty").arg(program.get_program()).args(program.get_args());
        command.env_clear().envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
        // vt100 cuts rows when it gets narrower, as xterm does.
        command.env("TERM", "xterm-256color").env("XTERM_VERSION", "vt100");
        command.current_dir(program.get_current_dir().unwrap_or_else(|| ".".as_ref()));
        command.stdin(Stdio::from(slave.try_clone().unwrap()));
        command.stdout(Stdio::from(slave.try_clone().unwrap())).stderr(Stdio::from(slave));
        let child = command.spawn().unwrap();
        drop(command);
        let parser = vt100::Parser::new(cells(rows), cells(columns), SCROLLBACK);
        let modes = Modes { sequence: String::new(), on: Modes::usual() };
        let shown = Arc::new(Mutex::new(Shown { parser, modes, character: Vec::new(), bytes: 0, frames: 0 }));
        let master = File::from(master);
        let (mut reader, seen) = (master.try_clone().unwrap(), Arc::clone(&shown));
        std::thread::spawn(move || {
            let mut buffer = [0; 64 * 1024];
            // Reading fails when the program has ended.
            while let Ok(read @ 1..) = reader.read(&mut buffer) {
                let mut seen = seen.lock().unwrap();
                seen.bytes += read as u64;
                seen.frames +=
                    buffer[..read].windows(FRAME.len()).filter(|window| *window == FRAME).count() as u64;
                seen.write(&buffer[..read]);
            }
        });
        Self { child, master, shown, before }
    }

    /// Types text, or the bytes of keys.
    pub(crate) fn type_text(&self, text: &str) {
        (&self.master).write_all(text.as_bytes()).unwrap();
    }

    pub(crate) fn resize(&self, columns: u16, rows: u16) {
        self.shown.lock().unwrap().parser.screen_mut().set_size(cells(rows), cells(columns));
        tcsetwinsize(&self.master, size(columns, rows)).unwrap();
    }

    pub(crate) fn screen(&self) -> String {
        self.shown.lock().unwrap().parser.screen().contents()
    }

    /// The rows in the scrollback and on the screen.
    pub(crate) fn all_rows(&self) -> Vec<String> {
        let mut shown = self.shown.lock().unwrap();
        let (_, width) = shown.parser.screen().size();
        let length = shown.parser.screen().scrollback_len();
        let mut rows = Vec::new();
        for offset in (1..=length).rev() {
            shown.parser.screen_mut().set_scrollback(offset);
            rows.extend(shown.parser.screen().rows(0, width.get()).next());
        }
        shown.parser.screen_mut().set_scrollback(0);
        rows.extend(shown.parser.screen().rows(0, width.get()));
        rows
    }

    /// How many bytes the program has written.
    pub(crate) fn bytes(&self) -> u64 {
        self.shown.lock().unwrap().bytes
    }

    /// How many frames the program has drawn.
    pub(crate) fn frames(&self) -> u64 {
        self.shown.lock().unwrap().frames
    }

    #[track_caller]
    pub(crate) fn shows(&self, text: &str) {
        let begun = Instant::now();
        while !self.screen().contains(text) {
            assert!(begun.elapsed() < crate::fixture::PATIENCE, "`{text}` is missing:\n{}", self.screen());
            std::thread::sleep(LOOK);
        }
    }

    /// Types text and returns how long the program took to draw.
    pub(crate) fn time_to_paint(&self, text: &str) -> Duration {
        let frames = self.frames();
        let begun = Instant::now();
        self.type_text(text);
        while self.frames() == frames {
            assert!(begun.elapsed() < crate::fixture::PATIENCE, "`{text}` drew nothing:\n{}", self.screen());
            std::thread::sleep(LOOK);
        }
        begun.elapsed()
    }

    /// Fails if the terminal is not as it was before the program started.
    #[track_caller]
    pub(crate) fn is_restored(&self) {
        // The last bytes of a program that has ended may not have been read.
        let begun = Instant::now();
        while self.modes() != Modes::usual() && begun.elapsed() < Duration::from_secs(2) {
            std::thread::sleep(LOOK);
        }
        assert_eq!(self.modes(), Modes::usual(), "{}", self.screen());
        let (before, after) = (&self.before, tcgetattr(&self.master).unwrap());
        assert_eq!(after.local_modes, before.local_modes, "{}", self.screen());
        assert_eq!(after.input_modes, before.input_modes, "{}", self.screen());
        assert_eq!(after.output_modes, before.output_modes, "{}", self.screen());
    }

    /// The private modes that are on.
    pub(crate) fn modes(&self) -> BTreeSet<String> {
        self.shown.lock().unwrap().modes.on.clone()
    }

    /// Waits until a text has left the screen.
    #[track_caller]
    pub(crate) fn lacks(&self, text: &str) {
        let begun = Instant::now();
        while self.screen().contains(text) {
            assert!(
                begun.elapsed() < crate::fixture::PATIENCE,
                "`{text}` is still there:\n{}",
                self.screen()
            );
            std::thread::sleep(LOOK);
        }
    }

    /// Waits until the program has written nothing for a moment.
    pub(crate) fn settle(&self) {
        let mut before = u64::MAX;
        wait_for("the screen to settle", || {
            std::thread::sleep(Duration::from_millis(300));
            std::mem::replace(&mut before, self.bytes()) == self.bytes()
        });
    }

    /// Leaves the program with the keyboard, and returns its exit code.
    pub(crate) fn quit(&mut self) -> Option<i32> {
        self.settle();
        self.type_text("\x05\x15\x04");
        self.end()
    }

    /// Waits for the end of the program.
    pub(crate) fn end(&mut self) -> Option<i32> {
        wait_for("the program to end", || self.child.try_wait().unwrap().is_some());
        self.child.wait().unwrap().code()
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn cells(number: u16) -> NonZero<u16> {
    NonZero::new(number).unwrap()
}

const fn size(columns: u16, rows: u16) -> Winsize {
    Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }
}
